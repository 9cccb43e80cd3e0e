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
* *Exact numbers.* Costs are multiplied by their common denominator. Where the sums fit into 62 bits the kernel runs
  compiled, and otherwise the same function runs interpreted on Python's integers.
* *A bounded effort.* Beyond ``MOST_PLATEAUS`` there is no answer here; the greedy plan is then within twice the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from punctual.kernel.cadence import I64, MARGIN, Costs, fill_plateaus, fill_plateaus_compiled, runs_inside

MOST_PLATEAUS = 50_000
FITS = 2**61


@dataclass(frozen=True, slots=True, eq=False)
class CheapestCycle:
    """Runs in (0, length], the last one of the dearest level; ``rate`` is their cost per unit."""

    length: int
    rate: Fraction
    times: I64
    levels: I64


def cheapest_cycle(
    bounds: Sequence[int], costs: Sequence[Fraction], most_plateaus: int = MOST_PLATEAUS
) -> CheapestCycle | None:
    """The cheapest cycle, or None where it would take too long to find.

    Parameters
    ----------
    bounds : integers of a unit, strictly ascending, at least 1
    costs : strictly ascending, not negative
    most_plateaus : int
        Effort and memory; the time grows with its square in the worst case.

    Examples
    --------
    >>> best = cheapest_cycle([2, 3, 5], [Fraction(9), Fraction(14), Fraction(29)])
    >>> best.length, best.rate, best.times.tolist(), best.levels.tolist()
    (5, Fraction(52, 5), [2, 4, 5], [1, 0, 2])
    """
    peeled = _divisors_of_all_later(bounds)
    base = costs[peeled - 1] if peeled else Fraction(0)
    upper = _unpeeled(bounds[peeled:], [cost - base for cost in costs[peeled:]], most_plateaus)
    if upper is None or not peeled:
        return upper
    rate = upper.rate + sum(
        ((cost - below) / bound for bound, cost, below in zip(bounds[:peeled], costs, [Fraction(0), *costs])),
        Fraction(0),
    )
    times = np.arange(bounds[0], upper.length + 1, bounds[0], dtype=np.int64)
    levels = np.zeros(times.size, np.int64)
    for level in range(1, peeled):
        levels[times % bounds[level] == 0] = level
    levels[upper.times // bounds[0] - 1] = upper.levels + peeled
    return CheapestCycle(upper.length, rate, times, levels)


def _divisors_of_all_later(bounds: Sequence[int]) -> int:
    """How many of the smallest bounds each divide all that follow; never all of them."""
    count = 0
    while count < len(bounds) - 1 and all(bound % bounds[count] == 0 for bound in bounds[count + 1 :]):
        count += 1
    return count


def _unpeeled(bounds: Sequence[int], costs: Sequence[Fraction], most_plateaus: int) -> CheapestCycle | None:
    denominator = lcm(*(cost.denominator for cost in costs))
    whole = [int(cost * denominator) for cost in costs]
    # Running the dearest inner level at every smallest bound is one way: no gap costs more, no sum twice as much.
    fits = 2 * whole[-1] * (bounds[-1] // bounds[0] + 2) < FITS
    capacity = min(bounds[-1], most_plateaus)
    values: Costs = np.zeros(capacity, np.int64 if fits else object)
    ends, pieces = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    levels = np.array(bounds, np.int64)
    fill = fill_plateaus_compiled if fits else fill_plateaus
    known = fill(levels, np.array(whole, values.dtype), ends, values, pieces)
    if known < 0:
        return None
    ends, values, pieces = ends[:known], values[:known], pieces[:known]
    dearest = whole[-1]
    best = 0
    if known > 1:
        # Doubles say which plateaus come near the best, whole numbers which of them it is.
        rates = (values / dearest + 1).astype(np.float64) / ends
        near = np.flatnonzero(rates <= rates.min() * (1 + MARGIN)).tolist()
        best = min(near, key=lambda plateau: Fraction(int(values[plateau]) + dearest, int(ends[plateau])))
    length = int(ends[best])
    times, inner = runs_inside(levels, ends, pieces, length)
    return CheapestCycle(
        length,
        Fraction(int(values[best]) + dearest, length * denominator),
        np.append(times, length),
        np.append(inner, len(bounds) - 1),
    )
