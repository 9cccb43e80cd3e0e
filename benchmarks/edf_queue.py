"""One server that runs executions one at a time, earliest deadline first, at whatever they were measured to take.

Executions are released at their instants. The order is that of ``punctual.schedule.edf`` (deadline, then instant, then
name) with one execution per pass: no late-pending sharing, which would be another remedy. A deadline is the release and
the tightest bound of the queries that the execution answers.

Latency of a query is the papers': over its consecutive executions the sum of what each gap exceeds the bound by,
divided by the number of executions; a gap is between the ends of two executions.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from benchmarks.executions import Execution
from punctual.clock import SECOND


def latency(executions: Sequence[Execution], services: Sequence[float], bounds: Mapping[str, float]) -> float:
    """Mean latency of the queries, in seconds.

    ``services`` are seconds that each execution takes; ``bounds`` are seconds by query.

    >>> some = [Execution(at * SECOND, ("q",), 1, 0, 0.0, 0.0) for at in (1, 2, 3)]
    >>> latency(some, [0.5, 0.5, 0.5], {"q": 1.0})
    0.0
    >>> latency(some, [2.0, 2.0, 2.0], {"q": 1.0})  # ends at 3, 5, 7: two gaps of 2
    0.6666666666666666
    """
    order = sorted(range(len(executions)), key=lambda place: executions[place].at)
    waiting: list[tuple[float, int, str, int]] = []
    ended: dict[str, float] = {}
    excess = dict.fromkeys(bounds, 0.0)
    count = dict.fromkeys(bounds, 0)
    now, released = float("-inf"), 0
    while released < len(order) or waiting:
        if not waiting:
            now = max(now, executions[order[released]].at / SECOND)
        while released < len(order) and executions[order[released]].at / SECOND <= now:
            one = executions[order[released]]
            deadline = one.at / SECOND + min(bounds[query] for query in one.queries)
            heapq.heappush(waiting, (deadline, one.at, one.queries[0], order[released]))
            released += 1
        _deadline, _at, _name, place = heapq.heappop(waiting)
        now += services[place]
        for query in executions[place].queries:
            if query in ended:
                excess[query] += max(0.0, now - ended[query] - bounds[query])
            ended[query] = now
            count[query] += 1
    return sum(excess[query] / count[query] for query in bounds if count[query]) / len(bounds)
