"""Rows into cells, against dictionaries of cells built row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.panes.bands import GRID_SHIFT, bands_of
from punctual.kernel.panes.cells import GRIDS, from_table
from punctual.kernel.panes.keys import shard_of
from punctual.kernel.panes.layout import panes_of
from punctual.kernel.panes.lift import lift, merge
from punctual.kernel.panes.spec import Band, SynopsisSpec, UnitSpec

BANDS = (Band("x", "number", (0.0, 2.0)), Band("s", "label", ("a",)))
SPEC = UnitSpec(
    ("s", "i"), "m", BANDS, ((7, 0), (7, 3)),
    (SynopsisSpec("rows"), SynopsisSpec("sum", "i"), SynopsisSpec("maximum", "x"), SynopsisSpec("count", "x")),
)  # fmt: skip
ROWS = st.lists(
    st.tuples(
        st.integers(-8, 8),
        st.sampled_from([None, "a", "b", ""]),
        st.sampled_from([None, 0, 1, -5]),
        st.sampled_from([None, -1.0, 0.0, -0.0, 2.0, 9.0, math.nan]),
        st.sampled_from([True, True, False, None]),
    ),
    max_size=30,
)


def columns_of(rows: list[Any]) -> tuple[np.ndarray, dict[str, pa.Array]]:
    t, s, i, x, m = zip(*rows) if rows else ((), (), (), (), ())
    columns = {"s": (s, pa.string()), "i": (i, pa.int32()), "x": (x, pa.float64()), "m": (m, pa.bool_())}
    return np.array(t, dtype=np.int64), {name: pa.array(values, kind) for name, (values, kind) in columns.items()}


def cells_of(table: pa.Table) -> dict[Any, Any]:
    """(lo, hi, band, shard, keys) -> (rows, numbers of x)."""
    names = ("lo", "hi", "band", "shard", "k0", "k1")
    places = list(zip(*(table[name].to_pylist() for name in names)))
    assert len(set(places)) == len(places), "cells are unique"
    return dict(zip(places, zip(table["s0.n"].to_pylist(), table["s3.n"].to_pylist())))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(ROWS, st.integers(1, 9))
def test_every_row_is_in_its_cell(rows: list[Any], shards: int) -> None:
    times, columns = columns_of(rows)
    wanted: dict[Any, list[int]] = {}
    lo, hi = panes_of(times, SPEC.progressions)
    band = bands_of(BANDS, columns, len(rows))
    shard = shard_of([columns["s"], columns["i"]], shards)
    for j, (_, s, i, x, kept) in enumerate(rows):
        if kept:
            cell = wanted.setdefault((lo[j], hi[j], band[j], shard[j], s, i), [0, 0])
            cell[0] += 1
            cell[1] += x is not None
    assert cells_of(lift(SPEC, times, columns, shards)) == {key: tuple(cell) for key, cell in wanted.items()}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ROWS, st.integers(0, 30), st.integers(0, 30), st.integers(1, 3))
def test_merge_sorts_and_does_not_care_about_partials(rows: list[Any], cut: int, other: int, shards: int) -> None:
    cut, other = sorted((min(cut, len(rows)), min(other, len(rows))))
    parts = [lift(SPEC, *columns_of(part), shards) for part in (rows[:cut], rows[cut:other], rows[other:])]
    whole = merge([lift(SPEC, *columns_of(rows), shards)], SPEC)
    assert repr(merge(parts, SPEC).to_pydict()) == repr(whole.to_pydict())
    assert repr(merge([merge(parts[1:], SPEC), parts[0]], SPEC).to_pydict()) == repr(whole.to_pydict())
    places = list(zip(*(whole[name].to_pylist() for name in ("shard", "lo", "hi", "band", "k0", "k1"))))
    ranks = [tuple((0, 0) if v is None else (1, v) for v in place) for place in places]
    assert ranks == sorted(ranks)


def test_dictionary_columns_and_unused_columns_make_no_difference() -> None:
    rows = [(1, "a", 1, 0.5, True), (2, "b", None, None, True), (3, None, 2, 1.0, None)]
    times, columns = columns_of(rows)
    encoded = {**columns, "s": columns["s"].dictionary_encode(), "never": pa.array([[1], [2], [3]])}
    assert lift(SPEC, times, encoded, 4).equals(lift(SPEC, times, columns, 4))


def test_grids_of_different_age_share_a_table() -> None:
    old = UnitSpec(SPEC.keys, SPEC.mask, BANDS[:1], ((14, 0),), SPEC.synopses)
    rows = [(1, "a", 1, 0.5, True), (20, "a", 1, 2.0, True)]
    tables = [lift(old, *columns_of(rows), 4), lift(SPEC, *columns_of(rows), 4)]
    one, other = merge(tables, SPEC), merge(tables[::-1], SPEC)
    assert one.equals(other, check_metadata=True)
    cells = from_table(one, SPEC)
    assert set(cells.grids) == {old.grid, SPEC.grid}
    widths = {cells.grids[band >> GRID_SHIFT]: hi - lo for band, lo, hi in zip(cells.band, cells.lo, cells.hi)}
    assert widths[old.grid] == 14
    assert widths[SPEC.grid] in (3, 4)


def test_without_rows_there_are_columns_still() -> None:
    table = lift(SPEC, *columns_of([]), 4)
    some = lift(SPEC, *columns_of([(1, "a", 1, 0.5, True)]), 4)
    assert table.num_rows == 0
    assert table.schema.equals(some.schema, check_metadata=True)
    assert GRIDS in table.schema.metadata
    assert merge([table, some, table], SPEC).num_rows == 1
