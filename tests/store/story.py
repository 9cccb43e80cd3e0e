"""A program's life in small, written so that it can be continued from any state that a crash leaves.

Four batches are planned, run and committed; each gives one journal record and one record of answers, computed from what
the store holds; a sink follows with checkpoints of its own; there is a rebase and a change of program. What is
done next depends on the state alone, so an undisturbed run and a disturbed one must end with the same files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import orjson
import pyarrow as pa

from punctual.ports.answers import decode, encode
from punctual.ports.sinks.sink import Sink
from punctual.ports.storage import Files, tells_disk_full
from punctual.store.manifest import Manifest
from punctual.store.store import Store
from tests.store.answering import block
from tests.store.dying import DyingFiles

STATE = "/state"
OUT = "/out"
BATCHES = 4
REBASE_THROUGH = 1
QUERIES = ["total", "last"]
MakeSink = Callable[[Files], Sink]


def live(files: DyingFiles, make_sink: MakeSink) -> None:
    """Open whatever is there and go on to the end."""
    store = Store.open(STATE, files, identity="c0ffee", shards=4)
    assert store.identity.shards == 4
    sink = make_sink(files)
    sink.open(store.sink_state("out"))
    sink.claim(QUERIES)
    store.save_sink_state("out", sink.checkpoint())
    if store.program() is None:
        store.save_program(1, {"text": "first"})
    for position, payload in store.answers.read(sink.position):
        sink.write(position, decode(payload))
    answer(store, sink)
    while store.next_batch() < BATCHES:
        run_batch(store, files)
        answer(store, sink)
        if store.answers.position == 1:
            store.save_sink_state("out", sink.checkpoint())
        if store.next_batch() == 3 and store.base() is None:
            rebase(store)
            store.save_program(2, {"text": "second"})
    if store.base() is None:
        rebase(store)
    if number_of(store) == 1:
        store.save_program(2, {"text": "second"})
    store.save_sink_state("out", sink.checkpoint())
    sink.close()
    store.close()


@tells_disk_full
def run_batch(store: Store, files: DyingFiles) -> None:
    batch = store.next_batch()
    plan = store.read_plan(batch)
    if plan is None:
        plan = {"from": batch * 10, "to": batch * 10 + 10}
        store.write_plan(batch, plan)
    assert plan == {"from": batch * 10, "to": batch * 10 + 10}
    path = f"{store.incoming(batch)}/task-0.bin"
    task = files.append(path)
    task.write(b"rows of %d" % batch)
    dead = orjson.dumps({"stream": "s", "batch": batch}) + b"\n" if batch % 2 else None
    values = pa.array(range(plan["from"], plan["to"])).cast(pa.int8()).buffers()[1]
    store.commit(batch, {"plan": plan}, [("sum", values, 10), ("rows", path, 1), ("none", b"", 0)], dead)


def answer(store: Store, sink: Sink) -> None:
    """Answer every committed batch that has no answer yet."""
    for batch in range(store.answers.position, store.next_batch()):
        if store.journal.position == batch:
            store.journal.append(b"decided %d" % batch)
        position = store.answers.append(encoded_answers(batch, *facts_of(store, batch)))
        assert position == batch + 1
        (payload,) = (payload for _, payload in store.answers.read(position - 1))
        sink.write(position, decode(payload))


def facts_of(store: Store, batch: int) -> tuple[int, str]:
    """What the answers of a batch say, from the bytes of the state."""
    base = store.base()
    total = 0
    if base is not None:
        assert base.batch < batch
        total = orjson.loads(bytes(store.read(base.sections[0])))
    for manifest in store.manifests():
        if manifest.batch <= batch:
            total += sum(bytes(store.read(manifest.sections[0])))
            last = bytes(store.read(manifest.sections[1])).decode()
    return total, last


@cache  # pure, and the same few answers in a thousand lives
def encoded_answers(batch: int, total: int, last: str) -> bytes:
    at = [batch * 1_000_000]
    return encode([
        block("total", [("n", pa.int64())], [[{"n": total}]], at=at),
        block("last", [("text", pa.string())], [[{"text": last}, {"text": None}]], at=at),
    ])


def rebase(store: Store) -> None:
    replaced = [manifest for manifest in store.manifests() if manifest.batch <= REBASE_THROUGH]
    total = sum(sum(bytes(store.read(manifest.sections[0]))) for manifest in replaced)
    kept = next(section for section in replaced[-1].sections if section.unit == "rows")
    body = {"through": REBASE_THROUGH}
    store.rebase(REBASE_THROUGH, body, [("sum", orjson.dumps(total), 1), ("rows", f"{STATE}/{kept.file}", 1)])


def number_of(store: Store) -> int:
    program = store.program()
    assert program is not None
    return program[0]


def seen(files: DyingFiles) -> dict[str, Any]:
    """Everything that a later run finds, read through the store."""
    store = Store.open(STATE, files, fresh=False)

    def contents(manifest: Manifest | None) -> Any:
        if manifest is None:
            return None
        return manifest.batch, manifest.body, [(s.unit, bytes(store.read(s)), s.cells) for s in manifest.sections]

    return {
        "base": contents(store.base()),
        "batches": [contents(manifest) for manifest in store.manifests()],
        "program": store.program(),
        "journal": list(store.journal.read(0)),
        "answers": [
            (position, answers.query, answers.table.to_pylist())
            for position, payload in store.answers.read(0)
            for answers in decode(payload)
        ],
        "dead": list(store.dead_letters()),
    }


def settled(files: DyingFiles) -> dict[str, bytes | None]:
    """Every file after one more start: a later run finds nothing else."""
    Store.open(STATE, files, fresh=False).close()
    return files.visible()
