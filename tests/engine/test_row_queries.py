"""Row queries over many batches: retained files are merged and freed, and a query that asks for too much is alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.errors import StateError
from punctual.runtime.backend import RowAnswers, RowWork
from punctual.runtime.operators import row_files, window_rows
from punctual.runtime.row_queries.plan_graph import Excess, RunawayError
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x INT) FROM FEED;"
PAIRS = """
CREATE QUERY pairs AS
SELECT a.k, count(*) AS n, sum(a.x * b.x) AS s
FROM s [RANGE 4 SECONDS] AS a JOIN s [RANGE 20 SECONDS] AS b ON a.k = b.k GROUP BY a.k PERIOD 5 SECONDS;
"""
SWINGS = """
CREATE QUERY swings AS
SELECT k, max(s) - min(s) AS swing, count(*) AS n
FROM (SELECT k, sum(x) AS s FROM s [RANGE 4 SECONDS] GROUP BY k) [RANGE 40 SECONDS] AS sums GROUP BY k
PERIOD 5 SECONDS;
"""
SECONDS = 200


def rows(second: int) -> list[tuple[str, str, int]]:
    return [(iso(START + second * SECOND), key, second * number) for number, key in enumerate("aab")]


def played(state: Path, batch_seconds: int) -> tuple[list[tuple[object, ...]], int]:
    """All answers, and how many files of rows are left."""
    with Engine(str(state), clock=ManualClock(START), backend=InProcess, live=False) as engine:
        engine.sql(STREAM + PAIRS + SWINGS)
        engine.open()
        for first in range(0, SECONDS, batch_seconds):
            engine.feed("s", [row for second in range(first, first + batch_seconds) for row in rows(second)])
            engine.tick()
        engine.end()
        frames = [engine.answers(name) for name in ("pairs", "swings")]
        answers = [row for frame in frames for row in frame.itertuples(index=False, name=None)]
    return answers, len(list((state / "incoming").rglob("*.arrow")))


def test_batches_that_are_compacted_change_no_answer(tmp_path: Path) -> None:
    one_by_one, files = played(tmp_path / "small", 1)
    at_once, _files = played(tmp_path / "large", SECONDS)
    assert one_by_one == at_once
    assert len(one_by_one) > 2 * SECONDS // 5
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


class RunsAway(InProcess):
    """One query runs away; how often its job was run is counted."""

    runs = 0

    def rows(
        self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], until: int | None = None
    ) -> RowAnswers:
        if any(one.query == "wide" for one in work):
            RunsAway.runs += 1
            assert {one.max_join_rows for one in work} == {5000}
            raise RunawayError("wide", Excess("1.0", "its join had made 7,000 rows, and may make 5,000"))
        return super().rows(work, tables)


def test_a_runaway_join_stops_its_query_alone_and_runs_once(tmp_path: Path) -> None:
    said: list[str] = []
    queries = """
        SET max_join_rows = 5000;
        CREATE QUERY few AS SELECT DISTINCT k FROM s [RANGE 9 SECONDS] PERIOD 5 SECONDS;
        CREATE QUERY wide AS SELECT count(*) AS n FROM s [RANGE 9 SECONDS] AS a, s [RANGE 9 SECONDS] AS b
        PERIOD 5 SECONDS;
        CREATE QUERY many AS SELECT k, x FROM s [RANGE 9 SECONDS] PERIOD 5 SECONDS;
    """
    with Engine(str(tmp_path), clock=ManualClock(START), backend=RunsAway, live=False, report=said.append) as engine:
        engine.sql(STREAM + queries)
        engine.open()
        for second in range(12):
            engine.feed("s", rows(second))
            engine.tick()
        engine.end()
        assert engine.stopped() == {"wide"}
        assert engine.answers("few")["k"].tolist()[-2:] == ["a", "b"]
        assert len(engine.answers("many")) > 0
    assert RunsAway.runs == 1
    assert len(said) == 1
    assert "7,000 rows" in said[0]
    assert "SET max_join_rows" in said[0]


def test_a_full_disk_is_said_before_the_commit_and_the_next_run_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _files = played(tmp_path / "whole", SECONDS)
    state = tmp_path / "state"
    real = row_files.write_payload

    def full(folder: str, payload: pa.Buffer) -> str:
        monkeypatch.setattr(os, "fsync", no_space)
        try:
            return real(folder, payload)
        finally:
            monkeypatch.undo()

    def no_space(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Engine(str(state), clock=ManualClock(START), backend=InProcess, live=False) as engine:
        engine.sql(STREAM + PAIRS + SWINGS)
        engine.open()
        engine.feed("s", [row for second in range(SECONDS) for row in rows(second)])
        monkeypatch.setattr(row_files, "write_payload", full)
        with pytest.raises(StateError) as told:
            engine.tick()
    assert told.value.code == "state.disk-full"
    assert "incoming" in told.value.fact
    assert not list((state / "incoming").rglob("*.arrow")), "a full disk gets its space back"
    assert not list(state.glob("batches/*0.json")), "nothing was committed"
    with Engine(str(state), clock=ManualClock(START), backend=InProcess, live=False) as again:
        again.sql(STREAM + PAIRS + SWINGS)
        again.open()
        again.tick()
        again.end()
        frames = [again.answers(name) for name in ("pairs", "swings")]
        assert [row for frame in frames for row in frame.itertuples(index=False, name=None)] == whole


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_retained_file_that_is_not_whole_is_named_and_nobody_is_answered(tmp_path: Path, how: str) -> None:
    with Engine(str(tmp_path), clock=ManualClock(START), backend=InProcess, live=False) as engine:
        engine.sql(STREAM + PAIRS)
        engine.open()
        engine.feed("s", [row for second in range(4) for row in rows(second)])
        engine.tick()
        (path,) = (tmp_path / "incoming").rglob("*.arrow")
        if how == "missing":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-40] + bytes(40))
            window_rows._check.cache_clear()  # a worker that has not yet seen it whole
        engine.feed("s", rows(7))
        with pytest.raises(StateError) as told:
            engine.tick()
        assert told.value.code == "state.corrupt"
        assert str(path) in told.value.fact
        assert engine.stopped() == set()
