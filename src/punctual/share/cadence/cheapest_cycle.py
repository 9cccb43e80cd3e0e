"""The cheapest cycle of runs that keeps every bound: exact costs around the kernel's plateaus.

Model
-----
Levels with strictly ascending bounds and costs; a run of a level answers all levels below it. A cycle is what lies
between two runs of the dearest level. Its cost per unit is ``(C[t] + k_g) / t``, where ``C`` is the least cost
inside a gap (:mod:`punctual.kernel.cadence`); the best ``t`` is the right end of a plateau.

Design
------
* *Peeling.* A smallest bound that divides all others has a run at each of its multiples whatever the others do: it
  costs ``k_0 / f_0`` for ever, and every other level only what it adds. It is taken off, and so is the next one where
  the same holds. Without this, a bound of one second beside one of an hour makes every second a plateau.
* *Whole numbers.* Costs become integers without common factor, and where no gap can cost 2^60 of them (whole numbers,
  short decimals and ratios, nanoseconds) the plan is the cheapest there is, without rounding anywhere. Costs of more
  digits, such as measured doubles, are planned as multiples of a quantum of which the cycle costs some 2^59. Each moves
  by less than one quantum (where several lie within one, by as many, to stay in order), and there is at most one run a
  unit: so the runs that are found cost at most one part in 2^28 more than the cheapest (for three hundred levels and
  a million units; far less for fewer), and are the cheapest unless different plans come that near each other. What
  they cost is always exact: it is counted from the runs.
* *A bounded effort.* 250 pieces of gaps are a step of :mod:`punctual.share.cadence.effort`; bounds up to 40,000
  units never need more than a fifth of what one plan may take. Beyond that, beyond ``MOST_PLATEAUS`` where they are not
  kept length by length, or with more runs than are written down there is no answer here (``OutOfSteps``); the greedy
  plan is then within twice the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm

import numpy as np

from punctual.kernel.cadence import I64, LONGEST, UNKNOWN, VECTOR, plateaus, runs_inside
from punctual.share.cadence.effort import MOST_RUNS, Effort, OutOfSteps

MOST_PLATEAUS = 20_000
PIECES_PER_STEP = 250
MOST_LENGTHS = 2**20
"""Two arrays of so many costs are kept where every length of a gap has one."""
MARGIN = 1e-12
"""Far above the rounding of a quotient of doubles."""


@dataclass(frozen=True, slots=True, eq=False)
class CheapestCycle:
    """Runs of levels at times, ascending; ``rate`` is what they cost per unit of ``length``."""

    length: int
    rate: Fraction
    times: I64
    levels: I64


def cheapest_cycle(bounds: Sequence[int], costs: Sequence[Fraction], effort: Effort | None = None) -> CheapestCycle:
    """The cheapest cycle; ``OutOfSteps`` where it would take too long to find.

    Its runs lie in (0, length]; the last one is of the dearest level.

    Parameters
    ----------
    bounds : integers of a unit, strictly ascending, at least 1
    costs : strictly ascending, not negative
    effort : Effort, optional
        What it may take; by default what one plan may.

    Examples
    --------
    >>> best = cheapest_cycle([2, 3, 5], [Fraction(9), Fraction(14), Fraction(29)])
    >>> best.length, best.rate, best.times.tolist(), best.levels.tolist()
    (5, Fraction(52, 5), [2, 4, 5], [1, 0, 2])
    """
    times, levels = runs_of_cycle(bounds, costs, None, effort or Effort())
    length = int(times[-1])
    return CheapestCycle(length, cost_of_runs(levels, costs) / length, times, levels)


def cost_of_runs(levels: I64, costs: Sequence[Fraction]) -> Fraction:
    """What runs of levels cost together."""
    counts = np.bincount(levels).tolist()
    return sum((count * cost for count, cost in zip(counts, costs)), Fraction(0))


def runs_of_cycle(
    bounds: Sequence[int], costs: Sequence[Fraction], length: int | None, effort: Effort
) -> tuple[I64, I64]:
    """Times and levels of a cycle up to its run of the dearest level: at ``length``, or where it is cheapest."""
    peeled = _divisors_of_all_later(bounds)
    base = costs[peeled - 1] if peeled else Fraction(0)
    if length is not None:
        _check_number(length // bounds[0])
    upper = _unpeeled(bounds[peeled:], [cost - base for cost in costs[peeled:]], length, effort)
    if not peeled:
        return upper
    _check_number(upper[0][-1] // bounds[0])
    times = bounds[0] * np.arange(1, upper[0][-1] // bounds[0] + 1)
    levels = np.zeros(times.size, np.int64)
    for level in range(1, peeled):
        levels[times % bounds[level] == 0] = level
    levels[upper[0] // bounds[0] - 1] = upper[1] + peeled
    return times, levels


def _check_number(runs: int) -> None:
    if runs > MOST_RUNS:
        raise OutOfSteps


def _divisors_of_all_later(bounds: Sequence[int]) -> int:
    """How many of the smallest bounds each divide all that follow; never all of them."""
    count = 0
    while count < len(bounds) - 1 and all(bound % bounds[count] == 0 for bound in bounds[count + 1 :]):
        count += 1
    return count


def _unpeeled(
    bounds: Sequence[int], costs: Sequence[Fraction], length: int | None, effort: Effort
) -> tuple[I64, I64]:
    unit = gcd(*bounds)
    units = [bound // unit for bound in bounds]
    if units[-1] > LONGEST:
        raise OutOfSteps
    whole = whole_costs(units, costs)
    pairs = sum((upper - bound) * bound // 2 for bound, upper in pairwise(units))
    most_pieces = effort.left * PIECES_PER_STEP
    dense = pairs <= most_pieces * VECTOR and units[-1] <= MOST_LENGTHS
    limits, prices = np.array(units, np.int64), np.array(whole, np.int64)
    ends, values, pieces = plateaus(limits, prices, MOST_PLATEAUS, most_pieces, dense)
    effort.spend(int(pieces) // PIECES_PER_STEP + len(bounds))
    if not ends.size:
        raise OutOfSteps
    last = int(ends[_cheapest(ends, values, whole[-1])]) if length is None else length // unit
    _check_number(last // units[0])
    times, levels = runs_inside(limits, prices, ends, values, last)
    effort.spend(times.size)
    return np.append(times, last) * unit, np.append(levels, len(bounds) - 1)


def whole_costs(bounds: Sequence[int], costs: Sequence[Fraction]) -> list[int]:
    """Costs as integers of a common quantum, strictly ascending, so that what a gap costs fits the kernel.

    >>> whole_costs([2, 3], [Fraction(1, 2), Fraction(5, 6)])
    [3, 5]
    """
    denominator = lcm(*(cost.denominator for cost in costs))
    whole = [int(cost * denominator) for cost in costs]
    common = gcd(*whole) or 1
    whole = [cost // common for cost in whole]
    # Bounds rounded down to multiples of each other lose less than half: one way, so no gap costs more.
    most = sum((cost - below) * (2 * bounds[-1] // bound + 1) for bound, cost, below in zip(bounds, whole, [0, *whole]))
    if most <= UNKNOWN // 2:
        return whole
    quantum = most // (UNKNOWN // 4)
    rounded: list[int] = []
    for cost in whole:
        least = rounded[-1] + 1 if rounded else min(cost, 1)
        rounded.append(max(least, (2 * cost + quantum) // (2 * quantum)))
    return rounded


def _cheapest(ends: I64, values: I64, dearest: int) -> int:
    """The plateau that is best repeated for ever, with a run of the dearest level between; the shortest of such."""
    # Doubles say which plateaus come near the best, whole numbers which of them it is.
    rates = (values + dearest) / ends
    best, *others = np.flatnonzero(rates <= rates.min() * (1 + MARGIN)).tolist()
    costs, lengths = (values + dearest).tolist(), ends.tolist()
    for other in others:
        if costs[other] * lengths[best] < costs[best] * lengths[other]:
            best = other
    return int(best)
