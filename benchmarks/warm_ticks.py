"""Ticks of 200,000 rows of every format, once everything is warm: this checkout against another one.

The other checkout is where the environment variable PUNCTUAL_BEFORE points (a worktree of an older commit); without it
only this one is measured. Each side is a process of its own, and they take turns. Both must give the same answers.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.processes import ROOT, Finished, measured
from benchmarks.report import Goal, Picture, Result

GOALS = {"PARQUET": 0.25, "CSV": 0.25, "JSON": 0.2}
SEED = 10
START_US = 1_700_000_000_000_000


def run(quick: bool) -> Result:
    rows, ticks, warm, turns = (5_000, 3, 2, 1) if quick else (200_000, 12, 6, 2)
    before = os.environ.get("PUNCTUAL_BEFORE")
    sides = {"after": str(ROOT)} | ({"before": before} if before else {})
    found: dict[tuple[str, int, str], list[Finished]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for kind in GOALS:
            folder = write_files(Path(scratch) / kind, kind, rows, ticks + warm)
            for queries in (1, 80):
                for _turn in range(turns):
                    for side, checkout in sides.items():
                        said = _side(checkout, kind, queries, folder, warm)
                        assert said.said["rows"] == rows * (ticks + warm)
                        found.setdefault((kind, queries, side), []).append(said)
                answers = {
                    (one.said["answers"], one.said["sum"]) for side in sides for one in found[kind, queries, side]
                }
                assert len(answers) == 1, f"answers differ: {answers}"
    points = [(kind, queries) for kind in GOALS for queries in (1, 80)]
    lines, goals, series = [], [], {}
    for kind in GOALS:
        for queries in (1, 80):
            (wall, cpu) = _middle(found[kind, queries, "after"])
            line: list[object] = [f"{kind}, {queries} queries", wall, cpu]
            if before:
                old_wall, old_cpu = _middle(found[kind, queries, "before"])
                line += [old_wall, old_cpu, wall / old_wall, cpu / old_cpu]
                goals += [
                    Goal(f"{kind}, {queries} queries: {what} over before", GOALS[kind], ratio)
                    for what, ratio in (("CPU", cpu / old_cpu), ("wall", wall / old_wall))
                ]
            lines.append(line)
    for place, side in enumerate(sides):
        series[side] = [
            (number + 0.4 * place, _middle(found[kind, queries, side])[1])
            for number, (kind, queries) in enumerate(points)
        ]
    return Result(
        name="warm_ticks",
        title=f"Warm ticks of {rows:,} rows: ms of wall and CPU",
        columns=["tick", "wall", "CPU", *(["wall before", "CPU before", "wall ratio", "CPU ratio"] if before else [])],
        rows=lines,
        goals=goals,
        pictures=[Picture("", "CPU ms", series, logarithmic=False, labels=[f"{k.lower()} {q}" for k, q in points])],
        facts={" ".join(map(str, point)): [one.said for one in several] for point, several in found.items()},
    )


def write_files(folder: Path, kind: str, rows: int, files: int, start: int = START_US) -> str:
    """Files of four columns, one after the other in time, 10,000 rows per second of it."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(SEED)
    for number in range(files):
        micros = (np.arange(rows) + number * rows) * 100 + start
        times = pa.array(micros, pa.timestamp("us", tz="UTC"))
        table = pa.table({
            "ts": times,
            "k": pa.array([f"sensor {i}" for i in range(100)]).take(pa.array(random.integers(0, 100, rows))),
            "v": np.round(random.normal(50, 20, rows), 3),
            "n": pa.array(random.integers(0, 10_000, rows), pa.int32()),
        })  # fmt: skip
        path = folder / f"{number:04d}.{kind.lower()}"
        if kind == "PARQUET":
            pq.write_table(table, path)
        else:
            text = table.set_column(0, "ts", pc.strftime(times, "%Y-%m-%dT%H:%M:%SZ"))
            if kind == "CSV":
                pyarrow.csv.write_csv(text, path)
            else:
                path.write_bytes(_json_lines(text))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return str(folder)


def _json_lines(table: pa.Table) -> bytes:
    """The bytes that ``json.dumps`` of each row would give; 200,000 rows one by one take seconds."""
    v, n = (table.column(name).cast(pa.string()) for name in ("v", "n"))
    v = pc.if_else(pc.match_substring(v, "."), v, pc.binary_join_element_wise(v, "0", "."))
    pieces = ['{"ts": "', table["ts"], '", "k": "', table["k"], '", "v": ', v, ', "n": ', n]
    lines = pc.binary_join_element_wise(*pieces, "}\n", "")
    return b"".join(chunk.buffers()[2].to_pybytes() for chunk in lines.chunks)


def _side(checkout: str, kind: str, queries: int, folder: str, warm: int) -> Finished:
    module = "benchmarks.contenders.warm_ticks"
    environment = ["env", f"PYTHONPATH={checkout}/src:{ROOT}"]
    return measured([*environment, sys.executable, "-m", module, kind, str(queries), folder, str(warm)])


def _middle(several: list[Finished]) -> tuple[float, float]:
    """The median tick of all runs, ms of wall and CPU."""
    ticks = [tick for one in several for tick in one.said["ticks"]]
    return 1000 * median(wall for wall, _cpu in ticks), 1000 * median(cpu for _wall, cpu in ticks)
