"""Answers of row queries: what is due in a pass is one job of the data plane, and who fails alone is named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from punctual.engine.batch.failing_clause import explain_stop, reason_to_stop
from punctual.engine.batch.isolate import reason
from punctual.engine.held.holders import Holders
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job_group import AnsweredJobs, JobGroup
from punctual.plan.shared import RowReader
from punctual.runtime.backend import Backend, RowWork
from punctual.runtime.operators.answer_rows import TooManyRowsError

Failed = list[tuple[str, str]]
"""Queries that cannot be answered, with the reason."""


def answer_rows(
    jobs: Sequence[JobGroup], memory: Holders, backend: Backend, max_rows: int
) -> tuple[list[AnsweredJobs], Failed]:
    """The answers of row queries from the rows that are retained for them."""
    if not jobs:
        return [], []
    try:
        return _together(jobs, memory, backend, max_rows), []
    except Exception:
        if not backend.alive():
            raise
    answered: list[AnsweredJobs] = []
    failed: Failed = []
    for job in jobs:
        query = job.asked.asked[0].reader.query
        try:
            answered += _together([job], memory, backend, max_rows)
        except TooManyRowsError as problem:
            fact = f"an answer has {problem.rows:,} rows or more, and may have {problem.limit:,}"
            failed.append((query.name, reason_to_stop(query.name, fact, "ask for less, or SET max_answer_rows")))
        except Exception as problem:
            if not backend.alive():
                raise
            failed.append((query.name, explain_stop(query, None, reason(problem))))
    return answered, failed


def _together(jobs: Sequence[JobGroup], memory: Holders, backend: Backend, max_rows: int) -> list[AnsweredJobs]:
    works = [_works(job, memory.rows, max_rows) for job in jobs]
    tables = iter(backend.rows([work for several in works for work in several], memory.running.tables))
    return [AnsweredJobs([job], _answered([next(tables) for _work in several])) for job, several in zip(jobs, works)]


def _works(job: JobGroup, rows: RetainedFiles, max_rows: int) -> list[RowWork]:
    """A row query at the instants of its job: which rows each of its windows has."""
    (one,) = job.asked.asked
    assert isinstance(one.reader, RowReader)
    query, statement = one.reader.query, one.reader.statement
    return [
        RowWork(query.name, statement, one.types, at, tuple(rows.window(w, at) for w in statement.windows), max_rows)
        for at in job.due.instants.tolist()
    ]


def _answered(tables: Sequence[pa.Table]) -> Answered:
    """Answers of one query, an instant each, as what a kind finishes."""
    instant = np.repeat(np.arange(len(tables), dtype=np.int64), [table.num_rows for table in tables])
    width = tables[0].num_columns
    columns = [pa.concat_arrays([_whole(table.column(n)) for table in tables]) for n in range(width)]
    return Answered(instant, [], columns, [None] * width)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
