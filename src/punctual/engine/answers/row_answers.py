"""Answers from rows: what is due in a pass is one job of the data plane, and who fails alone is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from punctual.clock import Micros
from punctual.engine.answers.draws import is_sampled, samples, used_shares, with_draws
from punctual.engine.answers.read_here import ReadWindows, is_read_here, of_tables, read_here
from punctual.engine.answers.rounds_ahead import RoundsAhead
from punctual.engine.answers.row_coverage import RowCoverage
from punctual.engine.answers.row_model import RowModel
from punctual.engine.answers.row_rounds import RowRounds, WorkBounds, statement_work
from punctual.engine.answers.scan_budgets import PassTime, overdue, with_budgets
from punctual.engine.batch.failing_clause import explain_stop, first_failing, reason_to_stop, row_pieces
from punctual.engine.batch.isolate import reason
from punctual.engine.batch.state_faults import state_fault
from punctual.engine.held.holders import Holders
from punctual.engine.held.remote_panes import assembled
from punctual.estimate.quality_curve import curve_of
from punctual.kernel.panes.panes import Answered
from punctual.kinds.clause import Clause
from punctual.kinds.drawing import Drawing
from punctual.kinds.job_group import AnsweredJobs, JobGroup
from punctual.kinds.registry import kind_of, needs_of
from punctual.kinds.world_run import WorldRun
from punctual.plan.query import Query
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import AggregatedRows, Needs, RowNeeds, RowReader
from punctual.runtime.backend import Backend, OverdueError, RowWork
from punctual.runtime.operators.answer_rows import TooManyRowsError
from punctual.runtime.row_queries.lifted_rows import RowAggregates, lifted_rows
from punctual.runtime.row_queries.plan_graph import RunawayError
from punctual.share.from_rows import from_rows
from punctual.store.products import outputs

Failed = list[tuple[str, str]]
"""Queries that cannot be answered, with the reason."""
NO_LIMIT = 2**63 - 1
"""An aggregate has a row for each group, however many there are."""


@dataclass(frozen=True, slots=True)
class RowBounds:
    """How many rows an answer may have, and how many a join may make on the way to it; what the run says of worlds, and
    what was drawn of them ahead; who ``hurries`` is answered from that as it is."""

    answer_rows: int
    join_rows: int
    worlds: WorldRun | None = None
    ahead: RoundsAhead | None = None
    hurries: bool = True

    @property
    def of_works(self) -> WorkBounds:
        """What holds for each query that is Spark's text."""
        return WorkBounds(self.answer_rows, self.join_rows, 0 if self.worlds is None else self.worlds.seed)


def answer_rows(
    jobs: Sequence[JobGroup],
    memory: Holders,
    backend: Backend,
    model: RowModel,
    bounds: RowBounds,
    coverage: RowCoverage,
    time: PassTime | None = None,
) -> tuple[list[AnsweredJobs], Failed]:
    """The answers from the rows that are retained, each query by itself; the model learns what they cost.

    ``time`` is what they have, where that counts: scans of queries with QUALITY use less of their rows where it is
    short. A job that is far beyond it is ended, and run again once, late: those queries use no more than they must
    then.

    Raises
    ------
    StateError
        Where retained rows cannot be read: nothing is answered without them.
    """
    failed: Failed = []
    left = [one for several in jobs for one in several.each()]
    while left:
        try:
            return _together(left, memory, backend, model, bounds, coverage, time), failed
        except OverdueError:
            left, time = [_with_least(job) for job in left], _without_end(time)
        except (TooManyRowsError, RunawayError) as problem:
            # It is known who asks for too much, so nobody else is tried alone, nor this one again.
            failed.append((problem.query, _too_much(problem)))
            left = [job for job in left if _query(job).name != problem.query]
        except Exception as problem:
            _raise_what_is_nobodys(problem, backend)
            break
    answered: list[AnsweredJobs] = []
    for job in left:
        query = _query(job)
        try:
            answered += _together([job], memory, backend, model, bounds, coverage, _without_end(time))
        except (TooManyRowsError, RunawayError) as problem:
            failed.append((query.name, _too_much(problem)))
        except Exception as problem:
            _raise_what_is_nobodys(problem, backend)
            failed.append((query.name, explain_stop(query, _failing(job, memory, backend), reason(problem))))
    return answered, failed


def _without_end(time: PassTime | None) -> PassTime | None:
    """For what is run again: it takes as long as it takes, by plans of the same kind."""
    return None if time is None else replace(time, by=None)


def _raise_what_is_nobodys(problem: Exception, backend: Backend) -> None:
    """No query is to blame for a data plane that has ended, or for a fault of the state."""
    if not backend.alive():
        raise problem
    fault = state_fault(problem)
    if fault is not None:
        raise fault from problem


def _too_much(problem: TooManyRowsError | RunawayError) -> str:
    """Why a query that asks for too much was stopped."""
    if isinstance(problem, RunawayError):
        hint = "join by more columns or shorter windows, or SET max_join_rows"
        return reason_to_stop(problem.query, problem.excess.fact, hint)
    fact = f"an answer has {problem.rows:,} rows or more, and may have {problem.limit:,}"
    return reason_to_stop(problem.query, fact, "ask for less, or SET max_answer_rows")


def _query(job: JobGroup) -> Query:
    return job.asked.asked[0].reader.query


def _failing(job: JobGroup, memory: Holders, backend: Backend) -> Clause | None:
    """The clause of aggregates that fails over the rows of the job by itself; None where none does."""
    works = _works(job, memory, RowBounds(NO_LIMIT, NO_LIMIT))
    query, catalog = _query(job), memory.running.catalog

    def fails(piece: Needs) -> Exception | None:
        ((_query, needs),) = from_rows([(query, piece)], catalog.streams)
        assert isinstance(needs, RowNeeds)
        assert isinstance(needs.statement, AggregatedRows)
        lifted = lifted_rows(needs.statement, catalog.streams, catalog.tables)
        tried = RowAggregates(lifted, ((),) * len(lifted.spec.bands), query.range_us, ())
        try:
            backend.rows([replace(work, statement=tried) for work in works], memory.running.tables)
        except Exception as problem:
            if not backend.alive():
                raise
            return problem
        return None

    return first_failing(row_pieces(needs_of(query)), fails)


def _together(
    jobs: Sequence[JobGroup],
    memory: Holders,
    backend: Backend,
    model: RowModel,
    bounds: RowBounds,
    coverage: RowCoverage,
    time: PassTime | None = None,
) -> list[AnsweredJobs]:
    lacking = coverage.lacking(jobs, memory.rows, lambda operator: list(outputs(backend.run_tasks(operator))))
    jobs = [replace(job, lacking=some, worlds=bounds.worlds) for job, some in zip(jobs, lacking)]
    answered, jobs = _drawn_ahead(jobs, bounds)
    here = [job for job in jobs if is_read_here(_reader(job), job.due.instants, memory.rows)]
    known = ReadWindows()
    answered += [_read_here(job, memory, bounds, known) for job in here]
    jobs = [job for job in jobs if job not in here]
    if not jobs:
        return answered
    works = [_works(job, memory, bounds, timed=time is not None) for job in jobs]
    until = None
    if time is not None:
        works = [with_budgets(_reader(job), own, memory.rows, model, time) for job, own in zip(jobs, works)]
        until = overdue([work for several in works for work in several], time)
    every = [work for several in works for work in several]
    found = model.run(every, memory.rows, lambda asked: backend.rows(asked, memory.running.tables, until))
    tables, draws = iter(found.tables), iter(found.draws or [{}] * len(every))
    for job, several in zip(jobs, works):
        own = [next(draws) for _work in several]
        drawn = samples(several, own, _reader(job))
        used = used_shares(job.setting, own) if is_sampled(_reader(job)) else None
        gave = _answered(several, [next(tables) for _work in several])
        job = replace(job, samples=drawn, used=used, worlds=_asks_spark(job, memory, backend, bounds))
        answered.append(AnsweredJobs([job], gave))
    return answered


def _drawn_ahead(jobs: Sequence[JobGroup], bounds: RowBounds) -> tuple[list[AnsweredJobs], list[JobGroup]]:
    """Jobs at those instants of which rounds were drawn ahead, for which nothing is read again, and what is left."""
    answered, left = list[AnsweredJobs](), list[JobGroup]()
    for job in jobs:
        drawings = _drawings(job, bounds)
        drawn = np.array([at in drawings for at in job.due.instants.tolist()], np.bool_)
        if not drawn.all():
            left.append(job.only(~drawn) if drawn.any() else job)
        if drawn.any():
            types = job.asked.asked[0].types
            nothing = pa.schema(list(zip(types.names, types.outputs))).empty_table()
            gave = of_tables([nothing] * int(drawn.sum()))
            answered.append(AnsweredJobs([replace(job.only(drawn), drawings=drawings)], gave))
    return answered, left


def _read_here(job: JobGroup, memory: Holders, bounds: RowBounds, known: ReadWindows) -> AnsweredJobs:
    """A job whose rows the driver reads itself; where time counts, further answers go on from what it draws."""
    rows = read_here(job, _reader(job), memory.rows, known)
    if bounds.ahead is None or not bounds.hurries or bounds.worlds is None:
        return AnsweredJobs([job], rows)
    drawings = bounds.ahead.make_now(job, rows, replace(bounds.worlds, shared=None))
    return AnsweredJobs([replace(job, drawings=drawings)], rows)


def _drawings(job: JobGroup, bounds: RowBounds) -> dict[Micros, Drawing]:
    """What was drawn ahead for a job, and more where nothing hurries."""
    if bounds.ahead is None:
        return {}
    drawings = bounds.ahead.of(_query(job).name, job.due.instants.tolist())
    for drawing in () if bounds.hurries else drawings.values():
        drawing.finish(job.number)
    return drawings


def _asks_spark(job: JobGroup, memory: Holders, backend: Backend, bounds: RowBounds) -> WorldRun | None:
    """What the run says of worlds, with whom to ask for further rounds."""
    if bounds.worlds is None:
        return None
    return replace(bounds.worlds, by_rows=RowRounds(lambda: memory, backend, bounds.of_works, job))


def _reader(job: JobGroup) -> RowReader:
    (one,) = job.asked.asked
    assert isinstance(one.reader, RowReader)
    return one.reader


def _with_least(job: JobGroup) -> JobGroup:
    """A job that uses no more of its input than it must."""
    reader = _reader(job)
    if not is_sampled(reader) or reader.query.quality is None:
        return job
    return replace(job, setting=curve_of(reader.query.quality).least_share)


def _works(job: JobGroup, memory: Holders, bounds: RowBounds, *, timed: bool = False) -> list[RowWork]:
    """A query at the instants of its job: which rows each of its windows has."""
    return with_draws(_reader(job), _all_rows(job, memory, bounds), job.setting, timed=timed)


def _all_rows(job: JobGroup, memory: Holders, bounds: RowBounds) -> list[RowWork]:
    """The same, over everything that the windows have."""
    (one,) = job.asked.asked
    assert isinstance(one.reader, RowReader)
    query, rows = one.reader.query, memory.rows
    instants: list[Micros] = job.due.instants.tolist()
    if not isinstance(one.reader.statement, RowStatement):
        aggregates = RowAggregates(memory.running.lifted[query.name], one.where, one.range_us, one.calls)
        return [
            RowWork(
                query.name, aggregates, one.types, at, tuple(rows.window(w, at) for w in one.reader.windows),
                NO_LIMIT, bounds.join_rows,
            )
            for at in instants
        ]
    drawn = any(window.drawn is not None for window in one.reader.statement.windows)
    rounds = range(kind_of(query).rounds_at_first(query, job.number) if drawn else 0)
    return [statement_work(job, at, rows, bounds.of_works, rounds) for at in instants]


def _answered(works: Sequence[RowWork], tables: Sequence[pa.Table]) -> Answered:
    """Answers of one query, an instant each, as what a kind finishes."""
    asked = works[0].statement
    if isinstance(asked, RowAggregates):
        found = [_of_instant(table, number) for number, table in enumerate(tables) if table.num_rows]
        return assembled(asked.calls, asked.rows.spec, found)
    return of_tables(tables)


def _of_instant(table: pa.Table, number: int) -> pa.Table:
    """What the kernels gave for one instant, as that of the instant of this number."""
    instant = pa.array(np.full(table.num_rows, number, np.int64))
    return table.set_column(table.column_names.index("instant"), "instant", instant)
