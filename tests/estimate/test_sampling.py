"""Selectivities from samples, against draws; ratios, against every other way to spend the budget."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.operator_costs import estimated_rows, plan_cost
from punctual.estimate.sampling import (
    LEAST_RATIO,
    EstimatorErrors,
    Sampled,
    SamplingBudget,
    dynamic_ratios,
    gradient,
    sampled_selectivities,
)
from punctual.plan.operators import OperatorNode, OperatorRows

READS = OperatorNode("read", window=0), OperatorNode("read", window=1)
JOIN = OperatorNode("join", READS)
CHAIN = OperatorNode("select", (OperatorNode("select", (READS[0],)),))


@pytest.mark.parametrize("by_key", [True, False])
def test_samples_of_a_join_say_what_the_whole_joins(by_key: bool) -> None:
    """On average; by key with far less error."""
    rng = np.random.default_rng(5)
    left, right = rng.integers(0, 500, 4_000), rng.integers(0, 500, 3_000)
    truth = (np.bincount(left, minlength=500) * np.bincount(right, minlength=500)).sum() / (4_000 * 3_000)
    found = []
    for _draw in range(300):
        if by_key:
            kept = rng.random(500) < 0.1
            one, other = left[kept[left]], right[kept[right]]
        else:
            one, other = left[rng.random(4_000) < 0.1], right[rng.random(3_000) < 0.1]
        out = (np.bincount(one, minlength=500) * np.bincount(other, minlength=500)).sum()
        rows = OperatorRows(JOIN, (float(out), float(one.size), float(other.size)))
        estimate = sampled_selectivities(rows, 0.1, (None,) * 3, by_key=by_key)[0]
        assert estimate is not None
        found.append(estimate / truth)
    assert np.mean(found) == pytest.approx(1, abs=0.05)
    assert (np.std(found) < 0.2) == by_key or not by_key


def test_what_a_sample_cannot_tell_stays_as_it_was() -> None:
    plan = OperatorNode("aggregate", (OperatorNode("select", (READS[0],)),))
    assert sampled_selectivities(OperatorRows(plan, (3, 20, 100)), 0.1, (7.0, 0.9, None), by_key=False) == (
        7.0, 0.2, None,
    )  # fmt: skip
    assert sampled_selectivities(OperatorRows(plan, (0, 0, 0)), 0.1, (7.0, 0.9, None), by_key=False)[1] == 0.9


def test_the_gradient_of_a_chain() -> None:
    """T = 2 (n + n s1): dT/ds1 = 2 n; the last selectivity costs nothing, since nothing comes after it."""
    cost = LinearCost.guessed(0.0, select=2.0)
    assert gradient(cost, CHAIN, [1_000], (0.5, 0.2, None), 1) == pytest.approx(2_000)
    assert gradient(cost, CHAIN, [1_000], (0.5, 0.2, None), 0) == pytest.approx(0)


def test_ratios_have_the_least_variance_for_their_price() -> None:
    sampled = [Sampled(3e4, 0.3, 2e4, 0.2), Sampled(8e3, 0.1, 5e4, 1.0), Sampled(2e4, 0.5, 1e4, 4.0)]
    budget = 9_000.0

    def variance(ratios: list[float]) -> float:
        return sum(
            one.gradient**2 * one.selectivity * (1 - one.selectivity) / (ratio * one.rows)
            for one, ratio in zip(sampled, ratios)
        )

    def price(ratios: list[float]) -> float:
        return sum(one.rows * one.row_us * ratio for one, ratio in zip(sampled, ratios))

    best = dynamic_ratios(sampled, budget)
    assert price(best) == pytest.approx(budget)
    for one, other in itertools.permutations(range(3), 2):
        moved = list(best)
        moved[one] += 100 / (sampled[one].rows * sampled[one].row_us)
        moved[other] -= 100 / (sampled[other].rows * sampled[other].row_us)
        assert variance(moved) > variance(best)


def test_ratios_are_between_one_percent_and_all() -> None:
    useless, precious = Sampled(0.0, 0.5, 1e4, 1.0), Sampled(1e6, 0.5, 100, 1.0)
    assert dynamic_ratios([useless, precious], 5_000) == [LEAST_RATIO, 1.0]
    assert dynamic_ratios([precious, Sampled(1e6, 0.5, 1e6, 1.0)], 0.0) == [LEAST_RATIO] * 2
    assert dynamic_ratios([], 10.0) == []


def test_cheap_selections_are_sampled_more_than_joins_that_do_not_matter() -> None:
    """The two cases of section 5.1: join then aggregate, and a selection before a join."""
    cost = LinearCost.guessed(0.0, select=0.2, join=4.0, joined=0.1)
    plan = OperatorNode("join", (OperatorNode("select", (READS[0],)), READS[1]))
    known, windows = (1e-3, 0.2, None, None), [3_000.0, 1_000.0]
    rows = estimated_rows(plan, windows, known)
    selection = Sampled(gradient(cost, plan, windows, known, 1), 0.2, 3_000, 0.2)
    join = Sampled(gradient(cost, plan, windows, known, 0) / 1_600, 1e-3, 1_600, 4.0)
    budget = 0.05 * plan_cost(cost, plan, rows)
    first, second = dynamic_ratios([selection, join], budget)
    assert first > 0.3
    assert second == LEAST_RATIO


def test_a_sampler_is_used_where_the_last_selectivities_predict_worse() -> None:
    calm = EstimatorErrors().after(0.02, None)
    assert not calm.wants_sampler
    wild = EstimatorErrors().after(0.5, None)
    assert wild.wants_sampler, "it is tried"
    for _round in range(20):
        wild = wild.after(0.5, 0.1)
    assert wild.wants_sampler
    for _round in range(20):
        wild = wild.after(0.5, 0.6)
    assert not wild.wants_sampler, "it was no better"


def test_the_budget_is_that_of_all_jobs() -> None:
    budget = SamplingBudget()
    assert not budget.allows(1e6, 1e5)
    for _job in range(20):
        budget = budget.after(1e6, 0.0)
    assert budget.allows(1e6, 1e5)
    assert not budget.after(0.0, 1e6).allows(1e6, 1e5)
