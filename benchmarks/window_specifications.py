"""Rows per second with one window specification and with a thousand.

Two families of specifications (range, slide): slides of ten round lengths with ranges of 1 to 100 times the slide, and
ranges and slides that are all prime, so that hardly two windows share an edge. One warm session, the same rows; one
window and many take turns, and the median of each is compared.
"""

from __future__ import annotations

from statistics import median

from benchmarks.engines import Replay, replay, warm
from benchmarks.expected import check, from_blocks
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import Rows, Window, program

ROUND_SLIDES = (5, 6, 10, 12, 15, 20, 30, 40, 50, 60)
FAMILIES = ("round", "co-prime")
GOALS = {"round": 0.95, "co-prime": 0.70}


def windows(family: str, count: int) -> list[Window]:
    """The first ``count`` specifications of a family."""
    if family == "round":
        return [Window(s * times, s) for times in range(1, 101) for s in ROUND_SLIDES][:count]
    primes = _primes(2_000)
    slides = [p for p in primes if p >= 5][:20]
    ranges = [p for p in primes if p > 2 * slides[-1]]
    return [Window(ranges[i // len(slides)], slides[i % len(slides)]) for i in range(count)]


def run(quick: bool) -> Result:
    rows = Rows(400_000, 80, files=8) if quick else Rows(6_000_000, 300, files=24)
    counts = (1, 100) if quick else (1, 10, 100, 1_000)
    repeats = 1 if quick else 2
    table = rows.table()
    folder = rows.folder()
    measured: dict[tuple[str, int], list[Replay]] = {}
    compared = 0
    with warm() as backend:
        replay(backend, program(folder, windows("round", 10)), files_per_tick=4)
        for family in FAMILIES:
            for _turn in range(repeats):
                for count in counts:
                    chosen = windows(family, count)
                    once = replay(backend, program(folder, chosen), files_per_tick=4)
                    assert once.rows == rows.count
                    for number in {0, count // 2, count - 1}:
                        compared += check(table, chosen[number], from_blocks(once.tables(f"q{number}")))
                    once.sink._blocks.clear()
                    measured.setdefault((family, count), []).append(once)
    speed = {key: rows.count / median(r.wall for r in runs) for key, runs in measured.items()}
    cpu = {key: median(r.cpu for r in runs) for key, runs in measured.items()}
    kept_cpu = {(family, n): cpu[family, 1] / used for (family, n), used in cpu.items()}
    lines = [
        [family, n, runs[0].answers, speed[family, n], speed[family, n] / speed[family, 1], kept_cpu[family, n]]
        for (family, n), runs in measured.items()
    ]
    most = counts[-1]
    return Result(
        name="window_specifications",
        title=f"Rows per second with 1 to {most:,} window specifications ({rows.count:,} rows, {rows.keys} keys)",
        columns=["family", "specifications", "answers", "rows/s", "kept (wall)", "kept (CPU)"],
        rows=lines,
        goals=[
            Goal(
                f"{family}: rows/s kept at {most:,}",
                GOALS[family],
                speed[family, most] / speed[family, 1],
                at_least=True,
            )
            for family in FAMILIES
        ],
        pictures=[
            Picture(
                "window specifications",
                "rows per second, of those with one",
                {f: [(n, speed[f, n] / speed[f, 1]) for n in counts] for f in FAMILIES},
            )
        ],
        notes=[f"{compared:,} sampled answers equal those recomputed from the rows"],
        facts={f"{f} {n}": [[r.wall, r.cpu, r.answers] for r in runs] for (f, n), runs in measured.items()},
    )


def _primes(below: int) -> list[int]:
    return [n for n in range(2, below) if all(n % p for p in range(2, int(n**0.5) + 1))]
