"""The selections that readers ask for, and the series of states that are kept for them.

Model
-----
A selection gets a number when it is first asked for. What is kept is decided by pairs (selection, synopsis): a reader's
own selection wants the rows, a call's selection wants the call's synopsis and no other. A new pair is built from all
sealed blocks, a known one is extended by the blocks that were sealed since.

Invariants: after `extend`, the series of every pair that was ever wanted rests on every sealed block exactly once.

Cost: that of the expansions (``select.py``) of fresh blocks for all pairs, and of all blocks for new pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.panes.cells import take_state
from punctual.kernel.panes.select import Block, expand, truth_row
from punctual.kernel.panes.series import Level, Series
from punctual.kernel.panes.spec import I64, Band, Grid, Selection
from punctual.kernel.synopses.synopsis import Synopsis

STALE_PASSES = 1_000
"""A selection that no reader asked for in so many passes may be forgotten."""

FEWEST_SELECTIONS = 64
"""So many selections are never worth a sweep."""


class Selections:
    """Selections of a unit by number, and one `Series` a synopsis."""

    def __init__(self, bands: Sequence[Band], synopses: Sequence[Synopsis]) -> None:
        self.series = [Series() for _ in synopses]
        self._bands = bands
        self._synopses = synopses
        self._numbers: dict[Selection, int] = {}
        self._last_use: list[int] = []
        self._kept: list[set[int]] = [set() for _ in synopses]
        self._new: list[set[int]] = [set() for _ in synopses]
        self._truths: dict[Grid, NDArray[np.bool_]] = {}
        self._survivors = 0
        self._passes = 0

    def want(self, selection: Selection, synopsis: int) -> int:
        """The number of a selection whose states of the synopsis are wanted."""
        number = self._numbers.get(selection)
        if number is None:
            number = self._numbers[selection] = len(self._numbers)
            self._last_use.append(0)
        self._last_use[number] = self._passes
        if number not in self._kept[synopsis]:
            self._new[synopsis].add(number)
        return number

    def extend(self, fresh: Sequence[Block], older: Sequence[Block], dropped: int) -> None:
        """Bring the series up to the blocks that were sealed since the last time, and begin those that are new."""
        for block in fresh:
            self._grow(block, self._kept, dropped)
        if any(self._new):
            for block in (*older, *fresh):
                self._grow(block, self._new, dropped)
            for kept, new in zip(self._kept, self._new):
                kept |= new
                new.clear()

    def drop(self, before: int) -> None:
        """Forget panes with ``hi <= before``."""
        for series in self.series:
            series.drop(before)

    def renumber_groups(self, groups: I64) -> None:
        """Give groups their new numbers; -1 for those that are gone."""
        same = np.arange(len(self._numbers), dtype=np.int64)
        for series in self.series:
            series.renumber(same, groups)

    def end_pass(self, groups: int) -> None:
        """Forget selections that nobody asks for any more, when they may be the majority."""
        self._passes += 1
        if len(self._numbers) <= 2 * self._survivors + FEWEST_SELECTIONS:
            return
        last_use = np.array(self._last_use)
        alive = np.flatnonzero(last_use >= self._passes - STALE_PASSES)
        self._survivors = alive.size
        moved = np.full(last_use.size, -1, dtype=np.int64)
        moved[alive] = np.arange(alive.size)
        for series in self.series:
            series.renumber(moved, np.arange(groups, dtype=np.int64))
        self._numbers = {s: int(moved[number]) for s, number in self._numbers.items() if moved[number] >= 0}
        self._last_use = last_use[alive].tolist()
        self._kept = [{int(moved[number]) for number in kept if moved[number] >= 0} for kept in self._kept]
        self._truths.clear()

    def _grow(self, block: Block, wanted: Sequence[set[int]], dropped: int) -> None:
        numbers = np.array(sorted(set().union(*wanted)), dtype=np.int64)
        if not numbers.size:
            return
        found = expand(block, self._truth(block.grid)[numbers])
        at = None if found.cells is None else pa.array(found.cells)
        for i, (series, synopsis, some) in enumerate(zip(self.series, self._synopses, wanted)):
            state = block.states[i]
            if state is None or not some:
                continue
            kept = np.arange(found.head.size)
            if len(some) < numbers.size:
                kept = np.flatnonzero(np.isin(numbers, list(some))[found.selection])
            source = state if at is None else take_state(state, at)
            head = found.head[kept]
            level = Level(
                block.grid.progressions, numbers[found.selection[kept]],
                block.group[head], block.lo[head], block.hi[head],
                synopsis.combine(source, found.start[kept], found.end[kept]),
            )  # fmt: skip
            series.push(level, dropped)

    def _truth(self, grid: Grid) -> NDArray[np.bool_]:
        """The truth of every selection over a grid; rows of new selections are appended."""
        known = self._truths.get(grid)
        have = 0 if known is None else known.shape[0]
        if have < len(self._numbers):
            new = [s for s, number in self._numbers.items() if number >= have]  # in the order of their numbers
            rows = np.stack([truth_row(grid, self._bands, selection) for selection in new])
            known = rows if known is None else np.concatenate([known, rows])
            self._truths[grid] = known
        assert known is not None
        return known
