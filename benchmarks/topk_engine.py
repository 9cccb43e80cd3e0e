"""Figures 7 to 16 of Chen, Chen, Ozsu and Xiao on the running engine: x bounded rankings under five plans.

NS, IN, INCO, DP and GA are ``SET cadence = none, intra, combined, exact, greedy``. Workloads: ``topk_workloads.py``;
what a call is, *one by one* and *by instant*: ``ranking_runs.py``. Points of a figure differ in what is on its axis
alone. Everything is a ratio to NS of the same point; the model's cost is in ranks of a row per second.

Latency, two ways. *One server*: the CPU seconds that each execution was measured to take, one by one, go through a
queue of one server, earliest deadline first (``edf_queue.py``), by a clock at which NS has a load of 1.5; beside it the
same with k in place of CPU seconds, the paper's model. *Live*: the engine's own scheduler and passes on a simulated
clock (``topk_live.py``), slow enough that NS by instant has a load of 1.5.

Sampled answers are recomputed from the rows (``ranking_checks.py``), and no query may wait longer than its bound. The
rows are read in this process; one point of each family also runs on Spark, for the same ratios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.edf_queue import latency
from benchmarks.engines import warm
from benchmarks.executions import Execution
from benchmarks.ranking_checks import check
from benchmarks.ranking_runs import Batches, Cut, Ran, WarmInProcess, least, run_in_turns
from benchmarks.report import QUICK, RESULTS, Goal, Picture, Result
from benchmarks.topk_grid import Panel, draw_grid
from benchmarks.topk_live import live_latency
from benchmarks.topk_workloads import METHODS, Workload
from punctual.clock import SECOND
from punctual.runtime.backend import Backend

LOAD = 1.5
ROUNDS = 2
"""A call counts with the least CPU time of so many runs: what one by one, and in the middle of every axis, takes."""
SYNTHETIC = Workload("synthetic", rows=2_000)
ICEBERGS = Workload("icebergs", rows=2_000)
STREAMS = Workload("streams", rows=2_000, largest=20, streams=10)
FAMILIES = (SYNTHETIC, ICEBERGS, STREAMS)
"""In the middle of every axis."""
MANY = 40
FIGURES: dict[str, tuple[str, list[tuple[float, Workload]]]] = {
    "7": ("queries", [(x, replace(SYNTHETIC, x=x)) for x in (10, 20, MANY)]),
    "8": ("rows", [(n, replace(SYNTHETIC, rows=n)) for n in (2_000, 5_000, 10_000)]),
    "9": ("largest k", [(k, replace(SYNTHETIC, largest=k)) for k in (100, 1_000)]),
    "10": ("queries, icebergs", [(x, replace(ICEBERGS, x=x)) for x in (10, 20, MANY)]),
    "11": ("rows, icebergs", [(n, replace(ICEBERGS, rows=n)) for n in (2_000, 5_000)]),
    "12": ("largest k, icebergs", [(k, replace(ICEBERGS, largest=k)) for k in (100, 1_000)]),
    "13": ("streams (200 rows each)", [(n, replace(STREAMS, rows=200 * n, streams=n)) for n in (10, 20)]),
    "14": ("rows of each of 10 streams", [(w, replace(STREAMS, rows=10 * w)) for w in (200, 400)]),
    "15": ("queries, 10 streams", [(x, replace(STREAMS, x=x)) for x in (10, 20, MANY)]),
    "16": ("largest k, 10 streams", [(k, replace(STREAMS, largest=k)) for k in (5, 20)]),
}
DRAWN = [replace(SYNTHETIC, distribution=name) for name in ("ug", "gu", "gg")]
ON_SPARK = ("NS", "INCO", "DP")
CUTS: tuple[Cut, ...] = ("one by one", "by instant")
ALONE = "NS, nothing shared"
AUTO = "auto"
AUTO_GOAL = 1.1
"""What the engine plans when nothing is said."""
COLUMNS = (
    "family", "drawn", "queries", "rows", "k to", "streams", "method", "model", "executions", "answers",
    "CPU one by one", "CPU by instant", "answers/CPU s", "latency", "latency by k", "latency live",
)  # fmt: skip
PLACE = {name: number for number, name in enumerate(COLUMNS)}


@dataclass(frozen=True, slots=True)
class Measured:
    """One method on one point; without executions only what is answered by instant."""

    model: float = 0.0
    executions: int = 0
    answers: int = 0
    cpu: float = 0.0
    cpu_by_instant: float = 0.0
    latency: float = 0.0
    latency_by_k: float = 0.0
    live: float | None = None

    def figures(self, base: Measured) -> list[float | None]:
        """As in the table."""
        by_instant = over(self.cpu_by_instant, base.cpu_by_instant)
        if not self.executions:
            return [None, None, over(self.answers, base.answers), None, by_instant, None, None, None, None]
        return [
            over(self.model, base.model),
            over(self.executions, base.executions),
            over(self.answers, base.answers),
            over(self.cpu, base.cpu),
            by_instant,
            over(self.answers / self.cpu, base.answers / base.cpu),
            over(self.latency, base.latency),
            over(self.latency_by_k, base.latency_by_k),
            over(self.live, base.live),
        ]


def over(mine: float | None, its: float | None) -> float | None:
    return None if mine is None or not its else mine / its


def middle(quick: bool) -> list[Workload]:
    """Where more is measured than elsewhere."""
    return [replace(one, x=6, rows=400, streams=min(3, one.streams)) for one in FAMILIES] if quick else list(FAMILIES)


def points(quick: bool) -> list[Workload]:
    """Every workload once."""
    if quick:
        return middle(quick)
    return list(dict.fromkeys([*(one for _axis, some in FIGURES.values() for _value, one in some), *DRAWN]))


def run(quick: bool) -> Result:
    backend = WarmInProcess()
    for family in FAMILIES:  # what is compiled now is not measured
        small = replace(family, rows=400, x=4, streams=min(3, family.streams))
        for cut in CUTS:
            run_in_turns(backend, {"DP": small.program("exact")}, small.batches(), cut)
    found: dict[Workload, dict[str, Measured]] = {}
    spent: list[tuple[Workload, Execution]] = []
    compared = 0
    for point in points(quick):
        by_method, right = _measured(backend, point, spent, live=point in middle(quick))
        compared += right
        if point in middle(quick):
            by_method[ALONE] = _nothing_shared(backend, point)
        if point in DRAWN or point in middle(quick):
            by_method[AUTO] = _by_itself(backend, point, by_method["NS"])
        found[point] = by_method
    on_spark = {} if quick else _on_spark()
    if not quick:
        _pictures(found, quick)
    return _result(found, _fitted(spent), on_spark, compared, middle(quick))


def _measured(
    backend: Backend, workload: Workload, spent: list[tuple[Workload, Execution]], *, live: bool
) -> tuple[dict[str, Measured], int]:
    """What every method takes, and how many values of answers were compared."""
    programs = {method: workload.program(cadence) for method, cadence in METHODS.items()}
    batches, rows, queries = workload.batches(), workload.table(), workload.queries()
    apart = _rounds(backend, programs, batches, "one by one", ROUNDS)
    whole = _rounds(backend, programs, batches, "by instant", ROUNDS if live else 1)
    bounds = {f"q{i}": float(query.bound) for i, query in enumerate(queries)}
    wanted = LOAD * workload.measured_s
    slowed = wanted / apart["NS"].cpu
    a_rank = wanted / sum(call.merges for call in apart["NS"].calls)
    found = {}
    for method, cadence in METHODS.items():
        calls = apart[method].calls
        late = live_latency(backend, workload, cadence, wanted / whole["NS"].cpu) if live else None
        found[method] = Measured(
            _model(apart[method]),
            len(calls),
            apart[method].answers,
            apart[method].cpu,
            whole[method].cpu,
            latency(calls, [slowed * call.cpu for call in calls], bounds),
            latency(calls, [a_rank * call.merges for call in calls], bounds),
            late,
        )
        spent += [(workload, call) for call in calls]
    return found, sum(check(workload, rows, queries, ran) for turn in (apart, whole) for ran in turn.values())


def _rounds(backend: Backend, programs: Mapping[str, str], batches: Batches, cut: Cut, rounds: int) -> dict[str, Ran]:
    turns = [run_in_turns(backend, programs, batches, cut) for _round in range(rounds)]
    return {method: least([turn[method] for turn in turns]) for method in programs}


def _model(ran: Ran) -> float:
    """Ranks of a row per second."""
    (plan,) = ran.plans
    return float(plan.cost_per_unit) * SECOND / plan.unit_us


def _nothing_shared(backend: Backend, workload: Workload) -> Measured:
    """The paper's NS as a program: every query with its own panes and walks."""
    program = {ALONE: workload.program("none", sharing=False)}
    ran = run_in_turns(backend, program, workload.batches(), "by instant")[ALONE]
    return Measured(answers=ran.answers, cpu_by_instant=ran.cpu)


def _by_itself(backend: Backend, workload: Workload, none: Measured) -> Measured:
    """Left to itself: measured in turns with NS, and given as much as it takes of that."""
    programs = {"NS": workload.program("none"), AUTO: workload.program("auto")}
    ran = _rounds(backend, programs, workload.batches(), "by instant", ROUNDS)
    return Measured(answers=ran[AUTO].answers, cpu_by_instant=none.cpu_by_instant * ran[AUTO].cpu / ran["NS"].cpu)


def _on_spark() -> dict[str, dict[str, float]]:
    """CPU of the driver on Spark by instant, of NS's, by family."""
    found = {}
    with warm() as backend:
        for workload in FAMILIES:
            programs = {method: workload.program(METHODS[method]) for method in ON_SPARK}
            ran = run_in_turns(backend, programs, workload.batches(), "by instant")
            rows, queries = workload.table(), workload.queries()
            assert all(check(workload, rows, queries, one) for one in ran.values())
            found[workload.family] = {method: one.cpu / ran["NS"].cpu for method, one in ran.items()}
    return found


def _fitted(spent: Sequence[tuple[Workload, Execution]]) -> dict[str, float]:
    """What an execution takes: by least squares, for itself, for a thousand rows, for a rank, for an answer."""
    columns = np.array([(1, point.rows / 1000, one.merges, one.answers) for point, one in spent], float)
    cpu = np.array([one.cpu for _point, one in spent])
    taken = np.linalg.lstsq(columns, cpu, rcond=None)[0]
    left = cpu - columns @ taken
    names = ("execution_us", "thousand_rows_us", "rank_us", "answer_us")
    fit = {name: 1e6 * float(value) for name, value in zip(names, taken)}
    return {**fit, "explained": 1 - float(left.var() / cpu.var())}


def _table(found: Mapping[Workload, Mapping[str, Measured]]) -> list[list[Any]]:
    return [
        [one.family, one.distribution, one.x, one.rows, one.largest, one.streams, method, *row.figures(methods["NS"])]
        for one, methods in found.items()
        for method, row in methods.items()
    ]


def _result(
    found: Mapping[Workload, Mapping[str, Measured]],
    fit: dict[str, float],
    on_spark: Mapping[str, Mapping[str, float]],
    compared: int,
    shown: Sequence[Workload],
) -> Result:
    rows = _table(found)
    goals, notes = [], []
    for point in shown:
        exact = next(row for one, row in zip(_owners(found), rows) if one == (point, "DP"))
        alone = next(row for one, row in zip(_owners(found), rows) if one == (point, ALONE))
        for column in ("CPU one by one", "CPU by instant", "latency", "latency live"):
            goals.append(Goal(f"{point.family}, {point.x} queries, DP over NS: {column}", 1.0, exact[PLACE[column]]))
        auto = next(row for one, row in zip(_owners(found), rows) if one == (point, AUTO))
        by_instant = auto[PLACE["CPU by instant"]]
        goals.append(Goal(f"{point.family}, {point.x} queries, auto over NS: CPU by instant", AUTO_GOAL, by_instant))
        shared = f"nothing shared takes {alone[PLACE['CPU by instant']]:.2g} times NS by instant"
        notes.append(f"{point.family}, {point.x} queries: {shared}")
    for family, ratios in on_spark.items():
        listed = ", ".join(f"{method} {ratio:.2f}" for method, ratio in ratios.items())
        notes.append(f"on Spark, {family}, CPU by instant of NS's: {listed}")
    axis, some = FIGURES["7"]
    if not all(point in found for _value, point in some):  # little data: what there is
        axis, some = "family", list(enumerate(shown, 1))
    curves = {label: _curves(found, some, label) for label in ("model", "CPU one by one", "CPU by instant", "latency")}
    return Result(
        name="topk_engine",
        title="Rankings under five plans, synthetic rows, bounds and k uniform, of what NS takes",
        columns=COLUMNS,
        rows=rows,
        goals=goals,
        pictures=[Picture(axis, f"{label}, NS = 1", lines, logarithmic=False) for label, lines in curves.items()],
        notes=[
            f"{compared:,} sampled values equal those recomputed from the rows; no gap exceeded its bound",
            f"an execution takes {fit['execution_us']:.0f} us, {fit['thousand_rows_us']:.0f} us for a thousand rows of "
            f"its window, {fit['rank_us']:.1f} us for a rank and {fit['answer_us']:.0f} us for an answer "
            f"(least squares over all executions one by one, {100 * fit['explained']:.0f} % explained)",
            *notes,
        ],
        facts={"fit": fit, "on_spark": on_spark, "measured": _facts(found), "fields": list(Measured.__slots__)},
    )


def _owners(found: Mapping[Workload, Mapping[str, Measured]]) -> list[tuple[Workload, str]]:
    return [(point, method) for point, methods in found.items() for method in methods]


def _facts(found: Mapping[Workload, Mapping[str, Measured]]) -> dict[str, list[float | None]]:
    return {
        f"{point} {method}": [getattr(one, name) for name in Measured.__slots__]
        for point, methods in found.items()
        for method, one in methods.items()
    }


def _curves(
    found: Mapping[Workload, Mapping[str, Measured]], some: Sequence[tuple[float, Workload]], column: str
) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    place = PLACE[column] - PLACE["model"]
    for value, point in some:
        methods = found.get(point, {})
        for method in METHODS:
            if method in methods:
                number = methods[method].figures(methods["NS"])[place]
                lines.setdefault(method, []).append((value, 0.0 if number is None else number))
    return lines


def _pictures(found: Mapping[Workload, Mapping[str, Measured]], quick: bool) -> None:
    """A grid for each family: a column per figure, a row per measure."""
    folder = QUICK if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    shown = {
        "model": "ranks, by the model",
        "CPU one by one": "CPU, one by one",
        "CPU by instant": "CPU, by instant",
        "answers/CPU s": "answers per CPU second",
        "latency": "latency, one server",
    }
    for family, figures in (("synthetic", "7 8 9"), ("icebergs", "10 11 12"), ("streams", "13 14 15 16")):
        grid = [
            [Panel(FIGURES[f][0], label, _curves(found, FIGURES[f][1], column)) for f in figures.split()]
            for column, label in shown.items()
        ]
        title = f"Figures {figures.split()[0]} to {figures.split()[-1]}: {family}, NS = 1"
        draw_grid(grid, title, folder / f"topk_engine_{family}.png")
