"""The process dies at every step, the disk keeps every part of what was not synced: nothing is lost or repeated."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.errors import StateError
from punctual.ports.answers import AnswerBlock, decode, encode
from punctual.ports.sinks.jsonl import JsonLinesSink, json_lines
from punctual.ports.sinks.parquet import ParquetSink
from punctual.ports.storage import Files
from punctual.store.letters import DeadLetter
from punctual.store.products import Cells, Produced
from punctual.store.records import RecordLog
from punctual.store.store import Store
from tests.store.dying import Crash, DyingFiles
from tests.store.story import BATCHES, OUT, STATE, MakeSink, Plan, Program, encoded_answers, live, seen, settled


def jsonl(files: Files) -> JsonLinesSink:
    return JsonLinesSink(files, OUT, state="one", open_files=1)


def parquet(files: Files) -> ParquetSink:
    return ParquetSink(files, OUT, gathered_bytes=1)


@pytest.fixture(autouse=True)
def _lines_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of lives write the same few lines; making them is pure, and tested elsewhere."""

    @cache
    def remembered(payload: bytes) -> list[tuple[str, pa.Buffer]]:
        return list(json_lines(decode(payload)))

    def lines(blocks: Sequence[AnswerBlock]) -> Iterator[tuple[str, pa.Buffer]]:
        yield from remembered(encode(blocks))

    monkeypatch.setattr("punctual.ports.sinks.jsonl.json_lines", lines)


def cells(data: bytes) -> Produced:
    return Produced(Cells("u"), 1, data)


def letter(stream: str) -> DeadLetter:
    return DeadLetter(stream, "late", None, None, 1, "row")


def undisturbed(make_sink: MakeSink) -> tuple[DyingFiles, int]:
    files = DyingFiles()
    live(files, make_sink)
    return files, files.steps


def crashed(run: Callable[[DyingFiles], None], start: DyingFiles, step: int) -> DyingFiles:
    files = DyingFiles(dict(start.names), die_at=step)
    with pytest.raises(Crash):
        run(files)
    return files


def test_a_story_that_nothing_disturbs() -> None:
    files, steps = undisturbed(jsonl)
    found = seen(files)
    assert steps > 150
    assert found["base"][:2] == (1, Plan(0, 1))
    assert [batch for batch, _, _ in found["batches"]] == [2, 3]
    assert [position for position, _, _ in found["answers"]] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert found["journal"] == [(batch + 1, b"decided %d" % batch) for batch in range(BATCHES)]
    totals = [rows[0]["rows"][0]["n"] for _, query, rows in found["answers"] if query == "total"]
    assert totals == [sum(range(10 * (batch + 1))) for batch in range(BATCHES)]
    assert [letter.batch for letter in found["dead"]] == [1, 3]
    lines = files.read(f"{OUT}/total.jsonl").decode().splitlines()
    assert [json.loads(line)["rows"][0]["n"] for line in lines] == totals
    assert files.read(f"{OUT}/last.jsonl").count(b"\n") == BATCHES


def test_dead_at_every_step_with_every_tear_it_ends_the_same() -> None:
    whole, steps = undisturbed(jsonl)
    expected = settled(whole)
    for step in range(1, steps + 1):
        for disk in crashed(lambda files: live(files, jsonl), DyingFiles(), step).after_crash():
            live(disk, jsonl)
            assert settled(disk) == expected, f"step {step}"


def test_parquet_dead_at_every_step_of_the_sink_has_each_answer_once() -> None:
    whole, steps = undisturbed(parquet)
    expected = parquet_answers(whole)
    assert len(expected) == 2 * BATCHES
    for step in range(1, steps + 1):
        if not whole.paths[step - 1].startswith((OUT, f"{STATE}/sinks")):
            continue
        for disk in list(crashed(lambda files: live(files, parquet), DyingFiles(), step).after_crash())[::3]:
            live(disk, parquet)
            assert parquet_answers(disk) == expected, f"step {step}"


def test_dead_twice() -> None:
    whole, steps = undisturbed(jsonl)
    expected = settled(whole)
    for step in range(5, steps, 17):
        disk = list(crashed(lambda files: live(files, jsonl), DyingFiles(), step).after_crash())[-1]
        again = DyingFiles(disk.names, die_at=step // 2)
        try:
            live(again, jsonl)
        except Crash:
            again = next(again.after_crash())
            live(again, jsonl)
        again.die_at = None
        assert settled(again) == expected


def test_disk_full_at_every_step_says_so_and_goes_on_afterwards() -> None:
    whole, steps = undisturbed(jsonl)
    expected = settled(whole)
    told = []
    for step in range(1, steps + 1):
        files = DyingFiles(full_at=step)
        try:
            live(files, jsonl)
        except StateError as error:
            told.append(error)
        files.full_at = None
        live(files, jsonl)
        assert settled(files) == expected, f"step {step}"
    assert {(error.code, bool(error.hint)) for error in told} == {("state.disk-full", True)}
    # All but removing what a rebase replaced and the last word of a close, which may fail in silence.
    assert len(told) >= steps - 15


@pytest.mark.parametrize("act", ["answer", "commit", "rebase", "program", "plan", "sink"])
def test_a_full_disk_in_a_living_process_leaves_nothing_half_written(act: str) -> None:
    """The same call fails at each of its steps, shows nothing of itself, and succeeds when tried again."""
    failures = 0
    while True:
        files = DyingFiles()
        store = Store.open(STATE, files, identity="c0ffee")
        sink = jsonl(files)
        sink.open(None)
        sink.claim(["total", "last"])
        store.answers.append(b"first")
        store.commit(0, {}, [cells(b"zero")])
        store.program.save(1, Program(1, "first"))
        acts: dict[str, Callable[[], object]] = {
            "answer": partial(store.answers.append, b"second"),
            "commit": partial(store.commit, 1, {}, [cells(b"one")], [letter("s")]),
            "rebase": partial(store.rebase, 0, {"base": True}, [cells(b"both")]),
            "program": partial(store.program.save, 2, Program(2, "second")),
            "plan": partial(store.write_plan, 1, Plan(1, 2)),
            "sink": partial(sink.write, 1, decode(encoded_answers(0, 1, "x"))),
        }
        before = in_view(store, files)
        files.full_at = files.steps + failures + 1
        try:
            acts[act]()
        except StateError:
            failures += 1
        else:
            break
        failed = in_view(store, files)
        acts[act]()
        after = in_view(store, files)
        assert after != before
        # A program or a plan whose rename was not made durable may show already, whole.
        assert failed == before or (failed == after and act in ("program", "plan"))
        assert in_view(Store.open(STATE, files), files) == after
        for query, written in sink.checkpoint().written.items():
            content = files.read(f"{OUT}/{query}.jsonl")
            assert (written.length, written.crc) == (len(content), zlib.crc32(content))
    assert failures >= (2 if act in ("answer", "sink") else 4)


@pytest.mark.parametrize("failing", ["commit", "rebase"])
def test_a_full_disk_then_a_crash(failing: str) -> None:
    """A commit fails at any step, another one is tried and the process dies: what is found is whole."""

    def acts(files: DyingFiles, fails_at: int, dies_at: int | None) -> int:
        store = Store.open(STATE, files, identity="c0ffee")
        store.commit(0, {}, [cells(b"zero")])
        files.full_at = files.steps + fails_at
        with suppress(StateError):
            if failing == "commit":
                store.commit(1, {}, [cells(b"first try")], [letter("first")])
            else:
                store.rebase(0, {}, [cells(b"base")])
        begun, files.full_at = files.steps, None
        files.die_at = None if dies_at is None else begun + dies_at
        if store.next_batch() == 1:
            store.commit(1, {}, [cells(b"second try, longer")])
        if store.base() is None:
            store.rebase(0, {}, [cells(b"base, again")])
        return files.steps - begun

    for fails_at in range(1, 14):
        for dies_at in range(1, acts(DyingFiles(), fails_at, None) + 1):
            files = DyingFiles()
            with suppress(Crash):
                acts(files, fails_at, dies_at)
            for disk in files.after_crash():
                found = Store.open(STATE, disk)
                base = found.base()
                for manifest in [*found.manifests(), *([base] if base else [])]:
                    assert bytes(found.read(manifest.sections[0])) in {
                        b"zero", b"first try", b"second try, longer", b"base", b"base, again",
                    }
                assert found.next_batch() in (1, 2)


def test_a_trim_of_many_segments_at_once_survives_every_step() -> None:
    def trim(files: DyingFiles) -> None:
        log = RecordLog(files, "/log", segment_bytes=1)
        for position in range(log.position, 6):
            log.append(b"%d" % position)
        log.trim(6)

    whole = DyingFiles()
    trim(whole)
    for step in range(1, whole.steps + 1):
        for disk in crashed(trim, DyingFiles(), step).after_crash():
            records = list(RecordLog(disk, "/log").read(0))
            assert records == [(position, b"%d" % (position - 1)) for position, _ in records]


def in_view(store: Store, files: DyingFiles) -> object:
    base = store.base()
    return (
        [bytes(store.read(manifest.sections[0])) for manifest in store.manifests()],
        base and bytes(store.read(base.sections[0])),
        list(store.answers.read(0)),
        store.program.read(Program),
        store.read_plan(1, Plan),
        list(store.letters.read()),
        [files.read(f"{OUT}/{query}.jsonl") for query in ("total", "last")],
    )


def test_a_log_of_small_segments_survives_every_step() -> None:
    def write(files: DyingFiles) -> None:
        log = RecordLog(files, "/log", segment_bytes=60)
        for position in range(log.position, 12):
            assert log.append(b"record %d" % position) == position + 1
            log.trim(position - 4)
        log.close()

    files = DyingFiles()
    write(files)
    expected = list(RecordLog(files, "/log").read(0))
    assert [p for _, p in expected][-5:] == [b"record %d" % n for n in range(7, 12)]
    assert len(expected) < 12
    for step in range(1, files.steps + 1):
        for disk in crashed(write, DyingFiles(), step).after_crash():
            acknowledged = RecordLog(disk, "/log").position
            assert list(RecordLog(disk, "/log").read(acknowledged - 2))[-1:] in (
                [], [(acknowledged, b"record %d" % (acknowledged - 1))]
            )
            write(disk)
            assert list(RecordLog(disk, "/log").read(7)) == [r for r in expected if r[0] > 7], f"step {step}"


def test_what_was_acknowledged_is_there_after_any_crash() -> None:
    """Independent of the story: every append and commit that returned before the crash is found after it."""
    for step in range(1, 90):
        files = DyingFiles(die_at=step)
        appended, committed = 0, 0
        try:
            store = Store.open(STATE, files, identity="c0ffee")
            for batch in range(3):
                store.commit(batch, {"batch": batch}, [cells(bytes([batch]) * 5)])
                committed += 1
                appended = store.answers.append(b"%d" % batch)
        except Crash:
            pass
        for disk in files.after_crash():
            found = Store.open(STATE, disk, identity="c0ffee")
            assert found.next_batch() in (committed, committed + 1)
            assert found.answers.position in (appended, appended + 1)
            for manifest in found.manifests():
                assert bytes(found.read(manifest.sections[0])) == bytes([manifest.batch]) * 5


def parquet_answers(files: DyingFiles) -> list[tuple[str, object]]:
    return sorted(
        (path.split("/")[2], row["at"], str(row["rows"]))
        for path, content in files.visible().items()
        if path.startswith(OUT + "/") and content
        for row in pq.read_table(pa.BufferReader(content)).to_pylist()
    )
