"""Punctual in this process, on a Spark session that stays warm from one program to the next.

Only the replay is measured: ``prepare`` gives an engine that is open (program judged, state made), ``replay`` reads all
files to their end. Answers are kept by reference, so that they can be checked after the clock has stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from benchmarks.processes import Meter
from punctual.engine.engine import Engine
from punctual.ports.sinks.memory import MemorySink
from punctual.runtime import session
from punctual.runtime.spark import SparkBackend


class WarmBackend(SparkBackend):
    """A data plane that outlives its engine."""

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


@dataclass(frozen=True, slots=True)
class Replay:
    """A program over all its files."""

    wall: float
    cpu: float
    rows: int
    answers: int
    sink: MemorySink

    def tables(self, query: str) -> list[pa.Table]:
        """The answers of a query."""
        return [block.table for block in self.sink.blocks(query)]


def replay(backend: WarmBackend, program: str, *, files_per_tick: int) -> Replay:
    """Read everything and answer all that is due; wall and CPU seconds of that alone."""
    rows = answers = 0
    with prepared(backend, program, files_per_tick=files_per_tick) as (engine, sink):
        with Meter() as meter:
            while (settled := engine.tick()) is not None:
                rows, answers = rows + settled.rows, answers + settled.answers
            last = engine.end()
        answers += last.answers if last is not None else 0
    return Replay(meter.wall, meter.cpu, rows, answers, sink)
