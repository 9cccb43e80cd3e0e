"""Rounds that panes keep: CPU of an instant with and without them, by how often a row is in a window.

An instant is all that the driver does with the rows of a window once they are read: make them ready, draw, fold, and
say what the worlds say. The query is an average by group where a drawn condition holds, in 64 rounds, of which panes
keep all, or in 100 (the default), of which they keep 64. Windows of the same rows slide by their range divided by 1, 2,
5, 20 and 200. Both ways answer every instant one after the other in one process, and say the same.

The first window keeps nothing yet: what it costs to begin is measured by itself. *By the rule* is what the engine does:
panes keep rounds where a row is in two windows at least, 65,536 draws are spared and 2,048 for each period of the
range, and a group of a pane has two uncertain rows on the average. *Always* is without these numbers, so that one sees
what they are good for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import thread_time

import numpy as np
import pyarrow as pa

from benchmarks.report import Goal, Picture, Point, Result
from punctual.clock import SECOND
from punctual.kernel.arrays.state import I64
from punctual.kernel.draw.kept.kept_folds import KeptFolds
from punctual.kinds.program import compile_program
from punctual.kinds.world_run import WorldRun
from punctual.kinds.worlds.rounds import panes
from punctual.kinds.worlds.rounds.settle import Settled, settle
from punctual.kinds.worlds.rounds.window_drawing import WindowDrawing
from punctual.plan.query import Query
from punctual.plan.worlds import Worlds

RANGE_S, START = 600, 1_700_000_000 * SECOND
WINDOWS = (1, 2, 5, 20, 200)
SHAPES = ((1_000, 10), (4_000, 10), (10_000, 10), (10_000, 1_000), (100_000, 10))
"""Rows of a window, and groups."""
ROUNDS, KEPT = (64, 100), 64
INSTANTS, QUICK_INSTANTS = 16, 2
LENGTH = 7
"""Rows are there for so many windows one behind the other."""
RULE = {"LEAST_WINDOWS": 1, "LEAST_DRAWS": 0, "PANE_DRAWS": 0, "ROWS_PER_CELL": 0}
"""The numbers of the rule where panes are always used."""
COLUMNS = (
    "rows",
    "groups",
    "rounds",
    "windows",
    "without, ms",
    "rule, ms",
    "always, ms",
    "first, ms",
    "rule over",
    "always over",
)
PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE)
FROM FEED;
CREATE QUERY q AS SELECT k, avg(x) AS m, PROBABILITY(avg(x) > 52) AS p FROM s [RANGE {range_s} SECONDS]
WHERE x > 40 GROUP BY k PERIOD {period_s} SECONDS ROUNDS {rounds};
"""
Columns = dict[str, pa.Array]


def made_rows(rows: int, groups: int) -> tuple[I64, Columns]:
    """Rows of some windows one behind the other, evenly in time."""
    random, count = np.random.default_rng([rows, groups]), LENGTH * rows
    times = START + (np.arange(1, count + 1) * (RANGE_S * SECOND / rows)).astype(np.int64)
    columns = {
        "t": pa.array(times, pa.timestamp("us", tz="UTC")),
        "k": pa.array([f"k{one}" for one in random.integers(0, groups, count)]),
        "x": pa.array(random.normal(50.0, 9.0, count)),
        "sd": pa.array(random.uniform(1.0, 5.0, count)),
        "identity": pa.array(random.integers(0, 2**63, count)),
    }
    return times, columns


def query_of(windows: int, rounds: int) -> Query:
    text = PROGRAM.format(range_s=RANGE_S, period_s=RANGE_S // windows, rounds=rounds)
    return compile_program(text, base=".").catalog.queries["q"]


def answered(query: Query, times: I64, columns: Columns, at: int, kept: KeptFolds | None) -> tuple[float, Settled]:
    """Milliseconds of an instant, and what it says."""
    body = query.body
    assert isinstance(body, Worlds)
    assert body.statement.plain is not None
    first, end = np.searchsorted(times, [at - body.range_us, at], side="right")
    chosen = pa.array(np.random.default_rng(at).permutation(np.arange(first, end)))  # rows of a window are in no order
    rows = [columns.get(name, columns["identity"]).take(chosen) for name in body.statement.plain]
    run = WorldRun(7, closed_forms=False, kept=kept).sharing()
    began = thread_time()
    drawing = WindowDrawing(body, rows, at, run, query.name, panes.keeping(query, body, at, kept))
    found = settle(body.effort, drawing, 0)
    return 1e3 * (thread_time() - began), found


@contextmanager
def always() -> Iterator[None]:
    """Panes keep rounds whatever that costs."""
    before = {name: getattr(panes, name) for name in RULE}
    for name, value in RULE.items():
        setattr(panes, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(panes, name, value)


def measured(query: Query, times: I64, columns: Columns, instants: int) -> tuple[float, float, float, float]:
    """Median milliseconds of an instant: without panes, by the rule, always; and the first one of the last."""
    by_rule, every = KeptFolds(KEPT), KeptFolds(KEPT)
    spent: tuple[list[float], ...] = ([], [], [])
    for number in range(instants + 1):
        at = START + RANGE_S * SECOND + number * query.cadence.us
        if at > times[-1]:
            break
        plain = answered(query, times, columns, at, None)
        ruled = answered(query, times, columns, at, by_rule)
        with always():
            kept = answered(query, times, columns, at, every)
        said = [one[1].said for one in (plain, ruled, kept)]
        assert all(one.probability.values.equals(said[0].probability.values) for one in said)
        assert all(one.outputs[1].values.equals(said[0].outputs[1].values) for one in said)
        for some, (took, _found) in zip(spent, (plain, ruled, kept)):
            some.append(took)
    without, ruled_ms, always_ms = (median(some[1:]) for some in spent)
    return without, ruled_ms, always_ms, spent[2][0]


def run(quick: bool) -> Result:
    shapes, instants = (SHAPES[:1], QUICK_INSTANTS) if quick else (SHAPES, INSTANTS)
    rows: list[tuple[float, ...]] = []
    curves: dict[str, list[Point]] = {}
    measured(query_of(5, KEPT), *made_rows(100, 2), 2)  # kernels are compiled
    for size, groups in shapes:
        made = made_rows(size, groups)
        for rounds in ROUNDS:
            line = curves.setdefault(f"{size:,} rows, {groups:,} groups, {rounds} rounds", [])
            for windows in WINDOWS:
                without, ruled, kept, first = measured(query_of(windows, rounds), *made, instants)
                over = ruled / without, kept / without
                rows.append((size, groups, rounds, windows, without, ruled, kept, first, *over))
                line.append((windows, over[0]))
    ratios = {row[:4]: row[8] for row in rows}
    most = max(row[0] for row in rows)
    return Result(
        "world_panes",
        "CPU of an instant over worlds: rounds that panes keep against drawing all of them again",
        COLUMNS,
        rows,
        [
            Goal("by the rule over without, the worst", 1.1, max(ratios.values())),
            *(
                Goal(f"the same, {most:,} rows in 20 windows, {rounds} rounds", bound, ratios[most, 10, rounds, 20])
                for rounds, bound in zip(ROUNDS, (0.2, 0.5))
            ),
        ],
        [Picture("windows a row is in", "by the rule over without", curves)],
        ["thread CPU of the driver, without reading rows; medians of instants after the first"],
    )
