"""Sources that are not there, and a loop that has died: who asks is told at once, and nobody else is harmed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead, read_status
from punctual.errors import ProgramErrors, RunError, StateError
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
FED = """
CREATE STREAM fed (t TIMESTAMP EVENT TIME, x DOUBLE) FROM FEED;
CREATE QUERY q AS SELECT count(*) AS n FROM fed [RANGE 10 SECONDS] PERIOD 1 SECOND;
"""
MISSING = "CREATE STREAM z (t TIMESTAMP EVENT TIME) FROM FILES 'nowhere' FORMAT JSON;"
MORE = "CREATE QUERY more AS SELECT sum(x) AS s FROM fed [RANGE 10 SECONDS] PERIOD 1 SECOND;"
PATIENCE_S = 60


def engine_in(folder: Path, *, live: bool = True, out: str | None = None) -> Engine:
    return Engine(
        str(folder / "state"), out, base=str(folder), clock=ManualClock(START), backend=InProcess, live=live
    )


def feed(engine: Engine, *seconds: int) -> None:
    engine.feed("fed", [(iso(START + second * SECOND), 1.0) for second in seconds])


def test_a_source_that_is_not_there_is_refused_with_its_place_and_changes_nothing(tmp_path: Path) -> None:
    with engine_in(tmp_path) as engine:
        engine.sql(FED)
        engine.open()
        before = engine.catalog
        text = f"SET max_files_per_tick = 7;\n{MORE}\n{MISSING}\n{MISSING.replace('z (', 'y (')}"
        with pytest.raises(ProgramErrors) as told:
            engine.sql(text)
        assert [error.code for error in told.value.errors] == ["feed.missing-path"] * 2
        assert "CREATE STREAM z" in str(told.value)
        assert "^" in str(told.value)
        assert engine.catalog is before
        feed(engine, 1, 5)
        engine.tick()
        assert len(engine.answers("q")) == 4
        (tmp_path / "nowhere").mkdir()
        engine.sql(text)
        assert set(engine.catalog.streams) == {"fed", "z", "y"}
        engine.tick()


def test_a_source_that_is_not_there_when_the_engine_opens(tmp_path: Path) -> None:
    engine = engine_in(tmp_path)
    engine.sql(FED)
    engine.sql(MISSING)
    with pytest.raises(ProgramErrors) as told:
        engine.open()
    assert told.value.code == "feed.missing-path"
    (tmp_path / "nowhere").mkdir()
    with engine:
        engine.open()


def test_an_endless_rate_is_refused_in_a_run_that_shall_end(tmp_path: Path) -> None:
    with engine_in(tmp_path, live=False) as engine:
        engine.sql(FED)
        engine.open()
        with pytest.raises(ProgramErrors) as told:
            engine.sql("CREATE STREAM r (ts TIMESTAMP EVENT TIME, value BIGINT) FROM RATE 10 PER SECOND;")
        assert told.value.code == "feed.endless-rate"
        assert set(engine.catalog.streams) == {"fed"}


def test_an_output_of_somebody_else_refuses_a_query_and_changes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "more.jsonl").write_text("mine\n")
    with engine_in(tmp_path, out=str(out)) as engine:
        engine.sql(FED)
        engine.open()
        with pytest.raises(StateError) as told:
            engine.sql(MORE)
        assert told.value.code == "sink.foreign-file"
        assert set(engine.catalog.queries) == {"q"}
        feed(engine, 1, 5)
        engine.tick()
        assert len(engine.answers("q")) == 4
        (out / "more.jsonl").unlink()
        engine.sql(MORE)


def test_outputs_of_a_state_are_safe_from_a_run_without_one(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    for last in (5, 9):
        with engine_in(tmp_path, out=out) as engine:
            engine.sql(FED)
            engine.open()
            feed(engine, last - 4, last)
            engine.tick()
        passing = Engine(None, out, clock=ManualClock(START), backend=InProcess)
        passing.sql(FED)
        with pytest.raises(StateError) as told:
            passing.open()
        assert told.value.code == "sink.foreign-file"
    assert len((tmp_path / "out" / "q.jsonl").read_text().splitlines()) == 8


def test_who_asks_a_loop_that_has_died_is_told_of_what(tmp_path: Path) -> None:
    class Mortal(InProcess):
        dead = False

        def alive(self) -> bool:
            return not self.dead

    engine = Engine(str(tmp_path / "state"), options={"tick": "10 ms"}, backend=Mortal)
    engine.sql(FED)
    engine.start()
    feed(engine, 1, 5)
    give_up = time.monotonic() + PATIENCE_S
    while len(engine.answers("q")) < 4 and time.monotonic() < give_up:
        time.sleep(0.01)
    Mortal.dead = True
    with pytest.raises(RunError, match="jvm-died"):
        engine.wait(PATIENCE_S)
    for ask in (
        lambda: engine.feed("fed", []),
        lambda: engine.sql(MORE),
        lambda: engine.answers("q"),
    ):
        with pytest.raises(RunError, match="jvm-died"):
            ask()
    assert set(engine.catalog.queries) == {"q"}
    assert sum(block.table.num_rows for block in engine.records()) >= 4, "what was answered is still there"
    with pytest.raises(RunError, match="jvm-died"):
        engine.stop()


def test_one_dict_is_one_row(tmp_path: Path) -> None:
    with engine_in(tmp_path) as engine:
        engine.sql(FED)
        engine.open()
        engine.feed("fed", {"t": iso(START), "x": 1.0})
        feed(engine, 3)
        engine.tick()
        assert engine.answers("q")["n"].tolist()[0] == 1


def test_a_file_whose_name_is_not_utf8_is_one_dead_letter_for_good(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    for name, x in ((b"good.json", 2), (b"odd\xff.json", 4)):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text(f'{{"t":"{iso(START)}","x":{x}}}\n')
    program = """
    CREATE STREAM rows (t TIMESTAMP EVENT TIME, x DOUBLE) FROM FILES 'rows' FORMAT JSON;
    CREATE QUERY q AS SELECT sum(x) AS s FROM rows [RANGE 10 SECONDS] PERIOD 1 SECOND;
    """
    said: list[str] = []
    for turn in (1, 2):
        with Engine(
            str(tmp_path / "state"), base=str(tmp_path), clock=ManualClock(START), backend=InProcess, live=False,
            report=said.append,
        ) as engine:  # fmt: skip
            engine.sql(program)
            engine.run_once()
            assert engine.answers("q")["s"].tolist() == [2.0], turn
    assert [message.encode().count(b"//odd\\xff.json") for message in said] == [1]
    (letter,) = read_dead(str(tmp_path / "state"), None)
    assert (letter["origin"], letter["reason"]) == (
        f"{folder}//odd\\xff.json", "unreadable file: its path is not UTF-8",
    )  # fmt: skip
    assert read_status(str(tmp_path / "state"))["streams"]["rows"]["dead_letters"] == 1


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("file", "state.foreign"),
        ("/proc/nothing", "state.unusable"),
        ("file/below", "state.unusable"),
        ("s3://bucket/state", "state.not-a-folder"),
    ],
)
def test_a_state_that_cannot_be_a_folder(
    tmp_path: Path, state: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    engine = Engine(state, backend=InProcess)
    engine.sql(FED)
    with pytest.raises(StateError) as told:
        engine.open()
    assert told.value.code == code
    assert told.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
