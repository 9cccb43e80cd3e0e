"""How many rows of a window stay candidates: rows that panes of the running engine hold, over rows accepted.

One ranking (PK) over a window of a minute, answered every minute, every ten seconds or every second: the window is one
pane, six or sixty. 60,000 rows fill it; scores uniform, probabilities uniform around a mean. A pane keeps the rows that
can be among the k best of any window (the chance of a row that is dropped is at most 1e-18), so what is kept grows with
k over the mean probability and with the number of panes, not with the rows. A pane of at most 4 k rows is not looked
through. Panes of rows with rules keep more, since a rule may break in a later window.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.ranking_runs import WarmInProcess, run_in_turns
from benchmarks.report import Goal, Picture, Point, Result
from benchmarks.workload import EPOCH_US
from punctual.clock import SECOND

ROWS = 60_000
WINDOW_S = 60
PANES = {1: 60, 6: 10, 60: 1}
"""How many a window has, and the seconds between answers that make them."""
KS = (1, 10, 100, 1_000)
MEANS = (0.05, 0.2, 0.5, 0.9)
RULED = (0.0, 0.5, 0.9, 1.0)
"""Shares of rows in rules of two."""
COLUMNS = ("k", "mean probability", "rows in rules", "panes", "rows accepted", "kept", "share kept")


def run(quick: bool) -> Result:
    rows = 6_000 if quick else ROWS
    cases = [
        *((k, mean, 0.0, 1) for k in KS for mean in MEANS),
        *((k, 0.5, 0.0, panes) for k in KS for panes in PANES if panes > 1),
        *((k, 0.5, ruled, 1) for k in KS for ruled in RULED if ruled),
    ]
    backend = WarmInProcess()
    found: dict[tuple[int, float, float, int], float] = {}
    table = []
    for mean, ruled, panes in dict.fromkeys(case[1:] for case in cases):
        ks = [case[0] for case in cases if case[1:] == (mean, ruled, panes)]
        programs = {str(k): program(k, PANES[panes]) for k in ks}
        ran = run_in_turns(backend, programs, [{"s": drawn(rows, mean, ruled)}], "not at all")
        for k in ks:
            kept = ran[str(k)].kept
            assert ran[str(k)].accepted == rows
            found[k, mean, ruled, panes] = kept / rows
            table.append((k, mean, ruled, panes, rows, kept, kept / rows))
    middle = found[100, 0.5, 0.0, 1]
    return Result(
        name="topk_candidates",
        title=f"Rows of a window of {rows:,} that panes keep as candidates",
        columns=COLUMNS,
        rows=sorted(table),
        goals=[Goal("share kept, k = 100, mean probability 0.5, one pane", 0.02, middle)],
        pictures=[
            Picture("k", "share of rows kept", {f"mean {m}": _line(found, m, 0.0, 1) for m in MEANS}),
            Picture("k", "share of rows kept", {f"panes: {p}": _line(found, 0.5, 0.0, p) for p in PANES}),
            Picture("k", "share of rows kept", {f"{100 * r:.0f} % in rules": _line(found, 0.5, r, 1) for r in RULED}),
        ],
    )


def _line(found: dict[tuple[int, float, float, int], float], mean: float, ruled: float, panes: int) -> list[Point]:
    return [(k, found[k, mean, ruled, panes]) for k in KS]


def program(k: int, seconds: int) -> str:
    return (
        "CREATE STREAM s (t TIMESTAMP EVENT TIME, id BIGINT, v DOUBLE, p DOUBLE PROBABILITY, r STRING RULE) FROM FEED;"
        f"CREATE QUERY q AS SELECT TOP {k} id FROM s [RANGE {WINDOW_S} SECONDS] ORDER BY v DESC "
        f"PERIOD {seconds} SECONDS;"
    )


def drawn(rows: int, mean: float, ruled: float) -> pa.Table:
    """The rows of one window in the order of time; in rules of two, probabilities are at most a half."""
    random = np.random.default_rng(rows)
    begin = -(-EPOCH_US // (WINDOW_S * SECOND)) * WINDOW_S * SECOND  # an instant of every query
    times = begin + 1 + np.arange(rows) * (WINDOW_S * SECOND) // rows
    wide = min(mean, 1 - mean)
    prob = random.uniform(mean - wide, mean + wide, rows)
    member = np.arange(rows) // 2 < ruled * rows / 2
    member = member[random.permutation(rows // 2).repeat(2) * 2]
    prob[member] /= 2
    labels = [f"r{number // 2}" if inside else None for number, inside in enumerate(member.tolist())]
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "id": np.arange(rows),
            "v": random.random(rows),
            "p": prob,
            "r": pa.array(labels, pa.string()),
        }
    )
