"""Rows per second with one window specification and with a thousand.

Two families of specifications (range, slide): slides of ten round lengths with ranges of 1 to 100 times the slide, and
ranges and slides that are all prime, so that hardly two windows share an edge. One warm session, the same rows; the
programs take turns tick by tick, and the sums of their ticks are compared.
"""

from __future__ import annotations

from benchmarks.engines import Replay, replay_in_turns, warm
from benchmarks.expected import check, from_blocks
from benchmarks.report import Goal, Picture, Result
from benchmarks.workload import Rows, Window, program

ROUND_SLIDES = (5, 6, 10, 12, 15, 20, 30, 40, 50, 60)
FAMILIES = ("round", "co-prime")
GOALS = {"round": 0.95, "co-prime": 0.90}


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
    table = rows.table()
    folder = rows.folder()
    measured: dict[tuple[str, int], Replay] = {}
    compared = 0
    with warm() as backend:
        replay_in_turns(backend, [program(folder, windows("round", 10))], files_per_tick=2)  # warms the session
        for family in FAMILIES:
            families = [windows(family, count) for count in counts]
            programs = [program(folder, chosen) for chosen in families]
            for count, chosen, taken in zip(counts, families, replay_in_turns(backend, programs, files_per_tick=2)):
                assert taken.rows == rows.count
                for number in {0, count // 2, count - 1}:
                    compared += check(table, chosen[number], from_blocks(taken.tables(f"q{number}")))
                measured[family, count] = taken
    # The first tick is left out; the steps that are summed read all other rows.
    wall = {key: sum(step.wall for step in taken.steps[1:]) for key, taken in measured.items()}
    cpu = {key: sum(step.cpu for step in taken.steps[1:]) for key, taken in measured.items()}
    share = 1 - 2 / rows.files
    kept = {(family, n): wall[family, 1] / taken for (family, n), taken in wall.items()}
    kept_cpu = {(family, n): cpu[family, 1] / taken for (family, n), taken in cpu.items()}
    most = counts[-1]
    return Result(
        name="window_specifications",
        title=f"Rows per second with 1 to {most:,} window specifications ({rows.count:,} rows, {rows.keys} keys)",
        columns=["family", "specifications", "answers", "rows/s", "kept (wall)", "kept (CPU)"],
        rows=[
            [family, n, taken.answers, share * rows.count / wall[family, n], kept[family, n], kept_cpu[family, n]]
            for (family, n), taken in measured.items()
        ],
        goals=[
            Goal(f"{family}: {kind} kept at {most:,}", bound, values[family, most], at_least=True)
            for family, bound in GOALS.items()
            for kind, values in (("rows/s", kept), ("rows/CPU s", kept_cpu))
        ],
        pictures=[
            Picture(
                "window specifications",
                "rows per second, of those with one",
                {f: [(n, kept[f, n]) for n in counts] for f in FAMILIES},
                logarithmic=False,
            )
        ],
        notes=[f"{compared:,} sampled answers equal those recomputed from the rows"],
        facts={f"{f} {n}": [[s.wall, s.cpu] for s in taken.steps] for (f, n), taken in measured.items()},
    )


def _primes(below: int) -> list[int]:
    return [n for n in range(2, below) if all(n % p for p in range(2, int(n**0.5) + 1))]
