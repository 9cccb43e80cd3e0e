"""A program's life in small, written so that it can be continued from any state that a crash leaves.

Four batches are planned, run and committed; each gives one journal record and one record of answers, computed from what
the store holds; a sink follows with checkpoints of its own; there is a rebase and a change of program. What is
done next depends on the state alone, so an undisturbed run and a disturbed one must end with the same files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
import pyarrow as pa

from punctual.ports.answers import decode, encode
from punctual.ports.sinks.sink import Sink
from punctual.ports.storage import Files, tells_disk_full
from punctual.store.letters import DeadLetter
from punctual.store.manifest import Manifest
from punctual.store.products import Cells, LateCells, Produced
from punctual.store.records import RecordLog
from punctual.store.store import Store
from tests.store.answering import block
from tests.store.dying import DyingFiles, Inode

STATE = "/state"
OUT = "/out"
BATCHES = 4
REBASE_THROUGH = 1
QUERIES = ["total", "last"]
SUM, ROWS = Cells("sum"), Cells("rows")
MakeSink = Callable[[Files], Sink]


@dataclass(frozen=True)
class Plan:
    start: int
    stop: int


@dataclass(frozen=True)
class Program:
    number: int
    text: str


def live(files: DyingFiles, make_sink: MakeSink) -> None:
    """Open whatever is there and go on to the end."""
    store = Store.open(STATE, files, identity="c0ffee", shards=4)
    assert store.identity.shards == 4
    sink = make_sink(files)
    sink.open(store.outputs.sink("out"), store.answers.first)
    sink.claim(QUERIES)
    store.outputs.save_sink("out", sink.checkpoint())
    if store.program.read(Program) is None:
        store.program.save(1, Program(1, "first"))
    for position, payload in store.answers.read(sink.position):
        sink.write(position, decode(payload))
    answer(store, sink)
    while store.next_batch() < BATCHES:
        run_batch(store, files)
        answer(store, sink)
        if store.answers.position == 1:
            store.outputs.save_sink("out", sink.checkpoint())
        if store.next_batch() == 3 and store.base() is None:
            rebase(store)
            store.program.save(2, Program(2, "second"))
    if store.base() is None:
        rebase(store)
    if number_of(store) == 1:
        store.program.save(2, Program(2, "second"))
    store.outputs.save_sink("out", sink.checkpoint())
    sink.close()
    store.close()


@tells_disk_full
def run_batch(store: Store, files: DyingFiles) -> None:
    batch = store.next_batch()
    plan = store.read_plan(batch, Plan)
    if plan is None:
        plan = Plan(batch * 10, batch * 10 + 10)
        store.write_plan(batch, plan)
    assert plan == Plan(batch * 10, batch * 10 + 10)
    path = f"{store.incoming(batch)}/{batch:032x}.arrow"
    task = files.append(path)
    task.write(b"rows of %d" % batch)
    dead = [DeadLetter("s", "late", None, None, batch, "row")] if batch % 2 else []
    values = pa.array(range(plan.start, plan.stop)).cast(pa.int8()).buffers()[1]
    produced = [Produced(SUM, 10, values), Produced(ROWS, 1, path), Produced(LateCells("s"), 0, b"")]
    store.commit(batch, plan, produced, dead)


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
    kept = next(section for section in replaced[-1].sections if section.product == ROWS)
    produced = [Produced(SUM, 1, orjson.dumps(total)), Produced(ROWS, 1, f"{STATE}/{kept.file}")]
    store.rebase(REBASE_THROUGH, Plan(0, REBASE_THROUGH), produced)


def number_of(store: Store) -> int:
    program = store.program.read(Program)
    assert program is not None
    return program.number


def seen(files: DyingFiles) -> dict[str, Any]:
    """Everything that a later run finds, read through the store."""
    store = Store.open(STATE, files, fresh=False)

    def contents(manifest: Manifest | None) -> Any:
        if manifest is None:
            return None
        sections = [(s.product, bytes(store.read(s)), s.rows) for s in manifest.sections]
        return manifest.batch, manifest.read(Plan), sections

    return {
        "base": contents(store.base()),
        "batches": [contents(manifest) for manifest in store.manifests()],
        "program": store.program.read(Program),
        "journal": list(store.journal.read(0)),
        "answers": [
            (position, answers.query, answers.table.to_pylist())
            for position, payload in store.answers.read(0)
            for answers in decode(payload)
        ],
        "dead": list(store.letters.read()),
    }


def settled(files: DyingFiles) -> dict[str, bytes | None]:
    """Every file after one more start: a later run finds nothing else.

    When a file was written, among the others, depends on the crash; so what it vouches for is left out.
    """
    Store.open(STATE, files, fresh=False).close()
    return {path: content and _without_positions(path, content) for path, content in files.visible().items()}


def _without_positions(path: str, content: bytes) -> bytes:
    if path.startswith(STATE) and path.endswith(".json"):
        return re.sub(rb'"positions":{[^}]*},|,"crc":"\w*"', b"", content)
    if path.endswith(".log"):
        folder = os.path.dirname(path)
        log = RecordLog(DyingFiles({"/": None, folder: None, path: Inode(content)}), folder)
        return repr(list(log.read(0))).encode()
    return content
