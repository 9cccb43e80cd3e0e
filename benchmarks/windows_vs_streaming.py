"""Many sliding windows over one stream: Punctual against one plain Structured Streaming query per window.

Both run as a process of their own from start to end over the same Parquet files, ten files per batch, and are measured
by CPU seconds of their whole tree, start-up included. Beyond the largest number of windows that plain streaming was
run with, its line is extended by its own slope, and drawn dashed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq

from benchmarks.expected import Answers, check
from benchmarks.processes import Finished, contend
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import Rows, sliding

GOALS = {1: 1.0, 20: 10.0, 80: 80.0}


def run(quick: bool) -> Result:
    rows = Rows(200_000, 200) if quick else Rows(2_000_000, 2_000)
    counts = (1, 2) if quick else (1, 5, 20, 80)
    plain_counts = (1, 2) if quick else (1, 5, 20)
    folder = rows.folder()
    table = rows.table()
    silent: dict[int, Finished] = {}
    writing: dict[int, Finished] = {}
    plain: dict[int, Finished] = {}
    compared = 0
    for count in counts:
        with tempfile.TemporaryDirectory() as scratch:
            silent[count] = contend("punctual_once", folder, "--windows", str(count))
            writing[count] = contend("punctual_once", folder, "--windows", str(count), "--out", f"{scratch}/out")
            if count in plain_counts:
                plain[count] = contend("spark_streaming", folder, "--windows", str(count), "--keep", scratch)
            for number in {0, count - 1}:
                window = sliding(count)[number]
                compared += check(table, window, _lines(Path(scratch) / "out" / f"q{number}.jsonl"))
                if count in plain:
                    kept = _kept(Path(scratch) / f"{number}.parquet")
                    compared += check(table, window, kept, every_instant=False)
    largest, before = sorted(plain)[-1], sorted(plain)[-2]
    slope = (plain[largest].cpu - plain[before].cpu) / (largest - before)
    extended = {c: plain[c].cpu if c in plain else plain[largest].cpu + slope * (c - largest) for c in counts}
    lines = []
    for count in counts:
        ratio = extended[count] / silent[count].cpu
        mark = "" if count in plain else " (extended)"
        lines.append([
            count, silent[count].cpu, writing[count].cpu, f"{extended[count]:.0f}{mark}", ratio,
            extended[count] / writing[count].cpu, silent[count].wall, plain[count].wall if count in plain else None,
        ])  # fmt: skip
    goals = [
        Goal(f"{n} windows, plain streaming's CPU over ours", bound, extended[n] / silent[n].cpu, at_least=True)
        for n, bound in GOALS.items()
        if n in extended
    ]
    return Result(
        name="windows_vs_streaming",
        title=f"{rows.count:,} rows, {rows.keys} keys, N sliding windows: CPU seconds from start to end",
        columns=[
            "windows",
            "Punctual",
            "with JSONL",
            "plain streaming",
            "ratio",
            "ratio, JSONL",
            "wall s",
            "plain wall s",
        ],
        rows=lines,
        goals=goals,
        pictures=[
            Picture(
                "sliding windows",
                "CPU seconds of the process tree",
                {
                    "Punctual": [(n, silent[n].cpu) for n in counts],
                    "Punctual, answers as JSONL": [(n, writing[n].cpu) for n in counts],
                    "plain Structured Streaming": [(n, plain[n].cpu) for n in sorted(plain)],
                    "the same, extended": [(n, extended[n]) for n in counts if n >= largest],
                },
                dashed=["the same, extended"],
            )
        ],
        notes=[f"{compared:,} sampled answers of both equal those recomputed from the rows"],
        facts={
            "punctual": {n: [f.wall, f.cpu, f.said] for n, f in silent.items()},
            "punctual_jsonl": {n: [f.wall, f.cpu, f.said] for n, f in writing.items()},
            "plain": {n: [f.wall, f.cpu, f.said] for n, f in plain.items()},
        },
    )


def _lines(path: Path) -> Answers:
    found: dict[int, dict[str | None, tuple[float, float]]] = {}
    for line in path.read_bytes().splitlines():
        answer = orjson.loads(line)
        found[_micros(answer["at"])] = {row["k"]: (row["a"], row["m"]) for row in answer["rows"]}
    return found


def _micros(text: str) -> int:
    return int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64))


def _kept(path: Path) -> Answers:
    found: dict[int, dict[str | None, tuple[float, float]]] = {}
    for row in pq.read_table(path).to_pylist():
        found.setdefault(row["at"], {})[row["k"]] = (row["a"], row["m"])
    return found
