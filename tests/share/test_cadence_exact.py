"""The exact plan against every schedule there is, and the greedy plan against its guarantee."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from punctual.errors import PlanError
from punctual.kernel.cadence import plateaus, runs_inside
from punctual.share.cadence import Group, plan
from punctual.share.cadence import cheapest_cycle as cycles
from punctual.share.cadence.effort import MOST_RUNS, Effort, OutOfSteps
from tests.oracles.schedules import cheapest_cycle_of_all, cheapest_of_all


def groups_of(pairs: Sequence[tuple[int, int]]) -> list[Group]:
    return [Group(bound, cost) for bound, cost in pairs]


def staircase(random_: random.Random, count: int, longest: int, dearest: int) -> list[tuple[int, int]]:
    bounds = sorted(random_.sample(range(1, longest + 1), count))
    return list(zip(bounds, sorted(random_.sample(range(1, dearest + 1), count))))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_set_of_bounds_up_to_twelve(count: int) -> None:
    random_ = random.Random(count)
    for bounds in combinations(range(1, 13), count):
        pairs = list(zip(bounds, sorted(random_.sample(range(1, 30), count))))
        assert plan(groups_of(pairs), "exact").cost_per_unit == cheapest_cycle_of_all(pairs), pairs


def test_larger_ones() -> None:
    random_ = random.Random(5)
    for _ in range(40):
        pairs = staircase(random_, random_.randint(4, 5), 17, 60)
        assert plan(groups_of(pairs), "exact").cost_per_unit == cheapest_cycle_of_all(pairs), pairs


def test_groups_in_any_order_without_assuming_a_cycle() -> None:
    # Equal bounds, equal costs and dear groups with short bounds too: the combination rule loses nothing.
    random_ = random.Random(6)
    for _ in range(120):
        pairs = [(random_.randint(1, 6), random_.randint(1, 9)) for _ in range(random_.randint(1, 4))]
        assert plan(groups_of(pairs), "exact").cost_per_unit == cheapest_of_all(pairs), pairs


def dense(bounds: Sequence[int], costs: Sequence[int]) -> list[int]:
    """The recurrence as it is written, a cost for every length."""
    inside = [0] * (bounds[-1] + 1)
    for i in range(len(bounds) - 1):
        for gap in range(bounds[i] + 1, bounds[i + 1] + 1):
            inside[gap] = costs[i] + min(inside[piece] + inside[gap - piece] for piece in range(1, bounds[i] + 1))
    return inside


def plateaus_of(bounds: Sequence[int], costs: Sequence[int], dense_: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    ends, values, _pieces = plateaus(np.array(bounds), np.array(costs), bounds[-1], bounds[-1] ** 2, dense_)
    return ends, values


@pytest.mark.parametrize("every_length", [True, False])
def test_plateaus_are_the_dense_recurrence(every_length: bool) -> None:
    random_ = random.Random(7)
    for _ in range(150):
        bounds, costs = zip(*staircase(random_, random_.randint(2, 8), 90, random_.choice([12, 300, 100_000])))
        ends, values = plateaus_of(bounds, costs, every_length)
        assert np.all(np.diff(values) > 0), "each plateau once"
        lengths = np.diff([0, *ends])
        assert [0, *np.repeat(values, lengths).tolist()] == dense(bounds, costs), (bounds, costs)


@pytest.mark.parametrize("smallest", [1, 2, 3, 5, 40])
def test_bounds_far_apart_and_close_together(smallest: int) -> None:
    # Gaps of many pieces, and levels that begin in the middle of four lengths.
    random_ = random.Random(smallest)
    for _ in range(8):
        bounds = sorted({smallest, *random_.sample(range(smallest + 1, smallest + 12), 3), 300, 301, 305, 400})
        costs = sorted(random_.sample(range(1, random_.choice([20, 1_000])), len(bounds)))
        recurrence = dense(bounds, costs)
        for every_length in (True, False):
            ends, values = plateaus_of(bounds, costs, every_length)
            assert [0, *np.repeat(values, np.diff([0, *ends])).tolist()] == recurrence


def test_runs_inside_cost_what_the_plateau_says() -> None:
    random_ = random.Random(9)
    for _ in range(60):
        bounds, costs = zip(*staircase(random_, random_.randint(2, 7), 90, 300))
        ends, values = plateaus_of(bounds, costs, True)
        inside = dense(bounds, costs)
        for gap in range(1, bounds[-1] + 1):
            times, levels = runs_inside(np.array(bounds), np.array(costs), ends, values, gap)
            assert sum(costs[level] for level in levels) == inside[gap]
            for level, bound in enumerate(bounds[:-1]):
                assert np.diff([0, *times[levels >= level], gap]).max() <= bound or gap <= bound


def test_plateaus_of_other_costs_are_refused() -> None:
    ends, values = plateaus_of([2, 3, 50], [3, 4, 5], True)
    with pytest.raises(ValueError, match="not the plateaus"):
        runs_inside(np.array([2, 3, 50]), np.array([1, 4, 5]), ends, values, 3)


def test_huge_and_fractional_costs_are_exact() -> None:
    random_ = random.Random(10)
    for _ in range(30):
        pairs = staircase(random_, random_.randint(2, 6), 40, 50)
        whole = plan(groups_of(pairs), "exact")
        huge = plan([Group(bound, cost * 10**30) for bound, cost in pairs], "exact")
        part = plan([Group(bound, Fraction(cost, 7**25)) for bound, cost in pairs], "exact")
        assert huge.cost_per_unit == whole.cost_per_unit * 10**30
        assert part.cost_per_unit == whole.cost_per_unit / 7**25
        assert huge.executions == part.executions == whole.executions
    assert plan([Group(3, 0.1)], "exact").cost_per_unit == Fraction(0.1) / 3


@pytest.mark.parametrize(("dearer", "cycle"), [(2 * 10**15 + 1, 3), (2 * 10**15 - 1, 2), (2 * 10**15, 2)])
def test_rates_that_doubles_cannot_tell_apart(dearer: int, cycle: int) -> None:
    # Every two units, or every three with a run of the cheaper group between; the shorter one where they are equal.
    cadence = plan([Group(2, 10**15), Group(3, dearer)], "exact")
    assert cadence.cycle == cycle
    assert cadence.cost_per_unit == min(Fraction(dearer, 2), Fraction(dearer + 10**15, 3))


def test_doubles_of_any_size_are_planned_to_the_last_digit_that_matters() -> None:
    random_ = random.Random(14)
    for _ in range(40):
        count = random_.randint(2, 6)
        bounds = sorted(random_.sample(range(2, 120), count))
        spread = random_.choice([1, 40, 300])
        costs = sorted(Fraction(random_.random() * 10.0 ** -random_.randint(0, spread)) for _ in bounds)
        denominator = max(cost.denominator for cost in costs)
        inside = dense(bounds, [int(cost * denominator) for cost in costs])
        cheapest = min((Fraction(inside[t], denominator) + costs[-1]) / t for t in range(1, bounds[-1] + 1))
        found = cycles.cheapest_cycle(bounds, costs)
        assert cheapest <= found.rate <= cheapest * (1 + Fraction(1, 2**30))
        if spread == 1:
            assert found.rate == cheapest


def test_costs_as_whole_numbers() -> None:
    costs = [Fraction(0), Fraction(10**18), Fraction(10**18 + 1), Fraction(10**19)]
    rounded = cycles.whole_costs([2, 3, 5, 7], costs)
    assert rounded[0] == 0
    assert sorted(set(rounded)) == rounded, "in the same order"
    assert cycles.whole_costs([2, 3, 5, 7], [cost / 10**18 for cost in costs]) == rounded
    assert cycles.whole_costs([1, 4], [Fraction(5, 10**40), Fraction(15, 10**40)]) == [1, 3]
    assert cycles.whole_costs([3], [Fraction(0)]) == [0]


def test_a_unit_ten_million_times_finer_changes_nothing() -> None:
    random_ = random.Random(11)
    for _ in range(30):
        pairs = staircase(random_, random_.randint(2, 6), 40, 50)
        coarse = plan(groups_of(pairs), "exact")
        fine = plan([Group(bound * 10**7, cost) for bound, cost in pairs], "exact")
        assert fine.cost_per_unit == coarse.cost_per_unit / 10**7
        assert [(time // 10**7, group) for time, group in fine.executions] == list(coarse.executions)


def test_bounds_that_divide_the_rest_are_peeled_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(12)
    problems = [[(1, 2), (2, 3), (6, 5), (18, 9)], [(1, 1), (4, 9), (6, 10)], [(1, 1), (5, 2)]]
    problems += [[(1, 1), *((bound + 1, cost + 1) for bound, cost in staircase(random_, 4, 40, 50))] for _ in range(30)]
    peeled = [plan(groups_of(pairs), "exact") for pairs in problems]
    monkeypatch.setattr(cycles, "_divisors_of_all_later", lambda bounds: 0)
    for pairs, cadence in zip(problems, peeled):
        whole = plan(groups_of(pairs), "exact")
        assert cadence.cost_per_unit == whole.cost_per_unit
        cost = sum(pairs[group][1] for _time, group in cadence.executions)
        assert cadence.cycle is not None
        assert Fraction(cost, cadence.cycle) == cadence.cost_per_unit


def test_what_takes_too_long_is_refused() -> None:
    with pytest.raises(PlanError) as caught:
        plan([Group(2, 1), Group(3, 2), Group(10**9, 3)], "exact")
    assert caught.value.code == "plan.cadence-too-fine"
    for endless in ([Group(7, 1), Group(86_400_000_001, 50)], [Group(1, 1), Group(86_400_000_000, 50)]):
        with pytest.raises(PlanError) as caught:
            plan(endless, "exact")
        assert caught.value.code == "plan.cadence-too-fine"
    fine = [2, 3, 60_001], [Fraction(1), Fraction(2), Fraction(3)]
    assert cycles.cheapest_cycle(*fine).length > 50_000, "every length can be kept"
    with pytest.raises(OutOfSteps):
        cycles.cheapest_cycle(*fine, Effort(10))


def test_no_more_steps_than_are_allowed_and_no_more_runs_than_can_be_written_down() -> None:
    random_ = random.Random(15)
    for _ in range(40):
        bounds, costs = zip(*staircase(random_, random_.randint(2, 8), 10 ** random_.randint(3, 12), 1_000))
        effort = Effort(random_.choice([10, 1_000, 20_000]))
        most = effort.left
        with suppress(OutOfSteps):
            assert cycles.cheapest_cycle(bounds, [Fraction(cost) for cost in costs], effort).times.size <= MOST_RUNS
        assert effort.spent <= 2 * most + MOST_RUNS


def test_bounds_as_long_as_durations_get() -> None:
    with pytest.raises(OutOfSteps):
        cycles.cheapest_cycle([7, 2**62], [Fraction(1), Fraction(2)])
    best = cycles.cheapest_cycle([2**61, 2**62], [Fraction(1), Fraction(3)])
    assert (best.length, best.levels.tolist()) == (2**62, [0, 1])


def test_greedy_is_within_twice_the_lower_bound_and_no_better_than_exact() -> None:
    random_ = random.Random(13)
    for _ in range(300):
        pairs = [(random_.randint(1, 40), random_.randint(2, 100)) for _ in range(random_.randint(1, 12))]
        greedy, exact = plan(groups_of(pairs), "greedy"), plan(groups_of(pairs), "exact")
        assert exact.lower_bound <= exact.cost_per_unit <= greedy.cost_per_unit <= 2 * greedy.lower_bound
