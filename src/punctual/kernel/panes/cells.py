"""Tables of cells: their columns, their metadata, and how tables of different age become one.

Model
-----
A *cell* is (pane, band, group key) with one state of each synopsis of its unit. As a table it has the columns
``lo, hi, band`` (int64), ``shard`` (int32), ``k0, k1, ...`` (keys) and ``s<i>.<field>`` (state of synopsis ``i``). The
schema's metadata names the grids that ``band`` refers to (``bands.py``) and the synopses behind the ``s<i>``, so that
cells lifted under another specification of the unit are still understood.

Invariants
----------
A state that some cells lack, because their specification did not have its synopsis, is neutral in them; one that
all cells lack is None. `unique` gives the same cells for any partials of the same rows, in any order.

Cost: a few passes over arrays per table; one sort of int64 per merge.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.panes.bands import GRID_SHIFT, grids_from_json, grids_to_json, rebase
from punctual.kernel.panes.keys import dense_values, encode, order
from punctual.kernel.panes.spec import I64, Grid, SynopsisSpec, UnitSpec
from punctual.kernel.synopses.synopsis import SIZED, State, Synopsis, make

GRIDS, SYNOPSES = b"punctual.grids", b"punctual.synopses"


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells as arrays; ``states`` has one entry per synopsis of the unit."""

    lo: I64
    hi: I64
    band: I64
    shard: NDArray[np.int32]
    keys: list[pa.Array]
    states: list[State | None]
    grids: tuple[Grid, ...]

    def __len__(self) -> int:
        return self.lo.size

    def take(self, rows: I64) -> Cells:
        """Some of the cells."""
        at = pa.array(rows)
        return Cells(
            self.lo[rows], self.hi[rows], self.band[rows], self.shard[rows],
            [key.take(at) for key in self.keys],
            [None if state is None else take_state(state, at) for state in self.states],
            self.grids,
        )  # fmt: skip


def synopses_of(spec: UnitSpec) -> list[Synopsis]:
    """The unit's synopses, ready to use."""
    return [make(one.kind, one.parameters, one.ignore_nulls) for one in spec.synopses]


def to_table(cells: Cells, spec: UnitSpec) -> pa.Table:
    """Cells as a table with its metadata."""
    columns: dict[str, pa.Array] = {
        name: pa.array(getattr(cells, name)) for name in ("lo", "hi", "band", "shard")
    }
    columns.update((f"k{i}", key) for i, key in enumerate(cells.keys))
    kept: dict[str, int] = {}
    for i, (one, state) in enumerate(zip(spec.synopses, cells.states)):
        if state is not None:
            kept[_description(one)] = i
            columns.update((f"s{i}.{field}", column) for field, column in state.items())
    metadata = {GRIDS: grids_to_json(cells.grids), SYNOPSES: json.dumps(kept).encode()}
    return pa.table(columns).replace_schema_metadata(metadata)


def from_table(table: pa.Table, spec: UnitSpec) -> Cells:
    """A table as cells of ``spec``, whatever specification it was lifted under (its keys are the same)."""
    metadata = table.schema.metadata
    kept: dict[str, int] = json.loads(metadata[SYNOPSES])
    whole = {name: _one_array(table.column(name)) for name in table.column_names}
    states: list[State | None] = []
    for one in spec.synopses:
        prefix = f"s{kept.get(_description(one))}."
        state = {name.removeprefix(prefix): column for name, column in whole.items() if name.startswith(prefix)}
        states.append(state or None)
    lo, hi, band, shard = (whole[name].to_numpy(zero_copy_only=False) for name in ("lo", "hi", "band", "shard"))
    return Cells(
        lo, hi, band, shard,
        [whole[f"k{i}"] for i in range(len(spec.keys))],
        states,
        grids_from_json(metadata[GRIDS]),
    )  # fmt: skip


def concatenate(parts: Sequence[Cells], synopses: Sequence[Synopsis]) -> Cells:
    """All cells of at least one part, under one list of grids."""
    if len(parts) == 1:
        return parts[0]
    grids = tuple(dict.fromkeys(grid for part in parts for grid in part.grids))
    states: list[State | None] = []
    for i, synopsis in enumerate(synopses):
        known = next((part.states[i] for part in parts if part.states[i] is not None), None)
        if known is None:
            states.append(None)
            continue
        each = [part.states[i] or neutral(synopsis, known, len(part)) for part in parts]
        states.append({field: pa.concat_arrays([state[field] for state in each]) for field in known})
    return Cells(
        np.concatenate([part.lo for part in parts]),
        np.concatenate([part.hi for part in parts]),
        np.concatenate([rebase(part.band, part.grids, grids) for part in parts]),
        np.concatenate([part.shard for part in parts]),
        [pa.concat_arrays([part.keys[i] for part in parts]) for i in range(len(parts[0].keys))],
        states,
        grids,
    )


def unique(cells: Cells, synopses: Sequence[Synopsis]) -> Cells:
    """Cells with their partials combined, sorted by (shard, lo, hi, band, keys)."""
    cells = _grids_in_order(cells)
    codes, keys = encode(cells.keys, len(cells))
    if keys:
        codes = order(keys)[codes]
    place, places = np.zeros(len(cells), dtype=np.int64), 1
    for digit in (cells.shard.astype(np.int64), cells.lo, cells.hi, cells.band, codes):
        ranks, found = dense_values(digit)
        if places * found.size >= 1 << 62:
            place, taken = dense_values(place)
            places = taken.size
        place, places = place * found.size + ranks, places * found.size
    rows = np.argsort(place, kind="stable")
    ordered = place[rows]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))[: len(cells)]
    if starts.size == len(cells):
        return cells.take(rows)
    ends = np.append(starts[1:], len(cells))
    at = pa.array(rows)
    states = [
        None if state is None else synopsis.combine(take_state(state, at), starts, ends)
        for synopsis, state in zip(synopses, cells.states)
    ]
    return replace(replace(cells, states=[]).take(rows[starts]), states=states)


def neutral(synopsis: Synopsis, known: State, cells: int) -> State:
    """The states of cells without rows, with the columns of a known state."""
    nowhere = np.zeros(cells, dtype=np.int64)
    return synopsis.combine({field: column[:0] for field, column in known.items()}, nowhere, nowhere)


def take_state(state: State, rows: pa.Array) -> State:
    """Some rows of a state."""
    return {field: column.take(rows) for field, column in state.items()}


def _grids_in_order(cells: Cells) -> Cells:
    """The same cells with the grids in use, in an order of their own: the order of the partials leaves no trace."""
    used = dense_values(cells.band >> GRID_SHIFT)[1]
    grids = tuple(sorted((cells.grids[ordinal] for ordinal in used), key=repr))
    if grids == cells.grids:
        return cells
    kept = [grid if grid in grids else None for grid in cells.grids]
    return replace(cells, band=rebase(cells.band, kept, grids), grids=grids)


def _description(one: SynopsisSpec) -> str:
    # States of any size are read: one that keeps less is all that a smaller one needs, and a query that came later and
    # needs more says itself that its windows are not covered.
    parameters = one.parameters[1:] if one.kind in SIZED else one.parameters
    return json.dumps([one.kind, one.column, parameters, one.ignore_nulls])


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
