"""The price of generality: windows that are answered from their rows (``SET window_merge = rows``) against panes.

Windows of 10 to 30 seconds over one stream, all due every 5 seconds, which is what a tick reads. With panes a row is
reduced once, whoever reads it; from rows it is read again for every window that it is in, by Spark, and reduced by the
same kernels. Both kinds of program take turns tick by tick on one warm session. The first ticks fill the windows and
make the plans of Spark, and are left out. Every answer from rows must be the one from panes.
"""

from __future__ import annotations

from benchmarks.engines import Replay, replay_in_turns, warm
from benchmarks.expected import check, from_blocks
from benchmarks.report import Picture, Result
from benchmarks.workload import Rows, Window, program

TICK_S = 5
MERGES = ("auto", "rows")
NAMES = {"auto": "panes", "rows": "rows"}


def windows(count: int) -> list[Window]:
    """Ranges of 10 to 30 seconds, all at multiples of a tick."""
    return [Window(10 + 7 * i % 21, TICK_S) for i in range(count)]


def run(quick: bool) -> Result:
    rate, ticks, left_out = (200, 9, 7) if quick else (1_000, 11, 7)
    counts = (1, 5) if quick else (1, 5, 20, 80)
    rows = Rows(rate * TICK_S * ticks, TICK_S * ticks, files=ticks)
    folder, table = rows.folder(), rows.table()
    keys = [(count, merge) for count in counts for merge in MERGES]
    programs = [f"SET window_merge = {merge};\n{program(folder, windows(count))}" for count, merge in keys]
    with warm() as backend:
        measured = dict(zip(keys, replay_in_turns(backend, programs, files_per_tick=1)))
    compared = 0
    for count in counts:
        for number, window in enumerate(windows(count)):
            panes, from_rows = (measured[count, merge].tables(f"q{number}") for merge in MERGES)
            assert panes == from_rows, f"q{number} of {count} differs"
            compared += check(table, window, from_blocks(panes)) if number in (0, count - 1) else 0
    # What is due when the rows end is another set of queries, whose plan is made then: the last step is left out too.
    cpu = {key: _mean([step.cpu for step in taken.steps[left_out:-1]]) for key, taken in measured.items()}
    wall = {key: _mean([step.wall for step in taken.steps[left_out:-1]]) for key, taken in measured.items()}
    read = {count: sum(window.range_s for window in windows(count)) * rate for count in counts}
    return Result(
        name="rows_against_panes",
        title=f"Windows from rows against panes: CPU of a tick of {TICK_S} s at {rate:,} rows/s",
        columns=["windows", "rows read", "panes, CPU s", "rows, CPU s", "rows over panes", "wall", "us a row more"],
        rows=[
            [
                count,
                read[count],
                cpu[count, "auto"],
                cpu[count, "rows"],
                cpu[count, "rows"] / cpu[count, "auto"],
                wall[count, "rows"] / wall[count, "auto"],
                1e6 * (cpu[count, "rows"] - cpu[count, "auto"]) / read[count],
            ]
            for count in counts
        ],
        goals=[],
        pictures=[
            Picture(
                "windows",
                "CPU seconds of a tick",
                {NAMES[merge]: [(count, cpu[count, merge]) for count in counts] for merge in MERGES},
            )
        ],
        notes=[
            f"{compared:,} sampled answers equal those recomputed from the rows",
            "all answers from rows equal those from panes",
        ],
        facts={f"{NAMES[merge]} {count}": _steps(taken) for (count, merge), taken in measured.items()},
    )


def _steps(taken: Replay) -> list[list[float]]:
    return [[step.wall, step.cpu] for step in taken.steps]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
