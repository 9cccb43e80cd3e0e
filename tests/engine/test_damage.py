"""A state or its outputs, changed by somebody else between two runs: mended, ignored or refused; never gone on with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from punctual.clock import ManualClock
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead, read_status
from punctual.errors import StateError
from tests.cqt.play import NOW_US
from tests.inprocess.backend import InProcess

PROGRAM = """
CREATE STREAM gps (t TIMESTAMP EVENT TIME WATERMARK 1 SECOND, truck STRING KEY, kmh DOUBLE) FROM FEED;
CREATE QUERY mean AS SELECT truck, avg(kmh) AS mean FROM gps [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY truck;
CREATE QUERY longer AS SELECT truck, avg(kmh) AS mean FROM gps [RANGE 8 SECONDS SLIDE 3 SECONDS] GROUP BY truck;
SET cadence = exact;
"""
SEGMENT = "00000000000000000001.log"


def run(folder: Path, seconds: list[float]) -> dict[str, str]:
    """One run that feeds rows at these times; what the outputs hold afterwards."""
    engine = Engine(
        state=str(folder / "state"), out=str(folder / "out"), live=False,
        clock=ManualClock(NOW_US), backend=lambda: InProcess(),
    )  # fmt: skip
    with closing(engine):
        engine.sql(PROGRAM)
        engine.open()
        rows = [{"t": f"1970-01-01T00:00:{at:06.3f}Z", "truck": "AB"[int(at) % 2], "kmh": at} for at in seconds]
        if rows:
            engine.feed("gps", rows)
            engine.tick()
    return {path.name: path.read_text() for path in sorted((folder / "out").glob("*.jsonl"))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state and its outputs after two runs, the second with a row that came too late; a copy stands in ``copy``."""
    run(tmp_path, [1, 2, 3, 9, 10, 4])
    run(tmp_path, [14, 0.5])
    shutil.copytree(tmp_path, tmp_path / "copy")
    return tmp_path


def test_the_story_goes_on(folder: Path) -> None:
    first = run(folder, [])
    second = run(folder, [20, 21])
    assert all(second[name].startswith(text) and len(second[name]) > len(text) > 0 for name, text in first.items())


LOSSES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "folder removed": lambda path: shutil.rmtree(path.parent),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("log", ["answers", "journal"])
@pytest.mark.parametrize("how", LOSSES)
def test_a_log_that_lost_records_is_refused(folder: Path, log: str, how: str) -> None:
    LOSSES[how](folder / "state" / log / SEGMENT)
    for attempt in (lambda: run(folder, [20, 21]), lambda: read_status(str(folder / "state"))):
        with pytest.raises(StateError) as told:
            attempt()
        assert told.value.code == "state.corrupt"
        assert f"/{log}" in told.value.fact


@pytest.mark.parametrize("how", ["removed", "shorter", "longer", "other"])
def test_an_output_that_was_changed_is_written_again(folder: Path, how: str) -> None:
    path = folder / "out" / "mean.jsonl"
    text = path.read_text()
    changed = {"shorter": text[:-1], "longer": text + "x", "other": text.replace("mean", "MEAN")}
    path.unlink()
    if how != "removed":
        path.write_text(changed[how])
    found = run(folder, [20, 21])
    assert found == run(folder / "copy", [20, 21])
    assert [json.loads(line)["query"] for line in found["mean.jsonl"].splitlines()][:2] == ["mean", "mean"]


def test_strangers_among_the_files_change_nothing(folder: Path) -> None:
    state = folder / "state"
    expected = run(folder / "copy", [20, 21])
    before = list(read_dead(str(state), None)), {**read_status(str(state)), "bytes": 0}
    assert before[0], "there are dead letters"
    for place in [state, *(path for path in sorted(state.rglob("*")) if path.is_dir() and "feeds" not in str(path))]:
        for name in (".DS_Store", ".nfs0001", "x copy.json", "000000000000 copy.json", "000000000000.json~"):
            (place / name).write_bytes(b"mine")
    assert (list(read_dead(str(state), None)), {**read_status(str(state)), "bytes": 0}) == before
    assert run(folder, [20, 21]) == expected
    assert len(list(state.rglob(".nfs0001"))) == len(list(state.rglob("x copy.json"))) >= 8
