"""Bands: rows sorted by the constants that queries compare a column with, so that one lift serves all thresholds.

Model
-----
A band column's constants (its *cuts*) divide its values into stretches, numbered so that every comparison with a cut is
decided by the number alone. ``number`` columns with ``m`` cuts: 0 is NULL, ``1 + 2 j`` lies strictly between cut
``j - 1`` and cut ``j``, ``2 + 2 j`` equals cut ``j``, ``1 + 2 m`` is above the last, where NaN is too. ``label``
columns: 0 is NULL, 1 any other value, ``2 + j`` equals cut ``j``. Several band columns make one number by mixed radix,
the last column fastest.

A *grid* is how cells were cut: pane edges and bands. Cells remember the grid that they were lifted under, so
that they stay readable after the cuts have changed: a comparison with a constant that was no cut then is undecided in
the one stretch around it, and what is undecided is never selected. Everything else stays as exact as it was.

Invariants: integers are compared as integers (beyond 2**53 too), floats as float64; NULL satisfies no comparison.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.panes.spec import I64, Band, Comparison, Grid

Bools = NDArray[np.bool_]

GRID_SHIFT = 48
"""A cell's ``band`` is its number below this bit, and the ordinal of its grid above."""

INT64 = (-(2**63), 2**63 - 1)


def size(band: Band) -> int:
    """How many numbers the band's column has."""
    return 2 + (2 if band.kind == "number" else 1) * len(band.cuts)


def bands_of(bands: Sequence[Band], columns: Mapping[str, pa.Array], rows: int) -> I64:
    """The number of each row.

    >>> band = Band("x", "number", (10, 20))
    >>> bands_of([band], {"x": pa.array([None, 5, 10, 15, 20, 25])}, 6).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    if np.prod([float(size(band)) for band in bands]) >= 1 << GRID_SHIFT:
        raise InternalError(f"too many bands for one unit: {[size(band) for band in bands]}")
    numbers = np.zeros(rows, dtype=np.int64)
    for band in bands:
        one = _numbers(band, columns[band.column]) if band.kind == "number" else _labels(band, columns[band.column])
        numbers = numbers * size(band) + one
    return numbers


def digits(bands: Sequence[Band], numbers: I64) -> list[I64]:
    """The number of each band column again: the inverse of the mixed radix."""
    found: list[I64] = []
    for band in reversed(bands):
        numbers, digit = np.divmod(numbers, size(band))
        found.append(digit)
    return found[::-1]


def truth(band: Band, comparison: Comparison) -> Bools:
    """For each number of the band's column, whether all of its values satisfy the comparison.

    >>> truth(Band("x", "number", (10, 20)), Comparison(">=", (20,))).tolist()
    [False, False, False, False, True, True]
    >>> truth(Band("x", "number", (10,)), Comparison("<", (15,))).tolist()  # 15 is no cut: above 10 is undecided
    [False, True, True, False]
    """
    if comparison.operator == "in":
        held = np.zeros(size(band), dtype=np.bool_)
        for value in comparison.values:
            held |= truth(band, Comparison("=", (value,)))
        return held
    below, equal, above = _around(band, comparison.values[0])
    match comparison.operator:
        case "<":
            return below
        case "<=":
            return below | equal
        case "=":
            return equal
        case ">=":
            return equal | above
        case ">":
            return above
        case "<>":
            return below | above


def conjunction(band: Band, comparisons: Sequence[Comparison]) -> Bools:
    """Where all comparisons hold; everywhere, NULL too, where there are none."""
    held = np.ones(size(band), dtype=np.bool_)
    for comparison in comparisons:
        held &= truth(band, comparison)
    return held


def _around(band: Band, value: Any) -> tuple[Bools, Bools, Bools]:
    """Numbers certainly below, equal to and above a constant (labels: unequal counts as above)."""
    numbers = np.arange(size(band))
    place = bisect_left(band.cuts, value)
    is_cut = place < len(band.cuts) and band.cuts[place] == value
    nothing = np.zeros(numbers.size, dtype=np.bool_)
    if band.kind == "label":
        equal = (numbers == 2 + place) if is_cut else nothing
        return nothing, equal, (numbers >= (1 if is_cut else 2)) & ~equal
    if is_cut:
        at = 2 + 2 * place
        return (numbers >= 1) & (numbers < at), numbers == at, numbers > at
    undecided = 1 + 2 * place
    return (numbers >= 1) & (numbers < undecided), nothing, numbers > undecided


def _numbers(band: Band, column: pa.Array) -> I64:
    valid = _valid(column)
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        cuts: NDArray[Any] = np.array(band.cuts, dtype=np.float64)
        beneath = 0
    else:
        values = _integers(column)
        whole = [cut for cut in band.cuts if isinstance(cut, int)]
        if len(whole) < len(band.cuts):
            raise InternalError(f"column {band.column!r} of type {column.type} is cut by {band.cuts}")
        # A cut outside int64 is below or above every value: it shifts the numbers or is never reached.
        beneath = sum(1 for cut in whole if cut < INT64[0])
        cuts = np.array([cut for cut in whole if INT64[0] <= cut <= INT64[1]], dtype=np.int64)
    place = np.searchsorted(cuts, values)
    equal = np.zeros(values.size, dtype=np.bool_)
    inside = place < cuts.size
    if cuts.size:
        equal = inside & (cuts[np.minimum(place, cuts.size - 1)] == values)
    numbers: I64 = 1 + 2 * (place + beneath) + equal
    return np.where(valid, numbers, 0)


def _integers(column: pa.Array) -> I64:
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    elif not pa.types.is_integer(column.type):
        raise InternalError(f"a column of type {column.type} has no number bands")
    integers: I64 = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return integers


def _labels(band: Band, column: pa.Array) -> I64:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type):
        cuts = pa.array([bool(cut) for cut in band.cuts], pa.bool_())
    else:
        cuts = pa.array(list(band.cuts), column.type)
    place = pc.index_in(column, value_set=cuts, skip_nulls=True)
    numbers: I64 = place.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) + 2
    return np.where(_valid(column), numbers, 0)


def _valid(column: pa.Array) -> Bools:
    if column.null_count == 0:
        return np.ones(len(column), dtype=np.bool_)
    valid: Bools = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def grids_to_json(grids: Sequence[Grid]) -> bytes:
    """Grids as the metadata of a table of cells."""
    return json.dumps(
        [
            {
                "progressions": grid.progressions,
                "bands": [{"column": b.column, "kind": b.kind, "cuts": b.cuts} for b in grid.bands],
            }
            for grid in grids
        ]
    ).encode()


def grids_from_json(text: bytes) -> tuple[Grid, ...]:
    """The inverse of `grids_to_json`."""
    return tuple(
        Grid(
            tuple((step, offset) for step, offset in grid["progressions"]),
            tuple(Band(b["column"], b["kind"], tuple(b["cuts"])) for b in grid["bands"]),
        )
        for grid in json.loads(text)
    )


def rebase(band: I64, old: Sequence[Grid | None], new: Sequence[Grid]) -> I64:
    """The ``band`` column of cells under another list of grids that holds all of their own (None: not in use)."""
    if not band.size:
        return band
    ordinal = np.array([-1 if grid is None else new.index(grid) for grid in old], dtype=np.int64)
    number = band & ((1 << GRID_SHIFT) - 1)
    moved: I64 = (ordinal[band >> GRID_SHIFT] << GRID_SHIFT) | number
    return moved
