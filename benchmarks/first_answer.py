"""From the start of the process to its first answer, wall and CPU, with what the time goes into.

Two programs over 200,000 JSON rows: one whose types need no Spark, and one with a function that only Spark knows.
``PUNCTUAL_BEFORE=path`` names another checkout: both run in turns, and goals are the ratios of this one to that one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import pyarrow.compute as pc

from benchmarks.processes import ROOT, Finished, measured
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import CACHE, Rows

GOAL = 0.55
STREAM = "CREATE STREAM s (ts TIMESTAMP EVENT TIME, k STRING, v DOUBLE) FROM FILES '{}' FORMAT JSON;\n"
WINDOW = "FROM s [RANGE 10 SECONDS] {} GROUP BY k PERIOD 5 SECONDS;\n"
PROGRAMS = {
    "plain": "CREATE QUERY q AS SELECT k, avg(v) AS mean, max(v) AS top " + WINDOW.format("WHERE v > 20"),
    "with Spark's": "CREATE QUERY q AS SELECT k, avg(v) AS mean, max(sqrt(v)) AS top " + WINDOW.format(""),
}
MARKS = ("python", "imports", "compiled", "session", "types", "open", "first tick", "first answer")


def run(quick: bool) -> Result:
    folder = json_rows(Rows(20_000 if quick else 200_000, 40, files=4))
    sides = {"this": str(ROOT)}
    if before := os.environ.get("PUNCTUAL_BEFORE"):
        sides["before"] = os.path.abspath(before)
    runs: dict[tuple[str, str], list[Finished]] = {}
    with tempfile.TemporaryDirectory(prefix="punctual-benchmark-") as programs:
        for name, text in PROGRAMS.items():
            Path(programs, f"{name}.sql").write_text(STREAM.format(folder) + text)
        for _turn in range(1 if quick else 5):
            for name in PROGRAMS:
                for side, checkout in sides.items():
                    runs.setdefault((name, side), []).append(first_answer(checkout, str(Path(programs, f"{name}.sql"))))
    lines = [[name, side, *cells(several)] for (name, side), several in runs.items()]
    goals = []
    for name in PROGRAMS if len(sides) > 1 else ():
        for place, what in enumerate(("wall", "CPU")):
            ratio = at(runs[name, "this"], "first answer", place) / at(runs[name, "before"], "first answer", place)
            goals.append(Goal(f"{what} to the first answer over before, {name}", GOAL, ratio))
    return Result(
        name="first_answer",
        title="Seconds from the start of the process: wall (CPU of the whole tree)",
        columns=["program", "checkout", *MARKS],
        rows=lines,
        goals=goals,
        pictures=[
            Picture(
                "",
                "CPU seconds",
                {
                    f"{name}, {side}": [(i, at(several, mark, 1)) for i, mark in enumerate(MARKS)]
                    for (name, side), several in runs.items()
                },
                labels=list(MARKS),
            )
        ],
        facts={f"{name}, {side}": [one.said for one in several] for (name, side), several in runs.items()},
    )


def first_answer(checkout: str, program: str) -> Finished:
    environment = {**os.environ, "PYTHONPATH": f"{checkout}/src"}
    return measured([sys.executable, "-m", "benchmarks.contenders.first_answer", program], environment)


def at(several: list[Finished], mark: str, place: int) -> float:
    """The median of a mark's wall (0) or CPU (1) seconds; 0 where it was never reached before the first answer."""
    return median(one.said.get(mark, (0.0, 0.0))[place] for one in several)


def cells(several: list[Finished]) -> list[str]:
    return [f"{at(several, mark, 0):.1f} ({at(several, mark, 1):.1f})" for mark in MARKS]


def json_rows(rows: Rows) -> str:
    """The rows as JSON lines, made once."""
    folder = CACHE / f"json{rows.count}_files{rows.files}"
    if not folder.exists():
        making = folder.with_name(f".{folder.name}.{os.getpid()}")
        making.mkdir(parents=True)
        table = rows.table()
        times = pc.strftime(table.column("ts"), "%Y-%m-%dT%H:%M:%SZ").to_pylist()
        lines = [
            f'{{"ts":"{ts}","k":"{k}","v":{v}}}\n'
            for ts, k, v in zip(times, table.column("k").to_pylist(), table.column("v").to_pylist())
        ]
        size = -(-len(lines) // rows.files)
        for number in range(rows.files):
            (making / f"{number}.json").write_text("".join(lines[number * size : (number + 1) * size]))
        making.rename(folder)
    return str(folder)
