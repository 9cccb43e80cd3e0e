"""The cheapest runs inside a cycle whose ends are given: what bounded queries need beside PERIOD instants.

Model
-----
Something runs every ``length`` units whatever is planned, and answers every level for nothing. So what is left to plan
is one gap of exactly that length: its least cost is ``C[length]`` of :mod:`punctual.kernel.cadence`, where the given
execution is one more level above the others. A gap longer than the largest bound then needs runs of the dearest level,
by the same recurrence as every other gap. Oracle: all schedules (``tests/share/test_cadence_fixed.py``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from punctual.share.cadence.cheapest_cycle import CheapestCycle, cost_of_runs, runs_of_cycle
from punctual.share.cadence.effort import Effort


def fixed_cycle(
    bounds: Sequence[int], costs: Sequence[Fraction], length: int, effort: Effort | None = None
) -> CheapestCycle:
    """The cheapest runs strictly inside a cycle whose ends are given; ``OutOfSteps`` where it would take too long.

    Something else runs every ``length`` units and answers every level. The runs lie in (0, length), and the rate is
    theirs alone. A cycle longer than the largest bound has runs of the dearest level in it, as any gap has of a level
    whose bound it exceeds.

    Parameters
    ----------
    bounds, costs, effort
        As for :func:`cheapest_cycle`.
    length : int
        At least 1.

    Examples
    --------
    >>> best = fixed_cycle([2, 3], [Fraction(3), Fraction(4)], 4)
    >>> best.rate, best.times.tolist(), best.levels.tolist()
    (Fraction(1, 1), [2], [1])
    """
    inside = bisect_left(bounds, length)  # a level whose bound is not shorter has nothing to do
    if not inside:
        return CheapestCycle(length, Fraction(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    # What is given is one more level, of whatever cost above the others.
    above = 2 * costs[inside - 1] or Fraction(1)
    runs = runs_of_cycle([*bounds[:inside], length], [*costs[:inside], above], length, effort or Effort())
    times, levels = runs[0][:-1], runs[1][:-1]
    return CheapestCycle(length, cost_of_runs(levels, costs) / length, times, levels)
