"""What operators of row queries cost: Table 1, Figures 3 and 4 of Wei and others, on Spark; and predictions of it.

Selections, joins and aggregates run over windows of many sizes and selectivities, each as a job of its own in one warm
session, in a random order; core time is that of the JVM and its Python workers. One model learns from all of them, job
after job. The table has its constants at the end; pictures have measured and predicted core time per row of input.

Then six queries run together, some of them at a time, over windows whose sizes and contents change from job to job:
each job is predicted by what was learned before it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
import pyarrow as pa

from benchmarks.engines import warm
from benchmarks.report import Goal, Picture, Point, Result
from benchmarks.row_jobs import Measured, RowJobs
from punctual.engine.answers.row_model import RowModel
from punctual.estimate.operator_costs import counts
from punctual.estimate.sampling import CPU_SHARE, STATIC_RATIO

SELECT = "SELECT k, v FROM s [RANGE 1 HOUR] WHERE v < 0.5"
JOIN = "SELECT s.v, r.w FROM s [RANGE 1 HOUR] JOIN r [RANGE 1 HOUR] ON s.k = r.k"
AGGREGATE = "SELECT g, corr(v, k) AS c FROM s [RANGE 1 HOUR] GROUP BY g"
MIXED = {
    "narrow": SELECT,
    "joined": f"SELECT count(*) AS n, sum(w) AS t FROM ({JOIN})",
    "grouped": AGGREGATE,
    "top": "SELECT k, v FROM s [RANGE 1 HOUR] ORDER BY v DESC LIMIT 10",
    "distinct": "SELECT DISTINCT g FROM s [RANGE 1 HOUR] WHERE v > 0.2",
    "both": "SELECT s.g, count(*) AS n FROM s [RANGE 1 HOUR] JOIN r [RANGE 1 HOUR] ON s.k = r.k "
    "WHERE s.v < 0.3 GROUP BY s.g",
}
WITHIN, SHARE = 0.2, 0.9
LEARNING = 12
"""Jobs that are not counted: there is nothing to predict them by."""


def rows(seed: int, s: int, r: int, selected: float, matches: float, groups: int) -> dict[str, pa.Table]:
    """Windows of ``s`` and ``r``: this part of ``s`` has v < 0.5, and a row of it meets so many of ``r``."""
    rng = np.random.default_rng(seed)
    low = rng.random(s) < selected
    v = np.where(low, rng.random(s) * 0.5, 0.5 + rng.random(s) * 0.5)
    keys = max(1, round(r / matches)) if matches else 1
    left = rng.integers(0, keys, s).astype(np.int32)
    right = rng.integers(0, keys, r).astype(np.int32) if matches else np.full(r, -1, np.int32)
    return {
        "s": pa.table({"k": left, "g": rng.integers(0, groups, s).astype(np.int32), "v": v}),
        "r": pa.table({"k": right, "w": rng.random(r)}),
    }


def points(quick: bool) -> list[tuple[str, str, float, dict[str, float]]]:
    """What is measured: the figure, the query, the place on its axis, and the windows."""
    sizes = (5_000, 20_000) if quick else (10_000, 30_000, 100_000, 300_000)
    n = sizes[-1] // 2 if quick else 150_000
    plain: dict[str, float] = {"s": n, "r": n // 3, "selected": 0.2, "matches": 1.0, "groups": 100}
    found = []
    for size in sizes:
        found.append(("select, size", "select", size, {**plain, "s": size}))
        found.append(("join, size", "join", size, {**plain, "s": size / 2, "r": size / 2}))
        found.append(("aggregate, size", "aggregate", size, {**plain, "s": size}))
    for part in (0.1, 0.9) if quick else (0.0, 0.25, 0.5, 0.75, 1.0):
        found.append(("select, selectivity", "select", part, {**plain, "selected": part}))
        half = {**plain, "s": n / 2, "r": n / 2}
        found.append(("join, rows out per row", "join", 2 * part, {**half, "matches": 4 * part}))
    for groups in (10, 1_000) if quick else (1, 100, 10_000):
        found.append(("aggregate, groups", "aggregate", groups, {**plain, "groups": groups}))
    return found


def figures(jobs: RowJobs, model: RowModel, quick: bool) -> dict[str, list[tuple[float, float, float, Measured]]]:
    """By figure: the place, the rows of input, what was predicted in the end, and the median measurement."""
    asked = points(quick)
    repeats = 2 if quick else 4
    found: dict[int, list[Measured]] = {}
    turns = [number for number in range(len(asked)) for _repeat in range(repeats)]
    random.Random(3).shuffle(turns)
    for name in ("select", "join", "aggregate"):  # planned, compiled and warm
        for seed in range(3):
            jobs.run(model, [name], *jobs.hold(rows(seed, 5_000, 5_000, 0.5, 1.0, 50)))
    for turn, number in enumerate(turns):
        _figure, name, _place, made = asked[number]
        held = jobs.hold(_rows(turn, made))
        found.setdefault(number, []).append(jobs.run(model, [name], *held))
    result: dict[str, list[tuple[float, float, float, Measured]]] = {}
    for number, (figure, name, place, made) in enumerate(asked):
        several = sorted(found[number], key=lambda one: one.used_us)
        one = several[len(several) // 2]
        (execution,) = one.executions
        assert execution is not None
        cost = model.costs.operators
        factor = model.costs.queries[name].factor
        total = counts(execution.operators, execution.rows)
        predicted = cost.each("job") + factor * (cost.expected_us(total) - cost.fixed_us)
        inputs = made["s"] + (made["r"] if name == "join" else 0)
        result.setdefault(figure, []).append((place, inputs, predicted, one))
    return result


def _rows(seed: int, made: Mapping[str, float]) -> dict[str, pa.Table]:
    return rows(seed, int(made["s"]), int(made["r"]), made["selected"], made["matches"], int(made["groups"]))


def predictions(jobs: RowJobs, model: RowModel, quick: bool) -> list[Measured]:
    """Jobs of some of the mixed queries over windows that change; contents drift, and jump now and then."""
    rng = random.Random(11)
    found = []
    names = list(MIXED)
    for _warm in range(2):
        jobs.run(model, names, *jobs.hold(rows(0, 5_000, 5_000, 0.5, 1.0, 50)))
    for turn in range(16 if quick else 110):
        if turn % 20 == 0:
            matches, selected = rng.uniform(0.2, 3.0), rng.uniform(0.1, 0.9)
        size = rng.uniform(3_000, 9_000) if quick else rng.uniform(2e4, 1.2e5)
        selected = min(0.95, max(0.05, selected + rng.uniform(-0.05, 0.05)))
        # A few sets of queries that are due together, as periods make them.
        some = (names, names[:2], names[2:5], names[1:2])[turn % 4]
        held = jobs.hold(rows(turn, int(size), int(size * rng.uniform(0.3, 0.8)), selected, matches, 200))
        found.append(jobs.run(model, some, *held))
    return found


def samplers(jobs: RowJobs, sizes: Sequence[int], repeats: int) -> list[tuple[int, float, float]]:
    """By size of the windows: what the job of a join uses, and a sampler of a tenth; medians, milliseconds."""
    found = []
    for size in sizes:
        taken: dict[float, list[float]] = {1.0: [], STATIC_RATIO: []}
        for turn in range(repeats):
            held, at = jobs.hold(rows(turn, size // 2, size // 2, 0.3, 1.0, 50))
            for sample, several in taken.items():
                several.append(jobs.sampled(["both"], held, at, sample, ("k",)) / 1e3)
        whole, part = (median(several) for several in taken.values())
        found.append((size, whole, part))
    return found


def run(quick: bool) -> Result:
    with warm() as backend:
        jobs = RowJobs(backend, {"select": SELECT, "join": JOIN, "aggregate": AGGREGATE})
        model = jobs.model()
        found = figures(jobs, model, quick)
        constants = model.costs.operators
        mixed = RowJobs(backend, MIXED)
        learned = mixed.model()
        learned.costs = type(learned.costs)(constants)
        jobs_run = predictions(mixed, learned, quick)
        sampled = samplers(mixed, (20_000,) if quick else (30_000, 1_000_000), 2 if quick else 4)
    counted = jobs_run[LEARNING:]
    errors = [abs(one.predicted_us / one.used_us - 1) for one in counted]
    within = sum(error <= WITHIN for error in errors) / len(errors)
    below = sum(one.used_us <= one.high_us for one in counted) / len(counted)
    figure_errors = [abs(p / m.used_us - 1) for several in found.values() for _x, _n, p, m in several]
    lines = [[name, constants.each(name)] for name in constants.names[1:]]
    series: dict[str, dict[str, list[Point]]] = {}
    for figure, several in found.items():
        series[figure] = {
            "measured": [(x, m.used_us / n) for x, n, _p, m in several],
            "fitted": [(x, p / n) for x, n, p, _m in several],
        }
    return Result(
        name="operator_costs",
        title="Core time of operators of row queries, microseconds",
        columns=["counted", "microseconds each"],
        rows=lines,
        goals=[
            Goal(f"jobs predicted within {WITHIN:.0%}", SHARE, within, at_least=True),
            Goal("jobs below the high prediction", 0.85, below, at_least=True),
            Goal(f"a sampler over its job, {sampled[-1][0]:,} rows", CPU_SHARE, sampled[-1][2] / sampled[-1][1]),
            Goal("figures: median error of the fitted cost", 0.15, median(figure_errors)),
        ],
        pictures=[
            *(
                Picture(figure, "core us per row of input", lines_of, logarithmic="size" in figure)
                for figure, lines_of in series.items()
            ),
            Picture(
                "used, ms",
                "predicted, ms",
                {
                    "jobs": [(one.used_us / 1e3, one.predicted_us / 1e3) for one in counted],
                },
            ),
        ],
        notes=[
            f"{len(counted)} jobs predicted, median error {median(errors):.3f}, "
            f"ninth decile {sorted(errors)[int(0.9 * len(errors))]:.3f}",
            *(
                f"windows of {n:,} rows: the job {whole:.0f} ms of core time, a sampler of a tenth {part:.0f} ms"
                for n, whole, part in sampled
            ),
        ],
        facts={
            "samplers_ms": sampled,
            "jobs": [[one.predicted_us, one.high_us, one.used_us] for one in jobs_run],
            "figures": {
                figure: [[x, n, p, m.used_us] for x, n, p, m in several] for figure, several in found.items()
            },
        },
    )
