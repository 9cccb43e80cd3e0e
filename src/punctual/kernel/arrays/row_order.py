"""Rows in an order that follows from their values alone, whatever batches and files they came in.

Rows are sorted by their hash (``row_hashes.py``), which puts them in no order that means anything and costs one sort of
numbers, however many columns there are. Rows of equal hash mostly have the same values to the bit, and then their order
does not show. Where they have not (-0.0 and 0.0, NaNs of different bits, or two values that share a hash by chance)
they are sorted by their times and then by their bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.kernel.arrays.order import ranks
from punctual.kernel.arrays.row_hashes import U64, one_array, row_hashes
from punctual.kernel.arrays.state import I64, Bools


def row_order(columns: Sequence[pa.Array], times: I64) -> I64:
    """Which row comes first, which next; ``times`` are those of the rows, whether or not they are among the columns.

    >>> values, times = pa.array(["a", "b", None, "a"]), np.zeros(4, np.int64)
    >>> backwards = values.take(pa.array([3, 2, 1, 0]))
    >>> one, other = (v.take(pa.array(row_order([v], times))) for v in (values, backwards))
    >>> one.equals(other)
    True
    """
    plain = [comparable(column) for column in columns]
    hashes = row_hashes(plain, times.size)
    order: I64 = np.argsort(hashes)
    tied = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    if tied.size:
        unlike = np.zeros(tied.size, np.bool_)
        exact = [bits(column) for column in plain]
        rows, following = pa.array(order[tied]), pa.array(order[tied + 1])
        for column in exact:
            unlike |= ~_same(column.take(rows), column.take(following))
        if unlike.any():
            _sort_within(order, hashes, hashes[order[tied[unlike]]], exact, times)
    return order


def _sort_within(order: I64, hashes: U64, unsettled: U64, exact: Sequence[pa.Array], times: I64) -> None:
    """Sort rows whose hash is unsettled, in place, among themselves."""
    places = np.flatnonzero(np.isin(hashes[order], unsettled))
    rows = order[places]
    bits = [ranks(column.take(pa.array(rows))) for column in exact]
    order[places] = rows[np.lexsort([*bits[::-1], times[rows], hashes[rows]])]


def comparable(column: pa.Array) -> pa.Array:
    """The column as one array that has a hash and an order.

    Arrow has neither for lists, structs and maps: they stand for themselves as text, made row by row.
    """
    column = one_array(column)
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())
    return column


def bits(column: pa.Array) -> pa.Array:
    """The column in a type that can be compared, and whose values are equal only when their bits are."""
    if pa.types.is_null(column.type):
        return column.cast(pa.bool_())
    if pa.types.is_floating(column.type):
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column


def _same(one: pa.Array, other: pa.Array) -> Bools:
    """Where two arrays have the same value, or none both."""
    both = pc.and_(one.is_null(), other.is_null())
    same: Bools = pc.or_(pc.equal(one, other).fill_null(False), both).to_numpy(zero_copy_only=False)
    return same
