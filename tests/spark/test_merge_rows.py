"""``SET window_merge = rows`` on Spark: the bytes of panes, one job for all that is due, plans that are run again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.runtime.row_queries import row_plans
from tests.engine.merge_programs import SELECTS, feed, opened, played, program
from tests.spark.backends import Shared
from tests.spark.counting import counting

pytestmark = pytest.mark.spark

ROWS = {"window_merge": "rows"}
OTHERS = ("joined", "kept", "united")


def test_answers_have_the_bytes_that_panes_give(spark: SparkSession, tmp_path: Path) -> None:
    names = [*(f"{name}_7" for name in SELECTS), "sums_20", *OTHERS]
    panes = played(tmp_path / "panes", Shared, {}, program(names), batch=20)
    from_rows = played(tmp_path / "rows", Shared, ROWS, program(names), batch=10)
    assert set(panes) == set(names)
    assert from_rows == panes


def test_all_that_is_due_is_one_job(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for the batch, and one for all queries, be they joined, united or rows as they are; planned once."""
    made: list[bool] = []
    real = row_plans.stands
    monkeypatch.setattr(row_plans, "stands", lambda frame: made.append(real(frame)) or made[-1])
    names = ["sums_7", "having_7", "expressions_7", *OTHERS]
    text = program(names) + "CREATE QUERY plain AS SELECT k, x FROM s [RANGE 2 SECONDS] WHERE n > 3 PERIOD 5 SECONDS;"
    with opened(tmp_path / "run", Shared, ROWS, text) as engine:
        for first in (0, 5, 10):
            feed(engine, first, 5)
        planned = len(made)
        assert planned == len(names) + 2, "each alone, and their union"
        assert all(made)
        for first in (15, 20):
            with counting(spark) as count:
                feed(engine, first, 5)
            assert count.jobs == 2
        assert len(made) == planned
        assert engine.stopped() == frozenset()
