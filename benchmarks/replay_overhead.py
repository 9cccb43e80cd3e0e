"""A whole replay against the least that PySpark can do with the same files, and what options of the JVM change.

Each is a process of its own, from start to end; the bare program starts the same session, reads the same columns, and
counts rows in a Python stage, ten files per job. Contenders take turns.
"""

from __future__ import annotations

from statistics import median

from benchmarks.processes import Finished, contend
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import Rows

GOAL = 1.3
FLAGS = {
    "C1 only": "-XX:TieredStopAtLevel=1",
    "ParallelGC": "-XX:-UseSerialGC -XX:+UseParallelGC",
    "no class archive": "-Xshare:off",
}


def run(quick: bool) -> Result:
    rows = Rows(200_000, 200) if quick else Rows(2_000_000, 2_000)
    repeats = 1 if quick else 2
    folder = rows.folder()
    bare: list[Finished] = []
    ours: list[Finished] = []
    flagged: dict[str, list[Finished]] = {name: [] for name in FLAGS}
    for _turn in range(repeats):
        bare.append(contend("bare_count", folder))
        assert bare[-1].said["rows"] == rows.count
        ours.append(contend("punctual_once", folder, "--windows", "80"))
        for name, flags in FLAGS.items():
            flagged[name].append(contend("punctual_once", folder, "--windows", "80", f"--java={flags}"))
    answers = {run.said["answers"] for runs in (ours, *flagged.values()) for run in runs}
    assert len(answers) == 1, f"the number of answers differs: {answers}"
    lines = [_line("bare job", bare), _line("Punctual, 80 windows", ours)]
    lines += [_line(f"the same, JVM {name}", runs) for name, runs in flagged.items()]
    cpu = {str(line[0]): line[1] for line in lines}
    wall = {str(line[0]): line[2] for line in lines}
    return Result(
        name="replay_overhead",
        title=f"{rows.count:,} rows from start to end: 80 windows against a bare count",
        columns=["program", "CPU s", "wall s", "of that start-up s"],
        rows=lines,
        goals=[
            Goal("CPU over the bare job's", GOAL, cpu["Punctual, 80 windows"] / cpu["bare job"]),
            Goal("wall over the bare job's", GOAL, wall["Punctual, 80 windows"] / wall["bare job"]),
        ],
        pictures=[
            Picture(
                "",
                "seconds",
                {
                    "CPU": [(place, line[1]) for place, line in enumerate(lines)],
                    "wall": [(place, line[2]) for place, line in enumerate(lines)],
                },
                labels=["bare\njob", "Punctual", *(name.replace(" ", "\n") for name in FLAGS)],
            )
        ],
        facts={"bare": [[f.wall, f.cpu, f.said] for f in bare], "punctual": [[f.wall, f.cpu, f.said] for f in ours],
               "flags": {n: [[f.wall, f.cpu, f.said] for f in runs] for n, runs in flagged.items()}},
    )  # fmt: skip


def _line(name: str, runs: list[Finished]) -> list[object]:
    return [
        name,
        median(run.cpu for run in runs),
        median(run.wall for run in runs),
        median(run.said["opened"] for run in runs),
    ]
