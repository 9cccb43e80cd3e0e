"""Sinks on a real disk: going back to a checkpoint, whose files are whose, many queries."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.errors import InternalError, StateError
from punctual.ports.answers import AnswerBlock
from punctual.ports.sinks.jsonl import JsonLinesSink
from punctual.ports.sinks.memory import MemorySink
from punctual.ports.sinks.parquet import ParquetSink
from punctual.ports.sinks.sink import Sink, SinkState
from punctual.ports.storage import PosixFiles
from punctual.store.codec import decode, encode
from tests.store.answering import block

FILES = PosixFiles()


def lines_sink(folder: str) -> JsonLinesSink:
    return JsonLinesSink(FILES, folder, state="mine")


def parquet_sink(folder: str) -> ParquetSink:
    return ParquetSink(FILES, folder)


def record(position: int, *queries: str) -> list[AnswerBlock]:
    return [block(query, [("n", pa.int64())], [[{"n": position}]], at=[position * 1_000_000]) for query in queries]


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["rows"][0]["n"] for line in path.read_text().splitlines()]


def parquet_numbers(folder: Path) -> list[int]:
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return [row["rows"][0]["n"] for table in tables for row in table.to_pylist()]


def test_json_lines_go_back_to_a_checkpoint_and_on(tmp_path: Path) -> None:
    sink = lines_sink(str(tmp_path / "out"))
    sink.open(None)
    sink.claim(["a", "b", "silent"])
    sink.write(1, record(1, "a", "b"))
    state = decode(encode(sink.checkpoint()), SinkState)
    sink.write(2, record(2, "a"))
    sink.close()
    with open(tmp_path / "out" / "a.jsonl", "ab") as torn:
        torn.write(b'{"query":"a","num')
    again = lines_sink(str(tmp_path / "out"))
    again.open(state)
    again.claim(["a", "b", "silent"])
    assert again.position == 1
    for position in (1, 2, 3):
        again.write(position, record(position, "a", "b"))
    again.close()
    assert numbers(tmp_path / "out" / "a.jsonl") == [1, 2, 3]
    assert numbers(tmp_path / "out" / "b.jsonl") == [1, 2, 3]
    assert (tmp_path / "out" / "silent.jsonl").read_bytes() == b""


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
def test_what_somebody_else_wrote_is_not_touched(tmp_path: Path, make: Callable[[str], Sink]) -> None:
    own = tmp_path / ("a.jsonl" if make is lines_sink else "a/00000000000000000001.parquet")
    own.parent.mkdir(exist_ok=True)
    own.write_text("mine\n")
    (tmp_path / "notes.jsonl").write_text("also mine\n")
    sink = make(str(tmp_path))
    sink.open(None)
    sink.claim(["b"])
    sink.write(1, record(1, "b"))
    state = sink.checkpoint()
    for begun in (sink, make(str(tmp_path))):
        if begun is not sink:
            begun.open(state)
        with pytest.raises(StateError) as told:
            begun.claim(["a"])
        assert told.value.code == "sink.foreign-file"
    assert own.read_text() == "mine\n"
    assert (tmp_path / "notes.jsonl").read_text() == "also mine\n"


def test_a_state_that_is_not_kept_replaces_files(tmp_path: Path) -> None:
    for _run in range(2):
        sink = JsonLinesSink(FILES, str(tmp_path), state=None)
        sink.open(None)
        sink.claim(["a"])
        sink.write(1, record(1, "a"))
        sink.close()
        assert numbers(tmp_path / "a.jsonl") == [1]
        table = ParquetSink(FILES, str(tmp_path / "p"), replace=True)
        table.open(None)
        table.claim(["a"])
        table.write(_run + 1, record(7, "a"))
        table.checkpoint()
        assert parquet_numbers(tmp_path / "p" / "a") == [7]


def run(folder: Path | str, state: str | None, saved: SinkState | None = None) -> SinkState:
    """A run of a state, or of none, that writes two answers more than were saved."""
    sink = JsonLinesSink(FILES, str(folder), state=state)
    sink.open(saved)
    sink.claim(["a", "silent"])
    for position in (sink.position + 1, sink.position + 2):
        sink.write(position, record(position, "a"))
    sink.close()
    return sink.checkpoint()


def is_refused(folder: Path, state: str | None, saved: SinkState | None = None) -> bool:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(StateError) as told:
        run(folder, state, saved)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    return told.value.code == "sink.foreign-file"


def test_a_run_without_a_state_leaves_the_files_of_a_state_alone(tmp_path: Path) -> None:
    saved = run(tmp_path, "mine")
    assert is_refused(tmp_path, None)
    (tmp_path / "a.jsonl").rename(tmp_path / "kept")
    assert is_refused(tmp_path, None), "also one that has no answers yet"
    (tmp_path / "kept").rename(tmp_path / "a.jsonl")
    run(tmp_path, "mine", saved)
    assert numbers(tmp_path / "a.jsonl") == [1, 2, 3, 4]
    assert is_refused(tmp_path, "another")


def test_what_was_moved_away_is_free_and_then_belongs_to_who_took_it(tmp_path: Path) -> None:
    saved = run(tmp_path, "mine")
    for name in ("a", "silent"):
        (tmp_path / f"{name}.jsonl").unlink()
    for _again in range(2):
        run(tmp_path, None)
        assert numbers(tmp_path / "a.jsonl") == [1, 2]
    assert is_refused(tmp_path, "mine", saved), "it is not what this state has written"


def test_an_empty_file_of_a_run_without_a_state_is_nobodys(tmp_path: Path) -> None:
    run(tmp_path, None)
    (tmp_path / "a.jsonl").unlink()
    assert (tmp_path / "silent.jsonl").exists()
    run(tmp_path, "mine")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2, "files": {}}', '{"format": 1}'])
def test_owners_that_cannot_be_read_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ".punctual.json").write_text(text)
    assert is_refused(tmp_path, None)


def test_a_folder_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "out" / "a.jsonl").mkdir(parents=True)
    for folder, code in {
        str(tmp_path / "file"): "sink.unusable",
        str(tmp_path / "file" / "below"): "sink.unusable",
        str(tmp_path / "out"): "sink.unusable",
        "/proc/nothing": "sink.unusable",
        "s3://bucket/out": "sink.not-a-folder",
    }.items():
        with pytest.raises(StateError) as told:
            run(folder, None)
        assert told.value.code == code, folder
        assert told.value.hint
    assert (tmp_path / "file").read_text() == "mine"


def test_an_empty_file_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    sink = lines_sink(str(tmp_path))
    sink.open(None)
    sink.claim(["a"])


SPOILED: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "shorter": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "emptied": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "as long": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"something"),
    "as long, at its beginning": lambda path: path.write_bytes(b"X" + path.read_bytes()[1:]),
}


def kept(folder: Path, make: Callable[[str], Sink]) -> SinkState:
    """Two queries; records 1 to 3 of one and 2 to 3 of the other, which was added later."""
    sink = make(str(folder))
    sink.open(None)
    sink.claim(["a"])
    sink.write(1, record(1, "a"))
    sink.claim(["a", "b"])
    for position in (2, 3):
        sink.write(position, record(position, "a", "b"))
    state = sink.checkpoint()
    sink.close()
    return state


def replayed(folder: Path, make: Callable[[str], Sink], state: SinkState, oldest: int = 1) -> SinkState:
    """Go on from a log that holds records from ``oldest`` through 4."""
    sink = make(str(folder))
    sink.open(state, oldest)
    sink.claim(["a", "b"])
    sink.checkpoint()
    for position in range(max(sink.position + 1, oldest), 5):
        sink.write(position, record(position, *("a", "b")[: 1 if position == 1 else 2]))
    assert sink.position == 4
    state = sink.checkpoint()
    sink.close()
    return state


def outputs(folder: Path, make: Callable[[str], Sink]) -> tuple[list[int], list[int]]:
    read = (lambda q: numbers(folder / f"{q}.jsonl")) if make is lines_sink else lambda q: parquet_numbers(folder / q)
    return read("a"), read("b")


def output_of(folder: Path, query: str, make: Callable[[str], Sink]) -> Path:
    return folder / f"{query}.jsonl" if make is lines_sink else next((folder / query).glob("*.parquet"))


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.parametrize("query", ["a", "b"])
def test_a_changed_output_is_mended_from_the_log(
    tmp_path: Path, make: Callable[[str], Sink], how: str, query: str
) -> None:
    state = kept(tmp_path, make)
    SPOILED[how](output_of(tmp_path, query, make))
    after = replayed(tmp_path, make, state)
    assert outputs(tmp_path, make) == ([1, 2, 3, 4], [2, 3, 4])
    assert replayed(tmp_path, make, after) == after, "it is whole now"


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
@pytest.mark.parametrize("how", [how for how in SPOILED if how != "longer"])
def test_a_changed_output_is_refused_where_the_log_has_forgotten_its_beginning(
    tmp_path: Path, make: Callable[[str], Sink], how: str
) -> None:
    state = kept(tmp_path, make)
    replayed(tmp_path, make, state, oldest=4)
    assert outputs(tmp_path, make) == ([1, 2, 3, 4], [2, 3, 4]), "unchanged outputs go on"
    state = kept(tmp_path / "again", make)
    SPOILED[how](output_of(tmp_path / "again", "a", make))
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    with pytest.raises(StateError) as told:
        replayed(tmp_path / "again", make, state, oldest=2)
    assert told.value.code == "sink.changed-file"
    assert "--out" in (told.value.hint or "")
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()} == before
    replayed(tmp_path / "elsewhere", make, state, oldest=2)
    assert outputs(tmp_path / "elsewhere", make) == ([2, 3, 4], [2, 3, 4]), "a new folder gets what is there"


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
def test_a_crash_while_an_output_is_mended(tmp_path: Path, make: Callable[[str], Sink]) -> None:
    state = kept(tmp_path, make)
    SPOILED["removed"](output_of(tmp_path, "a", make))
    for through in (0, 1, 2):  # dies after so many records, with a checkpoint before
        sink = make(str(tmp_path))
        sink.open(state)
        assert sink.position == 0
        for position in range(1, through + 1):
            sink.write(position, record(position, "a", "b"))
        if through == 2:
            state = sink.checkpoint()
            assert (state.position, state.written["b"].through) == (2, 3)
        sink.close()
    replayed(tmp_path, make, state)
    assert outputs(tmp_path, make) == ([1, 2, 3, 4], [2, 3, 4])


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_outputs_that_are_mended_one_after_the_other(tmp_path: Path, make: Callable[[str], Sink], order: str) -> None:
    state = kept(tmp_path, make)
    SPOILED["removed"](output_of(tmp_path, order[0], make))
    sink = make(str(tmp_path))
    sink.open(state)
    for position in (1, 2):
        sink.write(position, record(position, "a", "b"))
    state = sink.checkpoint()  # of one: it has its records through 2
    sink.close()
    SPOILED["removed"](output_of(tmp_path, order[1], make))
    replayed(tmp_path, make, state)
    assert outputs(tmp_path, make) == ([1, 2, 3, 4], [2, 3, 4])


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
def test_outputs_that_were_moved_with_their_folder_go_on(tmp_path: Path, make: Callable[[str], Sink]) -> None:
    state = kept(tmp_path / "out", make)
    (tmp_path / "out").rename(tmp_path / "moved")
    replayed(tmp_path / "moved", make, state, oldest=4)
    assert outputs(tmp_path / "moved", make) == ([1, 2, 3, 4], [2, 3, 4])


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
def test_a_strangers_file_in_another_folder_is_not_mended(tmp_path: Path, make: Callable[[str], Sink]) -> None:
    state = kept(tmp_path / "out", make)
    stranger = tmp_path / "theirs" / ("a.jsonl" if make is lines_sink else f"a/{1:020d}.parquet")
    stranger.parent.mkdir(parents=True)
    stranger.write_text("mine")
    with pytest.raises(StateError) as told:
        replayed(tmp_path / "theirs", make, state)
    assert told.value.code == "sink.foreign-file"
    assert stranger.read_text() == "mine"


@pytest.mark.parametrize("make", [lines_sink, parquet_sink])
def test_writing_before_claiming_is_a_bug(tmp_path: Path, make: Callable[[str], Sink]) -> None:
    sink = make(str(tmp_path))
    sink.open(None)
    with pytest.raises(InternalError):
        sink.write(1, record(1, "a"))


def test_hundreds_of_queries_with_few_files_open(tmp_path: Path) -> None:
    queries = [f"q{number}" for number in range(300)]
    sink = JsonLinesSink(FILES, str(tmp_path), state="mine", open_files=20)
    sink.open(None)
    sink.claim(queries)
    before = len(os.listdir("/proc/self/fd"))
    for position in (1, 2):
        sink.write(position, record(position, *queries))
        assert len(os.listdir("/proc/self/fd")) <= before + 20
    state = sink.checkpoint()
    sink.close()
    assert len(os.listdir("/proc/self/fd")) <= before
    for query in queries:
        assert numbers(tmp_path / f"{query}.jsonl") == [1, 2]
        assert state.written[query].length == (tmp_path / f"{query}.jsonl").stat().st_size


def test_parquet_goes_back_to_a_checkpoint_and_on(tmp_path: Path) -> None:
    sink = ParquetSink(FILES, str(tmp_path), gathered_bytes=1)
    sink.open(None)
    sink.claim(["a", "b"])
    for position in (1, 2):
        sink.write(position, record(position, "a", "b"))
    state = sink.checkpoint()
    for position in (3, 4, 5):
        sink.write(position, record(position, "a"))
    assert parquet_numbers(tmp_path / "a") == [1, 2, 3, 4]
    (tmp_path / "a" / "00000000000000000009.parquet.tmp").write_bytes(b"half")
    (tmp_path / "a" / "readme").write_text("kept")
    again = ParquetSink(FILES, str(tmp_path))
    again.open(state)
    assert parquet_numbers(tmp_path / "a") == [1, 2]
    for position in (3, 4, 5, 6):
        again.write(position, record(position, "a"))
    again.checkpoint()
    assert parquet_numbers(tmp_path / "a") == [1, 2, 3, 4, 5, 6]
    assert parquet_numbers(tmp_path / "b") == [1, 2]
    assert sorted(path.name for path in (tmp_path / "a").iterdir())[-1] == "readme"
    at = pq.read_table(tmp_path / "b").column("at")
    assert at.type == pa.timestamp("us", tz="UTC")


def test_parquet_of_a_query_that_changed_its_columns(tmp_path: Path) -> None:
    sink = ParquetSink(FILES, str(tmp_path))
    sink.open(None)
    sink.claim(["a"])
    sink.write(1, record(1, "a"))
    sink.write(2, [block("a", [("text", pa.string())], [[{"text": "new"}]])])
    sink.checkpoint()
    first, second = sorted((tmp_path / "a").glob("*.parquet"))
    assert pq.read_table(first).column("rows").to_pylist() == [[{"n": 1}]]
    assert pq.read_table(second).column("rows").to_pylist() == [[{"text": "new"}]]


def test_a_frame_has_a_row_for_each_result_row() -> None:
    sink = MemorySink()
    sink.open(None)
    assert sink.frame("q") is None
    columns = [("k", pa.string()), ("quality", pa.float64())]
    rows = [[{"k": "a", "quality": 1.5}, {"k": "b", "quality": None}], [], [{"k": "c", "quality": 2.5}]]
    sink.write(1, [block("q", columns, rows, complete=[True, True, False])])
    sink.write(1, [block("q", columns, rows)])  # a repeat
    sink.write(2, [block("q", columns, [[{"k": "d", "quality": 3.5}]], at=[9_000_000])])
    frame = sink.frame("q")
    assert frame is not None
    assert frame.column_names == [
        "at", "from", "k", "quality", "number", "basis", "answer_quality", "kept", "complete", "error",
        "released", "deadline", "answered", "on_time", "execution", "late_rows",
    ]
    assert frame.column("k").to_pylist() == ["a", "b", "c", "d"]
    assert frame.column("quality").to_pylist() == [1.5, None, 2.5, 3.5]
    assert frame.column("answer_quality").to_pylist() == [1.0] * 4
    assert [at.second for at in frame.column("at").to_pylist()] == [1, 1, 3, 9]
    assert frame.column("complete").to_pylist() == [True, True, False, True]


def test_memory_forgets_the_oldest() -> None:
    sink = MemorySink(keep=3)
    sink.open(None)
    for position in range(1, 11):
        sink.write(position, record(position, "q"))
    assert [b.table.column("rows").to_pylist()[0][0]["n"] for b in sink.blocks("q")] == [8, 9, 10]


def test_memory_keeps_a_position() -> None:
    sink: Sink = MemorySink()
    sink.open(None)
    sink.claim(["q"])
    sink.write(4, record(4, "q"))
    again: Sink = MemorySink()
    again.open(sink.checkpoint())
    assert again.position == 4
