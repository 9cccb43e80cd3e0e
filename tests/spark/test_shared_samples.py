"""Queries that read one window keep different rows of it: each has what it would have alone, by one read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.kernel.sample.draw import Draw
from punctual.runtime.backend import RowAnswers, RowWork
from punctual.runtime.row_queries import shared_windows
from punctual.runtime.row_queries.row_plans import RowPlans
from tests.spark.row_programs import LABELS, SECOND, Retained, random_rows, retained, row_query, types_of, work

pytestmark = pytest.mark.spark

JOIN = "FROM s [RANGE 10 SECONDS] AS a JOIN r [RANGE 20 SECONDS] AS b ON a.k = b.k"
TEXTS = {
    "pairs": f"SELECT a.k, a.v, b.w {JOIN}",
    "some": f"SELECT a.k, a.n, b.w {JOIN} AND a.n > 1",
    "least": f"SELECT a.k, min(b.w) AS least {JOIN} GROUP BY a.k",
    "every": f"SELECT a.k, b.w {JOIN} AND a.v < b.w",
}
AT = 20 * SECOND


@pytest.fixture
def rows(tmp_path: Path) -> Retained:
    return retained(tmp_path, random_rows(5, 400))


def works(spark: SparkSession, rows: Retained, shares: Mapping[str, float | None]) -> list[RowWork]:
    """All queries at an instant, each with its share of the rows by key; None: without a draw."""
    queries = {name: row_query(TEXTS[name], name) for name in shares}
    types = types_of(spark, *queries.values())
    found = []
    for name, share in shares.items():
        one = work(queries[name], types[name], rows, AT)
        draws = [None if share is None else Draw(share, "o", ("k",), number=n) for n in range(len(one.windows))]
        windows = tuple(replace(window, draw=draw) for window, draw in zip(one.windows, draws))
        found.append(replace(one, windows=windows))
    return found


def told(found: RowAnswers) -> list[tuple[Any, ...]]:
    """What a query is told: its rows, what became of its draws, and the rows that its operators gave out."""
    assert all(one is not None for one in found.executions)
    read = [
        {node.window: out for node, out in zip(one.operators.nodes(), one.rows) if node.kind == "read"}
        for one in found.executions
        if one is not None
    ]
    reports = [{n: replace(one, at=0) for n, one in draws.items()} for draws in found.draws]
    return list(zip([table.to_pylist() for table in found.tables], reports, read, strict=True))


@pytest.mark.parametrize(
    "shares",
    [
        {"pairs": 0.3, "some": 0.8, "least": 0.5, "every": None},
        {"pairs": 0.8, "some": 0.3, "least": 0.4, "every": None},
        {"pairs": 1.0, "some": 1.0, "least": 1.0, "every": None},
    ],
)
def test_each_has_what_it_would_have_alone(
    spark: SparkSession, rows: Retained, shares: dict[str, float | None]
) -> None:
    every = works(spark, rows, shares)
    alone = [told(RowPlans(spark, 2).run([one], {"u": LABELS}))[0] for one in every]
    together = RowPlans(spark, 2).run(every, {"u": LABELS})
    assert together.jobs == 1
    for name, one, other in zip(shares, told(together), alone):
        assert one == other, name
    kept = [report[0].kept for _rows, report, _read in alone[:3]]
    assert len(set(kept)) == len({share for share in shares.values() if share is not None})


def test_a_plan_stays_as_it_is_while_shares_change(spark: SparkSession, rows: Retained) -> None:
    plans = RowPlans(spark, 2)
    for shares in ((1.0, 1.0), (0.2, 0.9), (0.7, 0.7)):
        found = plans.run(works(spark, rows, dict(zip(("pairs", "some"), shares))), {"u": LABELS})
        if shares == (1.0, 1.0):
            assert found.planned == [True, True]
        else:
            assert found.planned == [False, False]


def test_a_window_is_read_once(spark: SparkSession, rows: Retained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only r: the queries read different columns of s. With room for one bit everybody reads for itself."""
    shares: dict[str, float | None] = {"pairs": 0.3, "some": 0.8}
    shared, alone = RowPlans(spark, 2), RowPlans(spark, 2)
    one = told(shared.run(works(spark, rows, shares), {"u": LABELS}))
    monkeypatch.setattr(shared_windows, "MOST_READERS", 1)
    other = told(alone.run(works(spark, rows, shares), {"u": LABELS}))
    assert one == other
    assert [sum(len(made.frames) for made in plans._windows._made.values()) for plans in (shared, alone)] == [1, 0]


def test_readers_are_numbered_anew_when_there_are_too_many(
    spark: SparkSession, rows: Retained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_windows, "MOST_READERS", 2)
    plans = RowPlans(spark, 2)
    for shares in ({"pairs": 0.3, "some": 0.8}, {"least": 0.4, "some": 0.9}, {"pairs": 0.6, "some": 0.2}):
        every = works(spark, rows, shares)
        assert told(plans.run(every, {"u": LABELS})) == [
            told(RowPlans(spark, 2).run([one], {"u": LABELS}))[0] for one in every
        ]


@pytest.mark.parametrize("drawn", [True, False])
def test_a_larger_plan_serves_some_of_its_queries(spark: SparkSession, rows: Retained, drawn: bool) -> None:
    """A window that others would read too is read for those who are asked."""
    shares: dict[str, float | None] = {"pairs": 0.4, "some": 0.8, "least": 0.5} if drawn else dict.fromkeys(TEXTS)
    plans = RowPlans(spark, 2)
    plans.run(works(spark, rows, shares), {"u": LABELS})
    for name in ("pairs", "some", "pairs"):
        (one,) = works(spark, rows, {name: shares[name]})
        found = plans.run([one], {"u": LABELS})
        assert found.planned == [False]
        assert told(found) == told(RowPlans(spark, 2).run([one], {"u": LABELS}))


def test_a_plan_without_draws_does_not_serve_samples(spark: SparkSession, rows: Retained) -> None:
    plans = RowPlans(spark, 2)
    for share in (None, 0.5, None):
        every = works(spark, rows, {"pairs": share, "some": share})
        assert told(plans.run(every, {"u": LABELS})) == [
            told(RowPlans(spark, 2).run([one], {"u": LABELS}))[0] for one in every
        ]
