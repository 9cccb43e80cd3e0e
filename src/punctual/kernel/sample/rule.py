"""Which rows a share keeps: the one rule of all samples, so that anybody can draw a sample again from the raw rows.

A row has a place in [0, 1): its hash, mixed with a salt. A share keeps the rows whose place is below it. So a larger
share keeps all that a smaller one keeps, and the same rows are kept whatever batches they came in. By key, rows that
agree in the key columns have one place: they are kept together or not at all, on both sides of a join.

To draw a sample again: a table of the raw rows with the columns that the stream declares and does not derive, in their
order and as their types, then ``kept(rows, by, salt, share)`` with what the answer says under ``sample``. Timestamps
count as microseconds of UTC whatever their unit and zone, and the width of an integer and the encoding of a column do
not count.

A sample by row of a window has more than its share keeps: rows that are large in a summed column, from a magnitude on
that the answer names (`certain.py`), and two others at least (`marks.py`, `row_marks`).

By row, rows that are equal in all columns are told apart: the first has the place of its hash, and each further one
the place that it would have with one more column of integers, in which it has 1, 2, 3, ... So some of many equal rows
are kept, not all or none. Which of them does not matter, since nobody can tell.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.row_hashes import mixed, row_hashes
from punctual.kernel.arrays.row_order import comparable
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled

By = Literal["row"] | Sequence[str]
"""What has a place: every row by itself, or the values of these columns together."""

U64 = NDArray[np.uint64]
_UNIT = 2.0**-53
_TO_MICROS = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def kept(rows: pa.Table, by: By, salt: str, share: float) -> Bools:
    """Whether each row is kept.

    Parameters
    ----------
    rows : pa.Table
        Rows with the columns that make them what they are, in the order of the stream.
    by : "row" or sequence of str
        The whole row, or key columns.
    salt : str
        Another salt keeps other rows.
    share : float
        In [0, 1].

    Examples
    --------
    >>> rows = pa.table({"k": [1, 2, 1, 3], "x": [1.0, 2.0, 3.0, 4.0]})
    >>> of_key = kept(rows, ["k"], "a", 0.5)
    >>> bool(of_key[0] == of_key[2]), kept(rows, "row", "a", 1.0).tolist()
    (True, [True, True, True, True])
    """
    if not 0.0 <= share <= 1.0:
        raise InternalError(f"a share of {share}")
    return places(rows, by, salt) < share


def places(rows: pa.Table, by: By, salt: str) -> F64:
    """The place of each row in [0, 1), multiples of 2**-53."""
    columns = rows.columns if by == "row" else [rows.column(name) for name in by]
    return places_of(hashes_of(columns, rows.num_rows), salt, ordinals=by == "row")


def hashes_of(columns: Sequence[pa.Array], rows: int) -> U64:
    """The hashes of rows that places are made of, as streams keep them with their rows."""
    return row_hashes([_in_one_form(column) for column in columns], rows)


def places_of(hashes: U64, salt: str, *, ordinals: bool) -> F64:
    """The places of rows whose hashes (`row_hashes`) are known already: of whole rows with ordinals, of keys without.

    All rows that may be equal have to be there at once where ordinals count.

    >>> rows = pa.table({"k": [1, 2, 2]})
    >>> hashes = row_hashes(rows.columns, 3)
    >>> bool((places_of(hashes, "a", ordinals=True) == places(rows, "row", "a")).all())
    True
    """
    told_apart = with_ordinals(hashes) if ordinals else hashes.copy()
    _mix(told_apart, _number(salt))
    return (told_apart >> np.uint64(11)).astype(np.float64) * _UNIT


def _in_one_form(column: pa.Array) -> pa.Array:
    """The column as it has a hash: nested values as text, timestamps as microseconds of UTC."""
    plain = comparable(column)
    if pa.types.is_date64(plain.type):
        return plain.cast(pa.date32())
    if not pa.types.is_timestamp(plain.type):
        return plain
    times, by = _TO_MICROS[plain.type.unit]
    missing = plain.is_null().to_numpy(zero_copy_only=False)
    numbers = plain.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(numbers * times // by, pa.timestamp("us"), mask=missing)


def with_ordinals(hashes: U64) -> U64:
    """Hashes that are all different: equal ones are hashed once more, with how many of them stand before."""
    ordered = np.sort(hashes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    found = hashes.copy()
    if repeated.size:  # seldom: what repeats is sorted once more, with where it stands
        where = np.flatnonzero(np.isin(hashes, np.unique(repeated)))
        where = where[np.argsort(hashes[where], kind="stable")]
        _hash_ordinals(found, where)
    return found


def _number(salt: str) -> np.uint64:
    """A salt as 64 bits: the CRC-32 of its text, and of its text backwards."""
    text = salt.encode()
    return np.uint64(zlib.crc32(text) << 32 | zlib.crc32(text[::-1]))


@compiled
def _hash_ordinals(hashes: U64, where: I64) -> None:
    """Hash rows anew, in place, that follow an equal one in ``where``, as `row_hashes` adds a column of integers."""
    before, ordinal = hashes[where[0]], 0
    for i in where[1:]:
        if hashes[i] != before:
            before, ordinal = hashes[i], 0
            continue
        ordinal += 1
        hashes[i] = mixed((before ^ mixed(np.uint64(ordinal) + np.uint64(1))) * np.uint64(0x9E3779B97F4A7C15))


@compiled
def _mix(hashes: U64, salt: np.uint64) -> None:
    for i in range(hashes.size):
        hashes[i] = mixed(hashes[i] ^ mixed(salt + np.uint64(0x9E3779B97F4A7C15)))
