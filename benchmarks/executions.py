"""What each execution of a real engine costs: merges counted, CPU seconds taken.

A pass of the engine is watched where it answers: the kernel's scan or fold, and the making of answers; not the Spark
job that read the rows, and not the log. Two ways:

* *together*, as the engine does it in a replay: one call for everything that a batch released. A scan then shares
  whatever coincides at an instant, also among queries whose plan says that they run apart.
* *one by one*: the same pass is cut into executions (an instant and the run that answers it), and each is a call of its
  own, as in the papers' cost model. Answers are the same.

CPU seconds are those of the driver process, all its threads; the JVM is another process and idles meanwhile.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import pyarrow as pa

from benchmarks.engines import WarmBackend, prepared
from punctual.clock import Micros
from punctual.engine.answers.answering import AnsweredPass
from punctual.engine.answers.row_answers import RowBounds
from punctual.engine.core import Core
from punctual.engine.engine import Engine
from punctual.engine.held.holders import Holders
from punctual.engine.program.cadences import Timing
from punctual.kinds.job_group import JobGroup
from punctual.ports.answers import AnswerBlock, Answers
from punctual.ports.sinks.memory import MemorySink
from punctual.share.cadence.class_plan import ClassPlan
from punctual.share.cadence.class_plans import class_plans


@dataclass(frozen=True, slots=True)
class Execution:
    """One call: of an execution, or of a whole pass (then ``at`` is its last instant).

    ``kernel`` is the part of ``cpu`` until states are merged and read; the rest makes rows and blocks of answers.
    """

    at: Micros
    queries: tuple[str, ...]
    answers: int
    merges: int
    cpu: float
    kernel: float


class Metered:
    """A memory that says how long it answered."""

    def __init__(self, memory: Holders) -> None:
        self.scan, self.streams, self.keys = memory.scan, memory.streams, memory.keys
        self.cpu = 0.0
        self._memory = memory

    def answer(self, jobs: Sequence[JobGroup]) -> Any:
        began = process_time()
        answered = self._memory.answer(jobs)
        self.cpu = process_time() - began
        return answered


class StandsIn:
    """Stands in for ``answer`` of an engine's passes until it leaves."""

    def __init__(self, core: Core) -> None:
        self._answering = core._answering
        self._answer = core._answering.answer
        self._answering.answer = self  # type: ignore[method-assign]

    def leave(self) -> None:
        """Watch no more, and let the engine go."""
        del self._answering.answer, self._answering, self._answer

    def __call__(self, jobs: list[JobGroup], memory: Holders, timing: Timing, bounds: RowBounds) -> AnsweredPass:
        return self._answer(jobs, memory, timing, bounds)


class Watched(StandsIn):
    """``calls`` are in the order of time."""

    def __init__(self, core: Core, *, one_by_one: bool) -> None:
        super().__init__(core)
        self.calls: list[Execution] = []
        self._one_by_one = one_by_one

    def __call__(self, jobs: list[JobGroup], memory: Holders, timing: Timing, bounds: RowBounds) -> AnsweredPass:
        tables: dict[str, list[pa.Table]] = {}
        metered = Metered(memory)
        for some in _executions(jobs) if self._one_by_one else [jobs]:
            merges, began = _merges(memory), process_time()
            answered = self._answer(some, metered, timing, bounds)  # type: ignore[arg-type]
            cpu = process_time() - began
            assert not answered.failed, answered.failed
            self.calls.append(
                Execution(
                    max(int(one.due.instants[-1]) for one in some),
                    tuple(name for one in some for name in one.asked.queries.tolist()),
                    sum(one.size for one in some),
                    _merges(memory) - merges,
                    cpu,
                    metered.cpu,
                )
            )
            for block in answered.blocks:
                tables.setdefault(block.query, []).append(block.table)
        blocks = [AnswerBlock(query, pa.concat_tables(several)) for query, several in tables.items()]
        return AnsweredPass(Answers.of(blocks))


def _merges(memory: Holders) -> int:
    return sum(panes.merges for panes in memory._panes.values())


def _executions(jobs: list[JobGroup]) -> Iterator[list[JobGroup]]:
    """The queries that one run answers at one instant, by instant."""
    found: dict[tuple[Micros, str], list[JobGroup]] = {}
    for one in jobs:
        due = one.due
        for at, ran in zip(due.instants.tolist(), due.ran.tolist()):
            found.setdefault((at, due.runs[ran].label), []).append(one.only(due.instants == at))
    for which in sorted(found):
        yield found[which]


@dataclass(frozen=True, slots=True)
class Run:
    """A program that ran: its plan, its calls after each tick, and its answers."""

    plan: ClassPlan
    watched: Watched
    sink: MemorySink
    ends: list[int] = field(default_factory=list)
    """How many calls there were after each tick."""

    @property
    def calls(self) -> list[Execution]:
        return self.watched.calls

    def measured(self) -> list[Execution]:
        """Calls after the first tick, which fills the windows."""
        return self.calls[self.ends[0] :]

    def tables(self, query: str) -> list[pa.Table]:
        return [block.table for block in self.sink.blocks(query)]


@contextmanager
def _opened(backend: WarmBackend, program: str, *, one_by_one: bool) -> Iterator[tuple[Engine, Run]]:
    with prepared(backend, program, files_per_tick=1) as (engine, sink):
        core = engine._opened().core
        scan = core.programs.options.window_merge == "scan"
        (plan,) = class_plans(core.programs.running.plan, core.programs.options.cadence, scan=scan)
        yield engine, Run(plan, Watched(core, one_by_one=one_by_one), sink)


def run_in_turns(backend: WarmBackend, programs: Mapping[str, str], *, one_by_one: bool) -> dict[str, Run]:
    """Run programs of one sharing class over the same files, a file of each in turn."""
    with ExitStack() as stack:
        opened = {
            name: stack.enter_context(_opened(backend, program, one_by_one=one_by_one))
            for name, program in programs.items()
        }
        going = True
        while going:
            gc.collect()  # what earlier programs left is not for a measured call to clear
            for engine, run in opened.values():
                going = engine.tick() is not None
                if not going:
                    engine.end()
                run.ends.append(len(run.calls))
        for _engine, run in opened.values():
            run.watched.leave()
    return {name: run for name, (_engine, run) in opened.items()}
