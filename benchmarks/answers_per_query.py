"""What follows the number of queries on the driver: microseconds per query and pass, part by part, without a JVM.

A thousand queries over round and over co-prime windows, with and without a group key, on the real engine over the data
plane of ``tests/inprocess``. Reading is not measured. Rows are few (panes and groups are as many as with many), so what
is left is what a pass costs: asking the kernel, making rows, making fields, the log, the sinks, and the scheduler's
lists of what is open. One query over the same rows says what a pass costs whoever asks. All figures are CPU time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.inprocess.backend import InProcess

from benchmarks.expected import check, from_blocks
from benchmarks.report import Goal, Picture, Result
from benchmarks.window_specifications import windows
from benchmarks.workload import Rows, Window, program
from punctual.engine import loop
from punctual.engine.answers import answer_blocks, answering, delivery
from punctual.engine.engine import Engine
from punctual.engine.held.holders import Holders
from punctual.ports.sinks.memory import MemorySink
from punctual.store.records import RecordLog

FAMILIES = ("round", "co-prime")
SEAMS: tuple[tuple[str, Any, str], ...] = (
    ("kernel", Holders, "answer"),
    ("rows and fields", answering, "answer_blocks"),
    ("rows", answer_blocks, "_results"),
    ("encode", delivery, "encode"),
    ("append", RecordLog, "append"),
    ("sinks", MemorySink, "write"),
    ("schedule", loop, "step"),
)
"""Where the clock is read: the part of a pass that it belongs to, and the function."""
PARTS = ("kernel", "rows", "fields", "log", "sinks", "schedule", "rest")


@dataclass(slots=True)
class Clocks:
    """Seconds by seam, how many passes there were and how many queries they answered."""

    seconds: dict[str, float] = field(default_factory=dict)
    passes: int = 0
    queries: int = 0
    whole: float = 0.0

    def parts(self) -> dict[str, float]:
        """Seconds by part of a pass."""
        at = {name: self.seconds.get(name, 0.0) for name, _owner, _attribute in SEAMS}
        at["fields"] = at["rows and fields"] - at["rows"]
        at["log"] = at["encode"] + at["append"]
        found = {name: at[name] for name in PARTS if name != "rest"}
        return {**found, "rest": self.whole - sum(found.values())}


def _timed(clocks: Clocks, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return function(*arguments, **named)
        finally:
            clocks.seconds[name] = clocks.seconds.get(name, 0.0) + time.thread_time() - began
            if name == "kernel":
                clocks.passes += 1
                clocks.queries += sum(len(group) for group in arguments[1])

    return call


@contextmanager
def _watched(clocks: Clocks) -> Iterator[None]:
    """Read the clock at every seam."""
    former = [(owner, attribute, getattr(owner, attribute)) for _name, owner, attribute in SEAMS]
    for name, owner, attribute in SEAMS:
        setattr(owner, attribute, _timed(clocks, name, getattr(owner, attribute)))
    try:
        yield
    finally:
        for owner, attribute, function in former:
            setattr(owner, attribute, function)


class _Reading(InProcess):
    """A data plane that says how long it read."""

    seconds = 0.0

    def tick(self, tick: Any) -> Any:
        began = time.thread_time()
        try:
            return super().tick(tick)
        finally:
            self.seconds += time.thread_time() - began


def replay(rows: Rows, chosen: Sequence[Window], *, by_key: bool, files_per_tick: int) -> tuple[Clocks, MemorySink]:
    """All rows through one engine; the first tick, which makes everything for the first time, is not counted."""
    clocks, sink, backend = Clocks(), MemorySink(), _Reading()
    options = {"max_files_per_tick": str(files_per_tick)}
    engine = Engine(live=False, options=options, backend=lambda: backend)
    engine.add_sink("memory", sink)
    with engine:
        engine.sql(program(rows.folder(), list(chosen), by_key=by_key))
        engine.open()
        engine.tick()
        gc.collect()
        backend.seconds = 0.0
        with _watched(clocks):
            began = time.process_time()
            while engine.tick() is not None:
                pass
            engine.end()
            clocks.whole = time.process_time() - began - backend.seconds
    return clocks, sink


def run(quick: bool) -> Result:
    rows = Rows(6_000, 60, files=12) if quick else Rows(60_000, 300, files=24)
    count, rounds = (50, 1) if quick else (1_000, 5)
    table = rows.table()
    lines: list[list[Any]] = []
    facts: dict[str, Any] = {}
    compared = 0
    for family in FAMILIES:
        for by_key in (False, True):
            chosen = windows(family, count)
            alone = min(
                replay(rows, chosen[:1], by_key=by_key, files_per_tick=2)[0].whole for _round in range(min(rounds, 3))
            )
            taken = []
            for _round in range(rounds):
                clocks, sink = replay(rows, chosen, by_key=by_key, files_per_tick=2)
                taken.append(clocks)
            for number in {0, count // 2, count - 1}:
                blocks = [block.table for block in sink.blocks(f"q{number}")]
                compared += check(table, chosen[number], from_blocks(blocks))
            name = f"{family}{', by key' if by_key else ''}"
            each = [[1e6 * s / c.queries for s in (*c.parts().values(), c.whole, c.whole - alone)] for c in taken]
            lines.append([name, taken[0].queries // taken[0].passes, "least", *(min(column) for column in zip(*each))])
            lines.append([name, "", "median", *(median(column) for column in zip(*each))])
            facts[name] = {"alone_s": alone, "per_query_us": each}
    return Result(
        name="answers_per_query",
        title=f"Microseconds per query and pass, {count:,} queries ({rows.count:,} rows, {rows.keys} keys)",
        columns=["windows", "queries due", "of the rounds", *PARTS, "together", "beyond one query"],
        rows=lines,
        goals=[Goal(f"{line[0]}: together, least", 40.0, line[-2]) for line in lines[::2]],
        pictures=[
            Picture(
                "windows",
                "microseconds per query and pass",
                {
                    part: [(at, line[3 + place]) for at, line in enumerate(lines[::2])]
                    for place, part in enumerate(PARTS)
                },
                labels=[line[0] for line in lines[::2]],
            )
        ],
        notes=[f"{compared:,} sampled answers equal those recomputed from the rows"],
        facts=facts,
    )
