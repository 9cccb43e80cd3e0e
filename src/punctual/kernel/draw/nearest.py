"""NEAREST n BY: a missing value is that of one of the n nearest observed rows, each as likely as the others.

Distance is Euclid's in the columns named. Of rows that are equally far the earlier ones are nearer, then those that
come first in the total order of rows.

Observed rows are sorted along the widest column. From the asked row on, the search goes both ways until that column
alone is further away than the n-th nearest row, so it seldom sees more than a few dozen.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.distributions import Among
from punctual.kernel.draw.philox import plain


def nearest(points: F64, time: I64, observed: Bools, rank: I64, asked: I64, n: int) -> tuple[Among, Bools]:
    """The n observed rows, or all of fewer, that are nearest to each of the asked rows; and whether there are any.

    Parameters
    ----------
    points : F64
        Rows by columns; a row in which one is not finite is near nobody.
    time, rank : I64
        Break ties: times, and a total order of rows.
    observed : Bools
        Which rows have a value.
    asked : I64
        Which rows miss theirs.
    n : int
        At least 1.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [3.0, 4.0], [5.0, 0.0], [9.0, 9.0]])
    >>> among, found = nearest(points, np.array([0, 2, 1, 0]), np.array([False, True, True, True]), np.arange(4),
    ...                        np.array([0]), 2)
    >>> among.pool.tolist(), found.tolist()
    ([2, 1], [True])
    """
    known = np.asarray(np.isfinite(points).all(axis=1))
    rows = np.flatnonzero(observed & known)
    count = min(n, rows.size)
    found = known[asked] & (count > 0)
    sizes = np.where(found, count, 0)
    starts = np.cumsum(sizes) - sizes
    pool = np.empty(int(sizes.sum()), np.int64)
    if pool.size:
        column = int(np.ptp(points[rows], axis=0).argmax())
        rows = rows[np.lexsort([rank[rows], time[rows], points[rows, column]])]
        there, wanted = (plain(points[some], np.float64) for some in (rows, asked[found]))
        _search(there, time[rows], rank[rows], wanted, column, count, pool)
        pool = rows[pool]
    return Among(starts, sizes, pool), found


@compiled
def _search(points: F64, time: I64, rank: I64, asked: F64, column: int, count: int, pool: I64) -> None:
    """Places of the nearest points of each asked one, nearest first; points ascend along a column."""
    along = points[:, column].copy()
    best, distance = np.empty(count, np.int64), np.empty(count)
    for i in range(asked.shape[0]):
        here = asked[i, column]
        right = np.searchsorted(along, here)
        left, held = right - 1, 0
        while left >= 0 or right < along.size:
            if right == along.size or (left >= 0 and here - along[left] <= along[right] - here):
                at = left
                left -= 1
            else:
                at = right
                right += 1
            gap = (along[at] - here) * (along[at] - here)
            if held == count and gap > distance[count - 1]:
                break
            held = _insert(at, _squared(points[at], asked[i]), time, rank, best, distance, held)
        pool[i * count : (i + 1) * count] = best


@compiled
def _squared(one: F64, other: F64) -> float:
    total = 0.0
    for column in range(one.size):
        total += (one[column] - other[column]) * (one[column] - other[column])
    return total


@compiled
def _insert(at: int, far: float, time: I64, rank: I64, best: I64, distance: F64, held: int) -> int:
    """Put a point among the best, which are sorted; how many are held then."""
    place = held
    while place > 0:
        other = best[place - 1]
        if distance[place - 1] < far or (
            distance[place - 1] == far
            and (time[other] < time[at] or (time[other] == time[at] and rank[other] < rank[at]))
        ):
            break
        place -= 1
    if place == best.size:
        return held
    held = min(held + 1, best.size)
    for k in range(held - 1, place, -1):
        best[k], distance[k] = best[k - 1], distance[k - 1]
    best[place], distance[place] = at, far
    return held
