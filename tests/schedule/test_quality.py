"""The level against exhaustive search."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from punctual.estimate.quality_curve import CONCAVE, CONVEX, LINEAR, table
from punctual.schedule.quality import Firing, level, pseudo_deadlines, punctual_ones

CURVES = [None, CONVEX, LINEAR, CONCAVE, table([(1.0, 1.0), (0.6, 0.9), (0.2, 0.5)])]


def drawn(random: np.random.Generator, most: int) -> tuple[list[Firing], int, float]:
    now = int(random.integers(-50, 50))
    firings = [
        Firing(
            now + int(random.integers(-5, 100)),
            float(random.integers(0, 30)),
            float(random.integers(0, 120)),
            CURVES[random.integers(len(CURVES))],
        )
        for _ in range(random.integers(1, most))
    ]
    return firings, now, float(random.integers(1, 4))


def fits(firings: list[Firing], now: int, cores: float, quality: float) -> bool:
    """The demand test, deadline by deadline."""
    for last in firings:
        due = sum(one.demand(quality) for one in firings if one.deadline <= last.deadline)
        if due > cores * max(0, last.deadline - now) * (1 + 1e-9):
            return False
    return True


@pytest.mark.parametrize("seed", range(200))
def test_as_many_as_can_be_are_on_time(seed: int) -> None:
    firings, now, cores = drawn(np.random.default_rng(seed), 8)
    chosen = punctual_ones(firings, now, cores)
    assert fits([firings[place] for place in chosen], now, cores, 0.0)
    for more in range(len(chosen) + 1, len(firings) + 1):
        assert not any(fits(list(some), now, cores, 0.0) for some in combinations(firings, more))


@pytest.mark.parametrize("seed", range(200))
def test_the_level_is_the_highest_that_fits(seed: int) -> None:
    firings, now, cores = drawn(np.random.default_rng(seed), 8)
    chosen = [firings[place] for place in punctual_ones(firings, now, cores)]
    found = level(firings, now, cores)
    assert 0.0 <= found <= 1.0
    assert fits(chosen, now, cores, found)
    if found < 1.0:
        at_floor = all(
            one.curve is None or one.share(min(1.0, found + 1e-6)) == one.curve.least_share for one in chosen
        )
        assert at_floor or not fits(chosen, now, cores, found + 1e-6)


def test_convex_gives_way_further_than_concave() -> None:
    firings = [Firing(1_000, 0, 500, CONVEX), Firing(1_000, 0, 500, CONCAVE)]
    found = level(firings, 0, 0.61)
    shares = [firing.share(found) for firing in firings]
    assert found == pytest.approx(0.7, abs=0.01)
    assert shares == pytest.approx([0.25, 0.97], abs=0.01)


def test_a_late_firing_makes_nobody_worse() -> None:
    """A clock that jumps leaves deadlines behind: no budget is negative, and nobody else gives way for what is lost."""
    firings = [Firing(-1_000_000, 10, 1_000, LINEAR), Firing(1_000, 10, 500, LINEAR)]
    assert level(firings, 0, 1) == 1.0
    assert punctual_ones(firings, 0, 1) == [1]


def test_where_nobody_who_gives_way_can_be_on_time_the_level_is_nothing() -> None:
    lost, exact, saves_nothing = Firing(-1, 1, 10, LINEAR), Firing(50, 1, 10), Firing(-1, 1, 0, LINEAR)
    assert level([lost], 0, 1) == 0.0
    assert level([lost, exact, saves_nothing], 0, 1) == 0.0
    assert level([lost, Firing(50, 1, 10, LINEAR)], 0, 1) == 1.0
    assert level([exact, saves_nothing], 0, 1) == 1.0, "nobody gives way"


def test_who_has_no_curve_is_never_made_worse() -> None:
    exact = Firing(1_000, 100, 700)
    found = level([exact, Firing(1_000, 0, 400, LINEAR)], 0, 1)
    assert found == pytest.approx(0.5)
    assert exact.share(found) == 1.0


def test_future_work_counts() -> None:
    """What is released now gives way to what is known to come, since both are due by then."""
    now_only = [Firing(1_000, 0, 900, LINEAR)]
    assert level(now_only, 0, 1) == 1.0
    assert level([*now_only, Firing(1_200, 600, 0)], 0, 1) == pytest.approx(2 / 3)


def test_nothing_to_do() -> None:
    assert level([], 0, 2) == 1.0
    assert pseudo_deadlines([], [], 0, 1) == []
    assert pseudo_deadlines([0.0], [70], 0, 1) == [70]


def test_pseudo_deadlines_keep_the_own_ones() -> None:
    random = np.random.default_rng(3)
    for cores, size in product((1, 2), range(1, 9)):
        demands = random.uniform(1, 50, size)
        own = np.sort(random.integers(1, 1_000, size))
        found = pseudo_deadlines(demands.tolist(), own.tolist(), 0, cores)
        assert np.all(np.diff(found) >= 0)
        assert np.all(np.array(found) <= own)
