"""Costs of operators and plans against numbers that were worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.operator_costs import (
    counts,
    estimated_rows,
    plan_cost,
    remaining_cost,
    selectivities,
)
from punctual.plan.operators import Operator, OperatorNode


def read(window: int = 0) -> OperatorNode:
    return OperatorNode("read", window=window)


def over(kind: Operator, *children: OperatorNode) -> OperatorNode:
    return OperatorNode(kind, children)


def test_a_selection_costs_its_predicate_for_each_row_and_an_insert_for_each_that_passes() -> None:
    """n C_p + n s C_i; an average of C_p + s C_i for a row, as in Figure 3 (b)."""
    cost = LinearCost.guessed(0.0, select=0.15, selected=0.1)
    for s, average in ((0.0, 0.15), (0.2, 0.17), (1.0, 0.25)):
        rows = estimated_rows(over("select", read()), [1_000], (s, None))
        assert plan_cost(cost, over("select", read()), rows) / 1_000 == pytest.approx(average)


def test_a_join_costs_both_sides_and_what_it_gives_out() -> None:
    """n_L C + n_R C + n_L n_R s C_i: 300 * 4 + 200 * 4 + 300 * 200 * .001 * .5."""
    join = over("join", read(0), read(1))
    rows = estimated_rows(join, [300, 200], (0.001, None, None))
    assert rows == (pytest.approx(60), 300, 200)
    assert plan_cost(LinearCost.guessed(0.0, join=4.0, joined=0.5), join, rows) == pytest.approx(2_030)


def test_a_join_without_equality_looks_at_all_pairs() -> None:
    assert counts(over("pairs", read(0), read(1)), (7, 30, 20)) == {
        "slot": 1.0, "pair": 600.0, "joined": 7.0, "read": 50.0,
    }  # fmt: skip


def test_the_plan_of_figure_5() -> None:
    """T = n1 t11 + n2 t12 + n3 t14 + (n1 s11)(n2 s12) t13 + ((n1 s11)(n2 s12) s13)(n3 s14) t15, with one t for all
    selections and one for all pairs: 2 (100 + 50 + 10) + .5 (20 * 25) + .5 (20 * 25 * .1) (10 * .4)."""
    plan = over("pairs", over("pairs", over("select", read(0)), over("select", read(1))), over("select", read(2)))
    sel = (0.01, 0.1, 0.2, None, 0.5, None, 0.4, None)
    rows = estimated_rows(plan, [100, 50, 10], sel)
    assert rows == pytest.approx((2, 50, 20, 100, 25, 50, 4, 10))
    assert plan_cost(LinearCost.guessed(0.0, select=2.0, pair=0.5), plan, rows) == pytest.approx(320 + 250 + 100)


def test_a_chain_is_equation_1_and_what_is_left_of_it_equation_2() -> None:
    """n t + n s1 t + n s1 s2 t = 1,000 + 200 + 50; once the first selection gave out 400, 400 + 100 are left."""
    plan = over("select", over("select", over("select", read())))
    cost = LinearCost.guessed(0.0, select=1.0)
    sel = (0.5, 0.25, 0.2, None)
    whole = estimated_rows(plan, [1_000], sel)
    assert plan_cost(cost, plan, whole) == pytest.approx(1_250)
    finished = {2: 400.0}
    rows = estimated_rows(plan, [1_000], sel, finished)
    assert rows == pytest.approx((50, 100, 400, 1_000))
    assert remaining_cost(cost, plan, rows, finished) == pytest.approx(500)
    assert remaining_cost(cost, plan, whole, {}) == pytest.approx(1_250)


def test_one_branch_of_a_join_may_be_through() -> None:
    plan = over("join", over("select", read(0)), over("select", read(1)))
    cost = LinearCost.guessed(0.0, select=1.0, join=2.0)
    rows = estimated_rows(plan, [100, 60], (0.1, 0.5, None, 0.5, None), {1: 20.0})
    assert remaining_cost(cost, plan, rows, {1: 20.0}) == pytest.approx(60 + 2 * (20 + 30))


def test_groups_do_not_grow_with_rows_and_sorts_do_a_little_more() -> None:
    plan = over("aggregate", over("sort", read()))
    (groups, *_others) = selectivities(plan, (8, 100, 100))
    assert groups == 8
    assert estimated_rows(plan, [1_000], (groups, 1.0, None)) == (8, 1_000, 1_000)
    assert estimated_rows(plan, [5], (groups, 1.0, None)) == (5, 5, 5)
    assert counts(plan, (8, 1_000, 1_000))["sort"] == pytest.approx(1_000 * log2(1_000))


def test_selectivities_are_those_that_rows_had() -> None:
    table = OperatorNode("table", rows=4)
    plan = over("answer", over("semijoin", over("join", read(0), table), read(1)))
    rows = (30.0, 30.0, 60.0, 50.0, 4.0, 200.0)
    sel = selectivities(plan, rows)
    assert sel == (1.0, 0.5, pytest.approx(60 / 200), None, None, None)
    assert estimated_rows(plan, [50, 200], sel) == pytest.approx(rows)
    assert estimated_rows(plan, [100, 999], sel) == pytest.approx((60, 60, 120, 100, 4, 999))


def test_nobody_knows_what_an_empty_window_selects() -> None:
    assert selectivities(over("join", read(0), read(1)), (0, 0, 7)) == (None, None, None)
    assert estimated_rows(over("join", read(0), read(1)), [3, 7], (None, None, None)) == (7, 3, 7)
