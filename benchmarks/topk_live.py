"""Rankings on a live engine that cannot quite keep up: by how much answers come later than their bounds allow.

The engine, its scheduler and its passes are the real ones; the clock is simulated. It stands still except while the
engine answers, when it goes on by the CPU seconds taken times a factor, and it jumps to the next second of rows when
there is nothing to do. Whatever arrived meanwhile is the next batch. So the run repeats up to the noise of CPU times,
and other programs on the machine do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from time import process_time

from benchmarks.executions import StandsIn
from benchmarks.topk_workloads import RANGE_S, Workload
from benchmarks.workload import EPOCH_US
from punctual.clock import SECOND, ManualClock, Micros
from punctual.engine.answers.answering import AnsweredPass
from punctual.engine.answers.row_answers import RowBounds
from punctual.engine.core import Core
from punctual.engine.engine import Engine
from punctual.engine.held.holders import Holders
from punctual.engine.program.cadences import Timing
from punctual.kinds.job_group import JobGroup
from punctual.runtime.backend import Backend


class _Spending(StandsIn):
    """Lets the clock pass, and notes when every query was answered."""

    def __init__(self, core: Core, clock: ManualClock, factor: float) -> None:
        super().__init__(core)
        self.ends: dict[str, list[Micros]] = {}
        self._clock = clock
        self._factor = factor

    def __call__(self, jobs: list[JobGroup], memory: Holders, timing: Timing, bounds: RowBounds) -> AnsweredPass:
        began = process_time()
        found = self._answer(jobs, memory, timing, bounds)
        self._clock.at += round(self._factor * (process_time() - began) * SECOND)
        for one in jobs:
            for name in one.asked.queries.tolist():
                self.ends.setdefault(name, []).extend([self._clock.at] * one.due.instants.size)
        return found


def live_latency(backend: Backend, workload: Workload, cadence: str, factor: float) -> float:
    """Mean latency of the queries in seconds."""
    clock = ManualClock(EPOCH_US)
    rows = workload.table()
    a_second = workload.rows // RANGE_S
    last = RANGE_S + workload.measured_s
    engine = Engine(live=True, clock=clock, backend=lambda: backend)
    with engine:
        engine.sql(workload.program(cadence))
        engine.open()
        core = engine._opened().core
        read = RANGE_S
        clock.at += RANGE_S * SECOND
        for stream, some in workload.by_stream(rows.slice(0, read * a_second)).items():
            engine.feed(stream, some)
        engine.tick()
        spending = _Spending(core, clock, factor)
        while read < last:
            clock.at = max(clock.at, EPOCH_US + (read + 1) * SECOND)
            there = min(last, (clock.at - EPOCH_US) // SECOND)
            for stream, some in workload.by_stream(rows.slice(read * a_second, (there - read) * a_second)).items():
                engine.feed(stream, some)
            read = there
            engine.tick()
        spending.leave()
    bounds = {f"q{i}": query.bound for i, query in enumerate(workload.queries())}
    return _latency(spending.ends, bounds)


def _latency(ends: Mapping[str, list[Micros]], bounds: Mapping[str, int]) -> float:
    """Over consecutive executions the sum of what gaps exceed the bound by, divided by the number of executions."""
    found = []
    for query, bound in bounds.items():
        at = ends.get(query, [])
        late = sum(max(0, later - one - bound * SECOND) for one, later in pairwise(at))
        found.append(late / max(1, len(at)) / SECOND)
    return sum(found) / len(found)
