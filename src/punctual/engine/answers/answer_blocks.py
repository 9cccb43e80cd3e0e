"""Answers of a pass as groups of blocks: rows of all jobs with the fields that all answers have.

Kinds say what Catalyst has to evaluate and make rows of the reply, for all jobs at once that are answered as one; here
the questions of all jobs become one call, and the fields of all answers are made together. A query whose expressions
fail is found by the caller, who asks again job by job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.arrays.rangefold import walk
from punctual.kinds.asked import names_of
from punctual.kinds.job import Job
from punctual.kinds.job_group import AnsweredJobs, JobGroup
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
    answered = [_put_together(one) for one in answered]
    results = _results(answered, evaluate)
    return Answers(_groups(answered, results, now()))


def _put_together(answered: AnsweredJobs) -> AnsweredJobs:
    """What cells gave, as rows of answers."""
    job = answered.joined()
    rows = kind_of(job.query).put_together(job, answered.answered)
    return answered if rows is answered.answered else replace(answered, answered=rows)


def _results(answered: Sequence[AnsweredJobs], evaluate: Evaluate) -> list[Result]:
    """What their kinds make of the jobs."""
    joined = [one.joined() for one in answered]
    questions = [list(_questions(one, job)) for one, job in zip(answered, joined)]
    replies = iter(evaluate([question for several in questions for question in several]))
    results = []
    for one, job, several in zip(answered, joined, questions):
        own = [next(replies) for _question in several]
        reply = own[0] if len(own) == 1 else [pa.concat_arrays(parts) for parts in zip(*own)]
        results.append(kind_of(job.query).finish(job, one.answered, reply))
    return results


def _questions(answered: AnsweredJobs, joined: Job) -> Iterator[Question]:
    """What Catalyst has to evaluate: for every query by itself, as they differ in their numbers, or for none."""
    kind = kind_of(joined.query)
    if kind.question(joined, answered.answered) is None:
        return
    for one in answered.each():
        found = kind.question(one.joined(), one.answered)
        assert found is not None, "of jobs that are answered as one either all have a question or none has"
        yield found[0]


@dataclass(frozen=True, slots=True)
class _Order:
    """The order of blocks in a record: by shape, by the names of their columns, and as they stand in the program.

    So records do not depend on who is answered as one. ``blocks`` are the places of the blocks among those of the
    results, ``counts`` are their answers, ``answers`` the place that each answer has among those of the results, None
    where that is its own. ``owner`` is the block of each answer, ``shapes`` the number of the shape of each block.
    """

    blocks: I64
    counts: I64
    answers: I64 | None
    owner: I64
    shapes: I64

    @staticmethod
    def of(groups: Sequence[JobGroup], shapes: I64) -> _Order:
        """``shapes`` numbers the shape of each block, in ascending order."""
        counts = np.repeat([group.due.instants.size for group in groups], [len(group) for group in groups])
        places = np.concatenate([group.asked.places for group in groups])
        columns = np.concatenate([group.asked.columns for group in groups])
        alike = np.unique(shapes * (columns.max() + 1) + columns, return_inverse=True)[1]
        first = np.full(alike.max() + 1, places.max())
        np.minimum.at(first, alike, places)
        blocks = np.lexsort((places, first[alike], shapes))
        several = any(group.number for group in groups)
        if not several and not (np.diff(blocks) < 0).any():
            return _Order(blocks, counts, None, np.repeat(blocks, counts), shapes)
        ends = np.cumsum(counts)
        answers, _offsets = walk((ends - counts)[blocks], ends[blocks])
        order = _Order(blocks, counts[blocks], answers, np.repeat(blocks, counts[blocks]), shapes[blocks])
        return order.by_instant(groups, places[blocks], answers) if several else order

    def by_instant(self, groups: Sequence[JobGroup], places: I64, answers: I64) -> _Order:
        """The blocks of a query as one: its answers by instant, and those of an instant by number."""
        new = np.ones(places.size, np.bool_)
        new[1:] = (np.diff(places) != 0) | (np.diff(self.shapes) != 0)
        number = np.repeat([group.number for group in groups], [group.size for group in groups])[answers]
        at = _tiled([group.due.instants for group in groups], [len(group) for group in groups])[answers]
        order = np.lexsort((number, at, np.repeat(np.cumsum(new), self.counts)))
        counts = np.add.reduceat(self.counts, np.flatnonzero(new))
        return _Order(self.blocks[new], counts, answers[order], self.owner[order], self.shapes[new])


def _groups(answered: Sequence[AnsweredJobs], results: Sequence[Result], now: Micros) -> Iterator[Group]:
    """Rows and everything beside them, a table for each shape. What is beside them is made for all queries at once."""
    by_shape: dict[Shape, list[int]] = {}
    for number in sorted(range(len(answered)), key=lambda number: answered[number].place):
        by_shape.setdefault(_shape(results[number]), []).append(number)
    chosen = [number for numbers in by_shape.values() for number in numbers]
    if not chosen:
        return
    blocks = [sum(len(group) for n in several for group in answered[n].groups) for several in by_shape.values()]
    answered, results = [answered[n] for n in chosen], [results[n] for n in chosen]
    groups = [group for one in answered for group in one.groups]
    order = _Order.of(groups, np.repeat(np.arange(len(blocks)), blocks))
    fields = _fields(groups, results, order, now)
    queries = np.concatenate([group.asked.queries for group in groups])[order.blocks].tolist()
    columns = np.concatenate([group.asked.columns for group in groups])[order.blocks].tolist()
    done = block = answer = 0
    for several, count in zip(by_shape.values(), np.bincount(order.shapes, minlength=len(blocks)).tolist()):
        own = results[done : done + len(several)]
        size = sum(len(result.rows) for result in own)
        rows = None if order.answers is None else pa.array(order.answers[answer : answer + size] - answer)
        table = fields.slice(answer, size).add_column(
            ROWS_PLACE, "rows", _ordered([positional(one.rows) for one in own], rows)
        )
        for name in own[0].fields:
            table = table.append_column(name, _ordered([one.fields[name] for one in own], rows))
        members = slice(block, block + count)
        counts = order.counts[members].tolist()
        yield Group(_compact(table, counts[0]), queries[members], [names_of(n) for n in columns[members]], counts)
        done, block, answer = done + len(several), block + count, answer + size


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


def _fields(groups: Sequence[JobGroup], results: Sequence[Result], order: _Order, now: Micros) -> pa.Table:
    """The fields of all answers except their rows, block after block. A late answer is worth nothing."""
    members = [len(group) for group in groups]
    answers = np.array([group.size for group in groups], np.int64)
    told = np.arange(answers.sum()) if order.answers is None else order.answers
    owner = order.owner
    at = _tiled([group.due.instants for group in groups], members)[told]
    since = at - np.concatenate([group.asked.readers.ranges for group in groups])[owner]
    begins = np.concatenate([group.asked.begins for group in groups])[owner]
    covered = (since >= np.concatenate([group.asked.covered_from for group in groups])[owner]) | ~begins
    if any(group.lacking is not None for group in groups):
        lacking = [np.zeros(group.size, np.bool_) if group.lacking is None else group.lacking for group in groups]
        covered &= ~np.concatenate(lacking)[told]
    if any(group.missing for group in groups):
        covered &= ~(np.concatenate([group.misses() for group in groups])[told] & begins)
    group_of = np.repeat(np.arange(answers.size), answers)[told]
    sizes = np.array([len(result.rows) for result in results], np.int64)
    errors = zip((result.error for result in results), sizes.tolist())
    error = pa.concat_arrays([pa.nulls(n, pa.string()) if one is None else one for one, n in errors])
    told_by = np.repeat(np.arange(sizes.size), sizes)[told]
    late = [np.zeros(group.size, np.int64) if group.late is None else group.late.ravel() for group in groups]
    times = _times(groups, members, told, owner, now)
    best = np.concatenate([group.asked.best for group in groups])[owner]
    qualities = _each([np.nan if one.quality is None else one.quality for one in results], sizes)[told]
    quality = pa.array(np.where(np.isnan(qualities), best, qualities))
    columns: Mapping[str, pa.Array] = {
        "number": pa.array(np.array([group.number for group in groups], np.int32)[group_of]),
        "at": pa.array(at),
        "from": pa.array(since, mask=~begins),
        "basis": _bases(results, sizes, told_by, told),
        "quality": pc.if_else(pc.fill_null(times["on_time"], True), quality, 0.0),
        "kept": pa.array(_each([result.kept for result in results], sizes)[told]),
        "complete": pa.array(covered & ~_lacking(results, sizes)[told]),
        "error": error if order.answers is None else error.take(pa.array(told)),
        **times,
        "execution": _executions(groups, members, told, group_of),
        "late_rows": pa.array(np.concatenate(late)[told]),
    }
    return pa.table(columns)


def _tiled(columns: Sequence[I64], members: Sequence[int]) -> I64:
    """A column of each group, once for each of its queries."""
    return np.concatenate([np.tile(column, count) for column, count in zip(columns, members)])


def _executions(groups: Sequence[JobGroup], members: Sequence[int], told: I64, group_of: I64) -> pa.Array:
    """Names of the executions that answer: streams, run and number."""
    labels = [f"{group.asked.execution}{run.label}#" for group in groups for run in group.due.runs]
    first_label = np.cumsum([0] + [len(group.due.runs) for group in groups])[:-1]
    ran = _tiled([group.due.ran for group in groups], members)[told] + first_label[group_of]
    number = pa.array(_tiled([group.due.number for group in groups], members)[told]).cast(pa.string())
    return pc.binary_join_element_wise(pa.array(labels).take(pa.array(ran)), number, "")


def _each(values: Sequence[float | NDArray[np.float64]], counts: I64) -> NDArray[np.float64]:
    """One value for each answer; some results have the same for all of theirs."""
    return np.concatenate([np.broadcast_to(value, count) for value, count in zip(values, counts.tolist())])


def _bases(results: Sequence[Result], sizes: I64, told_by: I64, told: I64) -> pa.Array:
    """What each answer rests on: mostly the same for all answers of a result."""
    if all(isinstance(result.basis, str) for result in results):
        return pa.array([result.basis for result in results]).take(pa.array(told_by))
    every = (pa.repeat(one.basis, n) if isinstance(one.basis, str) else one.basis for one, n in zip(results, sizes))
    return pa.concat_arrays([part.cast(pa.string()) for part in every]).take(pa.array(told))


def _lacking(results: Sequence[Result], sizes: I64) -> Bools:
    """Whether an answer lacks rows of its window though it was read."""
    lacking = [False if result.incomplete is None else result.incomplete for result in results]
    return np.concatenate([np.broadcast_to(one, count) for one, count in zip(lacking, sizes.tolist())])


def _times(
    groups: Sequence[JobGroup], members: Sequence[int], told: I64, owner: I64, now: Micros
) -> dict[str, pa.Array]:
    """When instants were released and answered, and whether that was in time; null where the wall clock says
    nothing."""
    if all(group.released is None for group in groups):
        never = pa.nulls(owner.size, pa.int64())
        return {"released": never, "deadline": never, "answered": never, "on_time": pa.nulls(owner.size, pa.bool_())}
    never = np.repeat([group.released is None for group in groups], [group.size for group in groups])[told]
    times = [np.zeros_like(one.due.instants) if one.released is None else one.released for one in groups]
    released = pa.array(_tiled(times, members)[told], pa.int64(), mask=never)
    answered = pc.if_else(pc.is_valid(released), pa.scalar(now, pa.int64()), pa.scalar(None, pa.int64()))
    allowed = pa.concat_arrays([group.allowed for group in groups])
    deadline = pc.add(allowed.take(pa.array(owner)), released)
    on_time = pc.less_equal(answered, deadline)
    return {"released": released, "deadline": deadline, "answered": answered, "on_time": on_time}
