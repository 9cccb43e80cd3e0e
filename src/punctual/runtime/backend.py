"""What the engine asks of the data plane: check types, reduce rows, evaluate answers.

The engine knows this protocol alone, so the same engine runs on Spark and, in tests, in process over the same kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from punctual.clock import Micros
from punctual.errors import PunctualError
from punctual.kernel.panes.spec import UnitSpec
from punctual.kernel.sample.draw import DrawReport
from punctual.kernel.sample.marks import SHARES
from punctual.plan.aggregates import Aggregate
from punctual.plan.drawn_rows import DrawnRows
from punctual.plan.expression import Expression
from punctual.plan.operators import OperatorNode, OperatorRows
from punctual.plan.query import Query
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.row_query import RowSampling, RowStatement, RowWindow
from punctual.plan.rows import GroupedRows
from punctual.ports.feeds.feed import Feed
from punctual.ports.feeds.slices import Slice
from punctual.runtime.core_time import CoreTime
from punctual.runtime.function_code import is_sparks
from punctual.runtime.lower import Branch
from punctual.runtime.operators.functions.call_functions import CallFunctions
from punctual.runtime.operators.merge_rows import MergeRows
from punctual.runtime.operators.shards import AnswerShards
from punctual.runtime.operators.window_rows import CountRows, WindowOrder
from punctual.runtime.row_queries.lifted_rows import RowAggregates


@dataclass(frozen=True, slots=True)
class TypeRequest:
    """What the data plane is asked about a query, besides the outputs and the order in its header.

    ``aggregates`` are calls of Spark's own functions over the rows; ``conditions`` are row expressions, ``having`` is
    an answer expression.
    """

    query: Query
    rows: GroupedRows
    aggregates: tuple[Aggregate, ...]
    conditions: tuple[Expression, ...] = ()
    having: Expression | None = None


@dataclass(frozen=True, slots=True)
class RowTypeRequest:
    """The same about a row query, whose statement says it all."""

    query: Query
    statement: RowStatement


@dataclass(frozen=True, slots=True)
class WindowTypes:
    """The columns of a row query's window, and the column that would have the event time of its rows.

    Where its rows are ``drawn`` in every round, ``stored`` are the columns that they are drawn from.
    """

    columns: tuple[tuple[str, pa.DataType], ...]
    event_time: str
    drawn: DrawnRows | None = None
    stored: tuple[tuple[str, pa.DataType], ...] = ()

    @staticmethod
    def of(window: RowWindow, stored: tuple[tuple[str, pa.DataType], ...], event_time: str) -> WindowTypes:
        """Those of a window whose columns are of these types."""
        if window.drawn is None:
            return WindowTypes(stored, event_time)
        types = dict(stored)
        made = ((name, pa.int64()) for name in window.drawn.made)
        named = ((name, types[name]) for name in window.drawn.names)
        return WindowTypes((*made, *named), event_time, window.drawn, stored)

    @property
    def read(self) -> tuple[tuple[str, pa.DataType], ...]:
        """The columns that are read."""
        return self.columns if self.drawn is None else self.stored


@dataclass(frozen=True, slots=True)
class QueryTypes:
    """The types that Spark gives to everything that a request names.

    ``arguments`` are those of the aggregates (None for ``count(*)``); ``names`` are those of a row query's columns,
    which only Spark can say, ``windows`` its windows, and ``stands`` says whether its plan is made once and run again.
    ``sampling`` says of one with QUALITY how its windows may be samples.
    """

    keys: tuple[pa.DataType, ...]
    aggregates: tuple[pa.DataType, ...]
    outputs: tuple[pa.DataType, ...]
    order: tuple[pa.DataType, ...]
    arguments: tuple[pa.DataType | None, ...]
    conditions: tuple[pa.DataType, ...] = ()
    having: pa.DataType | None = None
    names: tuple[str, ...] = ()
    windows: tuple[WindowTypes, ...] = ()
    stands: bool | None = None
    sampling: RowSampling | None = None


@dataclass(frozen=True, slots=True)
class TypeReport:
    """Types of a program's queries, by name, and what is wrong with its statements."""

    queries: Mapping[str, QueryTypes]
    errors: tuple[PunctualError, ...]


@dataclass(frozen=True, slots=True)
class SliceWork:
    """One stream's part of a tick."""

    stream: str
    feed: Feed
    slice: Slice
    branches: tuple[Branch, ...]
    late: UnitSpec | None
    complete_through: Micros
    earliest: Micros
    horizon: Micros
    tops: bool
    """Whether the job says the greatest event time of each part: where parts arrived at different times."""
    share: int = SHARES
    """How much of the rows is read, in ten-thousandths; what Spark's own readers read is never shed."""


@dataclass(frozen=True, slots=True)
class Tick:
    """All that one job reads and reduces."""

    work: tuple[SliceWork, ...]
    tables: Mapping[str, pa.Table]
    """Static tables by lower-case name, as they stand for this batch."""
    shards: int
    incoming: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """Answer expressions over columns of equal length; ``types`` are those of the results."""

    expressions: tuple[Expression, ...]
    types: tuple[pa.DataType, ...]
    columns: Mapping[str, pa.Array]

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True, slots=True, eq=False)
class RowWork:
    """What is answered from rows at one instant: the rows of each of its windows, in their order.

    ``max_rows`` is how many rows an answer may have, ``max_join_rows`` how many an operator of its plan may make.
    ``left_us`` is how long it is expected to take once its scans know their rows: whatever they hand on, and for what
    they hand on if that may be less than all.
    """

    query: str
    statement: RowStatement | RowAggregates
    types: QueryTypes
    at: Micros
    windows: tuple[WindowOrder, ...]
    max_rows: int
    max_join_rows: int = 2**62
    left_us: tuple[float, float] = (0.0, 0.0)


class OverdueError(Exception):
    """A job was ended because it took longer than it may, or because nobody wanted it any more."""


class JobLimit:
    """Until when a job may run, by the machine's monotonic clock. Any thread may end it before that."""

    def __init__(self, until: Micros) -> None:
        self.until = until
        self.ended = False
        """Whether somebody has ended it."""
        self.planned = False
        """Whether a plan was made for it, which will not be for the next one of its kind."""
        self._changed = threading.Condition()

    def end(self) -> None:
        """Nobody wants it any more."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Something is through: who waits looks whether that is all."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, seconds: float, done: Callable[[], bool] = lambda: False) -> None:
        """Until somebody has ended it, or it is done, and no longer than that."""
        with self._changed:
            self._changed.wait_for(lambda: self.ended or done(), seconds)


Draws = dict[int, DrawReport]
"""What became of draws, by the number of the window."""


@dataclass(frozen=True, slots=True, eq=False)
class RowAnswers:
    """Answers of row queries, and what their jobs did.

    ``executions`` has the operators of each query with the rows that they gave out, where somebody looked; ``planned``
    says whether its plan was made for this, ``jobs`` is how many jobs there were. ``draws`` has of each query what
    became of the draws of its windows.
    """

    tables: list[pa.Table]
    executions: list[OperatorRows | None]
    planned: list[bool]
    jobs: int = 1
    draws: list[Draws] = field(default_factory=list)


class Backend(Protocol):
    """The data plane."""

    def typecheck(
        self,
        relations: Sequence[Declared],
        requests: Sequence[TypeRequest | RowTypeRequest],
        known: Sequence[Stream | Table],
    ) -> TypeReport:
        """The types that are asked for, and every error that only the data plane can find. Reads no data."""
        ...

    @property
    def core_time(self) -> CoreTime:
        """What calls of ``tick``, ``run_tasks``, ``rows`` and ``evaluate`` used, by the thread that made them."""
        ...

    @property
    def cores(self) -> int:
        """How many cores it may use."""
        ...

    def tick(self, tick: Tick) -> pa.Table:
        """Run the one job of a batch; rows as ``store.products.OUTPUT``."""
        ...

    def run_tasks(
        self, operator: AnswerShards | MergeRows | CountRows | CallFunctions, until: Micros | None = None
    ) -> pa.Table:
        """Run one job of an operator whose work is all in it; rows as ``store.products.OUTPUT``.

        ``until`` is an instant of the machine's monotonic clock: ``OverdueError`` where the job was ended because it
        was still under way then.
        """
        ...

    def rows(
        self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], until: Micros | None = None
    ) -> RowAnswers:
        """Answer from rows by one job: the rows of each, with as many columns as the query has, in their order.

        What is asked of aggregates is as ``operators/shards.py`` gives it, without columns where there is no group.
        ``tables`` are the static tables by lower-case name; ``until`` is an instant of the machine's monotonic clock.
        Raises ``TooManyRowsError`` (``operators/answer_rows.py``) where an answer has more than it may,
        ``RunawayError`` (``row_queries/plan_graph.py``) where a join does, and ``OverdueError`` where the job was
        ended because it was still under way then.
        """
        ...

    def rows_beside(self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], limit: JobLimit) -> RowAnswers:
        """The same by a job beside those of ``rows``, on whatever thread: ``OverdueError`` where the limit ended it."""
        ...

    def row_operators(
        self, statement: RowStatement, types: QueryTypes, tables: Mapping[str, pa.Table]
    ) -> OperatorNode | None:
        """How a row query would be answered, which nobody runs; None where that cannot be said."""
        ...

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        """Evaluate all questions together; one list of arrays per question."""
        ...

    def table(self, table: Table) -> pa.Table:
        """Read a static table whole."""
        ...

    def alive(self) -> bool:
        """Whether the data plane still answers."""
        ...

    def pid(self) -> int | None:
        """The process that would outlive us, if there is one."""
        ...

    def close(self) -> None:
        """End it."""
        ...


def is_function_of_spark(name: str) -> bool:
    """Whether a name is that of a function of Spark SQL."""
    return is_sparks(name)
