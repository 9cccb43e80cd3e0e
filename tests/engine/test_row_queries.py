"""Row queries over many batches: retained files are merged and freed, and a query that asks for too much is alone."""

from __future__ import annotations

from pathlib import Path

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x INT) FROM FEED;"
PAIRS = """
CREATE QUERY pairs AS
SELECT a.k, count(*) AS n, sum(a.x * b.x) AS s
FROM s [RANGE 4 SECONDS] AS a JOIN s [RANGE 20 SECONDS] AS b ON a.k = b.k GROUP BY a.k PERIOD 5 SECONDS;
"""
SECONDS = 200


def rows(second: int) -> list[tuple[str, str, int]]:
    return [(iso(START + second * SECOND), key, second * number) for number, key in enumerate("aab")]


def played(state: Path, batch_seconds: int) -> tuple[list[tuple[object, ...]], int]:
    """All answers, and how many files of rows are left."""
    with Engine(str(state), clock=ManualClock(START), backend=InProcess, live=False) as engine:
        engine.sql(STREAM + PAIRS)
        engine.open()
        for first in range(0, SECONDS, batch_seconds):
            engine.feed("s", [row for second in range(first, first + batch_seconds) for row in rows(second)])
            engine.tick()
        engine.end()
        answers = list(engine.answers("pairs").itertuples(index=False, name=None))
    return answers, len(list((state / "incoming").rglob("*.arrow")))


def test_batches_that_are_compacted_change_no_answer(tmp_path: Path) -> None:
    one_by_one, files = played(tmp_path / "small", 1)
    at_once, _files = played(tmp_path / "large", SECONDS)
    assert one_by_one == at_once
    assert len(one_by_one) > SECONDS // 5
    assert files < 80, "files of windows that are long past are freed"


def test_an_answer_of_too_many_rows_stops_its_query_alone(tmp_path: Path) -> None:
    said: list[str] = []
    queries = """
        SET max_answer_rows = 10;
        CREATE QUERY many AS SELECT a.x AS x, b.x AS y FROM s [RANGE 9 SECONDS] AS a, s [RANGE 9 SECONDS] AS b
        PERIOD 5 SECONDS;
        CREATE QUERY few AS SELECT DISTINCT k FROM s [RANGE 9 SECONDS] PERIOD 5 SECONDS;
    """
    with Engine(str(tmp_path), clock=ManualClock(START), backend=InProcess, live=False, report=said.append) as engine:
        engine.sql(STREAM + queries)
        engine.open()
        for second in range(12):
            engine.feed("s", rows(second))
            engine.tick()
        engine.end()
        assert engine.stopped() == {"many"}
        assert engine.answers("few")["k"].tolist()[-2:] == ["a", "b"]
        assert len(said) == 1
        assert "and may have 10" in said[0]
