"""A synopsis over time: for each selection and group its states in the order of panes, kept between passes.

Model
-----
A *level* is a table of states sorted by (selection, group, lo), all of one pane layout, so that a window of a group is
a range of its rows. A *series* is a few levels; what belongs to one (selection, group, pane) may be spread over rows
and levels, since states are merged anyway when a window is folded.

Invariants: within one (selection, group) of a level, ``lo`` and ``hi`` both ascend.

Why it is fast enough
---------------------
Newly sealed panes become a new level. When there are too many, the two smallest are merged, so a row moves a
logarithmic number of times; before many windows are folded, more often, since each level costs every window a merge.
Dropped panes are skipped by the search for windows; a level is rewritten when most of it
is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from punctual.kernel.compiled import compiled
from punctual.kernel.panes.cells import take_state
from punctual.kernel.panes.spec import I64
from punctual.kernel.synopses.synopsis import State

T = TypeVar("T")

MOST_LEVELS = 6


@dataclass(frozen=True, slots=True)
class Segments:
    """Rows ``starts[j] : ends[j]`` have the ascending code ``selection * groups + rank``."""

    ranks: I64
    code: I64
    starts: I64
    ends: I64


@dataclass(frozen=True, slots=True)
class Level:
    """States sorted by (selection, group, lo). Rows ``starts[j] : starts[j + 1]`` are of one (selection, group)."""

    progressions: tuple[tuple[int, int], ...]
    selection: I64
    group: I64
    lo: I64
    hi: I64
    state: State
    starts: I64 = field(init=False)
    _segments: list[Segments] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        new = np.ones(self.lo.size, dtype=np.bool_)
        new[1:] = (self.selection[1:] != self.selection[:-1]) | (self.group[1:] != self.group[:-1])
        object.__setattr__(self, "starts", np.append(np.flatnonzero(new), self.lo.size))

    def segments(self, ranks: I64) -> Segments:
        """The rows of each (selection, group) by the groups' ranks; remembered until the ranks change."""
        if not self._segments or self._segments[0].ranks is not ranks:
            heads = self.starts[:-1]
            code = self.selection[heads] * max(1, ranks.size) + ranks[self.group[heads]]
            order = np.argsort(code, kind="stable")
            self._segments[:] = [Segments(ranks, code[order], heads[order], self.starts[1:][order])]
        return self._segments[0]

    def take(self, rows: I64) -> Level:
        """Some of the rows, in ascending order."""
        return Level(
            self.progressions, self.selection[rows], self.group[rows], self.lo[rows], self.hi[rows],
            take_state(self.state, pa.array(rows)),
        )  # fmt: skip


class Series:
    """The levels of one synopsis."""

    def __init__(self) -> None:
        self.levels: list[Level] = []

    def push(self, level: Level, before: int) -> None:
        """Add a level; rows with ``hi <= before`` may go."""
        if not level.lo.size:
            return
        self.levels.append(level)
        while len(self.levels) > MOST_LEVELS and self._merge_smallest(before):
            pass

    def condense(self, windows: int, before: int) -> None:
        """Make levels fewer where that is less work than to fold so many windows over each of them."""
        while len(self.levels) > 1 and self._merge_smallest(before, windows):
            pass

    def _merge_smallest(self, before: int, most_rows: int | None = None) -> bool:
        """Merge the two smallest levels of one layout, if there are two and they have no more rows than this."""
        pair = smallest_pair(self.levels, lambda level: level.lo.size, lambda level: level.progressions)
        if pair is None:
            return False
        if most_rows is not None and sum(self.levels[place].lo.size for place in pair) > most_rows:
            return False
        one, other = self.levels.pop(pair[1]), self.levels.pop(pair[0])
        self.levels.append(_merged(other, one, before))
        return True

    def drop(self, before: int) -> None:
        """Forget rows with ``hi <= before``, at once or when that is most of their level."""
        kept: list[Level] = []
        for level in self.levels:
            alive = np.count_nonzero(level.hi > before)
            if 2 * alive <= level.lo.size:
                level = level.take(np.flatnonzero(level.hi > before))
            if alive:
                kept.append(level)
        self.levels = kept

    def renumber(self, selections: I64, groups: I64) -> None:
        """Give selections and groups new numbers, in the same order; rows of those that become -1 go."""
        renumbered: list[Level] = []
        for level in self.levels:
            selection, group = selections[level.selection], groups[level.group]
            rows = np.flatnonzero((selection >= 0) & (group >= 0))
            if rows.size:
                kept = level if rows.size == level.lo.size else level.take(rows)
                renumbered.append(
                    Level(kept.progressions, selection[rows], group[rows], kept.lo, kept.hi, kept.state)
                )
        self.levels = renumbered


def smallest_pair(items: list[T], rows: Callable[[T], int], kind: Callable[[T], object]) -> tuple[int, int] | None:
    """Places of the two smallest items of one kind, the one with fewer rows together; None where none are alike."""
    best: tuple[int, tuple[int, int]] | None = None
    by_kind: dict[object, list[int]] = {}
    for place in sorted(range(len(items)), key=lambda place: rows(items[place])):
        by_kind.setdefault(kind(items[place]), []).append(place)
    for places in by_kind.values():
        if len(places) > 1:
            together = rows(items[places[0]]) + rows(items[places[1]])
            if best is None or together < best[0]:
                best = (together, (min(places[:2]), max(places[:2])))
    return None if best is None else best[1]


def _merged(one: Level, other: Level, before: int) -> Level:
    rows = _merge_order(
        one.selection, one.group, one.lo, one.hi, other.selection, other.group, other.lo, other.hi, before
    )
    state = {name: pa.concat_arrays([column, other.state[name]]) for name, column in one.state.items()}
    selection, group, lo, hi = (
        np.concatenate([getattr(one, name), getattr(other, name)])[rows] for name in ("selection", "group", "lo", "hi")
    )
    return Level(one.progressions, selection, group, lo, hi, take_state(state, pa.array(rows)))


@compiled
def _merge_order(
    selection: I64, group: I64, lo: I64, hi: I64,
    other_selection: I64, other_group: I64, other_lo: I64, other_hi: I64, before: int,
) -> I64:  # fmt: skip
    """The rows of two sorted levels, one after the other, in the order of both; without those that were dropped."""
    n, m = lo.size, other_lo.size
    out = np.empty(n + m, np.int64)
    found = i = j = 0
    while i < n or j < m:
        first = j == m
        if i < n and j < m:
            if selection[i] != other_selection[j]:
                first = selection[i] < other_selection[j]
            elif group[i] != other_group[j]:
                first = group[i] < other_group[j]
            else:
                first = lo[i] <= other_lo[j]
        if first:
            if hi[i] > before:
                out[found] = i
                found += 1
            i += 1
        else:
            if other_hi[j] > before:
                out[found] = n + j
                found += 1
            j += 1
    return out[:found].copy()
