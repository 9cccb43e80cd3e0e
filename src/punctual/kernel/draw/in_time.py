"""INTERPOLATED BY ... WITHIN: a missing value is that of one of its two neighbours in time.

At time t between t0 and t1 it is the earlier value with probability ``(t1 - t) / (t1 - t0)``, else the later one, so
that its expectation is the straight line between them. With one neighbour it is that one's value.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.distributions import Between


def interpolated(key: I64, time: I64, observed: Bools, rank: I64, asked: I64, within: int) -> tuple[Between, Bools]:
    """The neighbours of each of the asked rows among the observed rows of its key, and whether it has any.

    Parameters
    ----------
    key, time : I64
        The number of each row's key, and its time.
    observed : Bools
        Which rows have a value. All rows that may be neighbours have to be there, also from before the window.
    rank : I64
        A total order of rows: of rows of one key and time the first one counts.
    asked : I64
        Which rows miss their value.
    within : int
        How far away a neighbour may be.

    Notes
    -----
    The earlier neighbour may have the same time. Of rows that are not found, both places are -1.

    Examples
    --------
    >>> between, found = interpolated(np.zeros(4, np.int64), np.array([0, 30, 40, 90]),
    ...     np.array([True, False, True, False]), np.arange(4), np.array([1, 3]), 45)
    >>> between.earlier.tolist(), between.later.tolist(), between.share.tolist(), found.tolist()
    ([0, -1], [2, -1], [0.25, 1.0], [True, False])
    """
    rows = np.flatnonzero(observed)
    rows = rows[np.lexsort([rank[rows], time[rows], key[rows]])]
    starts = np.searchsorted(key[rows], key[asked], "left")
    ends = np.searchsorted(key[rows], key[asked], "right")
    earlier, later, share = np.full(asked.size, -1), np.full(asked.size, -1), np.ones(asked.size)
    _neighbours(time[rows], starts, ends, time[asked], within, earlier, later, share)
    found = earlier >= 0
    places = np.append(rows, -1)  # the last one is for -1
    return Between(places[earlier], places[later], share), found


@compiled
def _neighbours(
    times: I64, starts: I64, ends: I64, asked: I64, within: int, earlier: I64, later: I64, share: F64
) -> None:
    """Places in ``times`` of the neighbours of each asked time, which ascends from each start to its end."""
    for i in range(asked.size):
        start, end, t = starts[i], ends[i], asked[i]
        after = start + np.searchsorted(times[start:end], t, "right")
        before = -1
        if after > start and t - times[after - 1] <= within:
            before = start + np.searchsorted(times[start:end], times[after - 1], "left")
        if after == end or times[after] - t > within:
            after = -1
        earlier[i] = before if before >= 0 else after
        later[i] = after if after >= 0 else before
        if before >= 0 and after >= 0:
            share[i] = np.float64(times[after] - t) / np.float64(times[after] - times[before])
