"""What the exact plan of cadences saves, how long plans take, and what sharing gains at all.

Three questions about the planner alone, without Spark; workloads are drawn as in the paper (bounds uniform in 1-40 or
Gaussian around 40, costs uniform in 2-100 or Gaussian around 100: ``uu``, ``ug``, ``gu``, ``gg``):

* over 1,000 workloads of 10 to 100 queries, how often and by how much exact is cheaper than hybrid, greedy and
  conservative, and how far it is from the lower bound;
* the time of the exact and the greedy plan against the range of the bounds (30 groups; the paper's Figure 17), also for
  the bounds that are hardest for it;
* the cost without any sharing over that of the exact plan, beside the logarithm that the paper's Table 9 compares it
  with: its distribution over many draws.

Every exact plan of the first two is checked: it keeps each bound, costs what its executions cost, and no other plan is
cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import log2
from random import Random
from statistics import mean, median, quantiles
from time import process_time

from benchmarks.report import Goal, Picture, Point, Result
from punctual.share.cadence import Cadence, Group, Method, plan

DISTRIBUTIONS = ("uu", "ug", "gu", "gg")
"""Bounds, then costs: uniform or Gaussian."""
QUERIES = (10, 20, 40, 70, 100)
RATIO_QUERIES = tuple(range(10, 101, 10))
RANGES = (10_000, 20_000, 30_000, 40_000)
GROUPS = 30
OTHERS: tuple[Method, ...] = ("hybrid", "greedy", "conservative")
COLUMNS = (
    "drawn",
    "queries",
    "hybrid dearer, % of draws",
    "mean %",
    "most %",
    "greedy dearer, % of draws",
    "mean %",
    "most %",
    "conservative dearer, mean %",
    "exact over bound, mean %",
)
GOAL_EXACT_MS = 50.0
GOAL_GREEDY_MS = 1.0


def workload(random: Random, distribution: str, queries: int) -> list[Group]:
    """Queries as the paper draws them for a single stream."""
    bound = {"u": lambda: random.randint(1, 40), "g": lambda: max(1, round(random.gauss(40, 5)))}[distribution[0]]
    cost = {"u": lambda: random.randint(2, 100), "g": lambda: max(2, round(random.gauss(100, 10)))}[distribution[1]]
    return [Group(bound(), cost()) for _query in range(queries)]


def spread(random: Random, longest: int) -> list[int]:
    """Bounds anywhere up to the longest."""
    return sorted(random.sample(range(1, longest + 1), GROUPS))


def geometric(random: Random, longest: int) -> list[int]:
    """From two units to the longest, by equal factors: every length of a gap has a cost of its own."""
    return ascending(round(2 * (longest / 2) ** (place / (GROUPS - 1))) for place in range(GROUPS))


def crowded(random: Random, longest: int) -> list[int]:
    """Two, three, and all others from a tenth of the longest on: the most pieces that we know how to ask for."""
    return [2, 3, *ascending(round(longest * 10 ** (place / (GROUPS - 3) - 1)) for place in range(GROUPS - 2))]


def ascending(bounds: Iterable[int]) -> list[int]:
    """Strictly: those that rounding made equal, one unit apart."""
    apart: list[int] = []
    for bound in bounds:
        apart.append(max(bound, apart[-1] + 1) if apart else bound)
    return apart


SHAPES: dict[str, Callable[[Random, int], list[int]]] = {"spread": spread, "geometric": geometric, "crowded": crowded}


def run(quick: bool) -> Result:
    random = Random(17)
    plan([Group(2, 1), Group(3, 2)], "exact")  # loads the kernel
    excess = {
        (distribution, queries): [compared(workload(random, distribution, queries)) for _ in range(2 if quick else 50)]
        for distribution in DISTRIBUTIONS
        for queries in QUERIES
    }
    rows = [[*cell, *summary(drawn)] for cell, drawn in excess.items()]
    every = {
        f"{method}, {shape}": {
            longest: [timed(method, shape, random, longest, place) for place in range(2 if quick else 15)]
            for longest in RANGES
        }
        for method in ("exact", "greedy")
        for shape in SHAPES
    }
    times = {name: [(longest, median(taken)) for longest, taken in by.items()] for name, by in every.items()}
    ratios = {
        distribution: {
            queries: [ratio(workload(random, distribution, queries)) for _ in range(10 if quick else 500)]
            for queries in RATIO_QUERIES
        }
        for distribution in DISTRIBUTIONS
    }
    return Result(
        name="cadence_planner",
        title="Cadence plans: what the exact one saves, how long it takes, what sharing gains",
        columns=COLUMNS,
        rows=rows,
        goals=goals(every, excess),
        pictures=[excess_picture(excess), Picture("longest bound, units", "ms of CPU", times), ratio_picture(ratios)],
        notes=[
            f"{sum(map(len, excess.values())):,} workloads; every exact plan kept its bounds and no plan was cheaper",
            *(
                f"{name}: "
                + ", ".join(f"{ms:.2f} ms up to {longest:,}" for longest, ms in points)
                + f" (slowest of {len(every[name][RANGES[-1]])}: {max(every[name][RANGES[-1]]):.2f})"
                for name, points in times.items()
            ),
            *ratio_notes(ratios),
        ],
        facts={
            "times_ms": every,
            "parts by which hybrid, greedy and conservative exceed exact, and exact the bound": {
                f"{distribution} {queries}": drawn for (distribution, queries), drawn in excess.items()
            },
            "quartiles of no sharing over exact": {
                distribution: {queries: quantiles(drawn) for queries, drawn in by_queries.items()}
                for distribution, by_queries in ratios.items()
            },
            "share of draws above log2": {
                distribution: {queries: above(drawn, queries) for queries, drawn in by_queries.items()}
                for distribution, by_queries in ratios.items()
            },
        },
    )


def goals(
    every: dict[str, dict[int, list[float]]], excess: dict[tuple[str, int], list[tuple[float, ...]]]
) -> list[Goal]:
    """The slowest plan of any shape at the longest range, not the usual one; and what greedy promises."""
    slowest = {
        method: max(max(by[RANGES[-1]]) for name, by in every.items() if name.startswith(method))
        for method in ("exact", "greedy")
    }
    worst = max((1 + greedy) * (1 + bound) for drawn in excess.values() for _h, greedy, _c, bound in drawn)
    return [
        Goal(f"exact, {GROUPS} groups up to {RANGES[-1]:,}, slowest plan, ms", GOAL_EXACT_MS, slowest["exact"]),
        Goal(f"greedy, {GROUPS} groups up to {RANGES[-1]:,}, slowest plan, ms", GOAL_GREEDY_MS, slowest["greedy"]),
        Goal("greedy over the lower bound", 2.0, worst),
    ]


def timed(method: Method, shape: str, random: Random, longest: int, place: int) -> float:
    """Milliseconds of CPU for one plan; costs rise with the bound, so that none can join another.

    In turns whole numbers and doubles with all their digits.
    """
    costs = random.sample(range(1, 10**6), GROUPS) if place % 2 else [random.random() for _group in range(GROUPS)]
    groups = [Group(bound, cost) for bound, cost in zip(SHAPES[shape](random, longest), sorted(costs))]
    before = process_time()
    cadence = plan(groups, method)
    taken = 1000 * (process_time() - before)
    if method == "exact":
        check(groups, cadence)
    return taken


def compared(groups: list[Group]) -> tuple[float, ...]:
    """How much dearer the other plans are than exact, and exact than the lower bound; parts of one."""
    exact, *others = (plan(groups, method) for method in ("exact", *OTHERS))
    check(groups, exact)
    assert exact.lower_bound <= exact.cost_per_unit <= min(other.cost_per_unit for other in others)
    return (
        *(float(other.cost_per_unit / exact.cost_per_unit - 1) for other in others),
        float(exact.cost_per_unit / exact.lower_bound - 1),
    )


def summary(drawn: Sequence[tuple[float, ...]]) -> list[float]:
    """In how many of a hundred workloads another plan is dearer; by how much on average, and at most, in percent."""
    hybrid, greedy, conservative, bound = zip(*drawn)
    found: list[float] = []
    for parts in (hybrid, greedy):
        found += [100 * sum(part > 0 for part in parts) / len(parts), 100 * mean(parts), 100 * max(parts)]
    return [*found, 100 * mean(conservative), 100 * mean(bound)]


def check(groups: list[Group], cadence: Cadence) -> None:
    """That the plan keeps each bound, also around its end, and costs what it says."""
    assert cadence.cycle is not None
    executions = list(cadence.executions)
    last = dict.fromkeys(range(len(groups)), 0)
    for time, runs in executions:
        for rider in cadence.answers[runs]:
            assert time - last[rider] <= groups[rider].bound
            last[rider] = time
    # Everything runs at the cycle's end, which is its beginning.
    assert set(last.values()) == {cadence.cycle}
    assert cadence.cost_per_unit == sum((groups[runs].cost for _time, runs in executions), Fraction(0)) / cadence.cycle


def ratio(groups: list[Group]) -> float:
    """The cost without sharing over that of the exact plan."""
    return float(plan(groups, "none").cost_per_unit / plan(groups, "exact").cost_per_unit)


def above(drawn: Sequence[float], queries: int) -> float:
    """The share of ratios above the logarithm of the number of queries."""
    return sum(found > log2(queries) for found in drawn) / len(drawn)


def excess_picture(excess: dict[tuple[str, int], list[tuple[float, ...]]]) -> Picture:
    named = {"hybrid over exact": 0, "greedy over exact": 1, "exact over the lower bound": 3}
    return Picture(
        "queries",
        "dearer, mean %",
        {
            name: [
                (queries, 100 * mean(parts[place] for d in DISTRIBUTIONS for parts in excess[d, queries]))
                for queries in QUERIES
            ]
            for name, place in named.items()
        },
        logarithmic=False,
    )


def ratio_picture(ratios: dict[str, dict[int, list[float]]]) -> Picture:
    """Quartiles for uniform draws, medians for the others."""
    cuts = {queries: quantiles(drawn) for queries, drawn in ratios["uu"].items()}
    names = ("uu, lower quartile", "uu, median", "uu, upper quartile")
    series: dict[str, list[Point]] = {
        name: [(queries, cuts[queries][place]) for queries in RATIO_QUERIES] for place, name in enumerate(names)
    }
    for distribution in DISTRIBUTIONS[1:]:
        series[f"{distribution}, median"] = [(x, median(ratios[distribution][x])) for x in RATIO_QUERIES]
    series["log2 of the queries"] = [(queries, log2(queries)) for queries in RATIO_QUERIES]
    return Picture("queries", "no sharing over exact", series, dashed=["log2 of the queries"])


def ratio_notes(ratios: dict[str, dict[int, list[float]]]) -> list[str]:
    notes = []
    for distribution, by_queries in ratios.items():
        told = ", ".join(
            f"{median(by_queries[queries]):.1f} at {queries} ({100 * above(by_queries[queries], queries):.0f} %)"
            for queries in (10, 40, 60, 80, 100)
        )
        notes.append(f"no sharing over exact, median (draws above log2), {distribution}: {told}")
    return notes
