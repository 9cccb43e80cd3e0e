"""Which intervals are loaded more than the whole: one sweep over deadlines.

A set of disjoint intervals is worth its *surplus*: what the jobs inside need beyond their fair share of the time, if
all of them had the same ratio. The set with the largest surplus is found like this. Deadlines are visited in order. For
each start a that has passed, ``value(a)`` is the largest surplus of a set whose last interval begins at a and is still
open; a job that is due adds its load to all starts up to its own. A start is only of use while its value is above those
of all earlier ones: additions go to earlier starts as well, so it would never come back. So the useful starts have
rising values, the last one is the best, and it is enough to know by how much each is ahead of the one before it. A job
lowers one of these differences, and starts that are not ahead any more join their neighbour (disjoint sets). That
takes nearly constant time, where a segment tree would take a logarithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

Job: TypeAlias = tuple[int, int, int, int]
"""Start, deadline, load, and the place of its query."""
Interval: TypeAlias = tuple[int, int]
Chain: TypeAlias = "tuple[int, int, Chain] | None"
"""An interval and those before it."""


def crowded_intervals(jobs: Sequence[Job], length: int, total: int) -> list[Interval]:
    """The disjoint intervals with the largest surplus, in order; none where no interval is loaded above the average.

    Parameters
    ----------
    jobs : all of which lie in a stretch of time of ``length``
    total : their load

    >>> crowded_intervals([(0, 4, 1, 0), (1, 2, 5, 1)], 4, 6)
    [(1, 2)]
    >>> crowded_intervals([(0, 2, 3, 0), (2, 4, 3, 1)], 4, 6)
    []
    """
    starts = sorted({start for start, _deadline, _load, _place in jobs})
    end = len(starts)
    place_of = {start: place for place, start in enumerate(starts)}
    joined = list(range(end))  # the earlier start that each has joined, or itself
    following, ahead = [end] * end, [0] * end  # the next useful start; how far each is ahead of the one before it
    before: list[Chain] = [None] * end  # the best set that had ended when each start was passed
    passed, last, highest = 1, 0, total * starts[0]  # starts so far, the last useful one, its value
    most = 0
    chosen: Chain = None
    for start, deadline, load, _place in sorted(jobs, key=itemgetter(1)):
        while passed < end and starts[passed] < deadline:
            value = most + total * starts[passed]
            if value > highest:
                following[last], ahead[passed], before[passed] = passed, value - highest, chosen
                last, highest = passed, value
            else:
                joined[passed] = last
            passed += 1
        place = place_of[start]
        while joined[place] != place:
            joined[place] = place = joined[joined[place]]
        added = length * load
        while (later := following[place]) < end:
            ahead[later] -= added
            if ahead[later] > 0:
                break
            added, joined[later], following[place] = -ahead[later], place, following[later]
        else:
            last, highest = place, highest + added
            if highest - total * deadline > most:
                most, chosen = highest - total * deadline, (starts[last], deadline, before[last])
    return _in_order(chosen)


def _in_order(chain: Chain) -> list[Interval]:
    found: list[Interval] = []
    while chain is not None:
        begin, end, chain = chain
        found.append((begin, end))
    return found[::-1]
