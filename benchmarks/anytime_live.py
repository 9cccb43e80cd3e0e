"""Anytime queries on the live engine: deadlines by a reader's clock, fairness to ticks, idle cores, widths by time.

Q1 to Q5 (``anytime_workload``) as standing queries, with 1 to 3 answers in lifetimes of 1 to 6 seconds. Their rounds
are many enough that rounds, and not answers, are most of the work. Rows come in steps, by the wall clock; the load is
what all answers of a step take with just their essential rounds (core time, measured without Spark), and what reading a
step takes, by the cores' time between two steps. In both modes: ``SET anytime = online``, and epochs.

*Deadlines*: answers by the deadline, as they say themselves, and as a process sees it that reads the files of answers;
how many have all their essential rounds. A stage that never came met nothing.
*A long read*: rows have come, and then a file of another stream that takes seconds to read; stages whose deadlines
come while it is read.
*Ticks*: the same rows read while two cores draw bonus, and while nobody draws.
*Idle*: cores used by the tree of processes from 200 ms after the last deadline on, against the same engine without
anytime queries.
*Widths*: mean half width of the 95 % intervals in ``error``, by seconds since the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from statistics import mean, median

from benchmarks.anytime_live_engine import Sizes, Timed, TimedInProcess, TimedSpark
from benchmarks.anytime_live_runs import (
    Beside,
    Calibrated,
    LongRead,
    Point,
    Setting,
    beside,
    calibrated,
    long_read,
    point,
    widths,
)
from benchmarks.report import Goal, Picture, Result
from punctual.runtime import session

LOADS = (0.5, 0.9, 1.2)
MODES = ("online", "epoch")
FULL = Setting(Sizes(), 0.03, 3, 6.0, 16.0, 10.0, 1.0, 5, (20_000, 400_000), 5.5)
QUICK = Setting(Sizes(2, 4, 6), 0.002, 1, 0.5, 1.0, 0.5, 0.1, 1, (100, 1_000), 0.2, scale=0.2)
GOAL_IDLE, GOAL_TICK = 0.05, 1.1
Widths = Mapping[str, Sequence[tuple[float, float, float]]]


def run(quick: bool) -> Result:
    setting = QUICK if quick else FULL
    with ExitStack() as stack:
        backend: Timed
        if quick:
            backend = TimedInProcess()
        else:
            backend = TimedSpark()
            stack.callback(session.stop, backend.spark)
        found = calibrated(backend, setting)
        loads = LOADS[:1] if quick else LOADS
        points = [point(backend, setting, found, load, mode) for mode in MODES for load in loads]
        read = long_read(backend, setting, found.queries, 1 if quick else 3)
        besides = beside(backend, setting)
        narrow = widths(backend, setting, 1 if quick else 4, 1 if quick else 4)
    return result(found, points, read, besides, narrow)


def result(found: Calibrated, points: Sequence[Point], read: LongRead, besides: Beside, narrow: Widths) -> Result:
    return Result(
        name="anytime_live",
        title="Anytime queries on the live engine",
        columns=["mode", "load, %", "step, s", "stages", "on time, %", "seen in time, %", "all essential, %",
                 "of essential rounds, %", "rounds over asked", "cores used", "by others"],
        rows=[row(one) for one in points],
        goals=goals(points, read, besides),
        pictures=[deadlines(points), width_picture(narrow)],
        notes=notes(found, read, besides),
        facts={
            "points": [asdict(one) for one in points], "long read": asdict(read), "beside": asdict(besides),
            "widths: s, half width, rounds": narrow,
            "core s of a step": {"answers": found.answers_s, "reading": found.reading_s},
            "queries": [asdict(one) for one in found.queries],
        },
    )  # fmt: skip


def row(one: Point) -> list[object]:
    shares = (one.on_time, one.seen_in_time, one.reached, one.essential)
    return [one.mode, round(100 * one.load), one.step_s, one.stages, *(100 * share for share in shares), one.rounds,
            one.cores, one.others]  # fmt: skip


def goals(points: Sequence[Point], read: LongRead, besides: Beside) -> list[Goal]:
    found = []
    for one in points:
        at = f"{one.mode} at {100 * one.load:.0f} %"
        found.append(Goal(f"{at}: stages seen by their deadline", 1.0, one.seen_in_time, at_least=True))
        if one.load < 1:
            found.append(Goal(f"{at}: with all essential rounds (ours)", 0.99, one.reached, at_least=True))
    return [
        *found,
        Goal("stages whose deadline came during a long read, seen by then", 1.0,
             read.seen_in_time / max(1, read.stages), at_least=True),
        Goal("cores used 200 ms after the last deadline, more than without queries", GOAL_IDLE,
             median(besides.idle_cores) - median(besides.without_cores)),
        *(Goal(f"a tick of {rows:,} rows beside full bonus work over one without, median", GOAL_TICK,
               median(besides.beside_s[rows]) / median(alone)) for rows, alone in besides.alone_s.items()),
    ]  # fmt: skip


def deadlines(points: Sequence[Point]) -> Picture:
    names = [f"{one.mode}\n{100 * one.load:.0f} %" for one in points]
    shares = {
        "on time, by the answer": [one.on_time for one in points],
        "seen in time, by the reader's clock": [one.seen_in_time for one in points],
        "with all essential rounds": [one.reached for one in points],
        "of the essential rounds": [one.essential for one in points],
    }
    series = {name: [(float(n), 100 * share) for n, share in enumerate(every)] for name, every in shares.items()}
    return Picture("load", "stages, %", series, logarithmic=False, labels=names)


def width_picture(narrow: Widths) -> Picture:
    """Over the first answer's, beside what a root of time would be."""
    series = {
        kind: [(seconds, width / points[0][1]) for seconds, width, _rounds in points]
        for kind, points in narrow.items()
        if points
    }
    ideal = "with the root of time"
    first = next(iter(series.values()), [(1.0, 1.0)])
    series[ideal] = [(seconds, (first[0][0] / seconds) ** 0.5) for seconds, _width in first]
    return Picture("seconds since the release", "half width over the first answer's", series, dashed=[ideal])


def notes(found: Calibrated, read: LongRead, besides: Beside) -> list[str]:
    rounds = ", ".join(f"{one.kind} {one.rounds:,}" for one in found.queries[:5])
    return [
        f"core s of a step: {found.answers_s:.2f} for {len(found.queries)} queries, {found.reading_s:.2f} for reading",
        f"essential rounds of an answer: {rounds}",
        f"reads of {', '.join(f'{one:.1f}' for one in read.read_s)} s: {read.stages} deadlines came meanwhile, "
        f"the shortest {read.shortest_s:.1f} s after the release",
        *(f"ticks of {rows:,} rows: {1000 * median(alone):.0f} ms alone (median of {len(alone)}), "
          f"{1000 * median(besides.beside_s[rows]):.0f} ms beside" for rows, alone in besides.alone_s.items()),
        f"cores in use beside them: {mean(besides.drawing_cores):.2f}",
        f"idle: {median(besides.idle_cores):.3f} cores, without anytime queries {median(besides.without_cores):.3f}",
    ]
