"""Row queries as Spark jobs: all that are due are slots of one union, whose plan is made once and run again.

A window is a single partition that a task reads by the order of the job, so joins, aggregates and sorts of windows need
no exchange: a union of any number of slots is one job of one stage. Where a plan needs an exchange or a subquery all
the same, it keeps what it found when it first ran (``plan_nodes.stands``). Such queries, and those that name ``now()``,
are a union of their own, which is planned anew with every run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from punctual.clock import Micros
from punctual.errors import InternalError
from punctual.plan.operators import OperatorNode, OperatorRows
from punctual.plan.row_query import RowStatement
from punctual.plan.sql_text import quoted
from punctual.runtime.backend import Draws, JobLimit, QueryTypes, RowAnswers, RowWork, WindowTypes
from punctual.runtime.core_time import CoreTime, StageTime
from punctual.runtime.operators.aggregate_rows import AggregateRows
from punctual.runtime.operators.answer_rows import AnswerRows, TooManyRowsError
from punctual.runtime.operators.in_worker import Timed
from punctual.runtime.operators.read_window import ReadWindow
from punctual.runtime.operators.slot_order import ROWS_PROPERTY, slot_order, written
from punctual.runtime.row_queries.job_watch import Bound, JobWatch
from punctual.runtime.row_queries.lifted_rows import RowAggregates, window_view
from punctual.runtime.row_queries.operator_rows import PlanMeters
from punctual.runtime.row_queries.plan_nodes import plan_nodes, stands
from punctual.runtime.row_queries.planned_unions import PlannedUnion, PlannedUnions
from punctual.runtime.row_queries.row_session import row_session
from punctual.runtime.row_queries.row_text import row_text
from punctual.runtime.row_queries.scan_reports import ScanReports
from punctual.runtime.row_queries.shards import ShardKeys, in_shards, joined, joined_draws, shard_keys
from punctual.runtime.row_queries.shared_windows import SharedUse, SharedWindows, Shares, SlotReads, Way, WindowUse
from punctual.runtime.row_queries.slots import dealt, places_for, spread, windows_of
from punctual.runtime.row_queries.static_views import StaticViews
from punctual.runtime.row_queries.window_sorts import window_sorts
from punctual.store.products import OUTPUT_DDL, RowAnswer, outputs

MOST_QUERIES = 512
"""How many queries are kept prepared, the latest used."""
LARGE_BYTES = 64 << 20
"""A query whose windows hold more than this at an instant is answered by jobs of its own, in shards where it can be."""
MOST_SHARDS = 256
PASSING_PER_LOOK = 8
"""Of so many plans that run once, the rows of the operators of one are looked at."""


@dataclass(slots=True)
class _Prepared:
    """A query that is analysed: how it sorts its windows, and a frame for each place and way of reading them so far."""

    number: int
    stands: bool
    uses: tuple[WindowUse, ...]
    shard_keys: ShardKeys | None = None
    frames: dict[tuple[int, tuple[Way | None, ...]], DataFrame] = field(default_factory=dict)

    def slot(self, place: int) -> str:
        """The name of one of its slots."""
        return f"{self.number}.{place}"


@dataclass(frozen=True, slots=True)
class _Form:
    """What a prepared query is made of: all but its name, its windows' rows and the instant."""

    statement: RowStatement | RowAggregates
    windows: tuple[WindowTypes, ...]
    outputs: tuple[pa.DataType, ...]
    copy: int = 0
    """Queries that are alike in all of this, and due together, are told apart by a number."""


Place = tuple[Micros, int]
"""An instant, and a shard of it."""
Job = Mapping[_Form, Mapping[int, int]]
"""Works by the place of their instant."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """The answer of a query at a place: how many bytes it reads now, and how it reads its windows."""

    frame: DataFrame
    size: int
    ways: tuple[Way | None, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """A job: the union of its slots, which work each slot has, and which windows they share."""

    union: PlannedUnion
    asked: Mapping[str, int]
    shared: Shares


class RowPlans:
    """The row queries of a program on one session; a job has at most so many tasks."""

    def __init__(self, spark: SparkSession, tasks: int, core_time: CoreTime | None = None) -> None:
        self._tasks = tasks
        self._core_time = core_time or CoreTime()
        self._reading = StageTime(spark.sparkContext.accumulator(0))
        self._session = row_session(spark)
        self._scans = ScanReports(spark.sparkContext)
        self._tables = StaticViews(self._session)
        self._windows = SharedWindows(self._window)
        self._watch = JobWatch(self._session)
        self._queries: dict[_Form, _Prepared] = {}
        self._unions = PlannedUnions()
        self._meters = PlanMeters(self._session)
        self._made = 0
        self._passed = 0
        self._local = spark.sparkContext.master.startswith("local")
        self._limit: JobLimit | None = None

    def run(
        self, works: Sequence[RowWork], tables: Mapping[str, pa.Table], limit: JobLimit | None = None
    ) -> RowAnswers:
        """The answer of each; at most two jobs for what is due at an instant, and others for large windows.

        A job that is under way at its limit is ended.

        Raises
        ------
        TooManyRowsError
            Where an answer has more rows than it may: the first of these.
        RunawayError
            Where an operator makes more rows than it may; its job was ended.
        OverdueError
            Where a job took too long.
        """
        self._limit = limit
        self._forget(self._tables.show(dict.fromkeys(name for work in works for name in work.statement.tables), tables))
        large = [number for number, work in enumerate(works) if _bytes(work) > LARGE_BYTES]
        small = [number for number, work in enumerate(works) if _bytes(work) <= LARGE_BYTES]
        found = self._run([works[number] for number in small])
        answers, executions = dict(zip(small, found.tables)), dict(zip(small, found.executions))
        planned, jobs = dict(zip(small, found.planned)), found.jobs
        draws = dict(zip(small, found.draws))
        for number in large:
            parts = self._run(self._shards(works[number]))
            answers[number] = joined(works[number], parts.tables)
            executions[number] = parts.executions[0] if len(parts.executions) == 1 else None
            planned[number] = any(parts.planned)
            draws[number] = joined_draws(parts.draws)
            jobs += parts.jobs
        self._keep_few()
        every = range(len(works))
        return RowAnswers(
            [answers[number] for number in every],
            [executions[number] for number in every],
            [planned[number] for number in every],
            jobs,
            [draws[number] for number in every],
        )

    def operators(
        self, statement: RowStatement, types: QueryTypes, tables: Mapping[str, pa.Table]
    ) -> OperatorNode | None:
        """How a query would be answered; nothing runs. None where a table has no content, or the plan is odd."""
        if not set(statement.tables) <= set(tables):
            return None
        self._tables.show(statement.tables, tables)
        prepared, alone = _Prepared(0, stands=False, uses=()), (None,) * len(types.windows)
        frame = self._frame(RowWork("", statement, types, 0, (), 0), prepared, 0, alone)
        metered = self._meters.meter(self._united([frame]), 1)
        return None if metered is None else metered.plans[0].operators

    def _shards(self, work: RowWork) -> list[RowWork]:
        """A query over large windows, shard by shard where its plan allows that."""
        prepared = None if work.statement.names_instant else self._prepared(_form(work), work)
        keys = prepared.shard_keys if prepared is not None and prepared.stands else None
        if keys is None or not isinstance(work.statement, RowStatement) or work.statement.order or work.statement.tail:
            return [work]
        return in_shards(work, keys, min(-(-_bytes(work) // LARGE_BYTES), MOST_SHARDS))

    def _run(self, works: Sequence[RowWork]) -> RowAnswers:
        standing: dict[_Form, dict[Place, int]] = {}
        passing: dict[_Form, dict[Place, int]] = {}
        copies: Counter[tuple[_Form, Place]] = Counter()
        for number, work in enumerate(works):
            alike, place = _form(work), (work.at, _part(work))
            form = replace(alike, copy=copies[alike, place])
            copies[alike, place] += 1
            prepared = None if form.statement.names_instant else self._prepared(form, work)
            group = standing if prepared is not None and prepared.stands else passing
            group.setdefault(form, {})[place] = number
        answers: dict[int, pa.Table] = {}
        executions: dict[int, OperatorRows | None] = {}
        planned: set[int] = set()
        draws: dict[int, Draws] = {}
        jobs = 0
        for make, group in ((self._again, standing), (self._anew, passing)):
            for job in dealt(group, _size):
                run = make(works, job)
                planned |= set(run.asked.values()) if not run.union.runs else set()
                answers |= self._answers(works, run)
                draws |= self._scans.take(run.asked)
                executions |= self._executions(run, answers, draws)
                jobs += 1
        every = range(len(works))
        return RowAnswers(
            [answers[number] for number in every],
            [executions.get(number) for number in every],
            [number in planned for number in every],
            jobs,
            [draws.get(number, {}) for number in every],
        )

    def _forget(self, changed: set[str]) -> None:
        """Drop what was made of tables that have other content now."""
        if changed:
            for form in [form for form in self._queries if changed & set(form.statement.tables)]:
                del self._queries[form]
            self._unions.clear()

    def _keep_few(self) -> None:
        """Drop what was not used for long."""
        for form in list(self._queries)[:-MOST_QUERIES]:
            del self._queries[form]
        if self._windows.too_many:
            self._unions.clear()
            self._queries.clear()
            self._windows.clear()

    def _prepared(self, form: _Form, work: RowWork) -> _Prepared:
        found = self._queries.pop(form, None)
        if found is None:
            self._made += 1
            found = _Prepared(self._made, stands=False, uses=())
            alone = (None,) * len(form.windows)
            found.frames[0, alone] = frame = self._frame(work, found, 0, alone)
            found.stands = stands(frame)
            nodes = plan_nodes(frame._jdf.queryExecution().executedPlan())
            sorts = window_sorts(nodes, [[name for name, _kind in types.columns] for types in form.windows])
            if isinstance(form.statement, RowStatement):
                found.uses = tuple(map(WindowUse, form.statement.windows, form.windows, sorts))
                if all(window.rows is None and window.drawn is None for window in form.statement.windows):
                    found.shard_keys = shard_keys(nodes, [types.columns for types in form.windows])
        self._queries[form] = found
        return found

    def _slot_frame(self, prepared: _Prepared, work: RowWork, place: int, ways: tuple[Way | None, ...]) -> DataFrame:
        """The answer of a query at a place; ``ways`` says how it reads those of its windows that others read too."""
        if (place, ways) not in prepared.frames:
            prepared.frames[place, ways] = self._frame(work, prepared, place, ways)
        return prepared.frames[place, ways]

    def _again(self, works: Sequence[RowWork], job: Job) -> _Run:
        """A job of queries whose plans stand."""
        queries = {form: self._queries[form] for form in job}
        reads = [
            SlotReads(one.number, one.slot(place), place, one.uses, works[number].windows)
            for form, one in queries.items()
            for place, number in job[form].items()
        ]
        asked = {one.slot(place): number for form, one in queries.items() for place, number in job[form].items()}
        every = frozenset(queries[form].slot(place) for form, places in _places(job).items() for place in places)
        union = self._unions.known(every, lambda one: self._windows.of_plan(one.ways, reads) is not None)
        if union is not None and union.stands:
            return _Run(union, asked, self._windows.of_plan(union.ways, reads) or {})
        shared = self._windows.of_job(reads)
        planned = self._union(self._slots(works, job, self._windows.ways(shared)), shared)
        if union is None:
            # What stands alone may not stand in a union, where Catalyst sees all of it: then it is planned every time.
            planned.stands = stands(planned.frame)
            self._unions.keep(planned)
        return _Run(planned, asked, shared)

    def _slots(self, works: Sequence[RowWork], job: Job, ways_of: Mapping[tuple[str, int], Way]) -> dict[str, _Slot]:
        """The slots of a job, some of them empty; ``ways_of`` says how windows are read that others read too."""
        slots: dict[str, _Slot] = {}
        for form, places in _places(job).items():
            prepared, numbers = self._queries[form], job[form]
            some, first = next(iter(numbers.items()))
            ways = tuple(ways_of.get((prepared.slot(some), n)) for n in range(len(prepared.uses)))
            for place in places:
                size = _bytes(works[numbers[place]]) if place in numbers else 0
                frame = self._slot_frame(prepared, works[first], place, ways)
                slots[prepared.slot(place)] = _Slot(frame, size, ways)
        return slots

    def _union(self, slots: Mapping[str, _Slot], shared: Iterable[SharedUse] = ()) -> PlannedUnion:
        """The union of slots, in an order in which tasks have about as much to do as each other."""
        names = list(slots)
        order = [names[number] for number in spread([one.size for one in slots.values()], self._tasks)]
        ways = {name: slots[name].ways for name in order}
        united = self._united([slots[name].frame for name in order])
        return PlannedUnion(united, tuple(order), ways, tuple(shared))

    def _anew(self, works: Sequence[RowWork], job: Job) -> _Run:
        """The same for queries that are planned with every run; their analysis is kept, where it has no instant."""
        asked: dict[str, int] = {}
        slots: dict[str, _Slot] = {}
        for form, numbers in job.items():
            alone = (None,) * len(form.windows)
            for place, number in numbers.items():
                known = self._queries.get(form)
                prepared = known or _Prepared(-1 - number, stands=False, uses=())
                frame = self._slot_frame(prepared, works[number], place, alone)
                slots[prepared.slot(place)] = _Slot(frame, _bytes(works[number]))
                asked[prepared.slot(place)] = number
        return _Run(self._union(slots), asked, {})

    def _frame(self, work: RowWork, prepared: _Prepared, place: int, ways: tuple[Way | None, ...]) -> DataFrame:
        """The answer of a slot, as a product."""
        statement, slot = work.statement, prepared.slot(place)
        if isinstance(statement, RowAggregates):
            return self._aggregated(statement, slot)
        for number in sorted(frozenset[int]().union(*(text.windows for text in statement.texts))):
            types = work.types.windows[number]
            schema = from_arrow_schema(pa.schema(list(types.columns)))
            way = ways[number]
            if way is not None:
                rows = self._windows.frame(way, place, schema)
            else:
                rows = self._window(types, slot, number, schema, number)
            rows.createOrReplaceTempView(quoted(window_view(number)))
        answered = self._session.sql(str(row_text(statement, window_view, work.at, work.types.outputs)))
        # Columns may have any names, and an operator of ours needs those that Arrow can tell apart.
        named = answered.toDF(*(f"c{i}" for i in range(len(work.types.outputs))))
        operator = AnswerRows(slot, ordered=bool(statement.order or statement.tail))
        # Of a union whose parts are single partitions Spark makes one, and one task; it does not know that these are.
        return named.coalesce(1).mapInArrow(Timed(operator), OUTPUT_DDL).coalesce(2)

    def _aggregated(self, asked: RowAggregates, slot: str) -> DataFrame:
        """The same for aggregates: Spark projects the rows of all windows, and the kernels reduce them."""
        for number, window in enumerate(asked.rows.windows):
            schema = StructType.fromDDL(", ".join(f"{quoted(name)} {kind}" for name, kind in window.columns))
            columns = to_arrow_schema(schema, timezone="UTC")
            types = WindowTypes(tuple((f.name, f.type) for f in columns), window.event_time)
            rows = self._window(types, slot, number, schema, number)
            rows.createOrReplaceTempView(quoted(window_view(number)))
        rows = reduce(DataFrame.unionAll, [self._session.sql(text) for text in asked.rows.texts])
        columns = to_arrow_schema(rows.schema, timezone="UTC")
        operator = AggregateRows(slot, asked.rows.spec, asked.where, asked.range_us, asked.calls, columns)
        return rows.coalesce(1).mapInArrow(Timed(operator), OUTPUT_DDL).coalesce(2)

    def _window(self, types: WindowTypes, slot: str, number: int, schema: StructType, mark: int) -> DataFrame:
        """The rows of a window of a slot, as the order of the job names them; the plan says ``mark`` for it."""
        read = ReadWindow(slot, number, types.read, types.event_time, self._scans.told, types.drawn)
        return self._session.range(mark, mark + 1, 1, 1).mapInArrow(Timed(read, self._reading.told), schema)

    def _united(self, frames: Sequence[DataFrame]) -> DataFrame:
        """All of them as one, with a plan of its own even where there is one.

        In pairs of pairs: Spark looks through all of a union whenever something is added to it.
        """
        united = [frames[0].select("*"), *frames[1:]]
        while len(united) > 1:
            united = [reduce(DataFrame.unionAll, united[i : i + 2]) for i in range(0, len(united), 2)]
        return united[0].coalesce(self._tasks) if len(frames) > self._tasks else united[0]

    def _answers(self, works: Sequence[RowWork], run: _Run) -> Iterator[tuple[int, pa.Table]]:
        read = windows_of(run.union.slots, run.asked, works, self._tasks if self._local else None)
        slots = {slot: (windows, works[run.asked[slot]].max_rows) for slot, windows in read.items()}
        order = slot_order({**slots, **self._windows.slots(run.shared, read)})
        self._session.sparkContext.setLocalProperty(ROWS_PROPERTY, written(order))
        try:
            bounds = {s: Bound(works[number].query, works[number].max_join_rows) for s, number in run.asked.items()}
            rows = self._core_time.reported(self._watch.run(run.union.frame.toArrow, bounds, self._limit))
        except Exception:
            self._scans.take({})  # tasks that ended before the job did have reported theirs
            raise
        finally:
            self._session.sparkContext.setLocalProperty(ROWS_PROPERTY, None)
            self._windows.release(run.union.shared)
            self._core_time.add(self._reading.take())
        left = dict(run.asked)
        for produced in outputs(rows):
            assert isinstance(produced.product, RowAnswer)
            number = left.pop(produced.product.slot)
            work = works[number]
            if produced.rows > work.max_rows:
                raise TooManyRowsError(work.query, produced.rows, work.max_rows)
            yield number, _named(work, None if produced.data is None else produced.table())
        if left:
            raise InternalError(f"slots were not answered: {', '.join(left)}")

    def _executions(
        self, run: _Run, answers: Mapping[int, pa.Table], draws: Mapping[int, Draws]
    ) -> dict[int, OperatorRows]:
        """The operators of what was asked and their rows, where looking at the plan is worth while.

        That takes as long as some operators: it is done once for a plan that runs again, with its first run, which is
        dear anyway, and seldom for others.
        """
        union = run.union
        union.runs += 1
        if not union.stands:
            self._passed += 1
            if self._passed % PASSING_PER_LOOK != 1:
                return {}
        if union.meter is None and not union.looked:
            union.meter = self._meters.meter(union.frame, len(union.slots), [union.marks(s) for s in union.slots])
            union.looked = True
        if union.meter is None:
            return {}
        values, plans = union.meter.read(), dict(zip(union.slots, union.meter.plans))
        return {
            number: plans[slot].rows(values, answers[number].num_rows, draws.get(number, {}))
            for slot, number in run.asked.items()
        }


def _places(job: Job) -> dict[_Form, list[int]]:
    """The places that a plan for a job has, of each query."""
    instants = len({place for numbers in job.values() for place in numbers})
    return {form: places_for(numbers, instants) for form, numbers in job.items()}


def _size(form: _Form) -> int:
    """How large the plan of a query is, in parts that are SELECTs of their own."""
    return max(1, form.statement.answers) if isinstance(form.statement, RowStatement) else 1


def _form(work: RowWork) -> _Form:
    return _Form(work.statement, work.types.windows, work.types.outputs)


def _bytes(work: RowWork) -> int:
    return sum(window.bytes for window in work.windows)


def _part(work: RowWork) -> int:
    """Which shard it is."""
    return next((window.share.part for window in work.windows if window.share is not None), 0)


def _named(work: RowWork, table: pa.Table | None) -> pa.Table:
    """The rows with the names and types that the query has; what is given for aggregates as it is."""
    if isinstance(work.statement, RowAggregates):
        return pa.table({}) if table is None else table
    types = work.types
    schema = pa.schema(list(zip(types.names, types.outputs)))
    if table is None:
        return schema.empty_table()
    return table.rename_columns(list(types.names)).cast(schema)
