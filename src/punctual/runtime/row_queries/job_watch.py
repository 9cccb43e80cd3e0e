"""A job that is watched while it runs: a query whose join runs away is named, and the job is ended.

A job that takes too long is ended as well.

Tasks report with every heartbeat how many rows each operator has made so far, and Spark keeps that for its pages about
running queries, shown or not. One call to the JVM has the plan of a running job as a graph with these numbers. Jobs
that end soon are never looked at.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from punctual.clock import SECOND, SystemClock
from punctual.runtime.backend import JobLimit, OverdueError
from punctual.runtime.row_queries.plan_graph import Excess, RunawayError, excess_of, plan_graph

FIRST_LOOK_S = 5.0
LOOK_S = 2.0
CANCEL_S = 0.2
"""A job that is to end is told so again and again: it may not have begun."""
DESCRIPTION = "spark.job.description"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bound:
    """Whose slot it is, and how many rows an operator of it may make."""

    query: str
    join_rows: int


class JobWatch:
    """Watches jobs of one session, one at a time."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def run(self, job: Callable[[], T], bounds: Mapping[str, Bound], limit: JobLimit | None = None) -> T:
        """Run a job whose slots are bounded, and that is ended by its limit.

        Raises
        ------
        RunawayError
            Where a slot went beyond its bound, and the job was ended for it.
        OverdueError
            Where it was under way for too long.
        """
        context, name = self._session.sparkContext, f"punctual rows {uuid.uuid4().hex}"
        look = _Look(self._session, name, bounds)
        context.setLocalProperty(DESCRIPTION, name)
        look.start()
        try:
            return job() if limit is None else run_until(self._session, job, limit)
        except OverdueError:
            raise
        except Exception:
            if look.found is not None:
                raise RunawayError(bounds[look.found.slot].query, look.found) from None
            raise
        finally:
            look.done.set()
            context.setLocalProperty(DESCRIPTION, None)


def run_until(session: SparkSession, job: Callable[[], T], limit: JobLimit) -> T:
    """Run a job that is ended at its limit, whatever its tasks are at.

    Raises
    ------
    OverdueError
        Where it was still under way then.
    """
    context, name, done = session.sparkContext, f"punctual until {uuid.uuid4().hex}", threading.Event()
    if limit.ended:
        raise OverdueError
    ends = _Limit(session, name, limit, done)
    context.addJobTag(name)
    ends.start()
    try:
        return job()
    except Exception:
        if ends.passed:
            raise OverdueError from None
        raise
    finally:
        done.set()
        limit.wake()
        context.removeJobTag(name)


class _Limit(threading.Thread):
    """Ends a job, by its tag, that is not done by its limit."""

    def __init__(self, session: SparkSession, tag: str, limit: JobLimit, done: threading.Event) -> None:
        super().__init__(name="punctual limit", daemon=True)
        self._session = session
        self._tag = tag
        self._limit = limit
        self._done = done
        self.passed = False

    def run(self) -> None:
        left = (self._limit.until - SystemClock().monotonic()) / SECOND
        self._limit.wait(max(0.0, left), self._done.is_set)
        with suppress(Py4JError, OSError):
            while not self._done.is_set():
                self.passed = True
                self._session.sparkContext.cancelJobsWithTag(self._tag)
                self._done.wait(CANCEL_S)


class _Look(threading.Thread):
    """Looks at a job now and then until it is done."""

    def __init__(self, session: SparkSession, name: str, bounds: Mapping[str, Bound]) -> None:
        super().__init__(name="punctual watch", daemon=True)
        self._session = session
        self._job = name
        self._limits = {slot: bound.join_rows for slot, bound in bounds.items()}
        self._since: dict[tuple[int, ...], float] = {}
        self.found: Excess | None = None
        self.done = threading.Event()

    def run(self) -> None:
        if self.done.wait(FIRST_LOOK_S):
            return
        # A JVM that dies is noticed by whoever waits for the job.
        with suppress(Py4JError, OSError):
            store = self._session._jsparkSession.sharedState().statusStore()
            while not self.done.wait(LOOK_S):
                execution = self._execution(store)
                if execution is None:
                    continue
                number = execution.executionId()
                graph = plan_graph(str(store.planGraph(number).makeDotFile(store.executionMetrics(number))))
                found = excess_of(graph, self._limits, self._since, time.monotonic())
                if found is not None and not self.done.is_set():
                    self.found = found
                    self._cancel(execution)
                    return

    def _execution(self, store: Any) -> Any:
        listed = store.executionsList()
        several = [listed.apply(place) for place in range(listed.size())]
        return next((one for one in several if one.description() == self._job), None)

    def _cancel(self, execution: Any) -> None:
        numbers = str(execution.jobs().keys().mkString(","))
        for job in filter(None, numbers.split(",")):
            self._session.sparkContext._jsc.sc().cancelJob(int(job))
