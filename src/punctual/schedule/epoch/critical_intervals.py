"""Fair core time for anytime queries that are all known: the exact optimum, by critical intervals.

Model
-----
``cores`` run any of the queries that are alive, one query on as many cores at once as need be, so an interval of length
l has ``cores * l`` of core time, and the queries inside it cannot have more than that together. A query that gets ``r``
times its essential time has the *ratio* r (the paper's 1 + beta). The allocation is max-min fair in ratios: nobody's
can be raised without lowering that of somebody who has no more. Ratios below 1 are shedding, and only those share it
who are inside an overloaded interval. All core time is given away while somebody is alive who needs any; a query that
needs none gets none.

Method
------
Some interval is loaded most: queries inside it share it by their essential times, and for all others its time is gone.
The paper looks for the most loaded interval, takes it out, and looks again. Here all intervals are found at once that
are loaded more than the whole (:func:`punctual.schedule.epoch.crowded.crowded_intervals`), which takes one sweep. In
the best allocation they have exactly the core time that there is in them, so each is a problem by itself, and so is
what remains when their time is cut out. Where no interval is loaded more than the whole, all have the same ratio. That
is the first step of Dinkelbach's method, and its other steps are taken in the smaller problems.

Numbers become integers first, since every float is a fraction: no comparison is off by rounding, so ties and touching
lifetimes need no tolerance. Results are rounded once. Cost: a sort and a sweep (about n steps each) for each depth of
the division, which is about the logarithm of the number of ratios that differ.

References
----------
Ge and others, anytime queries with deadlines on multicores: PO-MULTIQ (``graph.py`` has it as it was published).
The division is Fujishige's for lexicographically optimal bases of a polymatroid.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import lcm

from punctual.schedule.epoch.anytime_query import AnytimeQuery, check_cores
from punctual.schedule.epoch.crowded import Interval, Job, crowded_intervals


def allocate(queries: Sequence[AnytimeQuery], cores: float) -> list[float]:
    """Core time for each query, in their order.

    On two cores the second and the third query share their common lifetime by 2.4 to 0.8; what is left is the first's:

    >>> allocate([AnytimeQuery(0, 2, 0.2), AnytimeQuery(1, 3, 2.4), AnytimeQuery(2, 3, 0.8)], cores=2)
    [2.0, 3.0, 1.0]
    """
    check_cores(cores)
    times, per_unit = _whole_numbers([time for query in queries for time in (query.start, query.deadline)])
    loads, _per_unit = _whole_numbers([query.essential for query in queries])
    allocated = [0.0] * len(queries)
    numbered = zip(times[::2], times[1::2], loads, range(len(queries)))
    waiting = _apart(job for job in numbered if job[2])
    while waiting:
        jobs = waiting.pop()
        begin, end = jobs[0][0], max(deadline for _start, deadline, _load, _place in jobs)
        total = sum(load for _start, _deadline, load, _place in jobs)
        crowded = crowded_intervals(jobs, end - begin, total) if len(jobs) > 1 else []
        if crowded:
            for part in _divided(jobs, crowded):
                waiting += _apart(part)
            continue
        capacity = cores * ((end - begin) / per_unit)
        for _start, _deadline, load, place in jobs:
            allocated[place] = capacity * (load / total)
    return allocated


def _whole_numbers(values: Sequence[float]) -> tuple[list[int], int]:
    """The same values as integers of a smaller unit, and how many of it are one."""
    fractions = [value.as_integer_ratio() for value in values]
    per_unit = lcm(*{denominator for _numerator, denominator in fractions})
    return [numerator * (per_unit // denominator) for numerator, denominator in fractions], per_unit


def _apart(jobs: Iterable[Job]) -> list[list[Job]]:
    """Jobs by the stretches of time in which somebody is alive, each list by start; those that only touch are apart."""
    parts: list[list[Job]] = []
    until = 0
    for job in sorted(jobs):
        if not parts or job[0] >= until:
            parts.append([])
            until = job[1]
        parts[-1].append(job)
        until = max(until, job[1])
    return parts


def _divided(jobs: Sequence[Job], crowded: Sequence[Interval]) -> list[list[Job]]:
    """The jobs inside each interval, and the others without the time of the intervals."""
    begins = [begin for begin, _end in crowded]
    removed = [0, *accumulate(end - begin for begin, end in crowded)]
    inside: list[list[Job]] = [[] for _interval in crowded]
    outside: list[Job] = []

    def left(time: int, interval: int) -> int:
        """The time without that of the intervals up to this one, the last that begins by then."""
        if interval < 0:
            return time
        begin, end = crowded[interval]
        return time - removed[interval] - (min(time, end) - begin)

    for job in jobs:
        start, deadline, load, place = job
        first = bisect_right(begins, start) - 1
        if first >= 0 and deadline <= crowded[first][1]:
            inside[first].append(job)
        else:
            last = bisect_right(begins, deadline) - 1
            outside.append((left(start, first), left(deadline, last), load, place))
    return [*inside, outside]
