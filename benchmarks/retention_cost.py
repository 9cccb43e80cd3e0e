"""What retaining rows costs a tick: the same panes with and without a row query that keeps three columns.

Both programs run on one warm session, a tick of each in turn. The row query is due once a day, so that only what it
keeps is measured, not what it answers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.engines import Replay, replay_in_turns, warm
from benchmarks.report import Goal, Picture, Result
from benchmarks.warm_ticks import write_files

KEEPS = "CREATE QUERY kept AS SELECT DISTINCT k, v, n FROM s [RANGE 10 SECONDS] PERIOD 1 DAY;"


def program(folder: str) -> str:
    return f"""
        CREATE STREAM s (ts TIMESTAMP EVENT TIME, k STRING, v DOUBLE, n INT) FROM FILES '{folder}' FORMAT PARQUET;
        CREATE QUERY q AS SELECT k, avg(v) AS a, max(n) AS m FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k;
    """


def run(quick: bool) -> Result:
    sizes, ticks, first = ((5_000,), 4, 2) if quick else ((20_000, 200_000), 16, 6)
    lines, goals, facts = [], [], {}
    with tempfile.TemporaryDirectory() as scratch, warm() as backend:
        for rows in sizes:
            folder = write_files(Path(scratch) / str(rows), "PARQUET", rows, ticks + first)
            without, keeping = replay_in_turns(
                backend, [program(folder), program(folder) + KEEPS], files_per_tick=1
            )
            assert without.rows == keeping.rows == rows * (ticks + first)
            assert _answers(without) == _answers(keeping)
            (plain, plain_wall), (kept, kept_wall) = (_middle(one, first) for one in (without, keeping))
            lines.append([f"{rows:,} rows", plain, kept, kept / plain, plain_wall, kept_wall])
            goals.append(Goal(f"tick of {rows:,} rows that keeps them over one that does not, CPU", 1.2, kept / plain))
            facts[str(rows)] = {
                name: [(step.wall, step.cpu) for step in one.steps]
                for name, one in (("without", without), ("keeping", keeping))
            }
    return Result(
        name="retention_cost",
        title="Ticks with and without retained rows: ms, warm",
        columns=["tick", "CPU without", "CPU with", "ratio", "wall without", "wall with"],
        rows=lines,
        goals=goals,
        pictures=[
            Picture(
                "", "CPU ms",
                {
                    "without": [(place, line[1]) for place, line in enumerate(lines)],
                    "with": [(place + 0.4, line[2]) for place, line in enumerate(lines)],
                },
                logarithmic=False, labels=[str(line[0]) for line in lines],
            )
        ],
        notes=["both gave the same answers from panes"],
        facts=facts,
    )  # fmt: skip


def _answers(replay: Replay) -> list[object]:
    return [table.column("rows").to_pylist() for table in replay.tables("q")]


def _middle(replay: Replay, first: int) -> tuple[float, float]:
    """The median tick, ms of CPU and wall; the last step reads nothing."""
    steps = replay.steps[first:-1]
    return 1000 * median(step.cpu for step in steps), 1000 * median(step.wall for step in steps)
