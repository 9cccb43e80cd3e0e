"""Answers of a pass as blocks: every job's rows with the fields that all answers have.

Kinds say what Catalyst has to evaluate and make rows of the reply; here the questions of all jobs become one call, and
the fields of all answers are made together. A query whose expressions fail is found by the caller, who asks again job
by job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job import Job
from punctual.kinds.registry import kind_of
from punctual.kinds.result import Result
from punctual.ports.answers import FIELDS, AnswerBlock
from punctual.runtime.backend import Question

I64 = NDArray[np.int64]
ROWS_PLACE = [name for name, _type in FIELDS].index("rows")
Evaluate = Callable[[Sequence[Question]], list[list[pa.Array]]]


def answer_blocks(
    jobs: Sequence[Job],
    answered: Sequence[Answered],
    evaluate: Evaluate,
    now: Callable[[], Micros],
) -> list[AnswerBlock]:
    """Blocks of answers, one per job, in their order; the time is asked ``now`` once everything is evaluated."""
    kinds = [kind_of(job.query) for job in jobs]
    asked = [kind.question(job, result) for kind, job, result in zip(kinds, jobs, answered)]
    replies = iter(evaluate([one[0] for one in asked if one is not None]))
    results = [
        kind.finish(job, result, next(replies) if one is not None else [])
        for kind, job, result, one in zip(kinds, jobs, answered, asked)
    ]
    return _blocks(jobs, results, now())


def _blocks(jobs: Sequence[Job], results: Sequence[Result], now: Micros) -> list[AnswerBlock]:
    """Rows and everything beside them. That is made for all queries at once and then cut: a thousand queries have an
    answer or two each, and making fifteen arrays for each of them would cost more than the answers."""
    counts = np.array([job.due.instants.size for job in jobs])
    fields = _fields(jobs, counts, results, now)
    blocks = []
    for job, result, start in zip(jobs, results, (np.cumsum(counts) - counts).tolist()):
        table = fields.slice(start, len(result.rows)).add_column(ROWS_PLACE, "rows", result.rows)
        for name, column in result.fields.items():
            table = table.append_column(name, column)
        blocks.append(AnswerBlock(job.query.name, table))
    return blocks


def _fields(jobs: Sequence[Job], counts: I64, results: Sequence[Result], now: Micros) -> pa.Table:
    """The fields of all answers except their rows, query after query."""
    queries = [job.query for job in jobs]
    at = np.concatenate([job.due.instants for job in jobs])
    owner = np.repeat(np.arange(counts.size), counts)
    since = at - np.array([query.range_us for query in queries])[owner]
    labels = [f"{'+'.join(query.streams)}/{run.label}#" for query, job in zip(queries, jobs) for run in job.due.runs]
    first_label = np.cumsum([0] + [len(job.due.runs) for job in jobs])[:-1]
    ran = np.concatenate([job.due.ran for job in jobs]) + first_label[owner]
    execution = np.concatenate([job.due.number for job in jobs])
    errors = zip((result.error for result in results), counts.tolist())
    columns: Mapping[str, pa.Array] = {
        "number": pa.array(np.array([job.number for job in jobs], np.int32)[owner]),
        "at": pa.array(at),
        "from": pa.array(since),
        "basis": pa.array([result.basis for result in results]).take(pa.array(owner)),
        "quality": pa.array(_each([result.quality for result in results], counts)),
        "kept": pa.array(_each([result.kept for result in results], counts)),
        "complete": pa.array(_complete(jobs, results, since, owner, counts)),
        "error": pa.concat_arrays([pa.nulls(n, pa.string()) if error is None else error for error, n in errors]),
        **_times(jobs, counts, owner, now),
        "execution": pc.binary_join_element_wise(
            pa.array(labels).take(pa.array(ran)), pa.array(execution).cast(pa.string()), ""
        ),
        "late_rows": pa.array(_each([0 if job.late is None else job.late for job in jobs], counts)),
    }
    return pa.table(columns)


def _each(values: Sequence[float | NDArray[np.float64] | I64], counts: I64) -> NDArray[np.float64] | I64:
    """One value for each answer; some jobs have the same for all of theirs."""
    if not any(isinstance(value, np.ndarray) for value in values):
        return np.repeat(np.array(values), counts)
    return np.concatenate([np.broadcast_to(value, count) for value, count in zip(values, counts.tolist())])


def _complete(
    jobs: Sequence[Job], results: Sequence[Result], since: I64, owner: I64, counts: I64
) -> NDArray[np.bool_]:
    """Whether an answer rests on every row of its window."""
    complete: NDArray[np.bool_] = since >= np.array([job.covered_from for job in jobs])[owner]
    if any(result.incomplete is not None for result in results):
        lacking = [False if result.incomplete is None else result.incomplete for result in results]
        complete &= ~np.concatenate([np.broadcast_to(one, count) for one, count in zip(lacking, counts.tolist())])
    return complete


def _times(jobs: Sequence[Job], counts: I64, owner: I64, now: Micros) -> dict[str, pa.Array]:
    """When instants were released and answered, and whether that was in time; null where the wall clock says
    nothing."""
    if all(job.released is None for job in jobs):
        never = pa.nulls(owner.size, pa.int64())
        return {"released": never, "deadline": never, "answered": never, "on_time": pa.nulls(owner.size, pa.bool_())}
    released = pa.concat_arrays([
        pa.nulls(count, pa.int64()) if job.released is None else pa.array(job.released)
        for job, count in zip(jobs, counts.tolist())
    ])
    answered = pc.if_else(pc.is_valid(released), pa.scalar(now, pa.int64()), pa.scalar(None, pa.int64()))
    allowed = pa.array([job.query.deadline_us for job in jobs], pa.int64())
    deadline = pc.add(allowed.take(pa.array(owner)), released)
    on_time = pc.less_equal(answered, deadline)
    return {"released": released, "deadline": deadline, "answered": answered, "on_time": on_time}
