"""Which cells each selection wants: blocks of cells expanded into rows of (selection, group, pane).

Model
-----
A *block* holds sealed cells of one grid, sorted by (group, lo, band). An *expansion* names, for each selection, the
ranges of cells of every (group, pane) that it wants, in the order (selection, group, pane).

Why it is fast enough
---------------------
A selection's truth is a row of a boolean matrix with a column for each number of each band column, so it is
evaluated once for a grid. Over the distinct bands of a block it has runs: a threshold on one column has one. Either
each run is looked up by binary search in every (group, pane), or each cell is handed to the selections that hold for
it; the work of both is known beforehand, and the smaller is done. Thresholds go the first way, equalities the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.panes.bands import Bools, conjunction, digits, size
from punctual.kernel.panes.cells import take_state
from punctual.kernel.panes.keys import dense_values
from punctual.kernel.panes.spec import I64, Band, Grid, Selection
from punctual.kernel.synopses.synopsis import State

I64Matrix = NDArray[np.int64]

TRUTHS_AT_ONCE = 1 << 24
"""Selections times bands that are looked at together."""


@dataclass(frozen=True, slots=True)
class Block:
    """Sealed cells of one grid, sorted by (group, lo, number); ``states`` one per synopsis, None where unknown."""

    grid: Grid
    lo: I64
    hi: I64
    number: I64
    group: I64
    states: list[State | None]

    def __len__(self) -> int:
        return self.lo.size

    def take(self, rows: I64) -> Block:
        """Some of the cells."""
        at = pa.array(rows)
        states = [None if state is None else take_state(state, at) for state in self.states]
        return Block(self.grid, self.lo[rows], self.hi[rows], self.number[rows], self.group[rows], states)


@dataclass(frozen=True, slots=True)
class Expansion:
    """Ranges of cells, sorted by (selection, group, lo).

    ``selection`` is an index into the selections asked for, ``head`` the first cell of the (group, pane), ``start`` and
    ``end`` a range of the block's cells, or of ``cells`` where that is not None.
    """

    selection: I64
    head: I64
    start: I64
    end: I64
    cells: I64 | None


def truth_row(grid: Grid, bands: Sequence[Band], selection: Selection) -> Bools:
    """The selection's truth over the grid: one flag that it can be decided at all, then one for each number.

    ``bands`` are those that the selection speaks of; a grid that lacks one decides only the empty conjunction.
    """
    wanted = {(band.column, band.kind): comparisons for band, comparisons in zip(bands, selection)}
    known = {(band.column, band.kind) for band in grid.bands}
    decided = all(not comparisons or name in known for name, comparisons in wanted.items())
    parts = [conjunction(band, wanted.get((band.column, band.kind), ())) for band in grid.bands]
    return np.concatenate([np.array([decided]), *parts])


def expand(block: Block, truths: NDArray[np.bool_]) -> Expansion:
    """The expansion of a block for selections given as rows of truth (see `truth_row`)."""
    dense_number, distinct = dense_values(block.number)
    columns = np.empty((len(block.grid.bands), distinct.size), dtype=np.int64)
    offset = 1
    for i, digit in enumerate(digits(block.grid.bands, distinct)):
        columns[i] = digit + offset
        offset += size(block.grid.bands[i])
    run_selection, run_first, run_last = _runs(truths, columns)
    holders = np.zeros(distinct.size + 1, dtype=np.int64)
    np.add.at(holders, run_first, 1)
    np.add.at(holders, run_last + 1, -1)
    holders = np.cumsum(holders)[:-1]
    heads = _heads(block.group, block.lo)
    if _cheaper_to_search(run_first.size, heads.size - 1, len(block), int(holders[dense_number].sum())):
        return Expansion(*_search(heads, dense_number, run_selection, run_first, run_last), None)
    return Expansion(*_hand_out(heads, dense_number, run_selection, run_first, run_last, holders, truths.shape[0]))


def _cheaper_to_search(runs: int, panes: int, cells: int, handed_out: int) -> bool:
    """Whether binary searches of all runs in all (group, pane) are fewer steps than handing out cells."""
    return runs * panes * (1 + int(np.log2(1 + cells / max(1, panes)))) <= handed_out


@compiled
def _heads(group: I64, lo: I64) -> I64:
    """First cells of every (group, pane), and the number of cells."""
    heads = np.empty(group.size + 1, np.int64)
    found = 0
    for i in range(group.size):
        if i == 0 or group[i] != group[i - 1] or lo[i] != lo[i - 1]:
            heads[found] = i
            found += 1
    heads[found] = group.size
    return heads[: found + 1].copy()


def _runs(truths: Bools, columns: I64Matrix) -> tuple[I64, I64, I64]:
    """Runs of consecutive bands that a selection wants, in the order of selections."""
    parts: list[tuple[I64, I64, I64]] = []
    at_once = max(1, TRUTHS_AT_ONCE // (columns.shape[1] + 2))
    for begin in range(0, truths.shape[0], at_once):
        some = truths[begin : begin + at_once]
        held = np.zeros((some.shape[0], columns.shape[1] + 2), dtype=np.bool_)  # framed, so that every run has two ends
        inside = held[:, 1:-1]
        inside[:] = some[:, :1]
        for column in columns:
            inside &= some.take(column, axis=1)
        selection, edge = np.nonzero(held[:, 1:] != held[:, :-1])
        parts.append((selection[::2] + begin, edge[::2], edge[1::2] - 1))
    selections, firsts, lasts = (np.concatenate(part) for part in zip(*parts))
    return selections, firsts, lasts


@compiled
def _lower(values: I64, start: int, end: int, bound: int) -> int:
    """First place of ``values[start:end]`` that is at least ``bound``."""
    while start < end:
        middle = (start + end) // 2
        if values[middle] < bound:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def _search(
    heads: I64, number: I64, run_selection: I64, run_first: I64, run_last: I64
) -> tuple[I64, I64, I64, I64]:
    """Every run looked up in every (group, pane)."""
    capacity = 1024
    out = np.empty((4, capacity), np.int64)
    found = 0
    run = 0
    while run < run_selection.size:
        last = run
        while last < run_selection.size and run_selection[last] == run_selection[run]:
            last += 1
        for h in range(heads.size - 1):
            for r in range(run, last):
                start = _lower(number, heads[h], heads[h + 1], run_first[r])
                end = _lower(number, start, heads[h + 1], run_last[r] + 1)
                if start < end:
                    if found == capacity:
                        capacity *= 2
                        more = np.empty((4, capacity), np.int64)
                        more[:, :found] = out
                        out = more
                    out[0, found] = run_selection[r]
                    out[1, found] = heads[h]
                    out[2, found] = start
                    out[3, found] = end
                    found += 1
        run = last
    return out[0, :found].copy(), out[1, :found].copy(), out[2, :found].copy(), out[3, :found].copy()


@compiled
def _hand_out(
    heads: I64, number: I64, run_selection: I64, run_first: I64, run_last: I64, holders: I64, selections: int
) -> tuple[I64, I64, I64, I64, I64]:
    """Every cell handed to the selections that hold for it."""
    at = np.zeros(holders.size + 1, np.int64)  # who holds for each band, by counting
    for d in range(holders.size):
        at[d + 1] = at[d] + holders[d]
    who = np.empty(at[-1], np.int64)
    filled = at[:-1].copy()
    for r in range(run_selection.size):
        for d in range(run_first[r], run_last[r] + 1):
            who[filled[d]] = run_selection[r]
            filled[d] += 1
    offset = np.zeros(selections + 1, np.int64)
    for i in range(number.size):
        for j in range(at[number[i]], at[number[i] + 1]):
            offset[who[j] + 1] += 1
    for s in range(selections):
        offset[s + 1] += offset[s]
    total = offset[selections]
    cells, cell_head = np.empty(total, np.int64), np.empty(total, np.int64)
    place = offset[:-1].copy()
    for h in range(heads.size - 1):
        for i in range(heads[h], heads[h + 1]):
            for j in range(at[number[i]], at[number[i] + 1]):
                s = who[j]
                cells[place[s]] = i
                cell_head[place[s]] = heads[h]
                place[s] += 1
    out = np.empty((4, total), np.int64)
    found = 0
    for s in range(selections):
        for k in range(offset[s], offset[s + 1]):
            if k == offset[s] or cell_head[k] != cell_head[k - 1]:
                out[0, found] = s
                out[1, found] = cell_head[k]
                out[2, found] = k
                found += 1
            out[3, found - 1] = k + 1
    return out[0, :found].copy(), out[1, :found].copy(), out[2, :found].copy(), out[3, :found].copy(), cells
