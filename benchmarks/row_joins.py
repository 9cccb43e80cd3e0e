"""Joins of two windows, 1 to 24 queries: prepared plans against planning anew, and against plain joins of streams.

A window of 10 seconds joined with one of a minute every 10 seconds, so that each pair of rows is in one answer: the
pairs that a join of streams gives. Every side is a process of its own and is measured once it is warm: CPU seconds of
its tree per period of 10 seconds.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean

from benchmarks.join_workload import write_streams
from benchmarks.processes import Finished, contend
from benchmarks.report import Goal, Picture, Result


def run(quick: bool) -> Result:
    per_second, warm, measured = (100, 2, 2) if quick else (2_000, 7, 4)
    counts = (1, 2) if quick else (1, 4, 24)
    ours: dict[int, float] = {}
    anew: dict[int, float] = {}
    plain: dict[int, float] = {}
    wall: dict[int, float] = {}
    facts: dict[str, object] = {}
    pairs = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "streams"
        write_streams(folder, per_second, warm + measured)
        for count in counts:
            arguments = (str(count), str(folder), str(warm))
            sides = {
                "prepared": contend("row_joins", *arguments),
                "anew": contend("row_joins", *arguments, "--anew"),
                "streaming": contend("stream_joins", *arguments),
            }
            said = {(tuple(one.said["rows"]), tuple(one.said["total"])) for one in sides.values()}
            assert len(said) == 1, f"answers differ: {said}"
            pairs += sum(sides["prepared"].said["rows"])
            ours[count], wall[count] = _tick(sides["prepared"])
            anew[count] = _tick(sides["anew"])[0]
            plain[count] = sides["streaming"].said["cpu"] / measured
            facts[str(count)] = {side: one.said for side, one in sides.items()}
    most = counts[-1]
    return Result(
        name="row_joins",
        title=f"Joins of windows of 10 s and 60 s, {per_second:,} rows/s each: CPU seconds per 10 s, warm",
        columns=["queries", "prepared", "planned anew", "streaming", "anew / ours", "streaming / ours", "wall, ours"],
        rows=[[n, ours[n], anew[n], plain[n], anew[n] / ours[n], plain[n] / ours[n], wall[n]] for n in counts],
        goals=[
            Goal(f"{most} queries, plain streaming's CPU over ours", 5.0, plain[most] / ours[most], at_least=True),
            Goal(f"{most} queries, our CPU over planning anew", 0.5, ours[most] / anew[most]),
        ],
        pictures=[
            Picture(
                "queries",
                "CPU seconds per 10 s of rows",
                {
                    "prepared": [(n, ours[n]) for n in counts],
                    "planned anew": [(n, anew[n]) for n in counts],
                    "plain Structured Streaming": [(n, plain[n]) for n in counts],
                },
            )
        ],
        notes=[f"all three gave the same {pairs:,} pairs (their numbers and sums by query)"],
        facts=facts,
    )


def _tick(side: Finished) -> tuple[float, float]:
    """CPU and wall seconds of a tick."""
    ticks = side.said["ticks"]
    return mean(cpu for _wall, cpu in ticks), mean(wall for wall, _cpu in ticks)
