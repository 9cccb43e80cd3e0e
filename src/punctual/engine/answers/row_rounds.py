"""What Spark does before answers over worlds are due: it makes rows that kernels draw for, or draws rounds itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from punctual.clock import Micros, SystemClock
from punctual.engine.answers.read_here import of_tables
from punctual.engine.batch.isolate import reason
from punctual.engine.batch.state_faults import state_fault
from punctual.engine.held.holders import Holders
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job_group import JobGroup
from punctual.kinds.world_run import WorldsStopError
from punctual.plan.row_query import RowStatement, RowWindow
from punctual.plan.shared import RowReader
from punctual.runtime.backend import Backend, JobLimit, OverdueError, RowWork
from punctual.runtime.operators.answer_rows import TooManyRowsError
from punctual.runtime.operators.window_rows import Rounds, WindowOrder
from punctual.runtime.row_queries.plan_graph import RunawayError

ROWS_AT_ONCE = 1 << 22
"""Of all windows in all rounds of a job."""


@dataclass(frozen=True, slots=True)
class WorkBounds:
    """How many rows an answer may have, how many a join may make on the way to it, and the seed of draws."""

    answer_rows: int
    join_rows: int
    seed: int


def statement_work(job: JobGroup, at: Micros, rows: RetainedFiles, bounds: WorkBounds, rounds: range) -> RowWork:
    """A query that Spark answers at an instant, in these rounds where its windows differ between worlds."""
    (one,) = job.asked.asked
    assert isinstance(one.reader, RowReader)
    assert isinstance(one.reader.statement, RowStatement)
    query = one.reader.query
    statement = one.reader.statement.since(at - rows.least(query.streams))  # before that a subquery was not answered

    def order(window: RowWindow) -> WindowOrder:
        found = rows.window(window, at)
        if window.drawn is None:
            return found
        return replace(found, rounds=Rounds(len(rounds), bounds.seed, at, rounds.start))

    windows = tuple(order(window) for window in statement.windows)
    return RowWork(query.name, statement, one.types, at, windows, bounds.answer_rows, bounds.join_rows)


@dataclass(frozen=True, slots=True, eq=False)
class RowRounds:
    """Asks for further rounds of the only query of a job (`kinds.world_run.RowsOfRounds`)."""

    held: Callable[[], Holders]
    """What is held now: a base has other files."""
    backend: Backend
    bounds: WorkBounds
    job: JobGroup

    @property
    def most_rows(self) -> int:
        """How many rows all rounds of an answer may have together."""
        return self.bounds.answer_rows

    def rows(self, at: Micros, rounds: range, limit: JobLimit | None = None) -> list[pa.Array]:
        """The columns of its result rows in these rounds, round after round."""
        step = self._at_once(at)
        ranges = [rounds[first : first + step] for first in range(0, len(rounds), step)]
        return of_tables([self._rows(at, some, limit) for some in ranges]).values

    def now(self) -> float:
        """The time by the machine's steady clock."""
        return float(SystemClock().monotonic())

    def _at_once(self, at: Micros) -> int:
        """In how many rounds a job may have all rows of the windows."""
        retained = self.held().rows
        windows = statement_work(self.job, at, retained, self.bounds, range(1)).windows
        return max(1, int(ROWS_AT_ONCE // max(1.0, sum(retained.rows_of(one) for one in windows))))

    def _rows(self, at: Micros, rounds: range, limit: JobLimit | None) -> pa.Table:
        work = statement_work(self.job, at, self.held().rows, self.bounds, rounds)
        try:
            return self._found(work, limit)
        except OverdueError:
            raise
        except TooManyRowsError as problem:
            fact = f"{len(rounds):,} rounds have {problem.rows:,} rows or more, and may have {problem.limit:,}"
            raise WorldsStopError(work.query, None, f"{fact} (SET max_answer_rows)") from problem
        except RunawayError as problem:
            raise WorldsStopError(work.query, None, f"{problem.excess.fact} (SET max_join_rows)") from problem
        except Exception as problem:
            again = statement_work(self.job, at, self.held().rows, self.bounds, rounds)
            if again.windows != work.windows:  # a base was made meanwhile, and its files are others
                return self._found(again, limit)
            fault = state_fault(problem)
            if not self.backend.alive() or fault is not None:
                raise fault or problem from problem
            raise WorldsStopError(work.query, None, reason(problem)) from problem

    def _found(self, work: RowWork, limit: JobLimit | None) -> pa.Table:
        if limit is None:
            return self.backend.rows([work], self.held().running.tables).tables[0]
        found = self.backend.rows_beside([work], self.held().running.tables, limit)
        limit.planned |= any(found.planned)
        return found.tables[0]


def made_by_spark(
    jobs: Sequence[JobGroup], held: Callable[[], Holders], backend: Backend, bounds: WorkBounds, limit: JobLimit
) -> list[Answered | None]:
    """The rows of each of these jobs of one instant, by one job of Spark; None where it cannot make them in time.

    The pass that answers such a query meets the same problem, and says whose it is.
    """

    def orders() -> list[RowWork]:
        rows = held().rows
        return [statement_work(job, int(job.due.instants[0]), rows, bounds, range(0)) for job in jobs]

    works = orders()
    try:
        found = backend.rows_beside(works, held().running.tables, limit)
        return [of_tables([table]) for table in found.tables]
    except OverdueError:
        return [None] * len(jobs)
    except Exception:
        if not backend.alive():
            raise
        if [one.windows for one in orders()] != [one.windows for one in works]:
            # A base was made meanwhile, and its files are others.
            return made_by_spark(jobs, held, backend, bounds, limit)
        if len(jobs) == 1:
            return [None]
    return [one for job in jobs for one in made_by_spark([job], held, backend, bounds, limit)]
