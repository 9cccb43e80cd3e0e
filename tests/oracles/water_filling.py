"""Fair core time by filling up: every set of queries is looked at, and nothing is known of intervals.

However cores are shared, a set of queries has at most ``cores`` times the length of time in which one of them is alive.
By the theorem of maximal flows and minimal cuts these limits are all there are. So all ratios grow alike until some set
reaches its limit; those in it stay where they are, and the others grow on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1 + 1e-9


def filled_up(queries: Sequence[tuple[float, float, float]], cores: float) -> NDArray[np.float64]:
    """Core time of queries (start, deadline, essential); a few of them only, since sets double with each."""
    essential = np.array([needed for _start, _deadline, needed in queries], np.float64)
    sets = (np.arange(1, 2 ** len(queries))[:, None] >> np.arange(len(queries))) & 1 == 1
    limits = np.array([cores * time_alive([queries[i] for i in np.flatnonzero(some)]) for some in sets])
    given = np.zeros(len(queries))
    growing = essential > 0
    while growing.any():
        grow = sets @ (essential * growing)
        some = grow > 0
        ratios = (limits[some] - sets[some] @ (given * ~growing)) / grow[some]
        full = sets[some][ratios <= ratios.min() * ROUNDING].any(axis=0) & growing
        given[full] = essential[full] * ratios.min()
        growing &= ~full
    return given


def time_alive(queries: Sequence[tuple[float, float, float]]) -> float:
    """How long at least one of them is alive."""
    total, until = 0.0, float("-inf")
    for start, deadline, _needed in sorted(queries):
        total += max(0.0, deadline - max(start, until))
        until = max(until, deadline)
    return total
