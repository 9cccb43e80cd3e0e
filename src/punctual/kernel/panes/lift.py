"""Rows into cells, and partial cells into whole ones (``cells.py`` says what a table of cells is).

Invariants
----------
Every row that the mask keeps is in exactly one cell. ``merge`` of any partials of the same rows, in any order, is the
same table.

Why it is fast enough
---------------------
Panes, keys and bands become dense codes; their mixed radix is the cell, made dense again by direct addressing where the
product is small and by hashing otherwise. Rows are never sorted, and synopses see one array of cell numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.row_hashes import normalised
from punctual.kernel.panes.bands import bands_of
from punctual.kernel.panes.cells import Cells, concatenate, from_table, synopses_of, to_table, unique
from punctual.kernel.panes.keys import dense, dense_values, encode, shard_of
from punctual.kernel.panes.layout import panes_of
from punctual.kernel.panes.spec import I64, UnitSpec


def lift(spec: UnitSpec, times: I64, columns: Mapping[str, pa.Array], shards: int) -> pa.Table:
    """The cells of a batch of rows, in the order of their first rows.

    Parameters
    ----------
    spec : UnitSpec
        How rows are cut, and what cells keep.
    times : int64[n]
        Event times in microseconds.
    columns : mapping of Arrow arrays of n rows
        Every column that the specification names.
    shards : int
        Number of shards of the group keys.
    """
    times, columns = _masked(spec, times, columns)
    rows = times.size
    lo, hi = panes_of(times, spec.progressions)
    cell, ends = dense_values(hi)
    keys: list[pa.Array] = []
    if spec.keys:
        codes, keys = encode([columns[name] for name in spec.keys], rows)
        cell, first = dense(cell * len(keys[0]) + codes, ends.size * len(keys[0]))
    else:
        cell, first = dense(cell, ends.size)
    if spec.bands:
        band = bands_of(spec.bands, columns, rows)
        number, found = dense_values(band)
        cell, first = dense(cell * found.size + number, first.size * found.size)
    ties = [columns[name] for name in spec.ties]
    states = [
        synopsis.lift(cell, first.size, None if one.column is None else columns[one.column], times, ties)
        for one, synopsis in zip(spec.synopses, synopses_of(spec))
    ]
    group = codes[first] if spec.keys else np.zeros(first.size, np.int64)
    return to_table(
        Cells(
            lo[first], hi[first], band[first] if spec.bands else np.zeros(first.size, np.int64),
            shard_of(keys, shards)[group],
            [key.take(pa.array(group)) for key in keys],
            [*states],
            (spec.grid,),
        ),
        spec,
    )  # fmt: skip


def merge(tables: Sequence[pa.Table], spec: UnitSpec) -> pa.Table:
    """The unique cells of at least one table, sorted by (shard, lo, hi, band, keys).

    Tables may stem from older specifications of the unit; the result has the synopses of ``spec``.
    """
    synopses = synopses_of(spec)
    return to_table(unique(concatenate([from_table(table, spec) for table in tables], synopses), synopses), spec)


def _masked(spec: UnitSpec, times: I64, columns: Mapping[str, pa.Array]) -> tuple[I64, Mapping[str, pa.Array]]:
    """The rows that count, with the columns that the specification names, each in its plain encoding."""
    named = {*spec.keys, *spec.ties, *(b.column for b in spec.bands), *(s.column for s in spec.synopses)}
    needed = {name: columns[name] for name in named if name is not None}
    if spec.mask is not None:
        kept = normalised(columns[spec.mask]).fill_null(False)
        if kept.false_count:
            times = times[kept.to_numpy(zero_copy_only=False)]
            needed = {name: column.filter(kept) for name, column in needed.items()}
    return times, {name: _plain(column) for name, column in needed.items()}


def _plain(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
