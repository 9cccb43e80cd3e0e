"""What is learned of row queries from jobs of which only the core time is known."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.operator_costs import counts
from punctual.estimate.row_costs import RowCosts, RowExecution, RowFiring
from punctual.plan.operators import OperatorNode, OperatorRows

READ = OperatorNode("read", window=0)
SELECT = OperatorNode("answer", (OperatorNode("select", (READ,)),))
JOIN = OperatorNode("answer", (OperatorNode("join", (READ, OperatorNode("read", window=1))),))
JOB = 30_000
TRUTH = LinearCost.guessed(
    JOB, slot=5_000, read=1.0, select=0.2, selected=0.1, join=2.0, joined=0.5, answer=1.0
)


def selected(n: float, s: float) -> OperatorRows:
    return OperatorRows(SELECT, (n * s, n * s, n))


def joined(left: float, right: float, s: float) -> OperatorRows:
    return OperatorRows(JOIN, (left * right * s, left * right * s, left, right))


def used(*executions: OperatorRows, dear: float = 1.0) -> float:
    """The truth: the last one is so many times as dear as its operators are."""
    each = [TRUTH.expected_us(counts(one.operators, one.rows)) - TRUTH.fixed_us for one in executions]
    return TRUTH.fixed_us + sum(each[:-1]) + dear * each[-1]


def learned(jobs: int, dear: float = 1.0, noise: float = 0.0) -> RowCosts:
    rng, costs = random.Random(1), RowCosts()
    for number in range(jobs):
        n, left, right = rng.uniform(1e4, 2e5), rng.uniform(1e4, 1e5), rng.uniform(1e4, 1e5)
        firings = [RowFiring("a", "m", (n,)), RowFiring("b", "m", (left, right))]
        executions = [selected(n, 0.3), joined(left, right, 2e-5)]
        some = (slice(0, 2), slice(0, 1), slice(1, 2))[number % 3]
        truth = used(*executions[some], dear=dear if some.stop == 2 else 1.0) * rng.uniform(1 - noise, 1 + noise)
        costs = costs.after(firings[some], [RowExecution(one) for one in executions[some]], truth)
    return costs


def test_costs_of_jobs_become_predictions_for_each_of_their_queries() -> None:
    costs = learned(200)
    first, second = costs.predict([RowFiring("a", "m", (50_000,)), RowFiring("b", "m", (30_000, 60_000))])
    assert first.median_us == pytest.approx(used(selected(50_000, 0.3)) - 15_000, rel=0.15)
    assert second.median_us == pytest.approx(used(joined(30_000, 60_000, 2e-5)) - 15_000, rel=0.15)


def test_a_new_query_is_predicted_before_it_ever_ran() -> None:
    costs = learned(200).with_plan("c", "m", SELECT)
    (prediction,) = costs.predict([RowFiring("c", "m", (80_000,))])
    # Nothing is known of what it selects, so all of it.
    assert prediction.median_us == pytest.approx(used(selected(80_000, 1.0)), rel=0.25)


def test_what_is_special_to_a_query_is_its_factor() -> None:
    costs = learned(400, dear=3.0)
    factors = costs.queries["b"].factor / costs.queries["a"].factor
    assert factors > 1.15
    (alone,) = costs.predict([RowFiring("b", "m", (30_000, 60_000))])
    assert alone.median_us == pytest.approx(used(joined(30_000, 60_000, 2e-5), dear=3.0), rel=0.2)


def test_noise_is_in_the_high_prediction() -> None:
    (calm,), (noisy,) = (learned(120, noise=n).predict([RowFiring("a", "m", (9e4,))]) for n in (0.0, 0.5))
    assert noisy.high_us / noisy.median_us > 1.15 > 1.1 > calm.high_us / calm.median_us


def test_core_time_is_dealt_out_by_what_each_needs() -> None:
    costs = replace(RowCosts(), operators=LinearCost.guessed(0.0, job=0.0, plan=0.0, slot=10.0, read=1.0))
    firings = [RowFiring("a", "m", (90,)), RowFiring("b", "m", (190,))]
    assert costs.dealt(firings, [RowExecution(None)] * 2, 600.0) == pytest.approx([200.0, 400.0])


def test_selectivities_are_the_last_exact_ones() -> None:
    costs = RowCosts().after([RowFiring("a", "m", (100,))], [RowExecution(selected(100, 0.3))], 1e5)
    costs = costs.after([RowFiring("a", "m", (100,))], [RowExecution(selected(100, 0.6))], 1e5)
    costs = costs.after([RowFiring("a", "m", (100,))], [RowExecution(None)], 1e5)
    assert costs.queries["a"].rows([50]) == pytest.approx((30, 30, 50))


def test_a_query_of_another_meaning_is_a_new_one() -> None:
    costs = RowCosts().after([RowFiring("a", "m", (100,))], [RowExecution(selected(100, 0.3))], 1e5)
    other = RowFiring("a", "n", (100,))
    assert costs.of(other).ratios == ()
    assert costs.of(other).operators != SELECT
    assert costs.only(["b"]).queries == {}


def test_a_plan_that_is_made_once_is_not_expected_again_and_one_that_is_made_each_time_is() -> None:
    once = always = learned(100)
    a, b = RowFiring("a", "m", (9e4,)), RowFiring("b", "m", (3e4, 6e4))
    rows = selected(9e4, 0.3), joined(3e4, 6e4, 2e-5)
    once = once.after([a], [RowExecution(rows[0], planned=True)], used(rows[0]) + 80_000)
    for _run in range(40):
        always = always.after([b], [RowExecution(rows[1], planned=True)], used(rows[1]) + 80_000)
    once = once.after([a], [RowExecution(rows[0])], used(rows[0]))
    assert once.predict([a])[0].median_us == pytest.approx(used(rows[0]), rel=0.1)
    assert always.predict([b])[0].median_us == pytest.approx(used(rows[1]) + 80_000, rel=0.1)


def test_an_error_that_was_learned_is_not_counted_twice() -> None:
    """Costs that are suddenly ten times as high, or as low: once they are followed, that is what is expected."""
    firing, rows = RowFiring("a", "m", (9e4,)), selected(9e4, 0.3)
    for times in (10.0, 0.1):
        costs = learned(60)
        for _run in range(12):
            costs = costs.after([firing], [RowExecution(rows)], times * used(rows))
            (execution,) = costs.executions([firing]) or ()
            assert execution.at(1.0) < 1.2 * max(1.0, times) * used(rows)
        assert execution.at(1.0) == pytest.approx(times * (used(rows) - JOB), rel=0.3)
        assert costs.expected_of([firing], [RowExecution(rows)]) == pytest.approx(execution.at(1.0), rel=0.01)


def test_what_is_cheaper_than_expected_is_followed_sooner() -> None:
    """A process that has just begun is slow: that is soon forgotten."""
    firing, rows = RowFiring("a", "m", (9e4,)), selected(9e4, 0.3)
    slow = RowCosts()
    for _run in range(4):
        slow = slow.after([firing], [RowExecution(rows)], 5 * used(rows))
    fast = slow
    for _run in range(3):
        fast = fast.after([firing], [RowExecution(rows)], used(rows))
    (before,), (after,) = (costs.executions([firing]) or () for costs in (slow, fast))
    assert before.at(1.0) > 3 * used(rows)
    assert after.at(1.0) < 2 * used(rows)


@pytest.mark.parametrize("share", [1.0, 0.3, 0.01])
def test_a_join_of_samples_by_key_says_what_the_whole_one_costs(share: float) -> None:
    """Rows that match are in it together: it has that share of the pairs, not the share's square."""
    pairs = 2e-5 * 3e4 * 6e4
    sampled = OperatorRows(JOIN, (share * pairs, share * pairs, share * 3e4, share * 6e4))
    firing = RowFiring("b", "m", (share * 3e4, share * 6e4), share, by_key=True, scanned=9e4)
    costs = RowCosts().after([firing], [RowExecution(sampled)], 1e5)
    known = costs.queries["b"]
    assert known.rows((3e4, 6e4)) == pytest.approx((pairs, pairs, 3e4, 6e4))
    assert known.rows(firing.windows, firing.keys) == pytest.approx(sampled.rows)
    (execution,) = costs.executions([RowFiring("b", "m", (3e4, 6e4))]) or ()
    assert execution.rows == pytest.approx(pairs)


def test_rows_that_are_looked_at_and_left_out_are_no_rows_that_are_used() -> None:
    """What a small share costs does not become the price of a row: all rows are looked at, whatever the share."""
    chance = np.random.default_rng(3)
    costs, each = RowCosts(), 0.4
    for _run in range(80):
        share, rows = float(chance.choice([0.05, 0.3, 1.0])), float(chance.integers(20_000, 200_000))
        kept = selected(share * rows, 0.3)
        firing = RowFiring("a", "m", (share * rows,), share, scanned=rows)
        costs = costs.after([firing], [RowExecution(kept)], used(kept) + each * rows)
    (execution,) = costs.executions([RowFiring("a", "m", (1e5,))]) or ()
    whole, little = (used(selected(part * 1e5, 0.3)) + each * 1e5 - JOB for part in (1.0, 0.1))
    assert execution.at(1.0) == pytest.approx(whole, rel=0.25)
    assert execution.at(0.1) == pytest.approx(little, rel=0.25)
