"""How long it takes to plan an epoch of anytime queries: Figures 3 and 4 of Ge and others.

Queries are the paper's: any of Q1 to Q5 at random times, lifetimes of 1 to 6 seconds, 1 to 3 answers, each with 100
essential rounds. An epoch is planned as the engine's planner would do it, stages that cross a border are cut. Three
ways give the same allocation: critical intervals (``allocate``), and the published PO-MULTIQ with its filter and
without. CPU time of this process, medians. What a round costs is measured, but only the proportions matter here: a
plan does not change if all costs are doubled.

*Estimation* is one round of each query before the plan, as measured: of the rounds alone, and of whole passes, which
also read the window.

A way that took more than ``PATIENCE_S`` for one plan is not asked for a larger one; the paper leaves these out too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from statistics import median
from time import process_time

import numpy as np

from benchmarks.anytime_costs import Cost, measured
from benchmarks.anytime_stages import MEAN_ANSWERS, in_epoch
from benchmarks.report import Goal, Picture, Point, Result
from punctual.clock import SECOND
from punctual.schedule.epoch import AnytimeQuery, Epochs, allocate, allocate_by_graph

CORES = 2
LEAD_S = 30.0
LENGTHS_S, RATE = (30.0, 60.0, 120.0, 300.0), 2.0
LENGTH_S, RATES = 300.0, (0.5, 1.0, 2.0, 4.0, 8.0)
JUDGED = 1_000
PATIENCE_S = 5.0
GOAL_MS, GOAL_SHARE = 50.0, 0.01

Queries = Sequence[AnytimeQuery]
Way = Callable[[Queries, float], list[float]]
EXACT, FILTERED, UNFILTERED = "critical intervals", "PO-MULTIQ", "PO-MULTIQ, not filtered"
WAYS: dict[str, Way] = {
    EXACT: allocate,
    FILTERED: allocate_by_graph,
    UNFILTERED: lambda queries, cores: allocate_by_graph(queries, cores, filtering=False),
}
ROUND, PASS = "estimation, rounds", "estimation, passes"


@dataclass(frozen=True, slots=True)
class Planned:
    """Epochs of one length and rate: sizes, and CPU seconds of each plan by each way that was asked."""

    length_s: float
    rate: float
    stages: list[int]
    core_s: list[float]
    """Core time that the plans give to queries."""
    seconds: dict[str, list[float]]
    round_s: float
    pass_s: float

    def share(self, *, passes: bool) -> float:
        """Of the core time that queries get: plans by critical intervals, with estimation or without."""
        each = self.pass_s if passes else 0.0
        return (median(self.seconds[EXACT]) + each) / median(self.core_s)


def run(quick: bool) -> Result:
    costs = measured(quick=quick)
    seeds = range(2 if quick else 5)
    lengths, rates = (LENGTHS_S[:2], RATES[:1]) if quick else (LENGTHS_S, RATES)
    allocate(in_epoch(0, 1.0, Epochs(10.0, 0.0), one_round(costs)), CORES)
    by_length = swept([(length, RATE) for length in lengths], seeds, costs)
    by_rate = swept([(LENGTH_S, rate) for rate in rates], seeds, costs)
    many = thousand(costs, range(3 if quick else 15))
    return Result(
        name="anytime_planning",
        title="Planning an epoch of anytime queries (Figures 3 and 4)",
        columns=["epoch, s", "queries a second", "stages", *(f"{way}, ms" for way in WAYS), "plan, % of core time",
                 "one round of each, ms", "one pass of each, ms"],
        rows=[row(planned) for planned in (*by_length, *by_rate)],
        goals=goals([*by_length, *by_rate], many),
        pictures=[
            Picture(f"epoch, s ({RATE:g} queries a second)", "ms of CPU", series(by_length, lambda one: one.length_s)),
            Picture(f"queries a second (epoch of {LENGTH_S:g} s)", "ms of CPU", series(by_rate, lambda one: one.rate)),
        ],
        notes=notes(costs, many),
        facts={
            "costs_s": {kind: asdict(cost) for kind, cost in costs.items()},
            "epochs": [asdict(planned) for planned in (*by_length, *by_rate)],
            "thousand_ms": many,
        },
    )  # fmt: skip


def one_round(costs: Mapping[str, Cost]) -> dict[str, float]:
    """At least a microsecond each, so that everybody needs something."""
    return {kind: max(cost.one_round, 1e-6) for kind, cost in costs.items()}


def swept(points: Sequence[tuple[float, float]], seeds: range, costs: Mapping[str, Cost]) -> list[Planned]:
    """One after the other, the smallest first."""
    asked, found = dict(WAYS), []
    for length, rate in points:
        found.append(planned(length, rate, seeds, costs, asked))
        asked = {way: asked[way] for way, taken in found[-1].seconds.items() if max(taken) <= PATIENCE_S}
    return found


def planned(
    length: float, rate: float, seeds: range, costs: Mapping[str, Cost], ways: Mapping[str, Way] = WAYS
) -> Planned:
    """Plans of one epoch for each seed; a way that takes too long is asked once. All must give the same."""
    epochs = [in_epoch(seed, rate, Epochs(length, LEAD_S), one_round(costs)) for seed in seeds]
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    given = []
    for queries in epochs:
        exact = checked(queries, allocate(queries, CORES))
        given.append(sum(exact) / SECOND)
        for name, way in ways.items():
            if not seconds[name] or max(seconds[name]) <= PATIENCE_S:
                taken, allocated = timed(way, queries)
                seconds[name].append(taken)
                assert np.allclose(checked(queries, allocated), exact, rtol=1e-6), name
    count, kinds = rate * length, len(costs)
    return Planned(
        length, rate, [len(queries) for queries in epochs], given, seconds,
        round_s=count * sum(cost.one_round for cost in costs.values()) / kinds,
        pass_s=count * sum(cost.one_round + cost.rest for cost in costs.values()) / kinds,
    )  # fmt: skip


def timed(way: Way, queries: Queries) -> tuple[float, list[float]]:
    """CPU seconds of a plan, and the plan."""
    before = process_time()
    allocated = way(queries, CORES)
    return process_time() - before, allocated


def checked(queries: Queries, allocated: list[float]) -> list[float]:
    """The plan, if it gives away all core time in which somebody is alive, and no more."""
    until, alive = -inf, 0.0
    for query in sorted(queries, key=lambda query: query.start):
        alive += max(0.0, query.deadline - max(query.start, until))
        until = max(until, query.deadline)
    assert abs(sum(allocated) / (CORES * alive) - 1) < 1e-9
    return allocated


def thousand(costs: Mapping[str, Cost], seeds: range) -> dict[str, list[float]]:
    """Milliseconds of exact plans for so many stages, and for all stages of so many queries."""
    found: dict[str, list[float]] = {"stages": [], "queries with all stages": []}
    for seed in seeds:
        queries = in_epoch(seed, RATE, Epochs(1.2 * JUDGED / RATE, LEAD_S), one_round(costs))
        for name, count in zip(found, (JUDGED, round(MEAN_ANSWERS * JUDGED))):
            assert len(queries) >= count
            taken, allocated = timed(allocate, queries[:count])
            checked(queries[:count], allocated)
            found[name].append(1000 * taken)
    return found


def row(one: Planned) -> list[object]:
    taken = [1000 * median(one.seconds[way]) if one.seconds.get(way) else None for way in WAYS]
    share = 100 * one.share(passes=False)
    return [one.length_s, one.rate, round(median(one.stages)), *taken, share, 1000 * one.round_s, 1000 * one.pass_s]


def goals(found: Sequence[Planned], many: Mapping[str, list[float]]) -> list[Goal]:
    return [
        *(Goal(f"allocation of {JUDGED:,} {name}, slowest, ms", GOAL_MS, max(taken)) for name, taken in many.items()),
        Goal("plans, of the core time of queries, worst", GOAL_SHARE, max(one.share(passes=False) for one in found)),
        Goal("the same with a pass of each query before it", GOAL_SHARE, max(one.share(passes=True) for one in found)),
    ]


def series(found: Sequence[Planned], x: Callable[[Planned], float]) -> dict[str, list[Point]]:
    lines = {way: [(x(one), 1000 * median(one.seconds[way])) for one in found if one.seconds.get(way)] for way in WAYS}
    lines[ROUND] = [(x(one), 1000 * one.round_s) for one in found]
    lines[PASS] = [(x(one), 1000 * one.pass_s) for one in found]
    return {name: points for name, points in lines.items() if points and all(y > 0 for _x, y in points)}


def notes(costs: Mapping[str, Cost], many: Mapping[str, list[float]]) -> list[str]:
    each = ", ".join(f"{kind} {1e6 * one.one_round:.0f} and {1e3 * one.rest:.0f}" for kind, one in costs.items())
    return [
        f"µs of a round and ms of the rest of its pass: {each}",
        *(f"{JUDGED:,} {name}: median {median(taken):.1f} ms" for name, taken in many.items()),
        "all plans gave away all core time and no more; all ways gave the same",
    ]
