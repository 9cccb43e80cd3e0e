"""A live engine with anytime queries, fed step by step by the wall clock, and a reader of its answers beside it.

Event time is wall time: a step of rows has happened just before it is fed, and completes the instant of the step
before. So timetables say when instants are released, as plans of epochs need it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from tests.inprocess.backend import InProcess

from benchmarks.answer_reader import Reader, Seen
from benchmarks.anytime_workload import STREAMS, TIME, status, tomorrow
from benchmarks.engines import WarmBackend
from punctual.clock import SECOND, Micros
from punctual.engine.engine import Engine
from punctual.runtime.backend import Tick

TICK = "50 ms"


@dataclass(frozen=True, slots=True)
class TickTook:
    """A tick that was run: what it read, and from when to when (seconds by the wall clock)."""

    streams: frozenset[str]
    began: float
    ended: float


class TimedSpark(WarmBackend):
    """Spark, with when its ticks ran."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks: list[TickTook] = []

    def tick(self, tick: Tick) -> pa.Table:
        began = time.time()
        found = super().tick(tick)
        self.ticks.append(TickTook(frozenset(work.stream for work in tick.work), began, time.time()))
        return found


class TimedInProcess(InProcess):
    """The data plane without Spark, for the quick form."""

    def __init__(self) -> None:
        super().__init__()
        self.cores = 2
        self.ticks: list[TickTook] = []

    def tick(self, tick: Tick) -> pa.Table:
        began = time.time()
        found = super().tick(tick)
        self.ticks.append(TickTook(frozenset(work.stream for work in tick.work), began, time.time()))
        return found

    def close(self) -> None:
        """It outlives its engines."""


Timed = TimedSpark | TimedInProcess


@dataclass(frozen=True, slots=True)
class Standing:
    """A query over one step of a stream at every step; ``rounds`` of its own for each answer."""

    name: str
    kind: str
    select: str
    deadlines_s: tuple[float, ...]
    rounds: int

    def statement(self, step: Micros) -> str:
        every, select = f"{step // 1000} MILLISECONDS", self.select
        for window in ("15 MINUTES", "1 HOUR"):
            select = select.replace(f"[RANGE {window}]", f"[RANGE {every}]")
        within = ", ".join(f"{round(1000 * deadline)} MILLISECONDS" for deadline in self.deadlines_s)
        return f"CREATE QUERY {self.name} AS {select} PERIOD {every} ANSWERS WITHIN {within} ROUNDS {self.rounds};"


def streams(step: Micros) -> str:
    """Both streams, fed; what is interpolated looks as far as two steps."""
    text = STREAMS.replace("WITHIN 2 HOURS", f"WITHIN {2 * step // 1000} MILLISECONDS")
    return text.replace("FROM FILES '{folder}/status' FORMAT PARQUET", "FROM FEED").replace(
        "FROM FILES '{folder}/tomorrow' FORMAT PARQUET", "FROM FEED"
    )


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows a step has: branches of each region with their machines, and a square of places."""

    branches: int = 10
    machines: int = 25
    side: int = 30


class Rows:
    """Rows of both streams, a few steps that come again and again with other times."""

    STEPS = 4

    def __init__(self, sizes: Sizes) -> None:
        random = np.random.default_rng(2012)
        tables = {
            "status": (status(random, sizes.branches, sizes.machines, self.STEPS), "healthtime"),
            "tomorrow": (tomorrow(random, sizes.side, self.STEPS), "forecast"),
        }
        self._tables: Mapping[str, tuple[pa.Table, str]] = tables

    def step(self, number: int, at: Micros) -> dict[str, pa.Table]:
        """Those that have happened by ``at``, by stream."""
        found = {}
        for stream, (table, column) in self._tables.items():
            count = table.num_rows // self.STEPS
            rows = table.slice(number % self.STEPS * count, count)
            times = pa.array(at - np.arange(count, dtype=np.int64), pa.int64()).cast(TIME)
            found[stream] = rows.set_column(rows.column_names.index(column), column, times)
        return found


class Live:
    """A program that runs, with somebody who reads its answers."""

    def __init__(self, backend: Timed, program: str, rows: Rows, **options: str) -> None:
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        (folder / "out").mkdir()
        self._rows = rows
        said = {"tick": TICK, "idle": "1 hour", **options}
        self.engine = Engine(
            str(folder / "state"), str(folder / "out"), base=str(folder), backend=lambda: backend, options=said
        )
        self.engine.sql(program)
        self.engine.start()
        self._reader = Reader(folder / "out")

    def feed(self, number: int, at: Micros) -> None:
        """A step of both streams."""
        for stream, rows in self._rows.step(number, at).items():
            self.engine.feed(stream, rows)

    def ended(self) -> list[Seen]:
        """Stop it; all answers."""
        self.engine.stop()
        self.engine.close()
        found = self._reader.ended()
        self._folder.cleanup()
        return found


def aligned(step: Micros, after_s: float = 0.5) -> Micros:
    """The next instant of a timetable, not too soon."""
    soon = time.time_ns() // 1000 + round(after_s * SECOND)
    return -(-soon // step) * step


def wait_until(at: float) -> None:
    """By the wall clock, in seconds."""
    time.sleep(max(0.0, at - time.time()))


def steps(live: Live, step: Micros, count: int) -> Micros:
    """Feed so many steps, each when it has just happened; when the first one was."""
    base = aligned(step)
    for number in range(count):
        at = base + number * step
        wait_until(at / SECOND)
        live.feed(number, at)
    return base


def wanted(queries: Sequence[Standing], step: Micros, base: Micros, feeds: range) -> set[tuple[str, Micros, int]]:
    """The answers of all instants that these feeds complete."""
    return {
        (query.name, base + (number - 1) * step, answer)
        for number in feeds
        for query in queries
        for answer in range(len(query.deadlines_s))
    }


def drawn_queries(
    kinds: Mapping[str, str], copies: int, rounds: Mapping[str, int], seed: int, lifetimes_s: tuple[float, float]
) -> list[Standing]:
    """So many of each kind, with 1 to 3 answers in lifetimes of so many seconds."""
    random: Any = np.random.default_rng(seed)
    found = []
    for copy in range(copies):
        for kind, select in kinds.items():
            answers, lifetime = int(random.integers(1, 4)), float(random.uniform(*lifetimes_s))
            deadlines = tuple(round(lifetime * (number + 1) / answers, 3) for number in range(answers))
            east, north = (round(float(where), 1) for where in random.uniform(2.0, 8.0, 2))
            text = select.format(east=east, north=north)
            found.append(Standing(f"{kind}_{copy}", kind, text, deadlines, rounds[kind]))
    return found
