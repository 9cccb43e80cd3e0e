"""Scans that use less while their job runs, on Spark: what they did comes back, and the answer can be drawn again."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from punctual.clock import SECOND, iso
from punctual.engine.answers import row_answers
from punctual.engine.answers.scan_budgets import PassTime
from punctual.engine.engine import Engine
from punctual.kernel.sample import kept
from punctual.runtime.backend import RowWork
from punctual.runtime.row_queries.slots import beside
from tests.engine.test_cut_answers import JOINED, joined_part
from tests.engine.test_finish_in_time import JOIN, STREAM, check_cut_join, feed_joined, of_the_share

pytestmark = pytest.mark.spark

START = 1_700_000_000 * SECOND
ROWS = 2_000
PROGRAM = """
    SET window_merge = rows;
    CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k INT, a DOUBLE) FROM FEED;
    CREATE QUERY total AS SELECT k, sum(a) AS total, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k
    PERIOD 10 SECONDS DEADLINE 10 MINUTES QUALITY (100% => 1, 20% => 0.5);
    CREATE QUERY whole AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS;
"""


def raw_rows(window: int) -> pa.Table:
    times = START + window * 10 * SECOND + np.arange(1, ROWS + 1) * (10 * SECOND // ROWS)
    return pa.table({
        "t": pa.array(times, pa.timestamp("us", tz="UTC")),
        "k": pa.array(np.arange(ROWS) % 3, pa.int32()),
        "a": np.random.default_rng(window).normal(100.0, 10.0, ROWS),
    })  # fmt: skip


def play(engine: Engine, window: int) -> None:
    rows = raw_rows(window)
    columns = rows.column("t").cast(pa.int64()), rows.column("k"), rows.column("a")
    engine.feed("s", [(iso(t), k, a) for t, k, a in zip(*(column.to_pylist() for column in columns))])
    engine.tick()


def answers(engine: Engine, query: str) -> list[dict[str, Any]]:
    return [row for block in engine.records() if block.query == query for row in block.table.to_pylist()]


def test_a_scan_without_time_uses_the_least_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(str(tmp_path)) as engine:
        engine.sql(PROGRAM)
        engine.open()
        for window in range(3):
            play(engine, window)
        monkeypatch.setattr(PassTime, "of", staticmethod(lambda _jobs, began, _ahead, _finish: PassTime(began, began)))
        monkeypatch.setattr(row_answers, "overdue", lambda *_arguments: None)
        play(engine, 3)
        *before, cut = answers(engine, "total")
        whole = answers(engine, "whole")
    assert [one["kept"] for one in before] == [1.0, 1.0]
    assert [one["rows"][0]["n"] for one in whole] == [ROWS] * 3
    assert cut["kept"] == 0.2
    assert cut["quality"] == 0.5
    assert cut["on_time"]
    said, rows = orjson.loads(cut["sample"])["s"], raw_rows(2)
    values, keys = rows.column("a").to_numpy(), rows.column("k").to_numpy()
    certain = np.abs(values) >= said["certain"]["a"]
    drawn = kept(rows, said["by"], said["salt"], said["share"]) & ~certain
    weight = (~certain).sum() / drawn.sum()
    for row in cut["rows"]:
        mine = keys == row["k"]
        expected = values[certain & mine].sum() + weight * values[drawn & mine].sum()
        assert row["total"] == pytest.approx(expected, rel=1e-12)


def test_a_join_without_time_is_cut_on_both_sides_at_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is, in every digit, that of the data plane without Spark where the least was asked for."""
    program = JOIN.replace("1 SECOND QUALITY LINEAR", "10 MINUTES QUALITY (100% => 1, 20% => 0.5)")
    assert program != JOIN
    with Engine(str(tmp_path / "cut")) as engine:
        engine.sql(STREAM + program)
        engine.open()
        for window in range(3):
            feed_joined(engine, window)
        monkeypatch.setattr(PassTime, "of", staticmethod(lambda _jobs, began, _ahead, _finish: PassTime(began, began)))
        monkeypatch.setattr(row_answers, "overdue", lambda *_arguments: None)
        feed_joined(engine, 3)
        *before, cut = answers(engine, "pairs")
    monkeypatch.undo()
    assert [(one["kept"], one["basis"]) for one in before] == [(1.0, "exact")] * 2
    assert (cut["kept"], cut["quality"], cut["on_time"]) == (0.2, 0.5, True)
    check_cut_join(cut, 2, of_the_share(tmp_path / "asked", 0.2, 4, program))


def test_an_outer_join_without_time_has_only_rows_of_the_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the scan of the preserved side knows of time, so no key seems to match nothing that has a match."""
    works: list[RowWork] = []
    real = row_answers.with_budgets

    def seen(*arguments: Any) -> list[RowWork]:
        found = real(*arguments)
        works.extend(found)
        return found

    program = JOINED.format("s.k AS k, s.a AS a, r.b AS b", "LEFT")
    slow = program.replace("1 SECOND QUALITY LINEAR", "10 MINUTES QUALITY (100% => 1, 20% => 0.5)")
    assert slow != program
    with Engine(str(tmp_path)) as engine:
        engine.sql(STREAM + slow)
        engine.open()
        for window in range(3):
            feed_joined(engine, window)
        monkeypatch.setattr(PassTime, "of", staticmethod(lambda _jobs, began, _ahead, _finish: PassTime(began, began)))
        monkeypatch.setattr(row_answers, "overdue", lambda *_arguments: None)
        monkeypatch.setattr(row_answers, "with_budgets", seen)
        feed_joined(engine, 3)
        *before, cut = answers(engine, "pairs")
    assert [[draw.budget is None for draw in window.draws] for window in works[-1].windows] == [[False], [True]]
    assert [(one["kept"], one["basis"]) for one in before] == [(1.0, "exact")] * 2
    assert (cut["kept"], cut["quality"], cut["basis"]) == (0.2, 0.5, "sample")
    said = {"share": 0.2, "salt": iso(cut["at"]), "by": ["k"]}
    assert orjson.loads(cut["sample"]) == {"s": said, "r": said}
    assert cut["rows"] == joined_part("LEFT", 2, said)


def test_tasks_have_stretches_of_slots(spark: SparkSession) -> None:
    """As is reckoned with where scans leave time for what else is to do."""
    for slots, tasks in ((5, 2), (7, 3), (4, 4), (24, 2)):
        # As in the plans of slots: Spark does not know that each has one partition.
        frame = reduce(DataFrame.unionAll, (spark.range(n, n + 1, 1, 1).coalesce(2) for n in range(slots)))
        dealt = [[row["id"] for row in part] for part in frame.coalesce(tasks).rdd.glom().collect()]
        place = {number: place for part in dealt for place, number in enumerate(part)}
        left = [sum(other >= place[number] for other in place.values()) - 1 for number in range(slots)]
        assert [fixed for fixed, _rows in beside([(1.0, 1.0)] * slots, tasks)] == left
