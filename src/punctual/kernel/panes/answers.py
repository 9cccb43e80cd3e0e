"""All readers of a unit answered together.

Model
-----
Readers that call the same functions, and are of one *family*, are answered as one: their answers are arrays that go
through all of them, reader after reader, and a single reader's answer is a slice that is made when somebody asks.

A reader's calls are taken apart into *jobs*, (windows, selection) for each synopsis: calls that read the same states
share one, also those of different readers. All jobs of a synopsis are folded by one pass over its series, and all calls
of one function, parameters and type are finished by one call over all readers' states.

Why it is fast enough: readers with the same instants arrive as arrays, and nothing is done for each of them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.rangefold import walk
from punctual.kernel.panes.cells import take_state
from punctual.kernel.panes.groups import Groups
from punctual.kernel.panes.series import Series
from punctual.kernel.panes.spec import I64, Call, Readers, Selection
from punctual.kernel.panes.windows import Fold, Questions, Results, every_instant, occupied
from punctual.kernel.synopses.synopsis import Finish, State, Synopsis, Together

I64Matrix = NDArray[np.int64]
Want = Callable[[Selection, int], int]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of a reader, or of several alike, rows ordered by (reader, instant, keys in Spark's order).

    instant : int64[n]
        Index into the instants of the readers, one reader's after the other's.
    keys : Arrow arrays of n rows, one per key column
    values, errors : Arrow arrays of n rows, one per call; an error is None where the call is always exact
    """

    instant: I64
    keys: list[pa.Array]
    values: list[pa.Array]
    errors: list[pa.Array | None]

    def part(self, first: int, last: int) -> Answered:
        """The answers at the instants ``first`` to ``last`` (not included), which are then the first ones."""
        start, end = np.searchsorted(self.instant, (first, last)).tolist()
        size = end - start
        return Answered(
            self.instant[start:end] - first,
            [key.slice(start, size) for key in self.keys],
            [value.slice(start, size) for value in self.values],
            [None if error is None else error.slice(start, size) for error in self.errors],
        )


@dataclass(frozen=True, slots=True)
class AnsweredReaders:
    """The answers of the readers at these places, which are alike: those of one place after the other's."""

    readers: list[int]
    answered: Answered


@dataclass(slots=True)
class Uses:
    """What is wanted of one synopsis.

    ``windows`` and ``selections`` are those of each job; ``jobs`` says, for each finish, who wants it: a set of
    readers, a call of theirs, and the job of every reader.
    """

    windows: I64
    selections: I64
    jobs: dict[Finish, list[tuple[int, int, I64]]]


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over a unit: its questions, the sets of readers that are alike, and what is wanted of each synopsis.

    Readers are numbered set after set; those of set s are ``bounds[s]`` to ``bounds[s + 1]``.
    """

    questions: Questions
    sets: list[list[int]]
    bounds: list[int]
    calls: list[int]
    """How many calls the readers of each set make."""
    uses: list[Uses | None]


@dataclass(slots=True)
class _Wanted:
    """The uses of one synopsis while they are gathered, each with the windows and selections of its readers."""

    finishes: list[Finish] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    windows: list[I64] = field(default_factory=list)
    selections: list[I64] = field(default_factory=list)

    def uses(self) -> Uses | None:
        if not self.finishes:
            return None
        selections = np.concatenate(self.selections)
        count = int(selections.max()) + 1
        codes, job = np.unique(np.concatenate(self.windows) * count + selections, return_inverse=True)
        jobs: dict[Finish, list[tuple[int, int, I64]]] = {}
        start = 0
        for finish, (number, call), windows in zip(self.finishes, self.places, self.windows):
            jobs.setdefault(finish, []).append((number, call, job[start : start + windows.size]))
            start += windows.size
        return Uses(codes // count, codes % count, jobs)


def plan_pass(readers: Sequence[Readers], synopses: int, want: Want, dropped: int) -> Pass:
    """Take the readers apart; ``want`` numbers a selection that is wanted of a synopsis."""
    sets = _alike(readers)
    ordered = [readers[place] for places in sets for place in places]
    sizes = np.array([len(one) for one in ordered], dtype=np.int64)
    bounds = _offsets(np.array([sum(len(readers[place]) for place in places) for places in sets], dtype=np.int64))
    where = _joined([np.array([want(one, 0) for one in some.wheres])[some.where] for some in ordered])
    ranges = _joined([some.ranges for some in ordered])
    windows = _windows(ordered, sizes, where, ranges)
    wanted = [_Wanted() for _ in range(synopses)]
    for number, places in enumerate(sets):
        own = slice(bounds[number], bounds[number + 1])
        selections = _selections([readers[place] for place in places], want)
        for c, call in enumerate(readers[places[0]].calls[0]):
            of = wanted[call.synopsis]
            of.finishes.append(_finish_of(call))
            of.places.append((number, c))
            of.windows.append(windows[own])
            of.selections.append(selections[:, c])
    questions = Questions(
        where,
        ranges,
        _offsets(np.repeat(np.array([some.instants.size for some in ordered], dtype=np.int64), sizes)),
        _joined([np.tile(some.instants, len(some)) for some in ordered]),
        dropped,
    )
    calls = [len(readers[places[0]].calls[0]) for places in sets]
    return Pass(questions, sets, bounds.tolist(), calls, [one.uses() for one in wanted])


def call_shape(calls: Sequence[Call]) -> tuple[Hashable, ...]:
    """What calls have in common that are finished as one."""
    return tuple((call.synopsis, *_finish_of(call)) for call in calls)


def _alike(readers: Sequence[Readers]) -> list[list[int]]:
    """Places of readers that are answered as one, in their order."""
    sets: dict[tuple[Hashable, ...], list[int]] = {}
    for place, some in enumerate(readers):
        sets.setdefault((some.family, call_shape(some.calls[0])), []).append(place)
    return list(sets.values())


def _selections(readers: Sequence[Readers], want: Want) -> I64Matrix:
    """The numbers of the selections of all calls, a row for each reader."""
    rows = [
        np.array([[want(call.selection, call.synopsis) for call in calls] for calls in some.calls], np.int64)[some.call]
        for some in readers
    ]
    return np.concatenate(rows)


def _windows(readers: Sequence[Readers], sizes: I64, where: I64, ranges: I64) -> I64:
    """Readers of the very same windows share their states: the first of them stands for all."""
    known: dict[bytes, int] = {}
    at = np.array([known.setdefault(some.instants.tobytes(), len(known)) for some in readers], np.int64)
    order = np.lexsort((ranges, where, instants := np.repeat(at, sizes)))
    new = np.ones(order.size, np.bool_)
    new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in (ranges, where, instants)], axis=0)
    found = np.empty_like(order)
    found[order] = order[new][np.cumsum(new) - 1]
    return found


def answer_pass(
    asked: Pass, series: Sequence[Series], groups: Groups, synopses: Sequence[Synopsis], known: Sequence[State],
    fold: Fold,
) -> list[AnsweredReaders]:  # fmt: skip
    """The answers of all readers. ``known`` are states without cells, for the types of their columns."""
    ranks = groups.ranks()
    results = occupied(asked.questions, series[0], ranks) if groups.keys else every_instant(asked.questions)
    series[0].condense(results.instant.size, asked.questions.dropped)  # for the next pass
    answers = list(_frames(asked, results, groups))
    for uses, one, synopsis, columns in zip(asked.uses, series, synopses, known):
        if uses is not None:
            counts = np.diff(results.offsets)[uses.windows]
            one.condense(int(counts.sum()), asked.questions.dropped)
            state = fold(asked.questions, results, one, ranks, uses.windows, uses.selections, synopsis, columns)
            _finish(uses.jobs, synopsis, state, counts, answers)
    return answers


def _frames(asked: Pass, results: Results, groups: Groups) -> Iterator[AnsweredReaders]:
    """Instants and keys of all answers, values still to come."""
    instant, rank = np.empty_like(results.instant), np.empty_like(results.rank)
    instant[results.place], rank[results.place] = results.instant, results.rank
    questions = asked.questions.offsets
    instant += np.repeat(questions[:-1], np.diff(results.offsets))
    ranks = groups.ranks()
    by_rank = np.empty_like(ranks)
    by_rank[ranks] = np.arange(ranks.size)
    keys = [key.take(pa.array(by_rank[rank])) for key in groups.keys]
    for readers, calls, first, last in zip(asked.sets, asked.calls, asked.bounds, asked.bounds[1:]):
        start, end = int(results.offsets[first]), int(results.offsets[last])
        answered = Answered(
            instant[start:end] - questions[first],
            [key.slice(start, end - start) for key in keys],
            [None] * calls,
            [None] * calls,
        )
        yield AnsweredReaders(readers, answered)


def _finish(
    jobs: dict[Finish, list[tuple[int, int, I64]]], synopsis: Synopsis, state: State, counts: I64,
    answers: list[AnsweredReaders],
) -> None:  # fmt: skip
    """Read all calls off the states of one synopsis; ``counts`` are the rows of each job."""
    offsets = _offsets(counts)
    used = [np.unique(np.concatenate([own for _, _, own in uses])) for uses in jobs.values()]
    rows = [walk(offsets[some], offsets[some] + counts[some])[0] for some in used]
    if isinstance(synopsis, Together):
        finished = synopsis.finish_together(list(jobs), rows, state)
    else:
        finished = [
            synopsis.finish(function, parameters, _some(state, own, offsets[-1]), result_type)
            for (function, parameters, result_type), own in zip(jobs, rows)
        ]
    for uses, some, (values, errors) in zip(jobs.values(), used, finished):
        starts = _offsets(counts[some])
        for number, call, own in uses:
            at = np.searchsorted(some, own)
            answered = answers[number].answered
            answered.values[call] = _chosen(values, starts, at)
            answered.errors[call] = None if errors is None else _chosen(errors, starts, at)


def _chosen(values: pa.Array, starts: I64, jobs: I64) -> pa.Array:
    """The rows of some jobs, job after job; ``starts`` are where the rows of each begin."""
    if (np.diff(jobs) == 1).all():  # nearly always: no two of the readers share their windows
        first = starts[jobs[0]]
        return values.slice(first, starts[jobs[-1] + 1] - first)
    return values.take(pa.array(walk(starts[jobs], starts[jobs + 1])[0]))


def _finish_of(call: Call) -> Finish:
    return call.function, call.parameters, call.type


def _some(state: State, rows: I64, height: int) -> State:
    """Some rows of a state, which has so many."""
    return state if rows.size == height else take_state(state, pa.array(rows))


def _joined(parts: Sequence[I64]) -> I64:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _offsets(counts: I64) -> I64:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
