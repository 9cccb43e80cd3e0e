"""Every plan keeps every bound and costs what it says; groups, units and finishing."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, takewhile
from math import gcd, inf, lcm, nan
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import PlanError
from punctual.share.cadence import METHODS, Cadence, Group, Method, fold_finishing, plan, unit_of
from punctual.share.cadence.dearest_due import Multiples, coprime_base, rate_of_dearest_due
from punctual.share.cadence.effort import Effort
from punctual.share.cadence.hybrid import MOST_CUT

GROUPS = st.lists(
    st.builds(
        Group,
        st.integers(1, 24) | st.sampled_from([60, 97, 720]),
        st.integers(0, 20) | st.fractions(0, 9, max_denominator=12) | st.floats(0, 1),
    ),
    min_size=1,
    max_size=7,
)
EXAMPLES = settings(derandomize=True, deadline=None, max_examples=40)
HORIZON = 3_000


def answered(cadence: Cadence, group: int, until: int) -> list[int]:
    """When the group is answered in (0, until]."""
    within = takewhile(lambda execution: execution.time <= until, cadence.executions)
    return sorted({time for time, runs in within if group in cadence.answers[runs]})


def longest_gap(cadence: Cadence, group: int) -> int:
    """The longest time without an answer, also around the cycle's end; for endless plans, in a horizon."""
    times = answered(cadence, group, cadence.cycle or HORIZON)
    assert times, f"group {group} is never answered"
    gaps = [times[0], *(b - a for a, b in pairwise(times))]
    if cadence.cycle is not None:
        gaps.append(cadence.cycle - times[-1] + times[0])
    return max(gaps)


@pytest.mark.parametrize("method", METHODS)
@given(groups=GROUPS)
@EXAMPLES
def test_every_plan_keeps_every_bound_and_costs_what_it_says(method: Method, groups: list[Group]) -> None:
    cadence = plan(groups, method)
    for index, group in enumerate(groups):
        assert longest_gap(cadence, index) <= group.bound
    if cadence.cycle is not None:
        times = [execution.time for execution in cadence.executions]
        assert times == sorted(times)
        assert times[0] > 0
        assert times[-1] == cadence.cycle
        cost = sum((groups[execution.group].cost for execution in cadence.executions), Fraction(0))
        assert cadence.cost_per_unit == cost / cadence.cycle
    assert cadence.cost_per_unit >= cadence.lower_bound
    assert plan(groups, method) == cadence


@given(groups=GROUPS)
@EXAMPLES
def test_sharing_more_never_costs_more(groups: list[Group]) -> None:
    cost = {method: plan(groups, method).cost_per_unit for method in METHODS}
    cost["exact"] /= 1 + Fraction(1, 2**30)  # as near as doubles of any size are planned; others to the last digit
    assert cost["exact"] <= cost["hybrid"] <= min(cost["conservative"], cost["aggressive"])
    assert cost["exact"] <= cost["greedy"] <= 2 * plan(groups, "greedy").lower_bound
    assert cost["exact"] <= cost["combined"] <= cost["intra"] <= cost["none"]
    assert cost["conservative"] <= cost["intra"]


@given(groups=GROUPS)
@EXAMPLES
def test_what_an_execution_answers(groups: list[Group]) -> None:
    for method in METHODS:
        cadence = plan(groups, method)
        shared = method not in ("none", "intra", "combined")
        for index, riders in enumerate(cadence.answers):
            if not riders:
                continue
            cheaper = {other for other, group in enumerate(groups) if group.cost <= groups[index].cost}
            assert set(riders) == cheaper if shared else set(riders) <= cheaper
            assert index in riders


def test_the_lower_bound_by_hand() -> None:
    groups = [Group(2, 9), Group(3, 14), Group(5, 29), Group(4, 10)]  # the last one joins the second for nothing
    expected = Fraction(9, 2) + Fraction(5, 3) + Fraction(15, 5)
    assert {plan(groups, method).lower_bound for method in METHODS} == {expected}


def test_cycles_of_astronomical_length_have_no_cycle_and_an_exact_cost() -> None:
    bounds = [101, 103, 107, 109, 113, 127, 131, 137, 202, 206]
    groups = [Group(bound, 3 * place + 1) for place, bound in enumerate(bounds)]
    cadence = plan(groups, "conservative")
    assert cadence.cycle is None
    first = list(takewhile(lambda execution: execution.time <= HORIZON, cadence.executions))
    due = [
        (time, max((i for i, bound in enumerate(bounds) if time % bound == 0), default=None))
        for time in range(1, HORIZON + 1)
    ]
    assert first == [(time, group) for time, group in due if group is not None]
    assert first == list(takewhile(lambda execution: execution.time <= HORIZON, cadence.executions)), "read again"
    assert cadence.cost_per_unit == rate_by_all_subsets([(g.bound, g.cost) for g in groups])
    for method in ("none", "intra"):
        endless = plan(groups, method)
        assert endless.cycle is None
        assert [longest_gap(endless, index) <= group.bound for index, group in enumerate(groups)] == [True] * 10


def rate_by_all_subsets(blocks: list[tuple[int, Fraction]]) -> Fraction:
    """Inclusion and exclusion as it is written: the dearest due block, over all sets of dearer ones."""
    rate = Fraction(0)
    ordered = sorted(blocks, key=lambda block: -block[1])
    for place, (bound, cost) in enumerate(ordered):
        dearer = [other for other, _cost in ordered[:place]]
        for size in range(place + 1):
            for chosen in combinations(dearer, size):
                rate += cost * (-1) ** size / lcm(bound, *chosen)
    return rate


@given(
    blocks=st.lists(
        st.tuples(st.integers(1, 400) | st.sampled_from([2**9 * 3, 2**3 * 3**4 * 5, 10**6]), st.fractions(0, 50)),
        min_size=1,
        max_size=9,
    )
)
@EXAMPLES
def test_the_rate_of_the_dearest_due_is_inclusion_and_exclusion(blocks: list[tuple[int, Fraction]]) -> None:
    assert rate_of_dearest_due(blocks) == (rate_by_all_subsets(blocks), True)


@given(numbers=st.lists(st.integers(1, 30), min_size=1, max_size=5))
@EXAMPLES
def test_the_share_that_avoids_multiples_by_counting(numbers: list[int]) -> None:
    cycle = lcm(*numbers)
    if cycle <= 30_000:
        avoiding = sum(all(t % number for number in numbers) for t in range(cycle))
        assert Multiples(numbers).avoided(numbers) == Fraction(avoiding, cycle)


@given(numbers=st.lists(st.integers(1, 10_000), max_size=8))
@EXAMPLES
def test_a_coprime_base(numbers: list[int]) -> None:
    base = coprime_base(numbers, Effort())
    assert all(gcd(a, b) == 1 for a, b in combinations(base, 2))
    for number in numbers:
        for factor in base:
            while number % factor == 0:
                number //= factor
        assert number == 1


def test_hybrid_of_many_groups_is_near_the_best_partition() -> None:
    random_ = Random(8)
    excess = []
    for longest in (12, 20, 60, 60, 1_000):
        bounds = sorted(random_.sample(range(1, longest + 1), MOST_CUT + 1))
        groups = [Group(bound, cost) for bound, cost in zip(bounds, sorted(random_.sample(range(1, 300), len(bounds))))]
        cost = {m: plan(groups, m).cost_per_unit for m in ("conservative", "hybrid", "exact", "aggressive")}
        assert cost["exact"] <= cost["hybrid"] <= min(cost["conservative"], cost["aggressive"])
        best = min(
            rate_of_dearest_due([(groups[a].bound, groups[z - 1].cost) for a, z in pairwise((0, *cuts, 9))]).cost
            for size in range(len(groups))
            for cuts in combinations(range(1, len(groups)), size)
        )
        excess.append(cost["hybrid"] / best - 1)
    assert min(excess) == 0
    assert max(excess) < Fraction(1, 20)


def test_hybrid_of_a_hundred_stairs() -> None:
    random_ = Random(18)
    bounds, costs = sorted(random_.sample(range(1, 40_000), 100)), sorted(random_.sample(range(1, 10**6), 100))
    groups = [Group(bound, cost) for bound, cost in zip(bounds, costs)]
    cost = {m: plan(groups, m).cost_per_unit for m in ("hybrid", "aggressive", "exact", "combined")}
    assert cost["exact"] <= cost["hybrid"] < min(cost["aggressive"], cost["combined"])


def test_no_partition_is_cheaper_than_hybrid() -> None:
    # Also of groups that are no staircase: all set partitions, not only the cuts that are tried.
    random_ = Random(28)
    problems = [[Group(4, 5), Group(6, 8), Group(9, 12), Group(10, 13)]]
    problems += [[Group(random_.randint(1, 14), random_.randint(1, 9)) for _ in range(4)] for _ in range(12)]
    for groups in problems:
        best = min(
            rate_by_all_subsets(
                [(min(groups[i].bound for i in block), max(groups[i].cost for i in block)) for block in partition]
            )
            for partition in partitions([0, 1, 2, 3])
        )
        assert plan(groups, "hybrid").cost_per_unit == best


def partitions(items: list[int]) -> list[list[list[int]]]:
    """Set partitions by labelling: every function to labels, those with the same blocks once."""
    found = []
    for labels in range(len(items) ** len(items)):
        blocks: dict[int, list[int]] = {}
        for item in items:
            blocks.setdefault(labels // len(items) ** item % len(items), []).append(item)
        partition = sorted(blocks.values())
        if partition not in found:
            found.append(partition)
    assert len(found) == 15
    return found


def test_finishing_is_folded_into_the_levels() -> None:
    given_ = [(Group(5, 29), 3), (Group(2, 9), 1), (Group(3, 9), Fraction(1, 2)), (Group(9, 2), 4)]
    assert [group.cost for group in fold_finishing(given_)] == [
        29 + 3 + 1 + Fraction(1, 2) + 4,
        9 + 1 + Fraction(1, 2) + 4,
        9 + 1 + Fraction(1, 2) + 4,
        2 + 4,
    ]
    assert [group.bound for group in fold_finishing(given_)] == [5, 2, 3, 9]
    # What a plan then costs is what its executions cost with everything that they answer.
    folded = fold_finishing(given_)
    cadence = plan(folded, "exact")
    assert cadence.cycle is not None
    paid = Fraction(0)
    for _time, group in cadence.executions:
        paid += given_[group][0].cost + sum(Fraction(given_[rider][1]) for rider in cadence.answers[group])
    assert cadence.cost_per_unit == paid / cadence.cycle


def test_units() -> None:
    assert unit_of([90_000_000, 60_000_000]) == 30_000_000
    assert unit_of(iter([7])) == 7
    with pytest.raises(PlanError):
        unit_of([])


@pytest.mark.parametrize(("bound", "cost"), [(0, 1), (-3, 1), (1, -1), (1, inf), (1, nan)])
def test_groups_that_cannot_be(bound: int, cost: float) -> None:
    with pytest.raises(PlanError):
        Group(bound, cost)


def test_a_cadence_needs_groups() -> None:
    with pytest.raises(PlanError):
        plan([], "exact")
