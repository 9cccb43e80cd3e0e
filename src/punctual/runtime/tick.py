"""The one Spark job of a tick, over the slices of all streams.

What a job does is made once for a program and run again with other work: operators travel with the plan, the work
order with the job (``operators/order.py``). Where all units go the direct way, the job is an RDD of task numbers: no
Catalyst at all. Where some unit needs Spark's projection it is one DataFrame, a union of the direct operator and of one
frame per branch that Spark projects. Files that our scan does not read go through Spark's own readers; such a frame
names its files, so it is made anew with every tick.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from punctual.kernel.sample.draw import ITSELF
from punctual.own_names import ORIGIN, RAW, REASON, joined_column, joined_flag, own
from punctual.plan.rows import Join
from punctual.plan.sql_text import quoted
from punctual.runtime.backend import SliceWork, Tick
from punctual.runtime.core_time import StageTime
from punctual.runtime.direct_plan import direct_stream
from punctual.runtime.lower import Branch, Limits, branch_sql
from punctual.runtime.operators.direct import ScanAndReduce
from punctual.runtime.operators.enrich import Lookup
from punctual.runtime.operators.in_worker import AsJob, ByRows, ByTask, Timed, packed
from punctual.runtime.operators.order import PROPERTY, written
from punctual.runtime.operators.projected import ReduceProjected
from punctual.runtime.operators.reduction import Reduce
from punctual.runtime.operators.scan_rows import LIMITS, ScanRows
from punctual.runtime.work_orders import work_order
from punctual.scan.marks import MARKS
from punctual.scan.open_part import Reading
from punctual.scan.parts import Weighed
from punctual.store.products import OUTPUT_DDL, from_ipc, to_ipc

MOST_JOBS = 8
"""How many jobs are kept: a program has one for each set of streams in which something waits."""
UNCUT_BYTES = 16 << 20
"""How much a task reads of what Spark's own readers read."""


@dataclass(frozen=True, slots=True)
class _Read:
    """One stream's part of a tick: its work, and how tasks read it; None where Spark's readers must."""

    work: SliceWork
    reading: Reading | None

    def split(self) -> tuple[list[Branch], list[Branch]]:
        """Branches of the direct way, and those that Spark projects."""
        direct: list[Branch] = []
        projected: list[Branch] = []
        for branch in self.work.branches:
            (projected if branch.direct is None or self.reading is None else direct).append(branch)
        return direct, projected


@dataclass(frozen=True, slots=True)
class _Job:
    """A job that can be run again, and what it was made for, which lives as long as the job."""

    run: Callable[[], pa.Table]
    made_for: object


class Jobs:
    """The jobs of a program on one session."""

    def __init__(self, spark: SparkSession, slots: int) -> None:
        self._spark = spark
        self._slots = slots
        self._jobs: dict[object, _Job] = {}
        self._views = TableViews()
        self._carried: dict[str, tuple[pa.Table, str, Any]] = {}
        self.stages = StageTime(spark.sparkContext.accumulator(0))
        """What scans used whose rows Spark projects."""

    def run(self, tick: Tick) -> pa.Table:
        """Run the job of a tick; the result's size follows the number of cells, not of rows."""
        reads: list[_Read] = []
        parts: dict[str, Weighed] = {}
        for work in tick.work:
            found = work.feed.parts(work.slice)
            if found is not None:
                parts[work.stream] = found
            reads.append(_Read(work, None if found is None else work.feed.reading))
        order = work_order(tick.work, parts, tick.incoming, self._slots)
        self._spark.sparkContext.setLocalProperty(PROPERTY, written(order))
        tasks = len(order.tasks)
        if any(read.reading is None for read in reads):
            return self._made(tick, reads, tasks).run()
        made_for = (tuple((work.branches, work.late) for work in tick.work), tuple(tick.tables.values()))
        key = (tasks, tick.shards, *(id(one) for one in _flat(made_for)))
        if key not in self._jobs:
            if len(self._jobs) >= MOST_JOBS:
                self._jobs.clear()
            self._jobs[key] = _Job(self._made(tick, reads, tasks).run, made_for)
        return self._jobs[key].run()

    def _made(self, tick: Tick, reads: Sequence[_Read], tasks: int) -> _Job:
        spark = self._spark
        streams = []
        frames: list[DataFrame] = []
        for number, read in enumerate(reads):
            direct, projected = read.split()
            if direct:
                assert read.reading is not None
                streams.append(
                    direct_stream(read.work, direct, read.reading, tick.shards, partial(self._lookup, tick))
                )
            if projected:
                frames += self._projected(tick, read, projected, tasks, number)
        operator = packed(ScanAndReduce(tuple(streams)))
        if not frames:
            return _Job(bare_job(spark, AsJob(operator), tasks), None)
        if streams:
            frames.append(self._numbers(tasks).mapInArrow(Timed(ByTask(operator)), OUTPUT_DDL))
        union = reduce(DataFrame.unionAll, frames)
        whole = union.coalesce(self._slots) if len(frames) > 1 else union
        return _Job(whole.toArrow, None)

    def _numbers(self, tasks: int) -> DataFrame:
        return self._spark.range(0, tasks, 1, tasks)

    def _projected(
        self, tick: Tick, read: _Read, branches: Sequence[Branch], tasks: int, number: int
    ) -> list[DataFrame]:
        """One frame per branch: the rows of the stream, projected by Spark, reduced."""
        work, spark = read.work, self._spark
        marked = any(branch.marked for branch in branches)
        if read.reading is None:
            rows = work.feed.read(spark, work.slice)
            given = next(column for column in branches[0].stream.columns if column.derived is None)
            bounds = (work.earliest, work.horizon, work.complete_through)
            limits = [limit_sql(bound, given.name) for bound in bounds] + [str(work.tops).lower()]
            added = [*zip(LIMITS, limits), *((name, f"{ITSELF}L") for name in MARKS if marked)]
            rows = rows.selectExpr("*", *(f"{value} AS {quoted(name)}" for name, value in added))
            tasks = max(1, min(self._slots, -(-work.slice.size // UNCUT_BYTES)))
        else:
            scan = ScanRows(work.stream, read.reading, marked)
            stage = Timed(ByTask(packed(scan)), self.stages.told)
            rows = self._numbers(tasks).mapInArrow(stage, _ddl(read.reading, marked))
        view = own(f"slice {number}")
        rows.createOrReplaceTempView(quoted(view))
        frames = []
        for branch in branches:
            tables = {j.alias: self._views.view(spark, j, tick.tables[j.table.lower()]) for j in branch.joins}
            text = branch_sql(branch, view, tables, Limits(*map(quoted, LIMITS)))
            late = work.late if branch.counted else None
            reduction = Reduce(work.stream, branch.units, late, tick.shards, branch.counted, branch.retain)
            stage = Timed(ByRows(packed(ReduceProjected(reduction))))
            frames.append(spark.sql(text).coalesce(tasks).mapInArrow(stage, OUTPUT_DDL))
        return frames

    def _lookup(self, tick: Tick, join: Join, outer: bool) -> Lookup:
        """A join as a table that is looked up; its content travels once."""
        name = join.table.lower()
        table = tick.tables[name]
        known = self._carried.get(name)
        if known is None or known[0] is not table:
            payload = self._spark.sparkContext.broadcast(to_ipc(table).to_pybytes())
            known = self._carried[name] = (table, uuid.uuid4().hex, payload)
        on = tuple((row.column or "", column) for row, column in join.on)
        return Lookup(join.alias, on, outer, known[1], known[2])


def bare_job(spark: SparkSession, stage: AsJob, tasks: int) -> Callable[[], pa.Table]:
    """A job of one stage over task numbers, without Catalyst; it can be run again."""
    rdd = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(stage)
    return lambda: pa.concat_tables([from_ipc(one) for one in rdd.collect()])


def _flat(nested: object) -> list[object]:
    return [one for inner in nested for one in _flat(inner)] if type(nested) is tuple and nested else [nested]


def _ddl(reading: Reading, marked: bool) -> str:
    declared = [f"{quoted(name)} {kind}" for name, kind in reading.columns]
    ours = [f"{quoted(name)} STRING" for name in (REASON, RAW, ORIGIN)]
    added = LIMITS | (dict.fromkeys(MARKS, "BIGINT") if marked else {})
    return ", ".join([*declared, *ours, *(f"{quoted(name)} {kind}" for name, kind in added.items())])


def limit_sql(value: int, column: str) -> str:
    """A number that moves with every tick, as SQL that does not make Spark compile the stage again.

    Catalyst writes a plain number into the Java code of the stage, so a limit that moves would have that code compiled,
    loaded and warmed up again with every tick: a hundred milliseconds. An array is passed by reference, and an index
    that depends on the row (on whether a column is NULL) keeps Catalyst from folding its element back into a number.
    """
    return f"array({value}L, {value}L)[CAST({quoted(column)} IS NULL AS INT)]"


class TableViews:
    """Views of static tables, one for each join, remade when the table's content changes."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], tuple[pa.Table, str]] = {}

    def view(self, spark: SparkSession, join: Join, table: pa.Table) -> str:
        key = (join.table.lower(), join.alias)
        made = self._made.get(key)
        if made is None or made[0] is not table:
            name = own(f"table {len(self._made)}") if made is None else made[1]
            spark.createDataFrame(joined_table(join, table)).hint("broadcast").createOrReplaceTempView(quoted(name))
            made = self._made[key] = (table, name)
        return made[1]


def joined_table(join: Join, table: pa.Table) -> pa.Table:
    """The table as columns of the enriched row, and the flag that says that a row was found."""
    names = [*(joined_column(join.alias, column) for column in table.column_names), joined_flag(join.alias)]
    return pa.Table.from_arrays([*table.columns, pa.repeat(True, table.num_rows)], names=names)


def unique_keys(table: pa.Table, columns: tuple[str, ...]) -> bool:
    """Whether no two rows of the table agree on these columns (rows with a NULL there are never found)."""
    keys = table.select(list(columns)).drop_null()
    return bool(keys.num_rows == keys.group_by(list(columns)).aggregate([]).num_rows)
