"""Punctual in this process, on a Spark session that stays warm from one program to the next.

Only the replay is measured: ``prepared`` gives an engine that is open (program checked, state made). Programs that are
compared take turns tick by tick. Answers are kept by reference, to be checked after the clock has stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from benchmarks.processes import Meter
from punctual.engine.engine import Engine
from punctual.ports.sinks.memory import MemorySink
from punctual.runtime import session
from punctual.runtime.backend import Tick
from punctual.runtime.spark import SparkBackend


class WarmBackend(SparkBackend):
    """A data plane that outlives its engine, and remembers the last tick that it ran."""

    last: Tick | None = None

    def tick(self, tick: Tick) -> pa.Table:
        self.last = tick
        return super().tick(tick)

    def close(self) -> None:
        """The session is ended by ``warm``."""


@contextmanager
def warm() -> Iterator[WarmBackend]:
    """A Spark session for as many programs as one likes."""
    backend = WarmBackend()
    try:
        yield backend
    finally:
        session.stop(backend.spark)


@contextmanager
def prepared(backend: WarmBackend, program: str, *, files_per_tick: int) -> Iterator[tuple[Engine, MemorySink]]:
    """An open engine for the program, and where its answers go."""
    sink = MemorySink()
    options = {"max_files_per_tick": str(files_per_tick)}
    engine = Engine(live=False, options=options, backend=lambda: backend)
    engine.add_sink("memory", sink)
    with engine:
        engine.sql(program)
        engine.open()
        yield engine, sink


@dataclass(slots=True)
class Replay:
    """A program over all its files: each step measured, the last one answers what the end of the rows releases."""

    sink: MemorySink
    steps: list[Meter] = field(default_factory=list)
    rows: int = 0
    answers: int = 0

    def tables(self, query: str) -> list[pa.Table]:
        """The answers of a query."""
        return [block.table for block in self.sink.blocks(query)]


def replay_in_turns(backend: WarmBackend, programs: Sequence[str], *, files_per_tick: int) -> list[Replay]:
    """Replay programs over the same files, a tick of each in turn: whatever grows warm does so for all of them."""
    with ExitStack() as stack:
        opened = [stack.enter_context(prepared(backend, one, files_per_tick=files_per_tick)) for one in programs]
        replays = [Replay(sink) for _engine, sink in opened]
        going = True
        while going:
            for (engine, _sink), taken in zip(opened, replays):
                with Meter() as meter:
                    settled = engine.tick()
                    going = settled is not None
                    if settled is None:
                        settled = engine.end()
                taken.steps.append(meter)
                if settled is not None:
                    taken.rows += settled.rows
                    taken.answers += settled.answers
    return replays
