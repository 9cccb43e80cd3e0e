"""The data plane on Spark: session, analysis, the job of a tick, and the evaluation of answers."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from punctual.clock import Micros
from punctual.plan.expression import cast
from punctual.plan.operators import OperatorNode
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.row_query import RowStatement
from punctual.plan.sql_text import quoted
from punctual.ports.feeds.static_tables import TableFiles
from punctual.runtime import session
from punctual.runtime.analysis import typecheck
from punctual.runtime.backend import (
    JobLimit,
    QueryTypes,
    Question,
    RowAnswers,
    RowTypeRequest,
    RowWork,
    Tick,
    TypeReport,
    TypeRequest,
)
from punctual.runtime.core_time import CoreTime, JvmClock
from punctual.runtime.evaluate import evaluate
from punctual.runtime.jvm.starting import Starting
from punctual.runtime.operators.functions.call_functions import CallFunctions
from punctual.runtime.operators.in_worker import AsJob, packed
from punctual.runtime.operators.merge_rows import MergeRows
from punctual.runtime.operators.shards import AnswerShards
from punctual.runtime.operators.window_rows import CountRows
from punctual.runtime.plain_types import plain_rows, plain_types
from punctual.runtime.row_queries.job_watch import run_until
from punctual.runtime.row_queries.row_analysis import typecheck_rows
from punctual.runtime.row_queries.row_plans import RowPlans
from punctual.runtime.tick import Jobs, bare_job


class SparkBackend:
    """The data plane of a running program.

    Making it begins to start a JVM, unless this process has one; with ``at_once`` false that begins when Spark is first
    needed. Whoever needs it waits, and gets what went wrong.
    """

    def __init__(
        self, master: str | None = None, options: Mapping[str, str] | None = None, *, at_once: bool = True
    ) -> None:
        self._master = master
        self._session = Starting(partial(session.start, master, "punctual", options or {}))
        self._jobs: Jobs | None = None
        self._row_plans: RowPlans | None = None
        self._tag = f"punctual-{uuid.uuid4().hex}"
        self._tagged = threading.local()
        self._beside = threading.local()
        self._slots = 0
        self._jvm: int | None = None
        self._core_time = CoreTime(JvmClock(lambda: self._jvm))
        if at_once:
            self._session.begin()
            if session.is_running():
                self._session.get()  # it is only shared, and what cannot be is said at once

    @property
    def spark(self) -> SparkSession:
        """The session, once it has started."""
        return self._session.get()

    @property
    def slots(self) -> int:
        """How many tasks are worth while: one per core. There are more slots on one machine, for jobs beside it."""
        if not self._slots:
            context = self.spark.sparkContext
            self._slots = session.local_cores(context.master) or context.defaultParallelism
        return self._slots

    @property
    def cores(self) -> int:
        master = session.running_master() or self._master or session.default_master()
        return session.local_cores(master) or self.slots

    @property
    def core_time(self) -> CoreTime:
        return self._core_time

    def typecheck(
        self,
        relations: Sequence[Declared],
        requests: Sequence[TypeRequest | RowTypeRequest],
        known: Sequence[Stream | Table],
    ) -> TypeReport:
        others = [request for request in requests if isinstance(request, TypeRequest)]
        report = self._typecheck(relations, others, known)
        of_rows = [request for request in requests if isinstance(request, RowTypeRequest)]
        plain, left = plain_rows(relations, of_rows, known)
        report = TypeReport({**report.queries, **plain}, report.errors)
        if not left:
            return report
        found = typecheck_rows(self.spark, relations, left, known)
        return TypeReport({**report.queries, **found.queries}, (*report.errors, *found.errors))

    def _typecheck(
        self, relations: Sequence[Declared], requests: Sequence[TypeRequest], known: Sequence[Stream | Table]
    ) -> TypeReport:
        plain = plain_types(relations, requests, known)
        if plain.complete:
            return TypeReport(plain.queries, ())
        odd = {declared.relation.name for declared in plain.relations}
        seen = (*known, *(one.relation for one in relations if one.relation.name not in odd))
        found = typecheck(self.spark, plain.relations, plain.requests, seen)
        if found.errors:
            # What is wrong is said as if nobody had looked before: in one order, and of all that reads it.
            return typecheck(self.spark, relations, requests, known)
        return TypeReport({**plain.queries, **found.queries}, ())

    def tick(self, tick: Tick) -> pa.Table:
        self._tag_thread()
        if self._jobs is None:
            self._jobs = Jobs(self.spark, self.slots)
        with self._core_time.call():
            found = self._jobs.run(tick)
        self._core_time.add(self._jobs.stages.take())
        return self._core_time.reported(found)

    def run_tasks(
        self, operator: AnswerShards | MergeRows | CountRows | CallFunctions, until: Micros | None = None
    ) -> pa.Table:
        self._tag_thread()
        tasks = min(operator.most_tasks, self.slots)
        job = bare_job(self.spark, AsJob(packed(replace(operator, tasks=tasks)), ordered=False), tasks)
        with self._core_time.call():
            found = job() if until is None else run_until(self.spark, job, JobLimit(until))
        return self._core_time.reported(found)

    def rows(
        self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], until: Micros | None = None
    ) -> RowAnswers:
        self._tag_thread()
        if self._row_plans is None:
            self._row_plans = RowPlans(self.spark, self.slots, self._core_time)
        with self._core_time.call():
            return self._row_plans.run(work, tables, None if until is None else JobLimit(until))

    def rows_beside(self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], limit: JobLimit) -> RowAnswers:
        self._tag_thread()
        plans: RowPlans | None = getattr(self._beside, "plans", None)
        if plans is None:  # each thread has a session of its own: views and orders of jobs are of one thread
            plans = self._beside.plans = RowPlans(self.spark, self.slots, self._core_time)
        with self._core_time.call():
            return plans.run(work, tables, limit)

    def row_operators(
        self, statement: RowStatement, types: QueryTypes, tables: Mapping[str, pa.Table]
    ) -> OperatorNode | None:
        return RowPlans(self.spark, 1).operators(statement, types, tables)  # another thread has its own

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        self._tag_thread()
        with self._core_time.call():
            return evaluate(self.spark, questions)

    def table(self, table: Table) -> pa.Table:
        declared = [(column.name, column.type) for column in table.columns if column.derived is None]
        source = table.source
        files = TableFiles(declared, source.path, source.format, source.options)
        if len(declared) == len(table.columns):
            scanned = files.scanned()
            if scanned is not None:
                return scanned
        values = [
            quoted(c.name) if c.derived is None else f"{cast(c.derived, c.type).sql} AS {quoted(c.name)}"
            for c in table.columns
        ]
        return files.read(self.spark).selectExpr(*values).toArrow()

    def alive(self) -> bool:
        # A process that is ending closes its sockets before it is gone, and a context may stop in a JVM that lives on.
        if not session.jvm_alive(self.spark):
            return False
        try:
            return not self.spark.sparkContext._jsc.sc().isStopped()
        except Exception:
            return False

    def pid(self) -> int | None:
        return session.jvm_pid(self.spark)

    def close(self) -> None:
        if not self._session.begun():
            return
        with suppress(Exception):  # one that did not start has nothing to end, and a JVM that died runs no jobs
            if session.is_own(self.spark):
                session.stop(self.spark)
            else:
                self.spark.sparkContext.cancelJobsWithTag(self._tag)

    def _tag_thread(self) -> None:
        """Jobs of this thread are ours, from now on: closing ends them. The engine's threads run nothing else."""
        if not getattr(self._tagged, "done", False):
            self._jvm = session.jvm_pid(self.spark)
            self.spark.sparkContext.addJobTag(self._tag)
            self.spark.sparkContext.setInterruptOnCancel(True)
            self._tagged.done = True
