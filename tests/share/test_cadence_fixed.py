"""Runs inside a cycle whose ends are given, against every schedule there is."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from punctual.share.cadence import cheapest_cycle as cycles
from punctual.share.cadence.cheapest_cycle import CheapestCycle
from punctual.share.cadence.effort import OutOfSteps
from punctual.share.cadence.fixed_cycle import fixed_cycle
from tests.oracles.schedules import cheapest_inside_of_all


def solved(pairs: list[tuple[int, int]], length: int) -> CheapestCycle:
    found = fixed_cycle([bound for bound, _cost in pairs], [Fraction(cost) for _bound, cost in pairs], length)
    check(pairs, length, found)
    return found


def check(pairs: list[tuple[int, int]], length: int, found: CheapestCycle) -> None:
    """The runs lie inside, keep every bound, and cost what the rate says."""
    assert found.length == length
    assert np.all(np.diff([0, *found.times, length]) > 0)
    for level, (bound, _cost) in enumerate(pairs):
        assert np.diff([0, *found.times[found.levels >= level], length]).max() <= bound
    assert found.rate == Fraction(sum(pairs[level][1] for level in found.levels), length)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_set_of_bounds_up_to_eight_and_every_length_up_to_fourteen(count: int) -> None:
    random_ = random.Random(count)
    for bounds in combinations(range(1, 9), count):
        pairs = list(zip(bounds, sorted(random_.sample(range(1, 30), count))))
        for length in range(1, 15):
            assert solved(pairs, length).rate * length == cheapest_inside_of_all(pairs, length), (pairs, length)


def test_cycles_far_longer_than_the_bounds() -> None:
    random_ = random.Random(21)
    for _ in range(25):
        count = random_.randint(2, 4)
        pairs = list(zip(sorted(random_.sample(range(1, 11), count)), sorted(random_.sample(range(1, 60), count))))
        length = random_.randint(20, 60)
        assert solved(pairs, length).rate * length == cheapest_inside_of_all(pairs, length), (pairs, length)


def test_bounds_that_divide_the_rest_are_peeled_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [([(1, 2), (2, 3), (6, 5)], 60), ([(3, 1), (12, 4), (18, 9)], 36), ([(5, 2)], 40), ([(4, 0)], 9)]
    peeled = [solved(*problem).rate for problem in problems]
    monkeypatch.setattr(cycles, "_divisors_of_all_later", lambda bounds: 0)
    assert [solved(*problem).rate for problem in problems] == peeled


def test_fractions_of_a_cost_are_exact() -> None:
    found = fixed_cycle([2, 3], [Fraction(1, 3), Fraction(0.1)], 2)
    assert found.rate == 0
    found = fixed_cycle([2, 3], [Fraction(0.1), Fraction(1, 3)], 7)
    assert found.rate == (Fraction(1, 3) * 2 + Fraction(0.1)) / 7


def test_what_takes_too_long_is_refused() -> None:
    with pytest.raises(OutOfSteps):
        fixed_cycle([2, 3], [Fraction(1), Fraction(2)], 10**9 + 1)
