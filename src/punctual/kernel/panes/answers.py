"""All readers of a unit answered together.

Model
-----
A reader's calls are taken apart into *jobs*, (windows, selection) for each synopsis: calls that read the same states
share one, also those of different readers. All jobs of a synopsis are folded by one pass over its series, and all calls
of one function, parameters and type are finished by one call over all readers' states; each reader's answer is a slice
of those arrays.

Why it is fast enough: per reader and call there is a dictionary lookup and a slice; everything else is arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from punctual.kernel.panes.cells import take_state
from punctual.kernel.panes.groups import Groups
from punctual.kernel.panes.series import Series
from punctual.kernel.panes.spec import I64, Reader, Selection
from punctual.kernel.panes.windows import Fold, Questions, Results, every_instant, occupied
from punctual.kernel.synopses.synopsis import Finish, State, Synopsis, Together


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of one reader, rows ordered by (instant, keys in Spark's order).

    instant : int64[n]
        Index into the reader's instants.
    keys : Arrow arrays of n rows, one per key column
    values, errors : Arrow arrays of n rows, one per call; an error is None where the call is always exact
    """

    instant: I64
    keys: list[pa.Array]
    values: list[pa.Array]
    errors: list[pa.Array | None]


@dataclass(slots=True)
class Jobs:
    """What is wanted of one synopsis: jobs by (reader, selection), and the uses (reader, call, job) of each finish."""

    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    uses: dict[Finish, list[tuple[int, int, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over a unit: its questions, and what they are asked of."""

    readers: Sequence[Reader]
    questions: Questions
    jobs: list[Jobs]


def plan_pass(
    readers: Sequence[Reader], synopses: int, want: Callable[[Selection, int], int], dropped: int
) -> Pass:
    """Take the readers apart; ``want`` numbers a selection that is wanted of a synopsis."""
    where = np.array([want(reader.where, 0) for reader in readers], dtype=np.int64)
    jobs = [Jobs() for _ in range(synopses)]
    alike: dict[tuple[int, int, bytes], int] = {}
    for r, reader in enumerate(readers):
        # Readers of the very same windows share their states: the first of them stands for all.
        window = alike.setdefault((int(where[r]), reader.range_us, reader.instants.tobytes()), r)
        for c, call in enumerate(reader.calls):
            of = jobs[call.synopsis]
            job = of.numbers.setdefault((window, want(call.selection, call.synopsis)), len(of.numbers))
            of.uses.setdefault((call.function, call.parameters, call.type), []).append((r, c, job))
    none = np.zeros(0, dtype=np.int64)
    questions = Questions(
        where,
        np.array([reader.range_us for reader in readers], dtype=np.int64),
        _offsets(np.array([reader.instants.size for reader in readers], dtype=np.int64)),
        np.concatenate([none, *(reader.instants for reader in readers)]),
        dropped,
    )
    return Pass(readers, questions, jobs)


def answer_pass(
    asked: Pass, series: Sequence[Series], groups: Groups, synopses: Sequence[Synopsis], known: Sequence[State],
    fold: Fold,
) -> list[Answered]:  # fmt: skip
    """The answers of all readers. ``known`` are states without cells, for the types of their columns."""
    ranks = groups.ranks()
    results = occupied(asked.questions, series[0], ranks) if groups.keys else every_instant(asked.questions)
    answers = _frames(asked.readers, results, groups)
    for jobs, one, synopsis, columns in zip(asked.jobs, series, synopses, known):
        if jobs.numbers:
            reader, selection = np.array(list(jobs.numbers), dtype=np.int64).T
            state = fold(asked.questions, results, one, ranks, reader, selection, synopsis, columns)
            _finish(jobs, synopsis, state, np.diff(results.offsets)[reader], answers)
    return answers


def _frames(readers: Sequence[Reader], results: Results, groups: Groups) -> list[Answered]:
    """Instants and keys of all answers, values still to come."""
    instant, rank = np.empty_like(results.instant), np.empty_like(results.rank)
    instant[results.place], rank[results.place] = results.instant, results.rank
    ranks = groups.ranks()
    by_rank = np.empty_like(ranks)
    by_rank[ranks] = np.arange(ranks.size)
    keys = [key.take(pa.array(by_rank[rank])) for key in groups.keys]
    bounds = results.offsets.tolist()
    return [
        Answered(
            instant[start:end],
            [key.slice(start, end - start) for key in keys],
            [None] * len(reader.calls),
            [None] * len(reader.calls),
        )
        for reader, start, end in zip(readers, bounds, bounds[1:])
    ]


def _finish(jobs: Jobs, synopsis: Synopsis, state: State, counts: I64, answers: list[Answered]) -> None:
    """Read all calls off the states of one synopsis; ``counts`` are the rows of each job."""
    offsets = _offsets(counts)
    finishes = list(jobs.uses)
    used = [np.unique([job for _, _, job in uses]) for uses in jobs.uses.values()]
    starts = [_offsets(counts[some]) for some in used]
    rows = [
        np.arange(start[-1]) + np.repeat(offsets[some] - start[:-1], counts[some]) for some, start in zip(used, starts)
    ]
    if isinstance(synopsis, Together):
        finished = synopsis.finish_together(finishes, rows, state)
    else:
        finished = [
            synopsis.finish(function, parameters, _some(state, own, offsets[-1]), result_type)
            for (function, parameters, result_type), own in zip(finishes, rows)
        ]
    for uses, some, start, (values, errors) in zip(jobs.uses.values(), used, starts, finished):
        place = dict(zip(some.tolist(), zip(start.tolist(), counts[some].tolist())))
        for r, c, job in uses:
            answers[r].values[c] = values.slice(*place[job])
            answers[r].errors[c] = None if errors is None else errors.slice(*place[job])


def _some(state: State, rows: I64, height: int) -> State:
    """Some rows of a state, which has so many."""
    return state if rows.size == height else take_state(state, pa.array(rows))


def _offsets(counts: I64) -> I64:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
