"""What ``anytime_live`` measures on a live engine: loads, ticks beside bonus, idle cores, a long read, widths."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
import pyarrow as pa

from benchmarks.answer_reader import Seen
from benchmarks.anytime_costs import passed
from benchmarks.anytime_live_engine import (
    Live,
    Rows,
    Sizes,
    Standing,
    Timed,
    aligned,
    drawn_queries,
    steps,
    streams,
    wait_until,
    wanted,
)
from benchmarks.anytime_workload import LIFETIMES_S, SELECTS, TIME, write
from benchmarks.processes import tree_cpu
from punctual.clock import SECOND, Micros, iso

CORES = 2
MOST_NUMBERS = 1_500_000
"""Rows of the result by essential rounds: without being asked the engine draws 4 million ahead of an answer."""
FILLER = """
CREATE STREAM filler (t TIMESTAMP EVENT TIME, x DOUBLE) FROM FEED;
CREATE QUERY filled AS SELECT count(*) AS n, avg(x) AS mean FROM filler [RANGE 1 SECOND] PERIOD 1 SECOND;
"""
LARGE = """
CREATE STREAM large (t TIMESTAMP EVENT TIME, x DOUBLE) FROM FILES '{folder}' FORMAT JSON;
CREATE QUERY counted AS SELECT count(*) AS n FROM large [RANGE 1 SECOND] PERIOD 1 SECOND;
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """How long and how large. ``scale`` shortens lifetimes, cycles and widths, where it only matters that it works."""

    sizes: Sizes
    essential_s: float
    """Core time of the essential rounds of an answer, where that many may be drawn."""
    copies: int
    warm_s: float
    measured_s: float
    epoch_s: float
    lead_s: float
    cycles: int
    filler_rows: tuple[int, int]
    """Of small and of large ticks."""
    read_s: float
    scale: float = 1.0

    @property
    def lifetimes_s(self) -> tuple[float, float]:
        least, most = LIFETIMES_S
        return self.scale * least, self.scale * most


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The queries, and core seconds of a step: what all their answers take with just essential rounds, and reading."""

    queries: list[Standing]
    answers_s: float
    reading_s: float

    def step(self, load: float) -> Micros:
        """So often rows come at this load, in whole milliseconds."""
        return round((self.answers_s + self.reading_s) / (load * CORES) * 1000) * 1000


class Cores:
    """Cores that this tree of processes, and everybody else, used since it was made."""

    def __init__(self) -> None:
        self._began, self._mine, self._all = time.time(), tree_cpu(), _busy_s()

    def used(self) -> tuple[float, float]:
        seconds, mine = time.time() - self._began, tree_cpu() - self._mine
        return mine / seconds, max(0.0, _busy_s() - self._all - mine) / seconds


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def calibrated(backend: Timed, setting: Setting) -> Calibrated:
    """Costs without Spark for the answers, and on the engine, without anytime queries, for reading."""
    sizes = setting.sizes
    results = {"q1": 100, "q2": 2 * sizes.branches, "q3": 4 * sizes.branches * sizes.machines, "q4": sizes.side**2}
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, branches=sizes.branches, machines=sizes.machines, quarters=2, side=sizes.side, hours=2)
        rounds = {}
        for kind, select in SELECTS.items():
            few, many = (min(passed(folder, select, count) for _again in range(2)) for count in (50, 1050))
            one = max(many - few, 1e-5) / 1000
            rounds[kind] = max(100, min(round(setting.essential_s / one), MOST_NUMBERS // results.get(kind, 4)))
        queries = drawn_queries(SELECTS, setting.copies, rounds, 5, setting.lifetimes_s)
        cost: dict[tuple[str, int], float] = {}
        for query in queries:
            which = query.kind, len(query.deadlines_s)
            if which not in cost:
                cost[which] = passed(folder, SELECTS[query.kind], query.rounds, which[1])
    total = sum(cost[query.kind, len(query.deadlines_s)] for query in queries)
    return Calibrated(queries, total, reading(backend, setting))


WARMS = 3


def reading(backend: Timed, setting: Setting) -> float:
    """Core seconds of a step of rows that queries read who draw a single world."""
    step, count = SECOND, max(3, round(setting.warm_s))
    program = streams(step)
    for stream, column in (("status", "numConnections"), ("tomorrow", "wind")):
        program += (
            f"CREATE QUERY of_{stream} AS SELECT region, EXPECTED(avg({column})) AS mean FROM {stream} [RANGE 1 SECOND]"
            " GROUP BY region PERIOD 1 SECOND ROUNDS 1;"
        )
    live = Live(backend, program, Rows(setting.sizes))
    steps(live, step, WARMS * count)  # Java compiles what is new: at first that takes more than to read
    before = tree_cpu()
    steps(live, step, count)
    used = tree_cpu() - before
    live.ended()
    return used / count


@dataclass(frozen=True, slots=True)
class Point:
    """Stages of one load and mode: how many there were to be, and shares of these."""

    load: float
    mode: str
    step_s: float
    stages: int
    came: float
    on_time: float
    seen_in_time: float
    reached: float
    essential: float
    """Mean of rounds by what was asked for, at most 1."""
    rounds: float
    """Mean of rounds by what was asked for."""
    cores: float
    others: float
    """Cores that other programs of the machine used meanwhile."""
    slack_s: float
    """The smallest time between when an answer was seen and its deadline; negative where it was late."""


def point(backend: Timed, setting: Setting, found: Calibrated, load: float, mode: str) -> Point:
    step = found.step(load)
    options = {"anytime": mode}
    warm_s = setting.warm_s
    if mode == "epoch":
        options |= {"epoch": f"{round(1000 * setting.epoch_s)} ms", "lead": f"{round(1000 * setting.lead_s)} ms"}
        warm_s += 2 * setting.epoch_s
    warm, measured, after = (ceil(s * SECOND / step) for s in (warm_s, setting.measured_s, setting.lifetimes_s[1]))
    program = streams(step) + "".join(one.statement(step) for one in found.queries)
    live = Live(backend, program, Rows(setting.sizes), **options)
    cores = Cores()
    base = steps(live, step, warm + measured + after)
    used = cores.used()
    wait_until(time.time() + 0.5)
    which = wanted(found.queries, step, base, range(warm, warm + measured))
    return judged(load, mode, step, which, {one.name: one for one in found.queries}, live.ended(), used)


def judged(
    load: float, mode: str, step: Micros, which: set[tuple[str, Micros, int]], queries: Mapping[str, Standing],
    answers: Sequence[Seen], used: tuple[float, float],
) -> Point:  # fmt: skip
    """Shares of all stages; one that never came met nothing."""
    came = [one for one in answers if (one.query, one.at, one.number) in which]
    asked = [queries[one.query].rounds * (one.number + 1) for one in came]
    every = max(1, len(which))
    return Point(
        load, mode, step / SECOND, len(which), len(came) / every,
        sum(one.on_time for one in came) / every, sum(one.seen <= one.deadline for one in came) / every,
        sum(one.reached for one in came) / every,
        sum(min(1.0, one.rounds / most) for one, most in zip(came, asked)) / every,
        sum(one.rounds / most for one, most in zip(came, asked)) / every, *used,
        min((one.deadline - one.seen for one in came), default=0) / SECOND,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Beside:
    """Ticks of so many rows while cores draw all they can, and while nobody does; cores used in the second that
    begins 200 ms after the last deadline, and in the same second of an engine without anytime queries."""

    beside_s: dict[int, list[float]]
    alone_s: dict[int, list[float]]
    drawing_cores: list[float]
    idle_cores: list[float]
    without_cores: list[float]

    @staticmethod
    def nothing() -> Beside:
        return Beside({}, {}, [], [], [])


CYCLE_S, DRAWN_S = 9.0, 4.0
SMALL_S, LARGE_S, ALONE_S = (0.8, 1.3), (1.9, 2.9), 4.7
"""When small and large ticks are read beside draws; and so much later the same without."""
IDLE_S = (DRAWN_S + 0.2, DRAWN_S + 1.2)


def beside(backend: Timed, setting: Setting) -> Beside:
    """Cycles of drawing for four seconds, and of nothing for five; rows of another stream come in both."""
    step = round(setting.scale * CYCLE_S * SECOND)
    drawn = (setting.scale * DRAWN_S,)
    queries = [Standing(f"b{number}", "q5", SELECTS["q5"], drawn, 100) for number in range(10)]
    anytime = "".join(one.statement(step) for one in queries)
    without = _cycles(backend, setting, streams(step) + FILLER, max(1, setting.cycles // 2), fed=False)
    found = _cycles(backend, setting, streams(step) + anytime + FILLER, setting.cycles, fed=True)
    return Beside(found.beside_s, found.alone_s, found.drawing_cores, found.idle_cores, without.idle_cores)


def _cycles(backend: Timed, setting: Setting, program: str, count: int, *, fed: bool) -> Beside:
    live, scale, step = (
        Live(backend, program, Rows(setting.sizes)),
        setting.scale,
        round(setting.scale * CYCLE_S * SECOND),
    )
    found = Beside.nothing()
    base = aligned(step, 1.0)
    for number in range(count + 1):
        at = (base + number * step) / SECOND
        wait_until(at)
        if fed:
            live.feed(number, base + number * step)
        into = found if number else Beside.nothing()  # nothing is complete by the first rows
        wait_until(at + scale * 0.4)
        cores = Cores()
        _both(backend, live, setting, at, into.beside_s)
        wait_until(at + scale * (DRAWN_S - 0.1))
        into.drawing_cores.append(cores.used()[0])
        wait_until(at + scale * IDLE_S[0])
        cores = Cores()
        wait_until(at + scale * IDLE_S[1])
        into.idle_cores.append(cores.used()[0])
        _both(backend, live, setting, at + scale * ALONE_S, into.alone_s)
    live.ended()
    return found


def _both(backend: Timed, live: Live, setting: Setting, at: float, into: dict[int, list[float]]) -> None:
    """Small and large ticks."""
    for rows, seconds in zip(setting.filler_rows, (SMALL_S, LARGE_S)):
        for second in seconds:
            into.setdefault(rows, []).append(_filled(backend, live, rows, at + setting.scale * second))


def _filled(backend: Timed, live: Live, rows: int, at: float) -> float:
    """How long the tick took that read so many rows of the other stream, which came then."""
    wait_until(at)
    before = len(backend.ticks)
    times = pa.array(round(at * SECOND) - np.arange(rows)[::-1], pa.int64()).cast(TIME)
    live.engine.feed("filler", pa.table({"t": times, "x": np.random.default_rng(rows).random(rows)}))
    while True:
        for one in backend.ticks[before:]:
            if one.streams == {"filler"}:
                return one.ended - one.began
        time.sleep(0.01)


@dataclass(frozen=True, slots=True)
class LongRead:
    """Stages that were open while a file was read: how many, how many were seen by their deadlines while it was."""

    read_s: list[float]
    stages: int
    seen_in_time: int
    shortest_s: float
    """The shortest of their deadlines."""


def long_read(backend: Timed, setting: Setting, queries: Sequence[Standing], times: int) -> LongRead:
    """Rows are fed, and then comes a file of another stream that takes long to read."""
    step = round((setting.lifetimes_s[1] + setting.read_s + 4 * setting.scale) * SECOND)
    few = [Standing(one.name, one.kind, one.select, one.deadlines_s, 100) for one in queries[:10]]
    with TemporaryDirectory() as name:
        incoming = Path(name) / "large"
        incoming.mkdir()
        program = streams(step) + LARGE.format(folder=incoming) + "".join(one.statement(step) for one in few)
        live = Live(backend, program, Rows(setting.sizes))
        rows, reads, base = 50_000, list[tuple[float, float]](), 0
        for _probe in range(2):  # the first one warms up
            took = _read(backend, incoming, rows)
            rate = rows / (took[1] - took[0])
            rows = 400_000
        size = round(rate * setting.read_s * 1.3)
        hidden = Path(name) / "ready"
        base = aligned(step, 2.0)
        which = set[tuple[str, Micros, int]]()
        for number in range(times + 1):
            _write_lines(hidden, size)
            wait_until((base + number * step) / SECOND)
            live.feed(number, base + number * step)
            if number:
                time.sleep(0.4)
                reads.append(_read(backend, incoming, size, hidden))
                which |= wanted(few, step, base, range(number, number + 1))
        wait_until(time.time() + setting.lifetimes_s[1])
        found = [one for one in live.ended() if (one.query, one.at, one.number) in which]
    # Those count whose deadline came while the file was read: there is one read for each instant.
    spans = {base + number * step: span for number, span in enumerate(reads)}
    beside = [one for one in found if spans[one.at][0] <= one.deadline / SECOND <= spans[one.at][1]]
    lengths = [end - begin for begin, end in reads]
    shortest = min((one.deadline - one.released for one in beside), default=0) / SECOND
    return LongRead(lengths, len(beside), sum(one.seen <= one.deadline for one in beside), shortest)


def _write_lines(path: Path, rows: int) -> None:
    line = f'{{"t": "{iso(time.time_ns() // 1000)}", "x": 1.5, "what": "a line that is as long as many are"}}\n'
    with path.open("w") as file:
        for begin in range(0, rows, 10_000):
            file.write(line * min(10_000, rows - begin))


def _read(backend: Timed, folder: Path, rows: int, ready: Path | None = None) -> tuple[float, float]:
    """A file comes; from when to when it was read."""
    path = folder.parent / "ready" if ready is None else ready
    if ready is None:
        _write_lines(path, rows)
    before = len(backend.ticks)
    path.rename(folder / f"{time.time_ns()}.json")
    while True:
        for one in backend.ticks[before:]:
            if "large" in one.streams:
                return one.began, one.ended
        time.sleep(0.01)


WIDTHS_S = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
WIDTH_SELECTS = {
    "expected load of a region": "SELECT region, EXPECTED(avg(numConnections)) AS load FROM status [RANGE 15 MINUTES]"
    " GROUP BY region",
    "probability of a windy region": "SELECT region, PROBABILITY(avg(wind) > 8) AS p FROM tomorrow [RANGE 1 HOUR]"
    " GROUP BY region",
}


def widths(
    backend: Timed, setting: Setting, times: int, copies: int = 4
) -> dict[str, list[tuple[float, float, float]]]:
    """By kind: seconds since the release, mean half width, mean rounds, of answers that become better."""
    within = tuple(setting.scale * second for second in WIDTHS_S)
    step = round((within[-1] + setting.scale) * SECOND)
    queries = [
        Standing(f"w{number}_{copy}", kind, select, within, 100)
        for number, (kind, select) in enumerate(WIDTH_SELECTS.items())
        for copy in range(copies)
    ]
    program = streams(step) + "".join(one.statement(step) for one in queries)
    live = Live(backend, program, Rows(setting.sizes), closed_forms="off")
    base = steps(live, step, times + 2)
    which = wanted(queries, step, base, range(2, times + 2))
    wait_until((base + (times + 1) * step) / SECOND + within[-1] + 0.5)
    kinds = {one.name: one.kind for one in queries}
    found: dict[str, dict[int, list[Seen]]] = {kind: {} for kind in WIDTH_SELECTS}
    for one in live.ended():
        if (one.query, one.at, one.number) in which and one.half_width is not None:
            found[kinds[one.query]].setdefault(one.number, []).append(one)
    return {
        kind: [
            (
                sum((one.answered - one.released) / SECOND for one in several) / len(several),
                sum(one.half_width or 0.0 for one in several) / len(several),
                sum(one.rounds for one in several) / len(several),
            )
            for _number, several in sorted(by_number.items())
        ]
        for kind, by_number in found.items()
    }
