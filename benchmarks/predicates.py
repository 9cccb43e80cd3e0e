"""Ticks of one query and of a thousand that differ in their WHERE.

Thresholds (``v > c``) and equality with a key (``k = 'name'``), a window of a minute every ten seconds each, 100,000
rows per tick. All programs take turns over the same files in one warm session, tick by tick; the median tick is
compared.
"""

from __future__ import annotations

from statistics import mean, median

from benchmarks.engines import replay_in_turns, warm
from benchmarks.expected import check, from_blocks
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import Rows, Window, program

KINDS = ("threshold", "key")
GOAL = 2.0


def windows(kind: str, count: int) -> list[Window]:
    """Queries over a minute that differ in what rows they look at."""
    if kind == "threshold":
        return [Window(60, 10, f"v > {20 + 60 * i / count:.3f}") for i in range(count)]
    return [Window(60, 10, f"k = 'k{i:07d}'") for i in range(count)]


def run(quick: bool) -> Result:
    ticks = 6 if quick else 20
    rows_a_tick = 20_000 if quick else 100_000
    rows = Rows(ticks * rows_a_tick, ticks * 10, keys=1_000, files=ticks)
    counts = (1, 100) if quick else (1, 10, 100, 1_000)
    table = rows.table()
    wall: dict[tuple[str, int], list[float]] = {}
    cpu: dict[tuple[str, int], list[float]] = {}
    compared = 0
    with warm() as backend:
        for kind in KINDS:
            families = [windows(kind, count) for count in counts]
            programs = [program(rows.folder(), chosen, by_key=False) for chosen in families]
            for count, chosen, taken in zip(counts, families, replay_in_turns(backend, programs, files_per_tick=1)):
                for number in {0, count // 2, count - 1}:
                    compared += check(table, chosen[number], from_blocks(taken.tables(f"q{number}")))
                # The first ticks warm up what all of them share, the last step reads no rows.
                steps = taken.steps[ticks // 3 : -1]
                wall[kind, count] = [1000 * step.wall for step in steps]
                cpu[kind, count] = [1000 * step.cpu for step in steps]
    lines = []
    for (kind, count), taken_ms in wall.items():
        ms, ms_of_one = median(taken_ms), median(wall[kind, 1])
        cpu_ms, cpu_ms_of_one = mean(cpu[kind, count]), mean(cpu[kind, 1])
        lines.append([kind, count, ms, ms / ms_of_one, cpu_ms, cpu_ms / cpu_ms_of_one])
    most = counts[-1]
    return Result(
        name="predicates",
        title=f"A tick of {rows_a_tick:,} rows for queries that differ in WHERE",
        columns=["kind", "queries", "tick ms", "ratio", "CPU ms", "CPU ratio"],
        rows=lines,
        goals=[
            Goal(f"{kind}: tick time at {most:,} over 1", GOAL, median(wall[kind, most]) / median(wall[kind, 1]))
            for kind in KINDS
        ],
        pictures=[
            Picture("queries", "tick, ms", {kind: [(n, median(wall[kind, n])) for n in counts] for kind in KINDS})
        ],
        notes=[f"{compared:,} sampled answers equal those recomputed from the rows"],
        facts={
            "wall_ms": {f"{kind} {n}": taken for (kind, n), taken in wall.items()},
            "cpu_ms": {f"{kind} {n}": taken for (kind, n), taken in cpu.items()},
        },
    )
