"""Answers of a pass as groups of blocks: rows of all jobs with the fields that all answers have.

Kinds say what Catalyst has to evaluate and make rows of the reply, for all jobs at once that are answered as one; here
the questions of all jobs become one call, and the fields of all answers are made together. A query whose expressions
fail is found by the caller, who asks again job by job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.arrays.rangefold import walk
from punctual.kinds.asked import Asked, asked
from punctual.kinds.job import AnsweredJobs, Job
from punctual.kinds.registry import kind_of
from punctual.kinds.result import Result
from punctual.ports.answers import FIELDS, Answers, Group, Shape, positional, shape_of
from punctual.runtime.backend import Question

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
ROWS_PLACE = [name for name, _type in FIELDS].index("rows")
Evaluate = Callable[[Sequence[Question]], list[list[pa.Array]]]


def answer_blocks(answered: Sequence[AnsweredJobs], evaluate: Evaluate, now: Callable[[], Micros]) -> Answers:
    """The answers of all jobs; the time is asked ``now`` once everything is evaluated."""
    results = _results(answered, evaluate)
    return Answers(_groups(answered, results, now()))


def _results(answered: Sequence[AnsweredJobs], evaluate: Evaluate) -> list[Result]:
    """What their kinds make of the jobs."""
    joined = [Job.joined(one.jobs) for one in answered]
    questions = [list(_questions(one, job)) for one, job in zip(answered, joined)]
    replies = iter(evaluate([question for several in questions for question in several]))
    results = []
    for one, job, several in zip(answered, joined, questions):
        own = [next(replies) for _question in several]
        reply = own[0] if len(own) == 1 else [pa.concat_arrays(parts) for parts in zip(*own)]
        results.append(kind_of(one.jobs[0].query).finish(job, one.answered, reply))
    return results


def _questions(answered: AnsweredJobs, joined: Job) -> Iterator[Question]:
    """What Catalyst has to evaluate: for every job by itself, as queries differ in their numbers, or for none."""
    kind = kind_of(joined.query)
    if kind.question(joined, answered.answered) is None:
        return
    for one in answered.each():
        found = kind.question(one.jobs[0], one.answered)
        assert found is not None, "of jobs that are answered as one either all have a question or none has"
        yield found[0]


@dataclass(frozen=True, slots=True)
class _Order:
    """The order of blocks in a record: by shape, by the names of their columns, and as they stand in the pass.

    So records do not depend on who is answered as one. ``jobs`` and ``asked`` are in it, ``counts`` are their answers,
    ``answers`` the place that each answer has among those of the results, None where that is its own.
    """

    jobs: list[Job]
    asked: list[Asked]
    counts: I64
    answers: I64 | None

    @staticmethod
    def of(answered: Sequence[AnsweredJobs], shapes: Sequence[int]) -> _Order:
        """``shapes`` numbers the shape of each result, in ascending order."""
        jobs = [job for one in answered for job in one.jobs]
        statics = [asked(job) for job in jobs]
        counts = np.array([job.due.instants.size for job in jobs], np.int64)
        places = np.array([place for one in answered for place in one.places], np.int64)
        shape_of = np.repeat(shapes, [len(one.jobs) for one in answered])
        names = [(number, own.names) for number, own in zip(shape_of.tolist(), statics)]
        first: dict[tuple[int, tuple[str, ...]], int] = {}
        for place, own in zip(places.tolist(), names):
            first[own] = min(first.get(own, place), place)
        order = np.lexsort((places, np.array([first[own] for own in names], np.int64), shape_of))
        if not (np.diff(order) < 0).any():
            return _Order(jobs, statics, counts, None)
        ends = np.cumsum(counts)
        rows, _offsets = walk((ends - counts)[order], ends[order])
        chosen = order.tolist()
        return _Order([jobs[n] for n in chosen], [statics[n] for n in chosen], counts[order], rows)


def _groups(answered: Sequence[AnsweredJobs], results: Sequence[Result], now: Micros) -> Iterator[Group]:
    """Rows and everything beside them, a table for each shape. What is beside them is made for all queries at once."""
    by_shape: dict[Shape, list[int]] = {}
    for number in sorted(range(len(answered)), key=lambda number: min(answered[number].places)):
        by_shape.setdefault(_shape(results[number]), []).append(number)
    chosen = [number for numbers in by_shape.values() for number in numbers]
    answered, results = [answered[n] for n in chosen], [results[n] for n in chosen]
    shapes = [number for number, several in enumerate(by_shape.values()) for _result in several]
    order = _Order.of(answered, shapes)
    fields = _fields(order, results, now)
    done = block = answer = 0
    for several in by_shape.values():
        own = results[done : done + len(several)]
        blocks = sum(len(one.jobs) for one in answered[done : done + len(several)])
        size = sum(len(result.rows) for result in own)
        rows = None if order.answers is None else pa.array(order.answers[answer : answer + size] - answer)
        table = fields.slice(answer, size).add_column(
            ROWS_PLACE, "rows", _ordered([positional(one.rows) for one in own], rows)
        )
        for name in own[0].fields:
            table = table.append_column(name, _ordered([one.fields[name] for one in own], rows))
        counts = order.counts[block : block + blocks].tolist()
        members = slice(block, block + blocks)
        yield Group(
            _compact(table, counts[0]),
            [job.query.name for job in order.jobs[members]],
            [own.names for own in order.asked[members]],
            counts,
        )
        done, block, answer = done + len(several), block + blocks, answer + size


def _shape(result: Result) -> Shape:
    return shape_of(result.rows.type, {name: column.type for name, column in result.fields.items()})


def _ordered(parts: Sequence[pa.Array], rows: pa.Array | None) -> pa.Array:
    """A column of several results, its values in the order of blocks."""
    column = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    return column if rows is None else column.take(rows)


def _compact(table: pa.Table, first: int) -> pa.Table:
    """A table in memory of its own to the byte, so that a record does not depend on what else was in the pass.

    Arrow copies where there are several parts: it is cut after its ``first`` answers.
    """
    parts = [table.slice(0, first), table.slice(first)]
    return pa.concat_tables(part for part in parts if part.num_rows).combine_chunks()


def _fields(order: _Order, results: Sequence[Result], now: Micros) -> pa.Table:
    """The fields of all answers except their rows, block after block."""
    jobs, counts = order.jobs, order.counts
    at = np.concatenate([job.due.instants for job in jobs])
    owner = np.repeat(np.arange(counts.size), counts)
    since = at - np.array([own.range_us for own in order.asked])[owner]
    sizes = np.array([len(result.rows) for result in results], np.int64)
    errors = zip((result.error for result in results), sizes.tolist())
    error = pa.concat_arrays([pa.nulls(n, pa.string()) if one is None else one for one, n in errors])
    told = np.arange(at.size) if order.answers is None else order.answers
    told_by = np.repeat(np.arange(sizes.size), sizes)[told]
    columns: Mapping[str, pa.Array] = {
        "number": pa.array(np.array([job.number for job in jobs], np.int32)[owner]),
        "at": pa.array(at),
        "from": pa.array(since),
        "basis": pa.array([result.basis for result in results]).take(pa.array(told_by)),
        "quality": pa.array(_each([result.quality for result in results], sizes)[told]),
        "kept": pa.array(_each([result.kept for result in results], sizes)[told]),
        "complete": pa.array(_complete(jobs, since, owner) & ~_lacking(results, sizes)[told]),
        "error": error if order.answers is None else error.take(pa.array(told)),
        **_times(jobs, counts, owner, now),
        "execution": _executions(jobs, order.asked, owner),
        "late_rows": pa.array(_each([0 if job.late is None else job.late for job in jobs], counts)),
    }
    return pa.table(columns)


def _executions(jobs: Sequence[Job], statics: Sequence[Asked], owner: I64) -> pa.Array:
    """Names of the executions that answer: streams, run and number."""
    labels = [f"{own.execution}{run.label}#" for own, job in zip(statics, jobs) for run in job.due.runs]
    first_label = np.cumsum([0] + [len(job.due.runs) for job in jobs])[:-1]
    ran = np.concatenate([job.due.ran for job in jobs]) + first_label[owner]
    number = np.concatenate([job.due.number for job in jobs])
    return pc.binary_join_element_wise(pa.array(labels).take(pa.array(ran)), pa.array(number).cast(pa.string()), "")


def _each(values: Sequence[float | NDArray[np.float64] | I64], counts: I64) -> NDArray[np.float64] | I64:
    """One value for each answer; some jobs, or results, have the same for all of theirs."""
    if not any(isinstance(value, np.ndarray) for value in values):
        return np.repeat(np.array(values), counts)
    return np.concatenate([np.broadcast_to(value, count) for value, count in zip(values, counts.tolist())])


def _complete(jobs: Sequence[Job], since: I64, owner: I64) -> Bools:
    """Whether the whole window of an answer was read."""
    covered: Bools = since >= np.array([job.covered_from for job in jobs])[owner]
    return covered


def _lacking(results: Sequence[Result], sizes: I64) -> Bools:
    """Whether an answer lacks rows of its window for another reason."""
    lacking = [False if result.incomplete is None else result.incomplete for result in results]
    return np.concatenate([np.broadcast_to(one, count) for one, count in zip(lacking, sizes.tolist())])


def _times(jobs: Sequence[Job], counts: I64, owner: I64, now: Micros) -> dict[str, pa.Array]:
    """When instants were released and answered, and whether that was in time; null where the wall clock says
    nothing."""
    if all(job.released is None for job in jobs):
        never = pa.nulls(owner.size, pa.int64())
        return {"released": never, "deadline": never, "answered": never, "on_time": pa.nulls(owner.size, pa.bool_())}
    never = np.repeat([job.released is None for job in jobs], counts)
    times = [0 if job.released is None else job.released for job in jobs]
    released = pa.array(_each(times, counts), pa.int64(), mask=never)
    answered = pc.if_else(pc.is_valid(released), pa.scalar(now, pa.int64()), pa.scalar(None, pa.int64()))
    allowed = pa.array([job.query.deadline_us for job in jobs], pa.int64())
    deadline = pc.add(allowed.take(pa.array(owner)), released)
    on_time = pc.less_equal(answered, deadline)
    return {"released": released, "deadline": deadline, "answered": answered, "on_time": on_time}
