"""What an engine finds wrong after binding is shown in the text that has its place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from punctual.clock import SECOND, ManualClock
from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from tests.inprocess.backend import InProcess

STREAM = "SET cadence = exact;\nCREATE STREAM s (t TIMESTAMP EVENT TIME, a INT) FROM FEED;\n"
FINE = "CREATE QUERY fine AS\nSELECT max(a) AS top FROM s [RANGE 10 MILLISECONDS SLIDE 1009 MICROSECONDS];\n"
ODD = "CREATE QUERY odd AS\nSELECT max(a) AS top FROM s [RANGE 100 MILLISECONDS] FREQUENCY 10007 MICROSECONDS;\n"
COARSE = "CREATE QUERY coarse AS\nSELECT max(a) AS top FROM s [RANGE 1000 SECONDS SLIDE 100000007 MICROSECONDS];\n"
LONG = "PERIOD 200000014 MICROSECONDS"
FIXED = f"CREATE QUERY fixed AS\nSELECT max(a) AS top FROM s [RANGE 1000 SECONDS] {LONG};\n"
TABLES = "".join(f"CREATE TABLE {name} (a INT) FROM FILES '{name}' FORMAT CSV;\n" for name in ("here", "gone", "away"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "here").write_text("a\n1\n")
    with Engine(base=str(tmp_path), clock=ManualClock(SECOND), backend=InProcess) as one:
        yield one


def underlined(found: ProgramErrors) -> list[str]:
    """What stands above each row of carets."""
    lines = str(found).splitlines()
    marked = [(above, mark) for above, mark in pairwise(lines) if set(mark) == set("| ^")]
    return [above[mark.index("^") : mark.rindex("^") + 1] for above, mark in marked]


def run(engine: Engine, text: str) -> None:
    engine.sql(text)
    engine.open()


@pytest.mark.parametrize(
    "texts",
    [
        [STREAM, FINE + ODD + COARSE],
        [STREAM, FINE, ODD, COARSE],
        [STREAM + COARSE, FINE + ODD],
        [STREAM + FIXED + COARSE, ODD + FINE],
    ],
    ids=["one text", "several texts", "the place is in an older text", "beside a longer PERIOD"],
)
@pytest.mark.parametrize("opened", [True, False])
def test_a_cadence_that_cannot_be_planned(engine: Engine, texts: list[str], *, opened: bool) -> None:
    *before, last = texts
    for text in before:
        engine.sql(text)
    if opened:
        engine.open()
    with pytest.raises(ProgramErrors) as found:
        run(engine, last)
    assert found.value.code == "plan.cadence-too-fine"
    assert underlined(found.value) == ["SLIDE 100000007 MICROSECONDS"]


@pytest.mark.parametrize("opened", [True, False])
def test_tables_that_cannot_be_read(engine: Engine, *, opened: bool) -> None:
    if opened:
        engine.open()
    with pytest.raises(ProgramErrors) as found:
        run(engine, TABLES)
    assert [error.code for error in found.value.errors] == ["feed.missing-path"] * 2
    assert underlined(found.value) == [line.rstrip(";") for line in TABLES.splitlines()[1:]]
