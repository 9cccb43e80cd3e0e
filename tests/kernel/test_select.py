"""Expansion of cells to selections, both ways, against asking each selection of each cell; and galloping search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.panes import select, windows
from punctual.kernel.panes.bands import digits, size
from punctual.kernel.panes.keys import dense_values
from punctual.kernel.panes.select import Block, expand, truth_row
from punctual.kernel.panes.spec import Band, Comparison, Grid

BANDS = (Band("x", "number", (0, 5)), Band("s", "label", ("a", "b")))
GRID = Grid(((10, 0),), BANDS)
CELLS = st.sets(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 23)), min_size=1, max_size=40)
NUMBERS = st.tuples(st.sampled_from(["<", "<=", "=", ">=", ">", "<>"]), st.sampled_from([0, 5]))
LABELS = st.tuples(st.sampled_from(["=", "<>"]), st.sampled_from(["a", "b"]))
SELECTIONS = st.lists(st.tuples(st.lists(NUMBERS, max_size=2), st.lists(LABELS, max_size=1)), min_size=1, max_size=6)


def block_of(cells: set[tuple[int, int, int]]) -> Block:
    group, pane, number = (np.array(column, dtype=np.int64) for column in zip(*sorted(cells)))
    return Block(GRID, pane * 10, pane * 10 + 10, number, group, [])


def truths_of(selections: list[Any]) -> np.ndarray:
    return np.stack(
        [
            truth_row(GRID, BANDS, tuple(tuple(Comparison(op, (value,)) for op, value in part) for part in selection))
            for selection in selections
        ]
    )


@settings(max_examples=80, deadline=None, derandomize=True)
@given(CELLS, SELECTIONS, st.sampled_from(["chosen", "_search", "_hand_out"]), st.sampled_from([1, 1 << 24]))
def test_each_selection_gets_its_cells(
    cells: set[tuple[int, int, int]], selections: list[Any], way: str, at_once: int
) -> None:
    block, truths = block_of(cells), truths_of(selections)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(select, "TRUTHS_AT_ONCE", at_once)
        if way == "chosen":
            found = expand(block, truths)
        else:  # the same steps, compiled or interpreted, whatever is less work
            patch.setattr(select, "_cheaper_to_search", lambda *_: way == "_search")
            patch.setattr(select, way, getattr(select, way).py_func)
            found = expand(block, truths)
            assert (found.cells is None) == (way == "_search")
    order = list(zip(found.selection.tolist(), block.group[found.head].tolist(), block.lo[found.head].tolist()))
    assert order == sorted(order)
    got: dict[int, list[int]] = {s: [] for s in range(len(selections))}
    for s, head, start, end in zip(found.selection, found.head, found.start, found.end):
        rows = np.arange(start, end) if found.cells is None else found.cells[start:end]
        assert (block.group[rows] == block.group[head]).all()
        assert (block.lo[rows] == block.lo[head]).all()
        got[int(s)] += rows.tolist()
    first, second = digits(BANDS, block.number)
    for s, truth in enumerate(truths):
        holds = truth[0] & truth[1 + first] & truth[1 + size(BANDS[0]) + second]
        assert sorted(got[s]) == np.flatnonzero(holds).tolist()


def test_a_grid_without_the_column_decides_nothing_but_the_empty_conjunction() -> None:
    bare = Grid(((10, 0),), ())
    assert truth_row(bare, BANDS, ((), ())).tolist() == [True]
    assert truth_row(bare, BANDS, ((Comparison(">", (0,)),), ())).tolist() == [False]
    assert truth_row(GRID, (), ()).all()


def test_thresholds_are_searched_and_equalities_handed_out() -> None:
    cuts = tuple(range(500))
    block = Block(
        Grid(((10, 0),), (Band("x", "number", cuts),)), np.zeros(500, dtype=np.int64), np.full(500, 10),
        2 * np.arange(500) + 2, np.zeros(500, dtype=np.int64), [],
    )  # fmt: skip
    band = block.grid.bands
    above = np.stack([truth_row(block.grid, band, ((Comparison(">", (cut,)),),)) for cut in cuts])
    equal = np.stack([truth_row(block.grid, band, ((Comparison("=", (cut,)),),)) for cut in cuts])
    assert expand(block, above).cells is None
    handed = expand(block, equal).cells
    assert handed is not None
    assert handed.tolist() == list(range(500))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 30), max_size=40).map(sorted), st.data())
def test_galloping(values: list[int], data: st.DataObject) -> None:
    array = np.array(values, dtype=np.int64)
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))
    bound = data.draw(st.integers(-1, 31))
    wanted = start + int(np.searchsorted(array[start:end], bound))
    assert windows._reach(array, start, end, bound) == wanted
    assert windows._reach.py_func(array, start, end, bound) == wanted  # type: ignore[attr-defined]
    assert dense_values(array)[1].tolist() == sorted(set(values))
