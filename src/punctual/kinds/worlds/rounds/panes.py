"""Panes of a window that keep the first rounds of their rows for windows to come.

Windows that overlap have rows in common, whose draws are the same in all of them. So rows are folded by panes, the
stretches of event time between the edges of windows, and by group, and what the first rounds come to is kept: the next
window draws the rows of its new panes only. Sums are exact, so it does not show in an answer.

What a pane keeps has a name that follows from all that it is made of: which rows, what they are drawn from, which other
columns are read, which group of the pane each row is in, and what is asked of them. So nobody has to tell whether it
still holds, and a pane whose rows are others than before is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.arrays.shared import digest
from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw import Fold
from punctual.kernel.draw.kept.kept_folds import KeptFolds
from punctual.kernel.draw.kept.pane_folds import cells_of, in_turn, of_groups, pane_of
from punctual.kinds.worlds.laws import Content
from punctual.kinds.worlds.world_rows import WorldRows
from punctual.plan.query import Period, Query
from punctual.plan.uncertain import GivenBy
from punctual.plan.world_expression import WorldExpression
from punctual.plan.worlds import Folded, Worlds

BLOCK_NUMBERS = 1 << 18
"""About how many numbers a bundle has: two megabytes."""
MOST_BLOCK_NUMBERS = 1 << 20
"""Of many rows it has more, up to eight megabytes, so that the rounds of a row are not too few for vectors."""
FEWEST_ROUNDS_AT_ONCE = 64
MOST_ROUNDS_AT_ONCE = 1024
LEAST_WINDOWS = 2
"""A row is in so many windows at least, or nothing of it is kept."""
ROWS_PER_CELL = 2
"""So many uncertain rows a group of a pane has on the average, or all rows are drawn: each costs a merge."""
LEAST_DRAWS, PANE_DRAWS = 1 << 16, 1 << 11
"""So many draws are spared at least, and so many for each period of the range: fewer take less time than to tell panes
apart, and to put them together."""
SPARSE = 16
"""Numbers are found by counting all there might be, up to so many for each that there is."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfGroups:
    """Some rows, in ascending order, and the group of each, out of so many; and their places in an order by group."""

    rows: I64
    group: I64
    groups: int
    order: I64

    @staticmethod
    def of(rows: I64, group: I64, groups: int) -> RowsOfGroups:
        return RowsOfGroups(rows, group, groups, np.argsort(group, kind="stable"))


Folds = Callable[[int], Fold]
"""What is known of the aggregate of this number."""
FoldRows = Callable[[RowsOfGroups, range, Hashable], Folds]
"""Draws some rows in some rounds; what tells the rows from others comes with them."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where so many rounds of a query are kept, and which windows it has: that of an instant, and those periods later.

    ``identity`` and ``time`` are the columns that tell rows apart and say their time.
    """

    folds: KeptFolds
    rounds: int
    query: str
    at: Micros
    range_us: Micros
    period_us: Micros
    identity: int
    time: int

    @property
    def windows(self) -> Hashable:
        """What tells it from that of another query of the same window: those that have the same share what is kept."""
        return self.rounds, self.range_us, self.period_us


def rounds_at_once(rows: int) -> int:
    """How many rounds are drawn at once, so that bundles of so many rows stay small.

    >>> [rounds_at_once(rows) for rows in (0, 1_000, 30_000, 100_000, 200_000, 2_000_000)]
    [1024, 262, 34, 10, 5, 1]
    """
    few = min(FEWEST_ROUNDS_AT_ONCE, MOST_BLOCK_NUMBERS // max(1, rows))
    return max(1, few, min(MOST_ROUNDS_AT_ONCE, BLOCK_NUMBERS // max(1, rows)))


def may_keep(query: Query) -> bool:
    """Whether windows of a query have panes that may keep rounds.

    Its draws need their rows alone, windows overlap, and nothing else is made of the rows. Where rounds are drawn until
    an answer is due the first ones are the least of them, and what they cost says what the others will.
    """
    body = query.body
    if not isinstance(body, Worlds) or not (body.attributes or body.existence):
        return False
    alone = all(isinstance(one.law, GivenBy) for one in body.attributes)
    alone = alone and all(one.rule is None for one in body.existence)
    folded = all(isinstance(one, Folded) for one in body.aggregates) and not body.drawn_keys and not body.by_rows
    overlap = isinstance(query.cadence, Period) and LEAST_WINDOWS * query.cadence.us <= body.range_us
    read = body.statement.plain is not None and not query.stages
    return alone and folded and overlap and read


def keeping(query: Query, body: Worlds, at: Micros, folds: KeptFolds | None) -> Keeping | None:
    """Where the window of an instant keeps its first rounds; None where it does not."""
    if folds is None or not may_keep(query):
        return None
    drawn = body.attributes[0] if body.attributes else body.existence[0]
    rounds = folds.rounds if body.effort.confidence is not None else min(folds.rounds, body.effort.rounds)
    return Keeping(
        folds, rounds, query.name, at, body.range_us, query.cadence.us, drawn.identity, drawn.time
    )  # fmt: skip


def panes_of(
    kept: Keeping, window: WorldRows, part: RowsOfGroups, folds: Sequence[Folded], conditions: Sequence[WorldExpression]
) -> PaneRounds | None:
    """The panes of a window, by those of its rows that are drawn; None where it is less work to draw all of them."""
    spared = part.rows.size * kept.rounds * (kept.range_us - kept.period_us) / kept.range_us
    if spared < LEAST_DRAWS + PANE_DRAWS * (kept.range_us // kept.period_us):
        return None
    age = kept.at - window.times(kept.time)[part.rows]
    cells, cell = _numbered(pane_of(age, kept.range_us, kept.period_us) * part.groups + part.group)
    if cells.size * ROWS_PER_CELL > part.rows.size:
        return None
    panes, of_cell = np.unique(cells // part.groups, return_inverse=True)
    pane, first = of_cell[cell], np.searchsorted(of_cell, np.arange(panes.size + 1))
    order = np.argsort(window.identities(kept.identity)[part.rows])  # rows come in no order that would stay
    few = panes.size < 2**15  # small numbers are sorted without comparing them
    order = order[np.argsort(pane[order].astype(np.int16) if few else pane[order], kind="stable")]
    ends = np.searchsorted(pane[order], np.arange(panes.size + 1))
    read = [one for folded in folds for one in (folded.argument, folded.where) if one is not None]
    contents = [((cell - first[pane])[order], None), *window.contents(part.rows[order], [*read, *conditions])]
    names = [
        digest(*(_between(content, begin, end) for content in contents))
        for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist())
    ]
    oldest = np.maximum.reduceat(age[order], ends[:-1])
    asked = [digest(repr((one, tuple(conditions), window.sources()))) for one in folds]
    until = kept.at + kept.range_us - 1 - oldest
    return PaneRounds(kept, part, Cells(cell, cells % part.groups, pane, first, names, until), asked)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The groups of panes: the cell of each row, the group of each cell, and of each pane the first of its cells.

    ``pane`` is that of each row, ``until`` the last instant of each pane whose window has it.
    """

    cell: I64
    group: I64
    pane: I64
    first: I64
    names: Sequence[bytes]
    until: I64


class PaneRounds:
    """The panes of a window, and what they keep."""

    def __init__(self, kept: Keeping, part: RowsOfGroups, cells: Cells, asked: Sequence[bytes]) -> None:
        self._kept, self._part, self._cells, self._asked = kept, part, cells, asked
        self.rounds = kept.rounds
        """So many rounds are kept."""

    def folds(self, wanted: Sequence[int], rounds: range, fold_rows: FoldRows) -> dict[int, Fold]:
        """Aggregates of the groups of the window; rows of panes that lack one of them are drawn."""
        cells, kept, query = self._cells, self._kept.folds, self._kept.query
        known = {one: [kept.get(query, (self._asked[one], name), rounds) for name in cells.names] for one in wanted}
        if not known:
            return {}
        lack = np.array([None in of_pane for of_pane in zip(*known.values())])
        groups = np.split(cells.group, cells.first[1:-1])
        parts: dict[int, list[tuple[Fold, I64]]] = {
            one: [(fold, group) for fold, group, lacks in zip(every, groups, lack) if fold is not None and not lacks]
            for one, every in known.items()
        }
        if lack.any():
            new = np.concatenate([group for group, lacks in zip(groups, lack) if lacks])
            for one, fold in self._drawn(wanted, lack, rounds, fold_rows).items():
                parts[one].append((fold, new))
                self._keep(one, lack, rounds, fold)
        return {one: of_groups(several, self._part.groups) for one, several in parts.items()}

    def _drawn(self, wanted: Sequence[int], lack: Bools, rounds: range, fold_rows: FoldRows) -> dict[int, Fold]:
        """Aggregates of the cells of some panes, a block of rounds after the other."""
        cells, part = self._cells, self._part
        chosen = np.flatnonzero(lack[cells.pane])
        sizes = np.where(lack, np.diff(cells.first), 0)
        before = cells.first[:-1] - (np.cumsum(sizes) - sizes)  # so many cells of other panes
        some = RowsOfGroups.of(part.rows[chosen], (cells.cell - before[cells.pane])[chosen], int(sizes.sum()))
        named, step, found = digest(some.rows), rounds_at_once(chosen.size), dict[int, Fold]()
        for first in range(rounds.start, rounds.stop, step):
            block = range(first, min(first + step, rounds.stop))
            folds = fold_rows(some, block, named)
            for one in wanted:
                fold, so_far = folds(one), found.get(one)
                found[one] = fold if so_far is None else in_turn(so_far, first - rounds.start, fold, len(block))
        return found

    def _keep(self, one: int, lack: Bools, rounds: range, fold: Fold) -> None:
        """Keep what was drawn of the cells of some panes, if another window has them."""
        cells, kept, first = self._cells, self._kept, 0
        for pane, size in enumerate(np.diff(cells.first).tolist()):
            if lack[pane]:
                until = int(cells.until[pane])
                if until >= kept.at + kept.period_us:
                    some = cells_of(fold, first, first + size)
                    kept.folds.put(kept.query, (self._asked[one], cells.names[pane]), rounds, some, until)
                first += size


def _numbered(codes: I64) -> tuple[I64, I64]:
    """The different codes in ascending order, and which of them each is."""
    if int(codes.max()) > SPARSE * codes.size:
        return np.unique(codes, return_inverse=True)
    there = np.bincount(codes) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def _between(content: Content, begin: int, end: int) -> NDArray[Any]:
    """What some rows have in them."""
    values, offsets = content
    return values[begin:end] if offsets is None else values[offsets[begin] : offsets[end]]
