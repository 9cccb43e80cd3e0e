"""The least cost strictly inside a gap between two executions, for every length of gap.

Model
-----
Level i must run at least every ``bounds[i]`` units and one run costs ``costs[i]``; both rise strictly with i, and a run
answers every level below it. ``C[L]`` is the least cost of runs strictly inside a gap of ``L`` units between two runs
of a dearer level: nothing for ``L <= bounds[0]``, and for ``bounds[i] < L <= bounds[i + 1]``::

    C[L] = costs[i] + min over l <= bounds[i] of C[l] + C[L - l]

Design
------
``C`` never falls, so it is kept as its *plateaus*: where each ends and what it costs. Only right ends can be the first
piece ``l``, and a new plateau reaches as far as the best of its pieces does. So nothing here depends on the unit of
time: thirty bounds up to 40,000 have a few hundred plateaus, and take about a millisecond. The worst case is a smallest
bound of a few units beside one of thousands, where nearly every length is a plateau of its own.

A piece of level i wastes ``C[l] + costs[i] - rate * l``, where ``rate`` is the best that level can do for ever. Pieces
may be permuted, so the least wasteful one comes first: candidates are tried in order of their waste, up to the best
total found divided by the number of pieces. Waste is a double and only ever decides what need not be tried, with a
margin far above its rounding; costs are compared exactly.

Room
----
The same function runs compiled on int64 and interpreted on Python integers of any size (an array of objects).
Oracles: the dense recurrence, and all schedules. References: tests/papers/chen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled

I64 = NDArray[np.int64]
Costs = NDArray[Any]
MARGIN = 1e-9
"""Relative to the cost so far: a million times the rounding of the doubles that waste is measured in."""


def fill_plateaus(bounds: I64, costs: Costs, ends: I64, values: Costs, pieces: I64) -> int:
    """Write the plateaus of ``C`` up to the last bound; how many there are, or -1 when they do not fit.

    Parameters
    ----------
    bounds : int64[g]
        Strictly ascending, at least 1.
    costs : int64[g] or object[g]
        Strictly ascending, not negative.
    ends, values, pieces : arrays of the same length
        Written: right end of each plateau, its cost, and the plateau whose end is its first piece.
    """
    ends[0] = bounds[0]
    values[0] = costs[0] - costs[0]  # zero, of the type of the costs
    pieces[0] = 0
    known = 1
    scale = costs[-1]
    for i in range(bounds.size - 1):
        bound, cost, upper = bounds[i], costs[i], bounds[i + 1]
        candidates = known
        rates = np.empty(candidates)
        for c in range(candidates):
            rates[c] = (values[c] + cost) / scale / ends[c]
        rate = rates.min()
        order = np.argsort((rates - rate) * ends[:candidates], kind="mergesort")
        waste = ((rates - rate) * ends[:candidates])[order]
        length, inside = ends[:candidates][order], values[:candidates][order]
        rest = np.zeros(candidates, np.int64)  # the plateau of what a piece leaves over: it only moves right
        while ends[known - 1] < upper:
            if known == ends.size:
                return -1
            gap = ends[known - 1] + 1
            least = -(-gap // bound)
            best, reach, piece = inside[0], -1, 0
            allowed = np.inf
            for c in range(candidates):
                if waste[c] * least > allowed:
                    break
                at = rest[c]
                while ends[at] < gap - length[c]:
                    at += 1
                rest[c] = at
                value, end = inside[c] + values[at], length[c] + ends[at]
                if reach < 0 or value < best:
                    total = (value + cost + cost) / scale
                    allowed = total - rate * gap + MARGIN * total
                    best, reach, piece = value, end, c
                elif value == best and (end > reach or (end == reach and length[c] > length[piece])):
                    reach, piece = end, c
            ends[known] = min(reach, upper)
            values[known] = best + cost
            pieces[known] = order[piece]
            known += 1
    return known


fill_plateaus_compiled = compiled(fill_plateaus)


@compiled
def runs_inside(bounds: I64, ends: I64, pieces: I64, gap: int) -> tuple[I64, I64]:
    """Times and levels of the cheapest runs strictly inside a gap, ascending by time.

    Examples
    --------
    Bounds 2, 3, 5 with costs 3, 4, 5: a gap of four units needs one run of the second level, in its middle.

    >>> bounds, costs = np.array([2, 3, 5]), np.array([3, 4, 5])
    >>> ends, values, pieces = np.zeros(5, np.int64), np.zeros(5, np.int64), np.zeros(5, np.int64)
    >>> known = fill_plateaus_compiled(bounds, costs, ends, values, pieces)
    >>> ends[:known].tolist(), values[:known].tolist()
    ([2, 3, 4, 5], [0, 3, 4, 7])
    >>> times, levels = runs_inside(bounds, ends[:known], pieces[:known], 4)
    >>> times.tolist(), levels.tolist()
    ([2], [1])
    """
    # Two neighbouring pieces of a level are together longer than its bound: so many runs at most.
    most = 2 * (gap // bounds[0]) + 2
    times, levels = np.empty(most, np.int64), np.empty(most, np.int64)
    starts, stops = np.empty(most, np.int64), np.empty(most, np.int64)
    starts[0], stops[0] = 0, gap
    waiting, runs = 1, 0
    while waiting:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        if stop - start <= bounds[0]:
            continue
        middle = start + ends[pieces[np.searchsorted(ends, stop - start)]]
        times[runs] = middle
        levels[runs] = np.searchsorted(bounds, stop - start) - 1
        runs += 1
        starts[waiting], stops[waiting] = start, middle
        starts[waiting + 1], stops[waiting + 1] = middle, stop
        waiting += 2
    order = np.argsort(times[:runs])
    return times[:runs][order], levels[:runs][order]
