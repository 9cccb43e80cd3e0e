"""Forty rankings of one window with k up to 1,000, against the dearest of them alone.

One window of 20 seconds, answered every four seconds over 20 seconds of stream; k is spread evenly from 25 to 1,000
over the forty queries, and semantics take turns. *Rank readers* are PK, GLOBAL, PT and U_KRANKS; *all eight* add PRF
(weights of 20 ranks), PRFE, EXPECTED_RANK and U_TOPK, of which the last has a scan of its own for every k and the last
three keep every row of a pane. The dearest alone is the dearest of the semantics that take part, each by itself with
k = 1,000, one after the other in turns with the forty. *Kernel* is the CPU time of the part of a pass that merges panes
and ranks, *pass* that of the pass with the making of answers; medians of several rounds.

For comparison: the rank readers with ``SET sharing = off``, each with its own panes, once.
"""

from __future__ import annotations

from statistics import median

import numpy as np
import pyarrow as pa

from benchmarks.ranking_runs import Batches, WarmInProcess, run_in_turns
from benchmarks.report import Goal, Picture, Result
from benchmarks.topk_workloads import RANGE_S
from benchmarks.workload import EPOCH_US
from punctual.clock import SECOND

QUERIES = 40
LARGEST = 1_000
PERIOD_S = 4
MEASURED_S = 20
ROUNDS = 3
GOAL = 1.3
WEIGHTS = ", ".join(f"{1 - rank / 20:g}" for rank in range(20))
READERS = ("PK", "GLOBAL", "PT(0.5)", "U_KRANKS")
EIGHT = (*READERS, f"PRF({WEIGHTS})", "PRFE(0.95)", "EXPECTED_RANK", "U_TOPK")
MIXES = {"rank readers": READERS, "all eight": EIGHT}
TOGETHER, APART = "forty together", "forty, nothing shared"
COLUMNS = (
    "rows of the window", "rules", "semantics", "program", "kernel, ms per instant", "pass, ms per instant",
    "of the dearest: kernel", "pass",
)  # fmt: skip


def run(quick: bool) -> Result:
    rounds = 1 if quick else ROUNDS
    backend = WarmInProcess()
    table: list[list[object]] = []
    goals: list[Goal] = []
    bars: dict[str, list[tuple[float, float]]] = {"kernel": [], "whole pass": []}
    labels: list[str] = []
    for rows, rules in ((400, False),) if quick else ((10_000, False), (10_000, True), (50_000, False)):
        data = batches(rows, rules)
        run_in_turns(backend, {"warm": program(forty(EIGHT, 50))}, data, "by instant")
        for mix, semantics in MIXES.items():
            programs = {f"{one.partition('(')[0]} alone": program([(one, LARGEST)]) for one in semantics}
            programs[TOGETHER] = program(forty(semantics, LARGEST))
            turns = [run_in_turns(backend, programs, data, "by instant") for _round in range(rounds)]
            if mix == "rank readers" and rows <= 10_000 and not rules:
                programs[APART] = program(forty(semantics, LARGEST), sharing=False)
                ran = run_in_turns(backend, {APART: programs[APART]}, data, "by instant")
                turns = [{**turn, **ran} for turn in turns]
            took = {
                name: tuple(
                    1000 * median(getattr(turn[name], part) / len(turn[name].calls) for turn in turns)
                    for part in ("kernel", "cpu")
                )
                for name in programs
            }
            dearest = tuple(max(took[name][part] for name in took if name.endswith("alone")) for part in (0, 1))
            for name, (kernel, whole) in took.items():
                shown = [rows, "pairs" if rules else "none", mix, name, kernel, whole]
                table.append([*shown, kernel / dearest[0], whole / dearest[1]])
            what = f"{mix}, {rows:,} rows{', rules' if rules else ''}"
            goals += [
                Goal(f"{QUERIES} over the dearest alone, {what}: {part}", GOAL, took[TOGETHER][place] / dearest[place])
                for place, part in enumerate(bars)
            ]
            for place, part in enumerate(bars):
                bars[part].append((len(labels), took[TOGETHER][place] / dearest[place]))
            labels.append(what.replace(", ", "\n"))
    return Result(
        name="topk_together",
        title=f"{QUERIES} rankings of one window, k up to {LARGEST:,}, over the dearest of them alone",
        columns=COLUMNS,
        rows=table,
        goals=goals,
        pictures=[Picture("", "CPU, dearest alone = 1", bars, labels=labels)],
    )


def forty(semantics: tuple[str, ...], largest: int) -> list[tuple[str, int]]:
    """Semantics in turns, k spread evenly; the last has the largest."""
    return [
        (semantics[(QUERIES - 1 - number) % len(semantics)], max(1, largest * (number + 1) // QUERIES))
        for number in range(QUERIES)
    ]


def program(queries: list[tuple[str, int]], *, sharing: bool = True) -> str:
    lines = [
        f"SET sharing = {'on' if sharing else 'off'};",
        "CREATE STREAM s (t TIMESTAMP EVENT TIME, id BIGINT, v DOUBLE, p DOUBLE PROBABILITY, r STRING RULE) FROM FEED;",
    ]
    lines += [
        f"CREATE QUERY q{i} AS SELECT TOP {k} BY {semantics} id FROM s [RANGE {RANGE_S} SECONDS] ORDER BY v DESC "
        f"PERIOD {PERIOD_S} SECONDS;"
        for i, (semantics, k) in enumerate(queries)
    ]
    return "\n".join(lines)


def batches(rows: int, rules: bool) -> Batches:
    """So many rows per window, alone or in rules of two; the first batch fills the window."""
    random = np.random.default_rng(rows)
    count = rows // RANGE_S * (RANGE_S + MEASURED_S)
    times = EPOCH_US + 1 + np.arange(count) * SECOND // (rows // RANGE_S)
    labels = [f"r{number // 2}" for number in range(count)] if rules else [None] * count
    whole = pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "id": np.arange(count),
            "v": random.random(count),
            "p": (1 - random.random(count)) / (2 if rules else 1),
            "r": pa.array(labels, pa.string()),
        }
    )
    return [{"s": whole.slice(0, rows)}, {"s": whole.slice(rows)}]
