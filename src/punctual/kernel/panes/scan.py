"""Windows by a walk over panes, from the newest to the oldest: the shared operator of Golab, Bijay and Ozsu.

Model
-----
An *execution* is what is due together: all results of one ``where`` selection, selection, instant and group. Their
windows end at the same pane and differ in where they begin, so a walk as far as the longest one passes the beginning of
every shorter one, and its answer is read off on the way. The panes between two neighbouring beginnings are a *link*;
the links of an execution are its *chain*.

Design
------
Links are folded first: their panes are copied out one by one, in chunks of bounded size, and merged. Then chains are
followed, the first links of all executions, the second ones, and so on: the state of a longer window is that of the
next shorter one merged with one more link. Longest chains come first, so what is followed further is a prefix.

Invariants
----------
States are those of ``windows.fold``, since merges are order-free. An execution takes one merge less than its longest
window has panes with rows, whatever the number of shorter windows; ``Scan.merges`` counts them. Nothing is kept from
one execution to the next: instants whose windows overlap pay for the overlap each time. So work is that of the paper's
cost model, and it is far from the least: this is for comparison, and for the cadence planners that assume it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.kernel.arrays.rangefold import walk
from punctual.kernel.arrays.state import Bools, height
from punctual.kernel.panes.cells import neutral, take_state
from punctual.kernel.panes.series import Level, Series
from punctual.kernel.panes.spec import I64
from punctual.kernel.panes.windows import Questions, Results, covered, merged_by_owner
from punctual.kernel.synopses.synopsis import State, Synopsis

MOST_WORDS = 1 << 22
"""Panes are copied out in chunks of at most so many words of eight bytes, or of one link."""


class Scan:
    """A `windows.Fold` that walks.

    Attributes
    ----------
    merges : int
        Merges of two states since the beginning.
    """

    def __init__(self) -> None:
        self.merges = 0

    def __call__(
        self, questions: Questions, results: Results, series: Series, ranks: I64,
        reader: I64, selection: I64, synopsis: Synopsis, known: State,
    ) -> State:  # fmt: skip
        """States of the results of ``reader[j]`` under ``selection[j]``, in the order (j, instant, rank)."""
        places, begins = _executions(questions, results, max(1, ranks.size), reader, selection)
        steps = [
            _steps(begins, *(side[places] for side in covered(questions, results, level, ranks, reader, selection)))
            for level in series.levels
        ]
        panes = sum((size for _, size in steps), np.zeros(places.size, np.int64))
        chains = _chains(begins, panes > 0)
        if not chains.links.size:
            return neutral(synopsis, known, places.size)
        self.merges += int(panes.sum()) - int(chains.widths[0])
        owners: list[I64] = []
        parts: list[State] = []
        for level, (start, size) in zip(series.levels, steps):
            owner = np.flatnonzero(size[chains.links])
            if owner.size:
                mine = chains.links[owner]
                owners.append(owner)
                parts.append(_walked(synopsis, level, start[mine], start[mine] + size[mine]))
        state = _followed(synopsis, merged_by_owner(synopsis, owners, parts, chains.links.size), chains.widths)
        nothing = np.zeros(1, np.int64)
        state = _joined([state, synopsis.combine(state, nothing, nothing)])
        rows = np.empty(places.size, np.int64)
        rows[places] = chains.rows
        return take_state(state, pa.array(rows))


@dataclass(frozen=True, slots=True)
class Chains:
    """The links of all executions, ordered by depth in their chain, the longest chains first.

    links : int64[n]
        The result, in the order of executions, at which each link ends.
    widths : int64[depths]
        How many links there are of each depth; never rises.
    rows : int64[results]
        The link that completes each result, in the order of executions; n where no pane has a row for it.
    """

    links: I64
    widths: I64
    rows: I64


def _executions(questions: Questions, results: Results, groups: int, reader: I64, selection: I64) -> tuple[I64, Bools]:
    """The places of all results ordered by (execution, length of window), and whether each begins an execution."""
    counts = np.diff(results.offsets)[reader]
    offsets = np.cumsum(counts) - counts
    where, range_us = questions.where[reader], questions.range_us[reader]
    jobs = np.lexsort((range_us, selection, where))
    other = (np.diff(where[jobs]) != 0) | (np.diff(selection[jobs]) != 0)
    number = np.append(0, np.cumsum(other))

    instant, rank = np.empty_like(results.instant), np.empty_like(results.rank)
    instant[results.place], rank[results.place] = results.instant, results.rank
    moments, moment = np.unique(questions.instants, return_inverse=True)
    counts = counts[jobs]
    places, _ = walk(offsets[jobs], offsets[jobs] + counts)
    asked, _ = walk(results.offsets[reader[jobs]], results.offsets[reader[jobs]] + counts)
    at = moment[instant[asked] + np.repeat(questions.offsets[reader[jobs]], counts)]
    # Far below 2**63: each factor is a number of things in memory, most of which have a result.
    code = (np.repeat(number, counts) * moments.size + at) * groups + rank[asked]
    order = np.argsort(code, kind="stable")  # a job's codes ascend, so this merges runs
    begins = np.ones(order.size, np.bool_)
    begins[1:] = np.diff(code[order]) != 0
    return places[order], begins


def _steps(begins: Bools, start: I64, end: I64) -> tuple[I64, I64]:
    """What each window has of a level beyond the next shorter one of its execution: first row, number of rows."""
    occupied = end > start
    reached = end.copy()
    follows = occupied[:-1] & ~begins[1:]
    reached[1:][follows] = start[:-1][follows]
    return start, np.where(occupied, reached - start, 0)


def _chains(begins: Bools, linked: Bools) -> Chains:
    """Chains of the results that are ``linked``: those that reach panes beyond the next shorter ones."""
    execution = np.cumsum(begins) - 1
    links = np.flatnonzero(linked)
    owner = execution[links]
    lengths = np.bincount(owner, minlength=int(begins.sum()))
    depth = np.arange(links.size) - (np.cumsum(lengths) - lengths)[owner]
    longest_first = np.empty_like(lengths)
    longest_first[np.argsort(-lengths, kind="stable")] = np.arange(lengths.size)
    widths = np.bincount(depth)
    row = (np.cumsum(widths) - widths)[depth] + longest_first[owner]
    ordered = np.empty_like(links)
    ordered[row] = links

    newest = np.cumsum(linked) - 1
    rows = np.full(linked.size, links.size)
    has = newest >= 0
    has[has] = owner[newest[has]] == execution[has]
    rows[has] = row[newest[has]]
    return Chains(ordered, widths, rows)


def _walked(synopsis: Synopsis, level: Level, starts: I64, ends: I64) -> State:
    """One state per link, of rows ``[starts[j], ends[j])`` of a level: each row is visited and merged with the next."""
    parts = []
    for first, last in _chunks(level.state, starts, ends):
        members, offsets = walk(starts[first:last], ends[first:last])
        parts.append(synopsis.combine(take_state(level.state, pa.array(members)), offsets[:-1], offsets[1:]))
    return _joined(parts)


def _chunks(state: State, starts: I64, ends: I64) -> Iterator[tuple[int, int]]:
    """Stretches of links that together are small enough to be copied out."""
    words = np.zeros(height(state) + 1, np.int64)
    np.cumsum(_words(state), out=words[1:])
    total = np.cumsum(words[ends] - words[starts])
    first, done = 0, 0
    while first < starts.size:
        last = max(first + 1, int(np.searchsorted(total, done + MOST_WORDS, side="right")))
        yield first, last
        first, done = last, int(total[last - 1])


def _words(state: State) -> I64:
    """About how many words of eight bytes each row of a state has."""
    words = np.full(height(state), len(state), np.int64)
    for column in state.values():
        if pa.types.is_list(column.type):
            words += pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        elif pa.types.is_string(column.type) or pa.types.is_large_binary(column.type):
            words += pc.fill_null(pc.binary_length(column), 0).to_numpy() // 8
    return words


def _followed(synopsis: Synopsis, links: State, widths: I64) -> State:
    """The state at the end of each link: its own merged with those before it in its chain."""
    first = int(widths[0])
    done = [{name: column[:first] for name, column in links.items()}]
    for width in widths[1:].tolist():
        pairs = {
            name: pa.concat_arrays([column[:width], links[name].slice(first, width)])
            for name, column in done[-1].items()
        }
        side_by_side = pa.array(np.arange(2 * width).reshape(2, width).T.ravel())
        bounds = np.arange(0, 2 * width + 1, 2)
        done.append(synopsis.combine(take_state(pairs, side_by_side), bounds[:-1], bounds[1:]))
        first += width
    return _joined(done)


def _joined(parts: list[State]) -> State:
    return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}
