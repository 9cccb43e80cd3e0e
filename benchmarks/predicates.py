"""Ticks of one query and of a thousand that differ in their WHERE.

Thresholds (``v > c``) and equality with a key (``k = 'name'``), a window of a minute every ten seconds each, 100,000
rows a tick. One and many take turns over the same files in one warm session; the median tick is compared.
"""

from __future__ import annotations

from statistics import median

from benchmarks.engines import WarmBackend, prepared, warm
from benchmarks.expected import check, from_blocks
from benchmarks.processes import Meter
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
    ticks = 4 if quick else 15
    rows_a_tick = 20_000 if quick else 100_000
    rows = Rows(ticks * rows_a_tick, ticks * 10, keys=1_000, files=ticks)
    counts = (1, 100) if quick else (1, 10, 100, 1_000)
    repeats = 1
    table = rows.table()
    walls: dict[tuple[str, int], list[float]] = {}
    cpus: dict[tuple[str, int], list[float]] = {}
    compared = 0
    with warm() as backend:
        _ticks(backend, rows, windows("threshold", 10))
        for _turn in range(repeats):
            for kind in KINDS:
                for count in counts:
                    chosen = windows(kind, count)
                    taken, tables = _ticks(backend, rows, chosen)
                    for number in {0, count // 2, count - 1}:
                        compared += check(table, chosen[number], from_blocks(tables[number]))
                    # The first ticks of a program compile its plan.
                    walls.setdefault((kind, count), []).extend(meter.wall for meter in taken[2:])
                    cpus.setdefault((kind, count), []).extend(meter.cpu for meter in taken[2:])
    wall = {key: median(values) for key, values in walls.items()}
    cpu = {key: median(values) for key, values in cpus.items()}
    most = counts[-1]
    return Result(
        name="predicates",
        title=f"A tick of {rows_a_tick:,} rows for queries that differ in WHERE",
        columns=["kind", "queries", "tick ms", "ratio", "CPU ms", "CPU ratio"],
        rows=[
            [
                kind,
                n,
                1000 * wall[kind, n],
                wall[kind, n] / wall[kind, 1],
                1000 * cpu[kind, n],
                cpu[kind, n] / cpu[kind, 1],
            ]
            for kind in KINDS
            for n in counts
        ],
        goals=[Goal(f"{kind}: tick time at {most:,} over 1", GOAL, wall[kind, most] / wall[kind, 1]) for kind in KINDS],
        pictures=[
            Picture("queries", "tick, ms", {kind: [(n, 1000 * wall[kind, n]) for n in counts] for kind in KINDS})
        ],
        notes=[f"{compared:,} sampled answers equal those recomputed from the rows"],
        facts={
            "wall": {f"{k} {n}": v for (k, n), v in walls.items()},
            "cpu": {f"{k} {n}": v for (k, n), v in cpus.items()},
        },
    )


def _ticks(backend: WarmBackend, rows: Rows, chosen: list[Window]):
    """Every tick measured, and the answers of each query."""
    taken: list[Meter] = []
    with prepared(backend, program(rows.folder(), chosen, by_key=False), files_per_tick=1) as (engine, sink):
        for _tick in range(rows.files):
            with Meter() as meter:
                settled = engine.tick()
            assert settled is not None
            taken.append(meter)
        engine.end()
        tables = {number: [block.table for block in sink.blocks(f"q{number}")] for number in range(len(chosen))}
    return taken, tables
