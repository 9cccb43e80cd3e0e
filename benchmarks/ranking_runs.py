"""Rankings on a running engine, without a JVM: what each execution of a program takes while its rows come by.

The engine is the real one (plans, panes, kernels, answers, log); only the job that would read rows on Spark is done by
the data plane of ``tests/inprocess``, and reading is not measured. The same programs run on Spark
where the backend is Spark's.

A program's first batch fills its windows; the second is measured. What it releases is answered in calls, by one of two
cuts: *one by one*, an instant and the run that answers it, as in the papers' cost model; *by instant*, everything that
is due at an instant at once, as an engine does that keeps up with its stream. Answers are the same. CPU seconds are
those of this process, in the kernel and in making answers. ``merges`` of an :class:`Execution` are its largest k here,
which is what the model takes for its cost.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Literal

import pyarrow as pa
from tests.inprocess.backend import InProcess

from benchmarks.executions import Execution, Metered, StandsIn
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
from punctual.runtime.backend import Backend
from punctual.share.cadence.class_plan import ClassPlan
from punctual.share.cadence.class_plans import class_plans

Cut = Literal["one by one", "by instant", "not at all"]
Batches = Sequence[Mapping[str, pa.Table]]
"""Rows by stream, batch after batch."""


class WarmInProcess(InProcess):
    """A data plane in this process that outlives its engines."""

    def close(self) -> None:
        """The connection goes with the process."""


@dataclass(slots=True)
class Ran:
    """A program that ran: its plans, its measured calls and its answers."""

    plans: Sequence[ClassPlan]
    sink: MemorySink
    calls: list[Execution] = field(default_factory=list)
    accepted: int = 0
    kept: int = 0
    """Rows that were accepted, and those that panes hold after the last batch."""

    @property
    def cpu(self) -> float:
        return sum(call.cpu for call in self.calls)

    @property
    def kernel(self) -> float:
        return sum(call.kernel for call in self.calls)

    @property
    def answers(self) -> int:
        return sum(call.answers for call in self.calls)

    def tables(self, query: str) -> pa.Table:
        return pa.concat_tables(block.table for block in self.sink.blocks(query))


class _Watched(StandsIn):
    """Measures ``ran`` while it is told to."""

    def __init__(self, core: Core, ran: Ran, cut: Cut) -> None:
        super().__init__(core)
        self.measuring = False
        self._ran = ran
        self._cut = cut

    def __call__(self, jobs: list[JobGroup], memory: Holders, timing: Timing, bounds: RowBounds) -> AnsweredPass:
        tables: dict[str, list[pa.Table]] = {}
        metered = Metered(memory)
        for some in cut_into(jobs, self._cut if self.measuring else "not at all"):
            began = process_time()
            answered = self._answer(some, metered, timing, bounds)  # type: ignore[arg-type]
            cpu = process_time() - began
            assert not answered.failed, answered.failed
            if self.measuring:
                queries = tuple(name for one in some for name in one.asked.queries.tolist())
                last = max(int(one.due.instants[-1]) for one in some)
                answers = sum(one.size for one in some)
                readers = [each.reader for one in some for each in one.asked.asked]
                ranks = max((reader.walk.steps for reader in readers if reader.walk), default=0)
                self._ran.calls.append(Execution(last, queries, answers, ranks, cpu, metered.cpu))
            for block in answered.blocks:
                tables.setdefault(block.query, []).append(block.table)
        blocks = [AnswerBlock(query, pa.concat_tables(several)) for query, several in tables.items()]
        return AnsweredPass(Answers.of(blocks))


def cut_into(jobs: list[JobGroup], cut: Cut) -> Iterator[list[JobGroup]]:
    """A pass in calls, in the order of time."""
    if cut == "not at all":
        yield from [jobs] if jobs else []
        return
    found: dict[tuple[Micros, str], list[JobGroup]] = {}
    for one in jobs:
        due = one.due
        for at, ran in zip(due.instants.tolist(), due.ran.tolist()):
            which = at, due.runs[ran].label if cut == "one by one" else ""
            found.setdefault(which, []).append(one.only(due.instants == at))
    for which in sorted(found):
        yield found[which]


def kept_rows(memory: Holders) -> int:
    """How many ranked rows the panes on the driver hold."""
    held = 0
    for panes in memory._panes.values():
        cells = panes.export()
        for column in cells.schema:
            items = column.type.value_type if pa.types.is_list(column.type) else None
            if items is not None and pa.types.is_struct(items) and items.get_field_index("s") >= 0:  # with a score
                held += len(cells.column(column.name).combine_chunks().flatten())
    return held


@contextmanager
def _opened(backend: Backend, program: str, cut: Cut) -> Iterator[tuple[Engine, Ran, _Watched]]:
    sink = MemorySink()
    engine = Engine(live=False, backend=lambda: backend)
    engine.add_sink("memory", sink)
    with engine:
        engine.sql(program)
        engine.open()
        core = engine._opened().core
        ran = Ran(class_plans(core.programs.running.plan, core.programs.options.cadence, scan=False), sink)
        watched = _Watched(core, ran, cut)
        yield engine, ran, watched
        ran.kept = kept_rows(core.held.holders)
        watched.leave()


def least(rounds: Sequence[Ran]) -> Ran:
    """The first of several runs of one program, every call at the least CPU time that it took in any of them."""
    calls = []
    for same in zip(*(ran.calls for ran in rounds), strict=True):
        assert len({(call.at, call.queries) for call in same}) == 1
        calls.append(min(same, key=lambda call: call.cpu))
    return replace(rounds[0], calls=calls)


def run_in_turns(backend: Backend, programs: Mapping[str, str], batches: Batches, cut: Cut) -> dict[str, Ran]:
    """Run programs over the same rows, a batch of each in turn; all but the first batch is measured."""
    with ExitStack() as stack:
        opened = {name: stack.enter_context(_opened(backend, text, cut)) for name, text in programs.items()}
        for number, batch in enumerate(batches):
            gc.collect()  # what earlier programs left is not for a measured call to clear
            for engine, ran, watched in opened.values():
                watched.measuring = number > 0
                for stream, rows in batch.items():
                    engine.feed(stream, rows)
                settled = engine.tick()
                assert settled is not None
                ran.accepted += settled.rows
                if number == len(batches) - 1:
                    engine.end()
    return {name: ran for name, (_engine, ran, _watched) in opened.items()}
