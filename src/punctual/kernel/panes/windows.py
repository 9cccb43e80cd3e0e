"""Windows over series: which groups a window has, which rows it covers, and the states of both.

Model
-----
The window of a reader at ``at`` covers the rows of a (selection, group) with ``lo >= at - range`` and ``hi <= at``. A
*result* is (reader, instant, group). Results are found from the ``rows`` series under the readers' own selection;
ranges of rows are then looked up for every (reader, selection) whose states are wanted, and folded at once.

Why it is fast enough
---------------------
A group's windows are found by walking its panes and the reader's sorted instants together, by galloping; where no pane
lies in a window the walk jumps to the first instant that has one. So the cost is that of the results plus a
logarithm for every gap, never instants times groups. All readers' ranges of a synopsis are folded by one ``combine`` a
level.

Invariants: results are ordered by (reader, instant, rank of the group); an empty range gives the neutral state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.panes.cells import neutral, take_state
from punctual.kernel.panes.series import Level, Series
from punctual.kernel.panes.spec import I64
from punctual.kernel.synopses.synopsis import State, Synopsis

I64Matrix = NDArray[np.int64]

GREATEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Questions:
    """Readers as arrays: those of reader ``r`` are ``instants[offsets[r] : offsets[r + 1]]``.

    Panes with ``hi <= dropped`` are in no window.
    """

    where: I64
    range_us: I64
    offsets: I64
    instants: I64
    dropped: int


@dataclass(frozen=True, slots=True)
class Results:
    """Results in the order (reader, rank, instant), and each one's place in the order (reader, instant, rank)."""

    offsets: I64
    instant: I64
    rank: I64
    place: I64


def every_instant(questions: Questions) -> Results:
    """The results of a unit without keys: one per instant."""
    counts = np.diff(questions.offsets)
    instant = np.arange(questions.instants.size) - np.repeat(questions.offsets[:-1], counts)
    return Results(questions.offsets, instant, np.zeros_like(instant), np.arange(instant.size))


def occupied(questions: Questions, rows: Series, ranks: I64) -> Results:
    """The results of a unit with keys: one for every group that has a row in the window."""
    code, starts, ends = _union(rows.levels, ranks)
    none = np.zeros(0, dtype=np.int64)
    lo = np.concatenate([none, *(level.lo for level in rows.levels)])
    hi = np.concatenate([none, *(level.hi for level in rows.levels)])
    groups = max(1, ranks.size)
    first = np.searchsorted(code, questions.where * groups)
    last = np.searchsorted(code, (questions.where + 1) * groups)
    offsets, instant, found = _occupied(
        questions.offsets, questions.instants, questions.range_us, questions.dropped,
        first, last, code % groups, starts, ends, lo, hi,
    )  # fmt: skip
    return Results(offsets, instant, found, _by_instant(offsets, instant, questions.offsets))


class Fold(Protocol):
    """How states of windows are made of states of panes; :func:`fold` is one way, ``scan.Scan`` another."""

    def __call__(
        self, questions: Questions, results: Results, series: Series, ranks: I64,
        reader: I64, selection: I64, synopsis: Synopsis, known: State,
    ) -> State:  # fmt: skip
        """States of the results of ``reader[j]`` under ``selection[j]``, in the order (j, instant, rank)."""
        ...


def fold(
    questions: Questions, results: Results, series: Series, ranks: I64,
    reader: I64, selection: I64, synopsis: Synopsis, known: State,
) -> State:  # fmt: skip
    """States of the results of ``reader[j]`` under ``selection[j]``, in the order (j, instant, rank)."""
    total = int(np.diff(results.offsets)[reader].sum())
    owners: list[I64] = []
    parts: list[State] = []
    for level in series.levels:
        start, end = covered(questions, results, level, ranks, reader, selection)
        owner = np.flatnonzero(end > start)
        if owner.size:
            owners.append(owner)
            parts.append(synopsis.combine(level.state, start[owner], end[owner]))
    return merged_by_owner(synopsis, owners, parts, total) if parts else neutral(synopsis, known, total)


def covered(
    questions: Questions, results: Results, level: Level, ranks: I64, reader: I64, selection: I64
) -> tuple[I64, I64]:
    """The rows of a level that each result of ``reader[j]`` covers under ``selection[j]``, in the order of `fold`."""
    groups = max(1, ranks.size)
    segments = level.segments(ranks)
    first = np.searchsorted(segments.code, selection * groups)
    last = np.searchsorted(segments.code, (selection + 1) * groups)
    offsets = np.concatenate([[0], np.cumsum(np.diff(results.offsets)[reader])])
    return _ranges(
        questions.offsets, questions.instants, questions.range_us, questions.dropped,
        results.offsets, results.instant, results.rank, results.place,
        reader, offsets, first, last, segments.code % groups, segments.starts, segments.ends, level.lo, level.hi,
    )  # fmt: skip


def merged_by_owner(synopsis: Synopsis, owners: Sequence[I64], parts: Sequence[State], total: int) -> State:
    """One state for each of ``total`` owners, from parts whose rows each have an owner, ascending within a part."""
    if len(parts) == 1 and owners[0].size == total:
        return parts[0]
    owner = np.concatenate(owners)
    together = {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=total))])
    if len(parts) > 1:
        together = take_state(together, pa.array(np.argsort(owner, kind="stable")))
    return synopsis.combine(together, bounds[:-1], bounds[1:])


def _union(levels: Sequence[Level], ranks: I64) -> tuple[I64, I64Matrix, I64Matrix]:
    """The codes of all levels' segments, and the rows of each code in each level, the levels' rows in a row."""
    segments = [level.segments(ranks) for level in levels]
    code = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *(part.code for part in segments)]), kind="stable")
    code = code[np.append(True, code[1:] != code[:-1])[: code.size]]
    starts = np.zeros((len(levels), code.size), dtype=np.int64)
    ends = np.zeros_like(starts)
    base = 0
    for i, part in enumerate(segments):
        at = np.searchsorted(code, part.code)
        starts[i, at] = part.starts + base
        ends[i, at] = part.ends + base
        base += levels[i].lo.size
    return code, starts, ends


@compiled
def _reach(values: I64, start: int, end: int, bound: int) -> int:
    """First place from ``start`` on whose ascending value is at least ``bound``, by galloping; ``end`` if none is."""
    if start >= end or values[start] >= bound:
        return start
    stride = 1
    while start + stride < end and values[start + stride] < bound:
        start += stride
        stride *= 2
    end = min(end, start + stride)
    start += 1
    while start < end:
        middle = (start + end) // 2
        if values[middle] < bound:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def _occupied(
    question_offsets: I64, instants: I64, range_us: I64, dropped: int,
    first: I64, last: I64, rank: I64, starts: I64Matrix, ends: I64Matrix, lo: I64, hi: I64,
) -> tuple[I64, I64, I64]:  # fmt: skip
    """Walk the panes of each (selection, group) over all levels together with the instants of each reader."""
    readers = range_us.size
    levels = starts.shape[0]
    begin, stop = np.empty(levels, np.int64), np.empty(levels, np.int64)
    offsets = np.zeros(readers + 1, np.int64)
    capacity = 1024
    out = np.empty((2, capacity), np.int64)
    found = 0
    for r in range(readers):
        base, count = question_offsets[r], question_offsets[r + 1] - question_offsets[r]
        for u in range(first[r], last[r]):
            for level in range(levels):
                begin[level] = _reach(hi, starts[level, u], ends[level, u], dropped + 1)
                stop[level] = begin[level]
            i = 0
            while i < count:
                at = instants[base + i]
                some = False
                following = GREATEST
                for level in range(levels):
                    end = ends[level, u]
                    begin[level] = _reach(lo, begin[level], end, at - range_us[r])
                    stop[level] = _reach(hi, max(stop[level], begin[level]), end, at + 1)
                    if begin[level] < stop[level]:
                        some = True
                    elif begin[level] < end:
                        following = min(following, hi[begin[level]])
                if some:
                    if found == capacity:
                        capacity *= 2
                        more = np.empty((2, capacity), np.int64)
                        more[:, :found] = out
                        out = more
                    out[0, found] = i
                    out[1, found] = rank[u]
                    found += 1
                    i += 1
                elif following == GREATEST:
                    break
                else:
                    i = _reach(instants, base + i + 1, base + count, following) - base
        offsets[r + 1] = found
    return offsets, out[0, :found].copy(), out[1, :found].copy()


@compiled
def _by_instant(offsets: I64, instant: I64, question_offsets: I64) -> I64:
    """The place of each result within its reader when ordered by instant; results of an instant keep their order."""
    place = np.empty(instant.size, np.int64)
    for r in range(offsets.size - 1):
        following = np.zeros(question_offsets[r + 1] - question_offsets[r] + 1, np.int64)
        for j in range(offsets[r], offsets[r + 1]):
            following[instant[j] + 1] += 1
        for i in range(1, following.size):
            following[i] += following[i - 1]
        for j in range(offsets[r], offsets[r + 1]):
            place[j] = offsets[r] + following[instant[j]]
            following[instant[j]] += 1
    return place


@compiled
def _ranges(
    question_offsets: I64, instants: I64, range_us: I64, dropped: int,
    result_offsets: I64, result_instant: I64, result_rank: I64, result_place: I64,
    reader: I64, offsets: I64, first: I64, last: I64, rank: I64, starts: I64, ends: I64, lo: I64, hi: I64,
) -> tuple[I64, I64]:  # fmt: skip
    """The rows of one level that each result of each job covers."""
    start, end = np.zeros(offsets[-1], np.int64), np.zeros(offsets[-1], np.int64)
    for job in range(reader.size):
        r = reader[job]
        u = first[job]
        before = -1
        begin = stop = limit = 0
        for j in range(result_offsets[r], result_offsets[r + 1]):
            if result_rank[j] != before:
                before = result_rank[j]
                u = _reach(rank, u, last[job], before)
                begin = stop = limit = 0
                if u < last[job] and rank[u] == before:
                    limit = ends[u]
                    begin = _reach(hi, starts[u], limit, dropped + 1)
                    stop = begin
            if begin < limit:
                at = instants[question_offsets[r] + result_instant[j]]
                begin = _reach(lo, begin, limit, at - range_us[r])
                stop = _reach(hi, max(stop, begin), limit, at + 1)
                place = offsets[job] + result_place[j] - result_offsets[r]
                start[place] = begin
                end[place] = stop
    return start, end
