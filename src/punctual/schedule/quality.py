"""The level: how good all answers are made when not all of the work fits before the deadlines.

Model
-----
A firing needs ``fixed`` core time whatever it reads, and ``work`` for all of its input; for a share of its input it
needs that share of the work. Core time that is due by a deadline must fit into ``cores * (deadline - now)``, for every
deadline: that is the demand test, and earliest deadline first meets all deadlines where it holds. The level is the
highest quality at which it does, the same for everybody who has a curve. Nobody goes below the least share of its own
curve, and who has no curve is never made worse.

A firing that is late whatever is done must not take the others with it: those that cannot be on time even at their
least share are put last, and as few of them as possible (the dearest ones of what is due before the deadline that does
not fit; Moore's rule).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.estimate.quality_curve import QualityCurve

STEPS = 40
"""Of the bisection: the level is exact to a millionth of a millionth."""
ROUNDING = 1 + 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Firing:
    """One that is released, or known to come: microseconds of core time, by when; ``curve`` is what QUALITY says."""

    deadline: Micros
    fixed: float
    work: float
    curve: QualityCurve | None = None

    @property
    def gives_way(self) -> bool:
        """Whether it may use less of its input, and that saves anything."""
        return self.curve is not None and self.work > 0.0

    def share(self, level: float) -> float:
        """The share of its input that it uses at a level: no more than it needs, no less than is acceptable."""
        if self.curve is None or not self.gives_way:
            return 1.0
        return max(self.curve.share(level), self.curve.least_share)

    def demand(self, level: float) -> float:
        """Core time that it needs at a level."""
        return self.fixed + self.work * self.share(level)


def level(firings: Sequence[Firing], now: Micros, cores: float) -> float:
    """The highest quality at which every firing that can be on time is on time.

    0 where all are at their least share, and where none of those that give way can be on time.

    >>> from punctual.estimate.quality_curve import LINEAR
    >>> round(level([Firing(1_000, 100, 1_800, LINEAR), Firing(1_000, 0, 300)], now=0, cores=2), 6)
    0.888889
    """
    budget = budgets(firings, now, cores)
    in_time = punctual_within(firings, budget)
    chosen = [firings[place] for place in in_time]
    return 0.0 if given_up(firings, chosen) else highest_within(chosen, budget[in_time])


def given_up(firings: Sequence[Firing], in_time: Sequence[Firing]) -> bool:
    """Whether some of them give way, and none of these is among those that can be on time."""
    return any(one.gives_way for one in firings) and not any(one.gives_way for one in in_time)


def punctual_ones(firings: Sequence[Firing], now: Micros, cores: float) -> list[int]:
    """The places of those that can be on time together at their least shares: as many as can be, in EDF order.

    >>> punctual_ones([Firing(10, 8, 0), Firing(10, 5, 0), Firing(12, 5, 0), Firing(-5, 1, 0)], now=0, cores=1)
    [1, 2]
    """
    return punctual_within(firings, budgets(firings, now, cores))


def budgets(firings: Sequence[Firing], now: Micros, cores: float) -> Floats:
    """The core time that there is until the deadline of each firing; never less than none."""
    return cores * np.maximum(np.array([firing.deadline - now for firing in firings], np.float64), 0.0)


def punctual_within(firings: Sequence[Firing], budget: Floats) -> list[int]:
    """The same as :func:`punctual_ones`, where there is so much core time until the deadline of each."""
    kept: list[tuple[float, int]] = []
    total = 0.0
    for place in in_order(firings):
        least = firings[place].demand(0.0)
        heapq.heappush(kept, (-least, place))
        total += least
        if total > budget[place] * ROUNDING:
            dearest, _place = heapq.heappop(kept)
            total += dearest
    chosen = {place for _least, place in kept}
    return [place for place in in_order(firings) if place in chosen]


def in_order(firings: Sequence[Firing]) -> list[int]:
    """Places, the earliest deadline first."""
    return sorted(range(len(firings)), key=lambda place: (firings[place].deadline, place))


def highest_within(firings: Sequence[Firing], budget: Floats) -> float:
    """The highest quality at which all of them, in EDF order, have the core time that there is; 0 where none is."""
    demands = _Demands(firings)
    if demands.fit(1.0, budget):
        return 1.0
    low, high = 0.0, 1.0
    for _step in range(STEPS):
        middle = (low + high) / 2
        if demands.fit(middle, budget):
            low = middle
        else:
            high = middle
    return low


class _Demands:
    """Firings in arrays: shares are found once for each curve, however many firings there are."""

    def __init__(self, firings: Sequence[Firing]) -> None:
        curves = {firing.curve: None for firing in firings if firing.curve is not None}
        self._curves = list(curves)
        place = {curve: number for number, curve in enumerate(self._curves)}
        self._curve = np.array([-1 if one.curve is None else place[one.curve] for one in firings], np.intp)
        self._fixed = np.array([one.fixed for one in firings], np.float64)
        self._work = np.array([one.work for one in firings], np.float64)

    def fit(self, quality: float, budget: Floats) -> bool:
        """Whether the demand test holds at a quality."""
        # The last one is for those without a curve.
        shares = np.array([*(max(one.share(quality), one.least_share) for one in self._curves), 1.0])
        demands = self._fixed + self._work * shares[self._curve]
        return bool(np.all(np.cumsum(demands) <= budget * ROUNDING))


def pseudo_deadlines(demands: Sequence[float], deadlines: Sequence[Micros], now: Micros, cores: float) -> list[Micros]:
    """By when each should be done, in EDF order, so that what is left of the time is shared by what each needs.

    The time that all of them need is stretched until the first of their own deadlines.

    >>> pseudo_deadlines([100, 300], [1_000, 1_000], now=0, cores=1)
    [250, 1000]
    >>> pseudo_deadlines([100, 300], [200, 1_000], now=0, cores=1)
    [200, 800]
    """
    if not demands:
        return []
    needed = np.cumsum(np.array(demands, np.float64)) / cores
    left = np.maximum(np.array(deadlines, np.float64) - now, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.where(needed > 0, left / needed, np.inf)
    least = float(stretch.min())
    if not np.isfinite(least):
        return list(deadlines)
    return [now + int(time) for time in needed * least]
