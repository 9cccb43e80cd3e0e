"""What shedding at ingest saves: the same tick with all of its rows, half of them and a tenth.

All programs run on one warm session, a tick of each in turn. The first has no QUALITY: it is what exact cells cost.
Then one with QUALITY that is not shed, so that what marks and powers cost shows, and the same with smaller shares. What
was read and what was shed is checked against the public rule.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.engines import Replay, replay_in_turns, warm
from benchmarks.report import Goal, Picture, Result
from benchmarks.warm_ticks import write_files
from punctual.kernel.sample import places

SHARES = (1.0, 0.5, 0.1)
GOALS = {"JSON": 0.7, "CSV": 0.8}
"""A tick of a tenth of the rows over one of all of them, CPU."""


def program(folder: str, kind: str, share: float | None) -> str:
    quality = "" if share is None else " QUALITY LINEAR"
    keep = "" if share is None else f"SET keep = {share};"
    return f"""
        CREATE STREAM s (ts TIMESTAMP EVENT TIME, k STRING, v DOUBLE, n INT) FROM FILES '{folder}' FORMAT {kind};
        CREATE QUERY q AS SELECT k, avg(v) AS a, max(n) AS m FROM s [RANGE 10 SECONDS] GROUP BY k
        PERIOD 10 SECONDS{quality};
        {keep}
    """


def run(quick: bool) -> Result:
    rows, ticks, first = (5_000, 4, 2) if quick else (1_000_000, 8, 3)
    lines, goals, facts, series = [], [], {}, {}
    with tempfile.TemporaryDirectory() as scratch, warm() as backend:
        for kind in GOALS:
            folder = write_files(Path(scratch) / kind, kind, rows, ticks + first)
            programs = [program(folder, kind, share) for share in (None, *SHARES)]
            exact, *shed = replay_in_turns(backend, programs, files_per_tick=1)
            assert exact.rows == rows * (ticks + first)
            place = _places(Path(folder), kind)
            assert [one.rows for one in shed] == [int((place < share).sum()) for share in SHARES]
            plain, *several = (_middle(one, first) for one in (exact, *shed))
            whole = several[0]
            for share, (cpu, wall) in zip(SHARES, several):
                lines.append([kind, f"{share:.0%}", cpu, wall, cpu / whole[0], wall / whole[1], cpu / plain[0]])
            series[kind] = [(number, cpu / whole[0]) for number, (cpu, _wall) in enumerate(several)]
            goals.append(
                Goal(f"{kind}: tick of a tenth of its rows over all, CPU", GOALS[kind], several[-1][0] / whole[0])
            )
            facts[kind] = {
                name: [(step.wall, step.cpu) for step in one.steps]
                for name, one in zip(("exact", *map(str, SHARES)), (exact, *shed))
            }
    return Result(
        name="shed_ticks",
        title=f"Ticks of {rows:,} rows that are shed at ingest: ms, warm",
        columns=["format", "share", "CPU", "wall", "CPU over all", "wall over all", "CPU over exact"],
        rows=lines,
        goals=goals,
        pictures=[Picture("", "CPU over that of all rows", series, logarithmic=False, labels=["100%", "50%", "10%"])],
        notes=["rows that were read are those of the public rule"],
        facts=facts,
    )


def _places(folder: Path, kind: str) -> NDArray[np.float64]:
    lines: list[bytes] = []
    for path in sorted(folder.iterdir()):
        found = path.read_bytes().splitlines()
        lines += found[1:] if kind == "CSV" else found
    return places(pa.table({"line": pa.array(lines, pa.binary())}), ["line"], "s")


def _middle(replay: Replay, first: int) -> tuple[float, float]:
    """The median tick, ms of CPU and wall; the last step reads nothing."""
    steps = replay.steps[first:-1]
    return 1000 * median(step.cpu for step in steps), 1000 * median(step.wall for step in steps)
