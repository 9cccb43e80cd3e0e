"""When samplers of row queries run: where the last selectivities predict badly, and the job is large enough."""

from __future__ import annotations

from dataclasses import replace

from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.row_costs import QueryCost, RowCosts, RowExecution, RowFiring
from punctual.estimate.row_samplers import sample_keys, samplers
from punctual.estimate.sampling import CPU_SHARE, LEAST_RATIO, EstimatorErrors, SamplingBudget
from punctual.plan.operators import OperatorNode, OperatorRows

READS = OperatorNode("read", window=0), OperatorNode("read", window=1)
JOIN = OperatorNode("join", (OperatorNode("select", (READS[0],), "Filter (v < 1)"), READS[1]), "SortMergeJoin [k], [k]")
PLAN = OperatorNode("answer", (JOIN,))
COST = LinearCost.guessed(
    0.0, job=4e4, slot=1e4, plan=6e4, read=0.5, select=0.1, selected=0.1, join=2.0, joined=0.5, answer=1.0
)
BAD = EstimatorErrors(0.5)


def known(errors: EstimatorErrors, *, planned: bool = False, plan: OperatorNode = PLAN) -> RowCosts:
    one = QueryCost("m", plan, (1.0, 1e-6, 0.3, None, None), errors=errors, plans=3 * planned, ratios=(1.0,))
    return RowCosts(COST, {"q": one})


def firing(rows: float) -> list[RowFiring]:
    return [RowFiring("q", "m", (rows, rows / 2))]


def test_a_large_job_is_sampled_within_its_share() -> None:
    costs = known(BAD)
    (how,) = samplers(costs, firing(3e6), SamplingBudget()) or [None]
    assert how is not None
    assert how.keys == {0: ("k",), 1: ("k",)}
    assert LEAST_RATIO <= how.ratio < 0.1
    expected = sum(costs.expected(firing(3e6)))
    assert 50_000 + how.ratio * (expected - 50_000) <= CPU_SHARE * expected * 1.01
    (static,) = samplers(costs, firing(3e6), SamplingBudget(1e9), static=True) or [None]
    assert static is not None
    assert static.ratio == 0.1


def test_small_windows_are_not() -> None:
    assert samplers(known(BAD), firing(1e4), SamplingBudget()) is None


def test_what_predicts_well_or_is_planned_each_time_or_has_no_keys_is_not() -> None:
    assert samplers(known(EstimatorErrors(0.05)), firing(3e6), SamplingBudget()) is None
    assert samplers(known(EstimatorErrors(0.3, 0.4)), firing(3e6), SamplingBudget()) is None
    assert samplers(known(BAD, planned=True), firing(3e6), SamplingBudget()) is None
    odd = OperatorNode("answer", (replace(JOIN, about="SortMergeJoin [(k + 1)], [k]"),))
    assert samplers(known(BAD, plan=odd), firing(3e6), SamplingBudget()) is None


def test_two_joins_by_different_keys_have_no_sample() -> None:
    other = OperatorNode("join", (JOIN, OperatorNode("read", window=2)), "SortMergeJoin [m], [m]")
    assert sample_keys(other) is None
    same = OperatorNode("join", (JOIN, OperatorNode("read", window=2)), "SortMergeJoin [k], [j]")
    assert sample_keys(same) == {0: ("k",), 1: ("k",), 2: ("j",)}
    assert sample_keys(OperatorNode("select", (READS[0],))) == {0: ()}


def test_errors_of_both_estimators_are_learned() -> None:
    costs = known(EstimatorErrors())
    rows = OperatorRows(PLAN, (2.0, 2.0, 600_000.0, 1e6, 5e5))
    exact = (1.0, 2.0 / (600_000 * 5e5), 0.6, None, None)
    after = costs.after(firing(1e6), [RowExecution(rows, sampled=exact)], 1e6).queries["q"].errors
    assert after.last_exact is not None
    assert after.sampled is not None
    assert after.last_exact > 0.1 > 1e-6 > after.sampled
