"""From start to the first answer, and resident memory: after starting, with a thousand queries, with a million groups.

Memory is the proportional set size of the driver, its JVM and the Python workers, read after a replay in a process
of its own.
"""

from __future__ import annotations

from statistics import median

from benchmarks.processes import contend
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import Rows


def run(quick: bool) -> Result:
    small = Rows(40_000, 40, files=4)
    many = Rows(100_000, 100, files=10) if quick else Rows(1_000_000, 200, files=10)
    crowd = Rows(200_000, 100, keys=20_000, files=10) if quick else Rows(4_000_000, 200, keys=1_000_000, files=10)
    starts = [contend("punctual_once", small.folder(), "--windows", "1") for _turn in range(1 if quick else 3)]
    cases = {
        "one query": contend("memory_after", small.folder(), "--windows", "1"),
        f"{100 if quick else 1_000:,} queries": contend(
            "memory_after", many.folder(), "--windows", str(100 if quick else 1_000)
        ),
        f"{crowd.keys:,} groups": contend("memory_after", crowd.folder(), "--windows", "3", "--groups"),
    }
    opened = median(run.said["opened"] for run in starts)
    first = median(run.said["first_answer"] for run in starts)
    parts = ("driver", "jvm", "workers")
    lines = [
        [name, *(run.said[part] for part in parts), sum(run.said[part] for part in parts), run.said["cells"], run.wall]
        for name, run in cases.items()
    ]
    return Result(
        name="startup_and_memory",
        title=f"Resident MiB (start to first answer: {first:.1f} s, of that {opened:.1f} s until the engine is open)",
        columns=["program", *parts, "together", "cells on the driver", "wall s"],
        rows=lines,
        goals=[Goal("seconds from start to the first answer", 15.0, first)],
        pictures=[
            Picture(
                "",
                "MiB",
                {part: [(i, run.said[part]) for i, run in enumerate(cases.values())] for part in parts},
                labels=list(cases),
            )
        ],
        facts={
            "starts": [[run.wall, run.cpu, run.said] for run in starts],
            "cases": {name: [run.wall, run.cpu, run.said] for name, run in cases.items()},
        },
    )
