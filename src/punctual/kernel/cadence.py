"""The least cost strictly inside a gap between two executions, for every length of gap.

Model
-----
Level i must run at least every ``bounds[i]`` units and one run costs ``costs[i]``; both rise strictly with i, and a run
answers every level below it. ``C[L]`` is the least cost of runs strictly inside a gap of ``L`` units between two runs
of a dearer level: nothing for ``L <= bounds[0]``, and for ``bounds[i] < L <= bounds[i + 1]``::

    C[L] = costs[i] + min over l <= bounds[i] of C[l] + C[L - l]

Design
------
``C`` never falls, and the result is its *plateaus*: where each ends and what it costs. Which runs a gap needs is found
afterwards, from the costs alone (:func:`runs_inside`).

*Half of the pieces.* The runs of level i cut a gap into pieces, in any order. Two pieces that together keep the bound
would be cheaper as one, with a cheaper run between them. So all but one are longer than half the bound, and the longest
one may come first: ``l`` is at least ``bounds[i] // 2 + 1``, and at least half of the gap while it is too short for
three pieces (``2 L < 3 (bounds[i] + 1)``).

*Few plateaus.* Only right ends of plateaus can be ``l``, and a new plateau reaches as far as the best of its pieces
does. Nothing then depends on the unit of time: thirty bounds up to 40,000 with a smallest one of hundreds have hundreds
of plateaus, and take less than a millisecond.

*Many plateaus.* Beside a smallest bound of a few units nearly every length is a plateau of its own. Then a cost for
every length is kept, forwards and backwards, so that the recurrence reads two arrays in one direction, four lengths at
a time: vector instructions do some nine thousand million pieces per second, and the worst bounds up to 40,000 have four
hundred million. Which of the two is faster is decided level by level.

Oracles: the recurrence as it is written, and all schedules. References: tests/papers/chen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled

I64 = NDArray[np.int64]
UNKNOWN = 2**61
"""A cost above all others, which can be added to one of them."""
LONGEST = 2**60
"""Three times a bound is computed."""
CROWDED = 8
"""From one plateau in so many units on, keeping every length is faster."""
SHORT = 6
"""Below this bound, four lengths at a time would need each other's costs."""
SEARCH = 16
"""A search among plateaus takes as long as so many pieces."""
VECTOR = 64
"""So many pieces by vector instructions take as long as one that is looked at by itself."""


@compiled
def plateaus(bounds: I64, costs: I64, most: int, most_pieces: int, dense: bool) -> tuple[I64, I64, int]:
    """Right ends and costs of the plateaus of ``C`` up to the last bound, and how many pieces were looked at.

    There are none where they are more than ``most``, or their pieces more than ``most_pieces``.

    Parameters
    ----------
    bounds, costs : int64[g]
        Strictly ascending, at least 1 and at least 0. No ``C[L]`` up to the last bound may exceed ``UNKNOWN / 2``, and
        the last bound not ``LONGEST``.
    most, most_pieces : int
        At least 1. Neither counts once every length is kept.
    dense : bool
        Whether there is room and time to keep a cost for every length up to the last bound.

    Examples
    --------
    >>> ends, values, pieces = plateaus(np.array([2, 3, 5]), np.array([3, 4, 5]), 10, 100, True)
    >>> ends.tolist(), values.tolist()
    ([2, 3, 4, 5], [0, 3, 4, 7])
    """
    ends, values = np.zeros(most, np.int64), np.zeros(most, np.int64)
    ends[0] = bounds[0]
    known, pieces = 1, 0
    for i in range(bounds.size - 1):
        if dense and known * CROWDED > bounds[i]:
            forwards, backwards = _every_length(bounds[-1], ends[:known], values[:known])
            vectored = 0
            for level in range(i, bounds.size - 1):
                vectored += _extend_lengths(forwards, backwards, bounds[level], costs[level], bounds[level + 1])
            every_end, every_value = _compressed(forwards)
            return every_end, every_value, pieces + vectored // VECTOR
        known, more = _extend_plateaus(ends, values, known, bounds[i], costs[i], bounds[i + 1], most_pieces - pieces)
        pieces += more
        if known < 0:
            return ends[:0], values[:0], pieces
    return ends[:known], values[:known], pieces


@compiled
def _extend_plateaus(
    ends: I64, values: I64, known: int, bound: int, cost: int, upper: int, most_pieces: int
) -> tuple[int, int]:
    """Append the plateaus of gaps in (bound, upper], of which all pieces keep the bound.

    How many there are then, or -1 where they are too many, and how many pieces were looked at.
    """
    stop, pieces = known, 0
    rest = np.full(stop, -1)  # the plateau of what a piece leaves over: it only moves right
    while ends[known - 1] < upper:
        if known == ends.size or pieces > most_pieces:
            return -1, pieces
        gap = ends[known - 1] + 1
        shortest = (gap + 1) // 2 if 2 * gap < 3 * (bound + 1) else bound // 2 + 1
        best, reach = UNKNOWN, 0
        first = int(np.searchsorted(ends[:stop], shortest))
        pieces += stop - first
        for c in range(first, stop):
            at = rest[c]
            if at < 0:
                at = np.searchsorted(ends[:known], gap - ends[c])
                pieces += SEARCH
            while ends[at] < gap - ends[c]:
                at += 1
                pieces += 1
            rest[c] = at
            value, end = values[c] + values[at], ends[c] + ends[at]
            if value < best:
                best, reach = value, end
            elif value == best:
                reach = max(reach, end)
        ends[known] = min(reach, upper)
        values[known] = best + cost
        known += 1
    return known, pieces


@compiled
def _every_length(longest: int, ends: I64, values: I64) -> tuple[I64, I64]:
    """``forwards[L] = backwards[longest - L] = C[L]`` as far as the plateaus reach."""
    forwards = np.full(longest + 1, UNKNOWN)
    start = 0
    for plateau in range(ends.size):
        forwards[start : ends[plateau] + 1] = values[plateau]
        start = ends[plateau] + 1
    return forwards, forwards[::-1].copy()


@compiled
def _extend_lengths(forwards: I64, backwards: I64, bound: int, cost: int, upper: int) -> int:
    """Fill in gaps in (bound, upper], of which all pieces keep the bound; how many pieces were looked at."""
    longest, looked_at = forwards.size - 1, 0
    step = 4 if bound >= SHORT else 1
    for gap in range(bound + 1, upper + 1, step):
        last = gap + step - 1
        shortest = (gap + 1) // 2 if 2 * last < 3 * (bound + 1) else bound // 2 + 1
        pieces, over = forwards[shortest : bound + 1], backwards[longest - last + shortest :]
        looked_at += step * pieces.size
        if step == 1:
            least = (_least_sum(pieces, over), UNKNOWN, UNKNOWN, UNKNOWN)
        else:
            least = _four_least_sums(pieces, over)
        for place in range(min(step, upper - gap + 1)):
            forwards[gap + place] = backwards[longest - gap - place] = least[place] + cost
    return looked_at


@compiled
def _least_sum(a: I64, b: I64) -> int:
    least = UNKNOWN
    for k in range(a.size):
        least = min(least, a[k] + b[k])
    return least


@compiled
def _four_least_sums(a: I64, b: I64) -> tuple[int, int, int, int]:
    """The least of ``a[k] + b[k + shift]`` for shifts 3, 2, 1 and 0: what a loop of vector instructions is made of."""
    least_0 = least_1 = least_2 = least_3 = UNKNOWN
    for k in range(a.size):
        piece = a[k]
        least_0 = min(least_0, piece + b[k + 3])
        least_1 = min(least_1, piece + b[k + 2])
        least_2 = min(least_2, piece + b[k + 1])
        least_3 = min(least_3, piece + b[k])
    return least_0, least_1, least_2, least_3


@compiled
def _compressed(forwards: I64) -> tuple[I64, I64]:
    rises = np.flatnonzero(np.diff(forwards[1:])) + 1
    ends = np.append(rises, forwards.size - 1)
    return ends, forwards[ends]


@compiled
def _first_piece(ends: I64, values: I64, plateau: int, bound: int, cost: int) -> int:
    """The shortest first piece, of those that keep the bound, of the cheapest runs inside a gap."""
    gap, inside = ends[plateau], values[plateau] - cost
    at, piece = 0, min(ends[0], bound)
    rest = np.searchsorted(ends, gap - piece)
    while values[at] + values[rest] != inside:
        if piece == bound:
            raise ValueError("these are not the plateaus of these bounds and costs")
        at += 1
        piece = min(ends[at], bound)  # runs that cost nothing let a plateau reach beyond the bound
        while rest and ends[rest - 1] >= gap - piece:
            rest -= 1
    return int(piece)


@compiled
def runs_inside(bounds: I64, costs: I64, ends: I64, values: I64, gap: int) -> tuple[I64, I64]:
    """Times and levels of the cheapest runs strictly inside a gap, ascending by time.

    A gap is cut where the costs of its two parts and of the run add up to its own, and so are its parts; gaps of one
    plateau alike.

    Examples
    --------
    Bounds 2, 3, 5 with costs 3, 4, 5: a gap of four units needs one run of the second level, in its middle.

    >>> bounds, costs = np.array([2, 3, 5]), np.array([3, 4, 5])
    >>> ends, values, _pieces = plateaus(bounds, costs, 10, 100, True)
    >>> times, levels = runs_inside(bounds, costs, ends, values, 4)
    >>> times.tolist(), levels.tolist()
    ([2], [1])
    """
    # Two neighbouring pieces of a level are together longer than its bound: so many runs at most.
    most = 2 * (gap // bounds[0]) + 2
    times, levels = np.empty(most, np.int64), np.empty(most, np.int64)
    # What is still to do, the next on top. First pieces are of a lower level: two things wait for each.
    starts, stops = np.empty(2 * bounds.size + 3, np.int64), np.empty(2 * bounds.size + 3, np.int64)
    starts[0], stops[0] = 0, gap
    waiting, runs = 1, 0
    pieces, cut_by = np.zeros(ends.size, np.int64), np.zeros(ends.size, np.int64)
    while waiting:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        if stop < 0:  # a run, and not a gap
            times[runs], levels[runs] = start, -1 - stop
            runs += 1
        elif stop - start > bounds[0]:
            plateau = np.searchsorted(ends, stop - start)
            if not pieces[plateau]:
                level = np.searchsorted(bounds, stop - start) - 1
                pieces[plateau] = _first_piece(ends, values, plateau, bounds[level], costs[level])
                cut_by[plateau] = level
            middle = start + pieces[plateau]
            starts[waiting], stops[waiting] = middle, stop
            starts[waiting + 1], stops[waiting + 1] = middle, -1 - cut_by[plateau]
            starts[waiting + 2], stops[waiting + 2] = start, middle
            waiting += 3
    return times[:runs], levels[:runs]
