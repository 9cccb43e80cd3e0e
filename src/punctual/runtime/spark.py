"""The data plane on Spark: session, analysis, the job of a tick, and the evaluation of answers."""

from __future__ import annotations

import signal
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import pyarrow as pa
from pyspark import SparkContext

from punctual.plan.expression import cast
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.sql_text import quoted
from punctual.ports.feeds.static_tables import read_table
from punctual.runtime import session
from punctual.runtime.analysis import typecheck
from punctual.runtime.backend import Question, Tick, TypeReport, TypeRequest
from punctual.runtime.evaluate import evaluate
from punctual.runtime.operators.in_worker import AsJob, packed
from punctual.runtime.operators.shards import AnswerShards
from punctual.runtime.tick import Jobs, bare_job


class SparkBackend:
    """The data plane of a running program. Starting it starts a JVM unless this process has one."""

    def __init__(self, master: str | None = None, options: Mapping[str, str] | None = None) -> None:
        former = SparkContext._active_spark_context
        with _own_interrupt():
            self.spark = session.start(master, "punctual", options or {})
        self._shared = self.spark.sparkContext is former
        self._slots = self.spark.sparkContext.defaultParallelism
        self._jobs = Jobs(self.spark, self._slots)
        self._tag = f"punctual-{uuid.uuid4().hex}"
        self._tagged = threading.local()

    def typecheck(
        self, relations: Sequence[Declared], requests: Sequence[TypeRequest], known: Sequence[Stream | Table]
    ) -> TypeReport:
        return typecheck(self.spark, relations, requests, known)

    def tick(self, tick: Tick) -> pa.Table:
        self._tag_thread()
        return self._jobs.run(tick)

    def shards(self, operator: AnswerShards) -> pa.Table:
        self._tag_thread()
        tasks = min(operator.shards, self._slots)
        return bare_job(self.spark, AsJob(packed(replace(operator, tasks=tasks)), ordered=False), tasks)()

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        self._tag_thread()
        return evaluate(self.spark, questions)

    def table(self, table: Table) -> pa.Table:
        declared = [(column.name, column.type) for column in table.columns if column.derived is None]
        source = table.source
        frame = read_table(self.spark, declared, source.path, source.format, source.options)
        values = [
            quoted(c.name) if c.derived is None else f"{cast(c.derived, c.type).sql} AS {quoted(c.name)}"
            for c in table.columns
        ]
        return frame.selectExpr(*values).toArrow()

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
        if not self._shared:
            session.stop(self.spark)
            return
        with suppress(Exception):  # a JVM that died runs no jobs
            self.spark.sparkContext.cancelJobsWithTag(self._tag)

    def _tag_thread(self) -> None:
        """Jobs of this thread are ours, from now on: closing ends them. The engine's threads run nothing else."""
        if not getattr(self._tagged, "done", False):
            self.spark.sparkContext.addJobTag(self._tag)
            self.spark.sparkContext.setInterruptOnCancel(True)
            self._tagged.done = True


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """PySpark takes Ctrl-C for itself when its context starts; who runs the program decides what it means."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
