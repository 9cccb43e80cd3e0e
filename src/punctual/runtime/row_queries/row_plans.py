"""Row queries as Spark jobs: all that are due are slots of one union, whose plan is made once and run again.

A window is a single partition that a task reads by the order of the job, so joins, aggregates and sorts of windows need
no exchange: a union of any number of slots is one job of one stage. Where a plan needs an exchange or a subquery all
the same, it keeps what it found when it first ran (``plan_nodes.stands``). Such queries, and those that name ``now()``,
are a union of their own, which is planned anew with every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from punctual.errors import InternalError
from punctual.own_names import own
from punctual.plan.row_query import RowStatement
from punctual.plan.sql_text import quoted
from punctual.runtime.backend import QueryTypes, RowWork, WindowTypes
from punctual.runtime.operators.answer_rows import AnswerRows, TooManyRowsError
from punctual.runtime.operators.read_window import ReadWindow
from punctual.runtime.operators.slot_order import ROWS_PROPERTY, slot_order, written
from punctual.runtime.row_queries.plan_nodes import stands
from punctual.runtime.row_queries.row_session import row_session
from punctual.runtime.row_queries.row_text import row_text
from punctual.runtime.row_queries.slots import dealt, slots_for
from punctual.runtime.row_queries.static_views import StaticViews
from punctual.store.products import OUTPUT_DDL, RowAnswer, outputs

MOST_QUERIES = 512
"""How many queries are kept prepared, the latest used."""
MOST_UNIONS = 32
"""How many unions are kept planned: a program has one for each set of queries that are due together."""


@dataclass(slots=True)
class _Prepared:
    """A query that is analysed: a frame for each of its slots so far."""

    number: int
    stands: bool
    frames: list[DataFrame] = field(default_factory=list)

    def slot(self, place: int) -> str:
        """The name of one of its slots."""
        return f"{self.number}.{place}"


@dataclass(frozen=True, slots=True)
class _Form:
    """What a prepared query is made of: all but its name, its windows' rows and the instant."""

    statement: RowStatement
    windows: tuple[WindowTypes, ...]
    outputs: tuple[pa.DataType, ...]


Job = Mapping[_Form, Sequence[int]]


class RowPlans:
    """The row queries of a program on one session; a job has at most so many tasks."""

    def __init__(self, spark: SparkSession, tasks: int) -> None:
        self._tasks = tasks
        self._session = row_session(spark)
        self._tables = StaticViews(self._session)
        self._queries: dict[_Form, _Prepared] = {}
        self._unions: dict[tuple[tuple[int, int], ...], tuple[DataFrame, bool]] = {}
        self._made = 0

    def run(self, works: Sequence[RowWork], tables: Mapping[str, pa.Table]) -> list[pa.Table]:
        """The answer of each; at most two jobs for what is due at an instant.

        Raises
        ------
        TooManyRowsError
            Where an answer has more rows than it may: the first of these.
        """
        self._forget(self._tables.show(dict.fromkeys(name for work in works for name in work.statement.tables), tables))
        standing: dict[_Form, list[int]] = {}
        passing: dict[_Form, list[int]] = {}
        for number, work in enumerate(works):
            form = _Form(work.statement, work.types.windows, work.types.outputs)
            prepared = None if form.statement.names_instant else self._prepared(form, work)
            (standing if prepared is not None and prepared.stands else passing).setdefault(form, []).append(number)
        answers: dict[int, pa.Table] = {}
        for job in dealt(standing):
            answers |= self._answers(works, *self._again(works, job))
        for job in dealt(passing):
            answers |= self._answers(works, *self._anew(works, job))
        for form in list(self._queries)[:-MOST_QUERIES]:
            del self._queries[form]
        return [answers[number] for number in range(len(works))]

    def _forget(self, changed: set[str]) -> None:
        """Drop what was made of tables that have other content now."""
        if changed:
            for form in [form for form in self._queries if changed & set(form.statement.tables)]:
                del self._queries[form]
            self._unions.clear()

    def _prepared(self, form: _Form, work: RowWork) -> _Prepared:
        found = self._queries.pop(form, None)
        if found is None:
            self._made += 1
            found = _Prepared(self._made, stands=False)
            self._grow(found, work, 1)
            found.stands = stands(found.frames[0])
        self._queries[form] = found
        return found

    def _grow(self, prepared: _Prepared, work: RowWork, slots: int) -> None:
        """Make frames until there is one for each of so many slots."""
        while len(prepared.frames) < slots:
            prepared.frames.append(self._frame(work, prepared.slot(len(prepared.frames))))

    def _again(self, works: Sequence[RowWork], job: Job) -> tuple[DataFrame, dict[str, int]]:
        """The union for a job of queries whose plans stand, and which work each slot has."""
        asked: dict[str, int] = {}
        shape: list[tuple[int, int]] = []
        frames: list[DataFrame] = []
        for form, numbers in job.items():
            prepared, slots = self._queries[form], slots_for(len(numbers))
            self._grow(prepared, works[numbers[0]], slots)
            asked |= {prepared.slot(place): number for place, number in enumerate(numbers)}
            shape.append((prepared.number, slots))
            frames += prepared.frames[:slots]
        known = self._unions.pop(tuple(shape), None)
        if known is None:
            union = self._united(frames)
            known = (union, stands(union))
            if len(self._unions) >= MOST_UNIONS:
                del self._unions[next(iter(self._unions))]
        self._unions[tuple(shape)] = known
        # What stands alone may not stand in a union, where Catalyst sees all of it: it is planned anew as well.
        return known[0] if known[1] else self._united(frames), asked

    def _anew(self, works: Sequence[RowWork], job: Job) -> tuple[DataFrame, dict[str, int]]:
        """The same for queries that are planned with every run; their analysis is kept, where it has no instant."""
        asked: dict[str, int] = {}
        frames: list[DataFrame] = []
        for form, numbers in job.items():
            prepared = self._queries.get(form)
            if prepared is not None:
                self._grow(prepared, works[numbers[0]], len(numbers))
                frames += prepared.frames[: len(numbers)]
                asked |= {prepared.slot(place): number for place, number in enumerate(numbers)}
                continue
            for number in numbers:
                frames.append(self._frame(works[number], f"at.{number}"))
                asked[f"at.{number}"] = number
        return self._united(frames), asked

    def _frame(self, work: RowWork, slot: str) -> DataFrame:
        """The answer of a slot, as a product."""
        statement, session = work.statement, self._session
        for number, types in enumerate(work.types.windows):
            read = ReadWindow(slot, number, types.columns, types.event_time)
            rows = session.range(0, 1, 1, 1).mapInArrow(read, from_arrow_schema(pa.schema(list(types.columns))))
            rows.createOrReplaceTempView(quoted(_view(number)))
        answered = session.sql(str(row_text(statement, _view, work.at, work.types.outputs)))
        # Columns may have any names, and an operator of ours needs those that Arrow can tell apart.
        named = answered.toDF(*(f"c{i}" for i in range(len(work.types.outputs))))
        operator = AnswerRows(slot, ordered=bool(statement.order or statement.tail))
        # Of a union whose parts are single partitions Spark makes one, and one task; it does not know that these are.
        return named.coalesce(1).mapInArrow(operator, OUTPUT_DDL).coalesce(2)

    def _united(self, frames: Sequence[DataFrame]) -> DataFrame:
        """All of them as one, with a plan of its own even where there is one.

        In pairs of pairs: Spark looks through all of a union whenever something is added to it.
        """
        united = [frames[0].select("*"), *frames[1:]]
        while len(united) > 1:
            united = [reduce(DataFrame.unionAll, united[i : i + 2]) for i in range(0, len(united), 2)]
        return united[0].coalesce(self._tasks) if len(frames) > self._tasks else united[0]

    def _answers(
        self, works: Sequence[RowWork], union: DataFrame, asked: Mapping[str, int]
    ) -> Iterator[tuple[int, pa.Table]]:
        order = slot_order({slot: (works[number].windows, works[number].max_rows) for slot, number in asked.items()})
        self._session.sparkContext.setLocalProperty(ROWS_PROPERTY, written(order))
        try:
            rows = union.toArrow()
        finally:
            self._session.sparkContext.setLocalProperty(ROWS_PROPERTY, None)
        left = dict(asked)
        for produced in outputs(rows):
            assert isinstance(produced.product, RowAnswer)
            number = left.pop(produced.product.slot)
            work = works[number]
            if produced.rows > work.max_rows:
                raise TooManyRowsError(work.query, produced.rows, work.max_rows)
            yield number, _named(work.types, None if produced.data is None else produced.table())
        if left:
            raise InternalError(f"slots were not answered: {', '.join(left)}")


def _view(window: int) -> str:
    return own(f"window {window}")


def _named(types: QueryTypes, table: pa.Table | None) -> pa.Table:
    """The rows with the names and types that the query has."""
    schema = pa.schema(list(zip(types.names, types.outputs)))
    if table is None:
        return schema.empty_table()
    return table.rename_columns(list(types.names)).cast(schema)
