"""Rows of a table found by their keys: which rows of the table each of many rows agrees with.

Values are equal as Arrow has them equal, so keys are of types where Spark thinks the same: not of floating point
numbers. A NULL agrees with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

I64 = NDArray[np.int64]


class LookupTable:
    """The rows of a table by their keys.

    >>> table = LookupTable([pa.array(["a", "b", "a", None])])
    >>> table.find([pa.array(["b", "c", "a", None])], outer=True)
    (array([0, 1, 2, 2, 3]), array([ 1, -1,  0,  2, -1]))
    >>> table.find([pa.array(["b", "c", "a", None])], outer=False)
    (array([0, 2, 2]), array([1, 0, 2]))
    """

    def __init__(self, keys: Sequence[pa.Array]) -> None:
        self._distinct = [pc.unique(_whole(key).drop_null()) for key in keys]
        codes, known = self._codes(keys)
        rows = np.flatnonzero(known)
        # Codes of several keys together may be far apart: only those that occur are numbered.
        self._occurring, numbers = np.unique(codes[rows], return_inverse=True)
        self._order: I64 = rows[np.argsort(numbers, kind="stable")]
        counts = np.bincount(numbers, minlength=self._occurring.size)
        self._counts: I64 = np.append(counts, 0).astype(np.int64)
        self._starts: I64 = np.append(0, np.cumsum(counts)).astype(np.int64)
        self._plain = len(keys) == 1
        self.unique = bool(counts.max(initial=0) <= 1)
        """Whether no two rows agree on all keys."""

    def find(self, values: Sequence[pa.Array], *, outer: bool) -> tuple[I64, I64]:
        """Pairs of a row and the row of the table that it agrees with, in the order of the rows.

        ``outer`` keeps a row that agrees with none, paired with -1.
        """
        codes, known = self._codes(values)
        missing = self._occurring.size
        if self._plain:  # every distinct value occurs, and they were numbered in order
            numbers = np.where(known, codes, missing)
        else:
            place = np.searchsorted(self._occurring, codes)
            found = known & (place < missing)
            found[found] = self._occurring[place[found]] == codes[found]
            numbers = np.where(found, place, missing)
        counts = self._counts[numbers]
        pairs = np.maximum(counts, 1) if outer else counts
        rows = np.repeat(np.arange(numbers.size), pairs)
        within = np.arange(rows.size) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        matched = counts[rows] > 0
        places = np.where(matched, self._starts[numbers[rows]] + within, 0)
        chosen = self._order[places] if self._order.size else np.zeros(rows.size, np.int64)
        return rows, np.where(matched, chosen, -1)

    def _codes(self, values: Sequence[pa.Array]) -> tuple[I64, NDArray[np.bool_]]:
        """The number of every row's keys, and whether the table has all of them."""
        codes: I64 = np.zeros(len(values[0]), np.int64)
        known = np.ones(codes.size, np.bool_)
        for column, distinct in zip(values, self._distinct):
            place = pc.index_in(_whole(column), value_set=distinct, skip_nulls=True)
            known &= place.is_valid().to_numpy(zero_copy_only=False)
            codes = codes * max(len(distinct), 1) + place.fill_null(0).to_numpy(zero_copy_only=False)
        return codes, known


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
