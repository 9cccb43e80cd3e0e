"""What a tick costs beyond the Spark job that it cannot do without.

The bare job is the tick's own, run once more by itself: the same operator over the same file in the same session. The
two take turns, file by file. A tick also plans, writes its plan and its commit to disk (fsync), answers the queries
and logs the answers. Ticks of one row, ticks with nothing to read, and ticks over a folder with
100,000 files, nearly all of them read before, are measured too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from benchmarks.engines import WarmBackend, prepared, warm
from benchmarks.processes import Meter
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import Rows, program, sliding
from punctual.ports.feeds.slices import FileRef, FileSlice
from punctual.store.products import Facts, outputs

GOAL = 1.3


def run(quick: bool) -> Result:
    ticks = 5 if quick else 20
    sizes = (1, 10_000) if quick else (1, 10_000, 100_000)
    crowd = 2_000 if quick else 100_000
    taken: dict[str, tuple[list[Meter], list[Meter]]] = {}
    with warm() as backend:
        _pairs(backend, Rows(4 * 1_000, 40, files=4), 1)  # warms the session
        for queries in (1, 80):
            for size in sizes:
                rows = Rows(size * ticks, 10 * ticks, files=ticks)
                taken[f"{size:,} rows, {queries} queries"] = _pairs(backend, rows, queries)
        empty = _empty(backend, 10 if quick else 100)
        crowded = _crowded(backend, crowd)
    lines, ratios = [], {}
    for name, (bare, tick) in taken.items():
        # Early pairs still warm up what both share.
        bare_ms, tick_ms = (1000 * median(m.wall for m in one[3:]) for one in (bare, tick))
        bare_cpu, tick_cpu = (1000 * median(m.cpu for m in one[3:]) for one in (bare, tick))
        ratios[name] = (tick_ms / bare_ms, tick_cpu / bare_cpu)
        lines.append([name, bare_ms, tick_ms, tick_ms / bare_ms, bare_cpu, tick_cpu, tick_cpu / bare_cpu])
    lines.append(["nothing to read", None, 1000 * median(m.wall for m in empty), None, None, None, None])
    seen, few = crowded
    lines.append([f"10 new files of {crowd:,}", None, 1000 * seen.wall, None, None, 1000 * seen.cpu, None])
    lines.append(["10 new files of 20", None, 1000 * few.wall, None, None, 1000 * few.cpu, None])
    largest = f"{sizes[min(2, len(sizes) - 1)]:,} rows"
    return Result(
        name="tick_overhead",
        title="A tick against its bare Spark job over the same rows",
        columns=["tick", "bare ms", "tick ms", "ratio", "bare CPU ms", "tick CPU ms", "CPU ratio"],
        rows=lines,
        goals=[
            Goal(f"{largest}, {n} queries: {kind} over the bare job", GOAL, ratios[f"{largest}, {n} queries"][place])
            for n in (1, 80)
            for place, kind in enumerate(("wall", "CPU"))
        ],
        pictures=[
            Picture(
                "rows per tick",
                "ms",
                {
                    f"{kind}, {n} queries": [
                        (size, 1000 * median(m.wall for m in taken[f"{size:,} rows, {n} queries"][place][3:]))
                        for size in sizes
                    ]
                    for n in (1, 80)
                    for place, kind in enumerate(("bare job", "tick"))
                },
            )
        ],
        facts={
            **{name: [[m.wall, m.cpu] for m in bare + tick] for name, (bare, tick) in taken.items()},
            "empty": [m.wall for m in empty],
            "crowded": [[seen.wall, seen.cpu], [few.wall, few.cpu]],
        },
    )


def _pairs(backend: WarmBackend, rows: Rows, queries: int) -> tuple[list[Meter], list[Meter]]:
    """The bare job and the tick over each file, in turns."""
    folder = rows.folder()
    bare: list[Meter] = []
    ticks: list[Meter] = []
    with prepared(backend, program(folder, sliding(queries)), files_per_tick=1) as (engine, _sink):
        for _file in os.listdir(folder):
            with Meter() as meter:
                settled = engine.tick()
            assert settled is not None
            ticks.append(meter)
            assert backend.last is not None
            with Meter() as meter:
                produced = backend.tick(backend.last)
            facts = [one.product for one in outputs(produced) if isinstance(one.product, Facts)]
            assert sum(one.accepted for one in facts) == settled.rows
            bare.append(meter)
    return bare, ticks


def _empty(backend: WarmBackend, times: int) -> list[Meter]:
    """Ticks that find nothing new."""
    rows = Rows(4 * 1_000, 40, files=4)
    taken = []
    with prepared(backend, program(rows.folder(), sliding(80)), files_per_tick=4) as (engine, _sink):
        engine.tick()
        for _time in range(times):
            with Meter() as meter:
                assert engine.tick() is None
            taken.append(meter)
    return taken


def _crowded(backend: WarmBackend, files: int) -> tuple[Meter, Meter]:
    """Ten new files among so many that were read before, and among ten."""
    table = Rows(1_000, 10, files=1).table()
    with tempfile.TemporaryDirectory() as scratch:
        original = Path(scratch) / "one.parquet"
        pq.write_table(table, original)
        meters = []
        for count in (files, 20):
            folder = Path(scratch) / f"folder{count}"
            folder.mkdir()
            for number in range(count - 10):
                (folder / f"{number:06d}.parquet").touch()
            with prepared(backend, program(str(folder), sliding(1)), files_per_tick=10) as (engine, _sink):
                feed = engine._opened().core.sources.feeds["s"]
                feed.taken(FileSlice(tuple(FileRef(str(path), 0, 0) for path in folder.iterdir())))
                best: Meter | None = None
                for turn in range(5):
                    for number in range(10):
                        shutil.copy(original, folder / f"new{turn}{number}.parquet")
                    with Meter() as meter:
                        assert engine.tick() is not None
                    best = meter if best is None or meter.wall < best.wall else best
                meters.append(best)
    return meters[0], meters[1]
