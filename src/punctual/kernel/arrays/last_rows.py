"""The last rows of each key by event time: what a window by rows has.

Rows of one event time are in the order of further columns, where these are given (NULL first, NaN last; -0.0 equals
0.0, and where nothing else tells two rows apart, their bits do). Keys are equal as Spark groups: NULL is a value, NaN
equals NaN, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.order import ranks
from punctual.kernel.arrays.row_hashes import normalised, one_array
from punctual.kernel.arrays.row_order import bits
from punctual.kernel.arrays.state import I64, Bools


def last_rows(times: I64, most: int, keys: Sequence[pa.Array] = (), ties: Sequence[pa.Array] | None = None) -> Bools:
    """Which rows are among the last ``most`` of their key; without keys, of all.

    ``ties`` are the columns that order rows of one event time. Without them, all rows of the earliest event time that
    some are taken of are taken: whatever the columns, the last rows are among these.

    >>> times, names = np.array([3, 1, 2, 2]), pa.array(["a", "a", "a", "b"])
    >>> last_rows(times, 2, [names]).tolist()
    [True, False, True, True]
    >>> last_rows(times, 2).tolist(), last_rows(times, 2, ties=[names]).tolist()
    ([True, False, True, True], [True, False, False, True])
    """
    if times.size <= most:
        return np.ones(times.size, np.bool_)
    group = _groups(keys, times.size)
    order = np.lexsort((times, group)) if keys else np.argsort(times)
    owner, moment = group[order], times[order]
    ends = np.append(np.flatnonzero(np.diff(owner)) + 1, times.size)
    kept = ends[np.searchsorted(ends, np.arange(times.size), "right")] - np.arange(times.size) <= most
    # A key that has more rows is cut before the first that is kept; a tie there has rows on both sides.
    first = np.flatnonzero(kept[1:] & ~kept[:-1] & (np.diff(owner) == 0)) + 1
    cut = first[moment[first] == moment[first - 1]]
    if cut.size:
        run = np.concatenate([[0], np.cumsum((np.diff(owner) != 0) | (np.diff(moment) != 0))])
        tied = np.zeros(run[-1] + 1, np.bool_)
        tied[run[cut]] = True
        places = np.flatnonzero(tied[run])
        if ties is None:
            kept[places] = True
        else:
            order[places] = _sorted_within(order[places], run[places], ties)
    found = np.zeros(times.size, np.bool_)
    found[order[kept]] = True
    return found


def _groups(keys: Sequence[pa.Array], size: int) -> I64:
    """A number for each row, equal where all keys are; keys are not nested."""
    found = np.zeros(size, np.int64)
    for number, key in enumerate(keys):
        own = _numbers(normalised(key))
        found = own if number == 0 else _numbers(pa.array(found * (own.max() + 1) + own))
    return found


def _numbers(values: pa.Array) -> I64:
    """A number for each value, below the number of values, and equal where values are; NULL is one of them."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    found: I64 = values.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
    return found


def _sorted_within(rows: I64, run: I64, columns: Sequence[pa.Array]) -> I64:
    """The rows of each run, which stand side by side, in the order of the columns."""
    chosen = pa.array(rows)
    values = [one_array(column).take(chosen) for column in columns]
    by = [ranks(column) for column in values]
    by += [ranks(bits(column)) for column in values if pa.types.is_floating(column.type)]
    ordered: I64 = rows[np.lexsort([*by[::-1], run])]
    return ordered
