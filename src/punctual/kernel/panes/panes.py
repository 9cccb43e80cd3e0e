"""The cells of one unit in memory, and the answers of all its readers from them.

Model
-----
Partial cells arrive with every batch and stay *open* until their pane is sealed: no later batch adds to it. Sealed
cells are kept in blocks (``select.py``). Each selection that a reader asks for has a series of states per group
(``selections.py``, ``series.py``), extended by every sealed pane and kept between passes; windows are ranges of a
series (``windows.py``), or walks over it (``scan.py``). The same class answers on the driver, for all shards, and
inside a Spark task, for one.

Invariants
----------
Answers depend on the cells alone: not on how they were cut into batches, when panes were sealed, or which readers
asked before. A pane counts for a window when ``lo >= at - range`` and ``hi <= at``, and until it is dropped. Cells
of another grid than the unit's are read as far as their edges and cuts decide the question, and ignored beyond.

Why it is fast enough
---------------------
A pass costs the cells that were sealed since the last one, times the selections that want them, plus its results.
Arrays are merged in amortised steps, so their number stays flat over any number of passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.panes.answers import Answered, AnsweredReaders, answer_pass, plan_pass
from punctual.kernel.panes.bands import GRID_SHIFT
from punctual.kernel.panes.cells import Cells, concatenate, from_table, synopses_of, to_table, unique
from punctual.kernel.panes.groups import Groups
from punctual.kernel.panes.keys import dense_values, shard_of
from punctual.kernel.panes.scan import Scan
from punctual.kernel.panes.select import Block
from punctual.kernel.panes.selections import Selections
from punctual.kernel.panes.series import smallest_pair
from punctual.kernel.panes.spec import Reader, Readers, UnitSpec
from punctual.kernel.panes.windows import fold
from punctual.kernel.synopses.synopsis import State

__all__ = ["Answered", "AnsweredReaders", "Panes"]

MOST_OPEN = 16
MOST_BLOCKS = 16
FEWEST_GROUPS = 1024
"""So many groups are never worth a sweep."""


class Panes:
    """Cells of one unit; see the module's header.

    Parameters
    ----------
    spec : UnitSpec
        The unit as it is now; cells that were lifted under another specification with the same keys are welcome.
    shards : int
        Number of shards, as `lift` was told.
    scan : bool
        Walk over the panes of every window, for comparison; the answers are the same.
    """

    def __init__(self, spec: UnitSpec, shards: int, scan: bool = False) -> None:
        self.spec = spec
        self.shards = shards
        self._synopses = synopses_of(spec)
        self._known: list[State | None] = [None] * len(spec.synopses)
        self._open: list[Cells] = []
        self._fresh: list[Block] = []
        self._blocks: list[Block] = []
        self._groups = Groups(len(spec.keys))
        self._surviving_groups = 0
        self._selections = Selections(spec.bands, self._synopses)
        self._sealed = self._dropped = -(2**62)
        self._scan = Scan() if scan else None

    def add(self, cells: pa.Table) -> None:
        """Add the partial cells of a batch, all of panes that are not sealed yet."""
        part = from_table(cells, self.spec)
        for i, state in enumerate(part.states):
            if state is not None and self._known[i] is None:
                self._known[i] = {name: column[:0] for name, column in state.items()}
        self._groups.know_types(part.keys)
        if not len(part):
            return
        if int(part.hi.min()) <= self._sealed:
            raise InternalError(f"cells of the pane up to {part.hi.min()} arrive after {self._sealed} was sealed")
        self._open.append(part)
        if len(self._open) > MOST_OPEN:
            self._open = [unique(concatenate(self._open, self._synopses), self._synopses)]

    def seal(self, through: int) -> None:
        """Promise that no later cells have ``hi <= through``; windows up to there can be answered."""
        if through <= self._sealed:
            return
        self._sealed = through
        ripe, self._open = _split(self._open, through)
        ripe = _split(ripe, self._dropped)[1]
        if ripe:
            self._fresh += self._blocks_of(concatenate(ripe, self._synopses))
            self._fresh = self._tidy(self._fresh)

    def answer(self, readers: Sequence[Reader]) -> list[Answered]:
        """Answer all readers, each by itself; see `answer_alike`."""
        found: list[Answered | None] = [None] * len(readers)
        for one in self.answer_alike([reader.alone() for reader in readers]):
            first = 0
            for place in one.readers:
                count = readers[place].instants.size
                found[place] = one.answered.part(first, first + count)
                first += count
        return [answered for answered in found if answered is not None]

    def answer_alike(self, readers: Sequence[Readers]) -> list[AnsweredReaders]:
        """Answer all readers, whose instants are sealed; those that are alike as one.

        Without keys there is one row per instant; with keys, one for each group that has a row in the window.
        """
        latest = max((int(reader.instants[-1]) for reader in readers if reader.instants.size), default=self._sealed)
        if latest > self._sealed:
            raise InternalError(f"the instant {latest} is asked for, and only {self._sealed} is sealed")
        asked = plan_pass(readers, len(self._synopses), self._selections.want, self._dropped)
        self._selections.extend(self._fresh, self._blocks, self._dropped)
        self._blocks = self._tidy(self._blocks + self._fresh)
        self._fresh = []
        known = [state or self._guess(i) for i, state in enumerate(self._known)]
        answers = answer_pass(asked, self._selections.series, self._groups, self._synopses, known, self._scan or fold)
        self._selections.end_pass(len(self._groups))
        return answers

    def drop(self, before: int) -> None:
        """Forget the panes with ``hi <= before``."""
        if before <= self._dropped:
            return
        self._dropped = before
        self._open = _split(self._open, before)[1]
        self._fresh = list(_swept(self._fresh, before))
        self._blocks = list(_swept(self._blocks, before))
        self._selections.drop(before)
        if len(self._groups) > 2 * self._surviving_groups + FEWEST_GROUPS:
            self._forget_groups()

    def export(self) -> pa.Table:
        """All cells that are not dropped, merged into one table as `lift.merge` gives it."""
        parts = list(self._open)
        keys = self._groups.keys
        shards = shard_of(keys, self.shards)
        for block in (*self._fresh, *self._blocks):
            at = pa.array(block.group)
            parts.append(_as_cells(block, [key.take(at) for key in keys], shards[block.group]))
        parts = _split(parts, self._dropped)[1]
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            parts = [Cells(none, none, none, none.astype(np.int32), [k[:0] for k in keys], list(self._known), ())]
        return to_table(unique(concatenate(parts, self._synopses), self._synopses), self.spec)

    @property
    def cells(self) -> int:
        """How many cells are held; dropped ones count until they are swept."""
        return sum(len(part) for part in self._open) + sum(len(block) for block in (*self._fresh, *self._blocks))

    @property
    def merges(self) -> int:
        """How many merges of two states scans took so far; 0 without `scan`, where windows share merges."""
        return 0 if self._scan is None else self._scan.merges

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        columns = [key for part in self._open for key in part.keys] + self._groups.keys
        levels = [level for series in self._selections.series for level in series.levels]
        states = [level.state for level in levels]
        states += [state for part in self._open for state in part.states if state]
        states += [state for block in (*self._fresh, *self._blocks) for state in block.states if state]
        columns += [column for state in states for column in state.values()]
        coordinates = 4 * 8 * (self.cells + sum(level.lo.size for level in levels))
        return coordinates + sum(int(column.nbytes) for column in columns)

    def _blocks_of(self, cells: Cells) -> list[Block]:
        """Unique cells, a block for each grid among them."""
        groups = self._groups.numbers(cells.keys, len(cells))
        ordinal = cells.band >> GRID_SHIFT
        number = cells.band & ((1 << GRID_SHIFT) - 1)
        blocks = []
        for which in dense_values(ordinal)[1].tolist():
            rows = np.flatnonzero(ordinal == which)
            rows = rows[np.lexsort((number[rows], cells.lo[rows], groups[rows]))]
            whole = Block(cells.grids[which], cells.lo, cells.hi, number, groups, cells.states)
            blocks.append(self._with_partials_combined(whole.take(rows)))
        return blocks

    def _with_partials_combined(self, block: Block) -> Block:
        """A sorted block with the partials of each cell combined."""
        new = np.ones(len(block), dtype=np.bool_)
        new[1:] = np.any([column[1:] != column[:-1] for column in (block.group, block.lo, block.number)], axis=0)
        if new.all():
            return block
        starts = np.flatnonzero(new)
        ends = np.append(starts[1:], len(block))
        states = [s and kind.combine(s, starts, ends) for kind, s in zip(self._synopses, block.states)]
        return replace(replace(block, states=[]).take(starts), states=states)

    def _tidy(self, blocks: list[Block]) -> list[Block]:
        """Merge the smallest blocks while there are too many."""
        while len(blocks) > MOST_BLOCKS:
            pair = smallest_pair(blocks, len, lambda block: block.grid)
            if pair is None:
                break
            other, one = blocks.pop(pair[1]), blocks.pop(pair[0])
            both = concatenate([_as_cells(b, [pa.array(b.group)]) for b in (one, other)], self._synopses)
            group = both.keys[0].to_numpy()
            whole = Block(one.grid, both.lo, both.hi, both.band, group, both.states)
            blocks.append(whole.take(np.lexsort((both.band, both.lo, group))))
        return blocks

    def _guess(self, synopsis: int) -> State:
        """A state without cells for a unit that had none yet: of any type, as all that it gives is neutral."""
        none = np.zeros(0, dtype=np.int64)
        column = self.spec.synopses[synopsis].column
        argument = None if column is None else pa.array([], pa.float64())
        return self._synopses[synopsis].lift(none, 0, argument, none, [])

    def _forget_groups(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        alive = np.unique(np.concatenate([none, *(block.group for block in (*self._fresh, *self._blocks))]))
        self._surviving_groups = alive.size
        moved = self._groups.keep(alive)
        self._fresh = [replace(block, group=moved[block.group]) for block in self._fresh]
        self._blocks = [replace(block, group=moved[block.group]) for block in self._blocks]
        self._selections.renumber_groups(moved)


def _as_cells(block: Block, keys: list[pa.Array], shard: NDArray[np.int32] | None = None) -> Cells:
    """A block as cells with the given keys."""
    shard = np.zeros(len(block), dtype=np.int32) if shard is None else shard
    return Cells(block.lo, block.hi, block.number, shard, keys, block.states, (block.grid,))


def _split(parts: Iterable[Cells], through: int) -> tuple[list[Cells], list[Cells]]:
    """Cells with ``hi <= through``, and those after."""
    before: list[Cells] = []
    after: list[Cells] = []
    for part in parts:
        early = part.hi <= through
        count = np.count_nonzero(early)
        if count == len(part):
            before.append(part)
        elif count == 0:
            after.append(part)
        else:
            before.append(part.take(np.flatnonzero(early)))
            after.append(part.take(np.flatnonzero(~early)))
    return before, after


def _swept(blocks: Iterable[Block], before: int) -> Iterable[Block]:
    """Blocks without what was dropped, where that is most of one."""
    for block in blocks:
        alive = np.flatnonzero(block.hi > before)
        if 2 * alive.size <= len(block):
            block = block.take(alive)
        if alive.size:
            yield block
