"""EMPIRICAL BY: a missing value is one of the values that were observed in its group, each as likely as the others.

Where a group has none, any observed value of the window serves, and the row is marked as not found. Values stand in the
order of their ranks, so a draw does not depend on the order of rows; rows of equal rank must have equal values.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw.distributions import Among


def empirical(group: I64, observed: Bools, rank: I64, asked: I64) -> tuple[Among, Bools]:
    """The observed rows that each of the asked rows is drawn from, and whether they are of its own group.

    Parameters
    ----------
    group : I64
        The number of the group of each row of the window.
    observed : Bools
        Which rows have a value.
    rank : I64
        Orders values: equal ones have equal ranks.
    asked : I64
        Which rows miss theirs.

    Examples
    --------
    >>> among, found = empirical(np.array([0, 0, 1, 0, 2]), np.array([True, True, False, False, True]),
    ...                          np.array([9, 4, 0, 0, 5]), np.array([2, 3]))
    >>> among.pool.tolist(), among.starts.tolist(), among.sizes.tolist(), found.tolist()
    ([1, 0, 4, 1, 4, 0], [3, 0], [3, 2], [False, True])
    """
    rows = np.flatnonzero(observed)
    by_group = rows[np.lexsort([rank[rows], group[rows]])]
    starts = np.searchsorted(group[by_group], group[asked], "left")
    sizes = np.searchsorted(group[by_group], group[asked], "right") - starts
    found = sizes > 0
    among = Among(np.where(found, starts, rows.size), np.where(found, sizes, rows.size), by_group)
    if found.all():
        return among, found
    return Among(among.starts, among.sizes, np.concatenate([by_group, _ranked(rows, rank)])), found


def anywhere(observed: Bools, rank: I64, asked: int) -> Among:
    """For so many rows, all observed rows: what serves where nothing else was found."""
    pool = _ranked(np.flatnonzero(observed), rank)
    return Among(np.zeros(asked, np.int64), np.full(asked, pool.size), pool)


def _ranked(rows: I64, rank: I64) -> I64:
    return rows[np.argsort(rank[rows], kind="stable")]
