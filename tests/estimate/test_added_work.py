"""What a query would add, by numbers that were worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from punctual.clock import SECOND
from punctual.estimate.added_work import GUESSED_RATE, added_work
from punctual.estimate.known_costs import KnownCosts, StreamRate
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.row_costs import RowCosts
from punctual.plan.query import Once, Period, Query
from punctual.plan.relation import Column, Stream
from punctual.plan.row_query import RowQuery, RowStatement, RowWindow, SparkText
from punctual.plan.shared import RowReader
from punctual.plan.source import FeedSource, RateSource

COLUMNS = (Column("ts", "TIMESTAMP"), Column("k", "STRING"), Column("x", "INT"), Column("y", "DOUBLE"))
S = Stream("S", COLUMNS, "ts", 0, FeedSource())
COST = LinearCost.guessed(0.0, job=1_000.0, slot=500.0, plan=0.0, read=2.0, answer=1.0)


def reader(seconds: int, *columns: str, step: int = SECOND) -> RowReader:
    statement = RowStatement(SparkText(), (RowWindow("S", seconds * SECOND, columns),))
    return RowReader(Query("q", (), Period(step), (), RowQuery(statement)), step, statement)


def test_core_time_is_that_of_an_answer_at_its_cadence() -> None:
    """100 rows/s for 10 s: 1,000 + 500 + 2 * 1,000 + 1,000 of answer = 4,500 us, each 2 s."""
    costs = KnownCosts(rows=RowCosts(COST), rates={"s": StreamRate(100.0, 20.0)})
    work = added_work(reader(10, "x", step=2 * SECOND), {"s": S}, costs)
    assert work.windows == (1_000,)
    assert work.answer_us.median_us == pytest.approx(4_500)
    assert work.cores == pytest.approx(4_500 / (2 * SECOND))
    assert (work.learned, work.seen, dict(work.rates)) == (False, False, {"S": True})


def test_every_answer_of_an_instant_counts_and_who_is_asked_once_adds_nothing() -> None:
    costs = KnownCosts(rows=RowCosts(COST), rates={"s": StreamRate(100.0, 20.0)})
    plain = reader(10, "x", step=2 * SECOND)
    several = replace(plain, query=replace(plain.query, stages=(SECOND, 2 * SECOND, 3 * SECOND)))
    once = replace(several, query=replace(several.query, cadence=Once()), step=1)
    assert added_work(several, {"s": S}, costs).cores == pytest.approx(3 * 4_500 / (2 * SECOND))
    assert added_work(once, {"s": S}, costs).cores == 0.0


def test_bytes_are_those_that_others_do_not_keep_already() -> None:
    costs = KnownCosts(rates={"s": StreamRate(10.0, 20.0)})

    def added(one: RowReader, *others: RowReader) -> float:
        return added_work(one, {"s": S}, costs, others).bytes

    # 10 rows/s, event time 8, INT 4, DOUBLE 8, STRING about 16; the event time is not kept twice.
    assert added(reader(60, "x", "ts")) == 600 * 12
    assert added(reader(60, "x"), reader(90, "x", "y")) == 0
    assert added(reader(60, "y"), reader(60, "x")) == 600 * 8
    assert added(reader(100, "x"), reader(60, "k")) == 1_000 * 28 - 600 * 24


def test_a_rate_that_nobody_knows_is_a_guess_and_a_generated_one_is_known() -> None:
    guessed = added_work(reader(1, "x"), {"s": S}, KnownCosts())
    assert guessed.windows == (GUESSED_RATE,)
    assert dict(guessed.rates) == {"S": False}
    made = Stream("S", COLUMNS, "ts", 0, RateSource(5, SECOND // 2))
    assert added_work(reader(3, "x"), {"s": made}, KnownCosts()).windows == (30,)
