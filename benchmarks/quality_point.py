"""One point of a figure: the workload on a live engine for a while, judged answer by answer.

An answer that was late, or that never came, has quality 0 (equation 3). Late is said twice: by the answer itself, and
by the reader's clock, from when the files were in place that complete the instant until the answer stood in its file.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pandas as pd

from benchmarks.engines import WarmBackend
from benchmarks.processes import tree_cpu
from benchmarks.quality_workload import STREAMS, Load, TimedQuery, due, program, queries, write_relations
from benchmarks.quality_world import Script, Seen, seen, start
from punctual.clock import SECOND, Micros, instant_us
from punctual.engine.engine import Engine

STEPS_PER_DEADLINE = 4
"""How often files come: the paper's rows come one by one, here a deadline has four batches of them."""
READER_LEEWAY_S = 0.5
"""What the reader's clock allows besides DEADLINE, which begins when an instant is released: before that the engine
lists files, every 200 ms, and reads them; and the reader looks twenty times per second."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer that was due; ``quality`` is 0 where it was late, by the answer itself."""

    query: str
    kind: str
    at: Micros
    quality: float
    kept: float | None
    on_time: bool
    seen_on_time: bool
    seconds: float | None
    """From the files to the answer's line, by the reader's clock."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a point measured."""

    answers: tuple[Judged, ...]
    begin: Micros
    rates: tuple[tuple[float, float], ...]
    """Rows per second of a stream, by seconds since ``begin``."""
    rows: int
    cores: float
    used_cores: float
    others_cores: float
    """How many of the cores the processes of others used meanwhile."""
    ledger: tuple[Mapping[str, Any], ...]

    @property
    def left_cores(self) -> float:
        """What others left."""
        return max(0.1, self.cores - self.others_cores)

    @property
    def quality(self) -> float:
        return fmean(one.quality for one in self.answers)

    @property
    def deviation(self) -> float:
        """Over all answers, as equation 3 averages them."""
        return pstdev(one.quality for one in self.answers)

    @property
    def spread(self) -> float:
        """Between the averages of queries: how unequal they are treated."""
        by_query: dict[str, list[float]] = {}
        for one in self.answers:
            by_query.setdefault(one.query, []).append(one.quality)
        return pstdev(fmean(some) for some in by_query.values())

    @property
    def missed(self) -> float:
        return fmean(not one.on_time for one in self.answers)

    @property
    def seen_missed(self) -> float:
        return fmean(not one.seen_on_time for one in self.answers)

    @classmethod
    def of(cls, facts: Mapping[str, Any], factor: float, cores: float) -> Point:
        """A point as a result has it; its ledger is not kept."""
        answers = tuple(_judged(line.split(" ")) for line in facts["answers"]["rows"])
        changes = [tuple(map(float, line.split(" "))) for line in facts["rates"]]
        begin, last = min(one.at for one in answers) - round(factor * SECOND), max(one.at for one in answers)
        step = factor / STEPS_PER_DEADLINE
        number, rates = 0, list[tuple[float, float]]()
        while (second := changes[0][0] + number * step) < (last - begin) / SECOND:
            rates.append((second, next(rate for since, rate in reversed(changes) if since <= second + step / 2)))
            number += 1
        used, others = facts["used_cores"], facts["others_cores"]
        return cls(answers, begin, tuple(rates), facts["rows"], cores, used, others, ())

    def facts(self) -> dict[str, Any]:
        """For the JSON of a result."""
        return {
            "quality": self.quality,
            "deviation": self.deviation,
            "spread": self.spread,
            "missed": self.missed,
            "seen_missed": self.seen_missed,
            "rows": self.rows,
            "rates": [" ".join(f"{number:g}" for number in one) for one in _changes(self.rates)],
            "used_cores": self.used_cores,
            "others_cores": self.others_cores,
            "answers": {
                "columns": list(Judged.__dataclass_fields__),
                "rows": [" ".join(map(str, asdict(one).values())) for one in self.answers],
            },
        }


@dataclass(frozen=True, slots=True)
class Run:
    """How a point is run; times in seconds, as multiples of ``factor`` where the paper names them.

    The first ``warm_s`` are not judged: windows fill, plans are made, costs are learned.
    """

    factor: float
    warm_s: float
    measured_s: float
    qos: str = "dynamic-sampling"
    window_merge: str = "rows"
    seed: int = 1
    streams: int = STREAMS
    keep: str = "auto"
    """A share that all queries use, whatever the load."""
    patience_s: float = 1.0
    """How long after the last deadline answers are waited for; what comes then is late."""


def measure(backend: WarmBackend, run: Run, load: Load) -> Point:
    """Run the workload under a load and judge its answers."""
    step = round(run.factor / STEPS_PER_DEADLINE * SECOND)
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch) / "streams", Path(scratch) / "out"
        write_relations(folder, run.streams)
        options = {"qos": run.qos, "window_merge": run.window_merge, "keep": run.keep, "tick": "200 ms"}
        options["idle"] = "1 hour"
        engine = Engine(str(Path(scratch) / "state"), out=str(out), backend=lambda: backend, options=options)
        with engine:
            engine.sql(program(folder, run.factor, run.streams))
            engine.open()
            engine.start()
            period = round(2 * run.factor * SECOND)
            begin = (time.time_ns() // 1000 // step + 1) * step
            first = -(-(begin + round(run.warm_s * SECOND)) // period) * period
            last = first + round(run.measured_s * SECOND) // period * period
            steps = (last - begin) // step
            rates = tuple(load(number * step / SECOND) for number in range(steps))
            wanted = len(due(queries(run.factor, run.streams), first, last))
            until = last + round((run.factor + run.patience_s) * SECOND)
            script = Script(
                str(folder), str(out), run.streams, begin, step, rates, run.seed, first, last, wanted, until
            )
            world = start(script)
            time.sleep(max(0.0, (first - time.time_ns() // 1000) / SECOND))
            before = _Cores.now()
            found = seen(world)
            after = _Cores.now()
            ledger = engine.ledger()
            engine.stop()
    answers = judged(queries(run.factor, run.streams), found, first, last)
    used, others = after.since(before)
    by_second = tuple(((begin + number * step - first) / SECOND, rate) for number, rate in enumerate(rates))
    return Point(answers, first, by_second, found.rows, float(backend.cores), used, others, _records(ledger))


def judged(wanted: Sequence[TimedQuery], found: Seen, begin: Micros, end: Micros) -> tuple[Judged, ...]:
    """Every answer that was due after ``begin``, through ``end``; also those that never came."""
    came = {(answer["query"], instant_us(answer["at"])): (when, answer) for when, answer in found.answers}
    result = []
    for query, at in due(wanted, begin, end):
        when, answer = came.get((query.name, at), (None, None))
        if when is None or answer is None:
            result.append(Judged(query.name, query.kind, at, 0.0, None, False, False, None))
            continue
        seconds = (when - found.written[at]) / SECOND
        on_time = bool(answer["on_time"])
        quality = float(answer["quality"]) if on_time else 0.0
        in_time = seconds <= query.deadline_s + READER_LEEWAY_S
        result.append(Judged(query.name, query.kind, at, quality, answer["kept"], on_time, in_time, seconds))
    return tuple(result)


def _judged(words: Sequence[str]) -> Judged:
    """One answer of a result's JSON."""
    query, kind, at, quality, kept, on_time, seen_on_time, seconds = words
    numbers = [None if word == "None" else float(word) for word in (kept, seconds)]
    times = [word == "True" for word in (on_time, seen_on_time)]
    return Judged(query, kind, int(at), float(quality), numbers[0], *times, numbers[1])


def _changes(rates: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first of each run of equal rates."""
    return [one for before, one in zip([(0.0, -1.0), *rates], rates) if before[1] != one[1]]


def _records(ledger: pd.DataFrame) -> tuple[Mapping[str, Any], ...]:
    """What the ledger says of batches and firings, as plain values."""
    wanted = [
        name
        for name in ("record", "query", "at", "kept", "level", "rows", "used_ms", "predicted_ms", "slack_seconds")
        if name in ledger
    ]
    return tuple(ledger[wanted].to_dict("records"))


@dataclass(frozen=True, slots=True)
class _Cores:
    """Core seconds so far: of this process and all below it, and of everybody."""

    wall: float
    ours: float
    everybody: float

    @classmethod
    def now(cls) -> _Cores:
        first = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        user, nice, system, _idle, _wait, interrupts, softly = (int(word) for word in first[:7])
        busy = (user + nice + system + interrupts + softly) / os.sysconf("SC_CLK_TCK")
        return cls(time.monotonic(), tree_cpu(), busy)

    def since(self, before: _Cores) -> tuple[float, float]:
        """Cores that we used meanwhile, and cores that others used."""
        wall = self.wall - before.wall
        ours = (self.ours - before.ours) / wall
        return ours, max(0.0, (self.everybody - before.everybody) / wall - ours)
