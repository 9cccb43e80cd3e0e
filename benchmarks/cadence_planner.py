"""How long plans of cadences take, and what the exact one saves.

Two questions about the planner alone, without Spark:

* the time of the exact and the greedy plan against the range of the bounds (30 groups; the paper's Figure 17), with a
  smallest bound of its own and, as the worst case, bounds in geometric progression from one unit;
* over random workloads (bounds and costs each uniform in 1-40 and 2-100, or Gaussian around 40 and 100), how often and
  by how much the exact plan is cheaper than hybrid and greedy, and how far from the lower bound.

Every exact plan is checked: it keeps each bound, costs what its executions cost, and is not dearer than any other.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random
from statistics import mean, median
from time import process_time

from benchmarks.report import Goal, Picture, Result
from punctual.share.cadence import Cadence, Group, Method, plan

RANGES = (10_000, 20_000, 30_000, 40_000)
GROUPS = 30
DISTRIBUTIONS = ("uu", "ug", "gu", "gg")
"""Bounds, then costs: uniform or Gaussian."""
QUERIES = (10, 100)
COLUMNS = (
    "drawn",
    "queries",
    "hybrid > exact, % of draws",
    "mean %",
    "most %",
    "greedy > exact, % of draws",
    "mean %",
    "most %",
    "exact > bound, mean %",
    "most %",
)
GOAL_MS = 50.0


def spread(random: Random, longest: int) -> list[Group]:
    """Groups with bounds anywhere up to the longest; costs rise with the bound, so that none can join another."""
    bounds, costs = random.sample(range(1, longest + 1), GROUPS), random.sample(range(1, 10**6), GROUPS)
    return [Group(bound, cost) for bound, cost in zip(sorted(bounds), sorted(costs))]


def geometric(random: Random, longest: int) -> list[Group]:
    """Bounds from one unit to the longest, by equal factors: every length of a gap has a cost of its own."""
    bounds = sorted({round(longest ** (place / (GROUPS - 1))) for place in range(GROUPS)})
    return [Group(bound, cost) for bound, cost in zip(bounds, sorted(random.sample(range(1, 10**6), GROUPS)))]


def workload(random: Random, distribution: str, queries: int) -> list[Group]:
    """Queries as the paper draws them."""
    bound = {"u": lambda: random.randint(1, 40), "g": lambda: max(1, round(random.gauss(40, 5)))}[distribution[0]]
    cost = {"u": lambda: random.randint(2, 100), "g": lambda: max(2, round(random.gauss(100, 10)))}[distribution[1]]
    return [Group(bound(), cost()) for _query in range(queries)]


def run(quick: bool) -> Result:
    random = Random(17)
    repeats = 3 if quick else 15
    per_distribution = 10 if quick else 250
    timed("exact", spread(random, 100))  # loads the kernel
    times: dict[str, list[tuple[float, float]]] = {}
    for name, draw in (("spread", spread), ("geometric", geometric)):
        for method in ("exact", "greedy"):
            times[f"{method}, {name}"] = [
                (longest, median(timed(method, draw(random, longest)) for _ in range(repeats))) for longest in RANGES
            ]
    rows = []
    facts: dict[str, list[tuple[float, float, float]]] = {}
    for queries in QUERIES:
        for distribution in DISTRIBUTIONS:
            drawn = [compared(workload(random, distribution, queries)) for _ in range(per_distribution)]
            facts[f"{distribution} {queries}"] = drawn
            hybrid, greedy, bound = zip(*drawn)
            rows.append([distribution, queries, *saved(hybrid), *saved(greedy), 100 * mean(bound), 100 * max(bound)])
    longest = RANGES[-1]
    return Result(
        name="cadence_planner",
        title="Cadence plans: what the exact one saves, and how long it takes",
        columns=COLUMNS,
        rows=rows,
        goals=[
            Goal(
                f"exact, {GROUPS} groups, bounds spread up to {longest:,}, ms", GOAL_MS, times["exact, spread"][-1][1]
            ),
            Goal("greedy over the lower bound", 2.0, max((1 + g) * (1 + b) for d in facts.values() for _h, g, b in d)),
        ],
        pictures=[
            Picture("longest bound, units", "ms of CPU", times),
            Picture(
                "bounds and costs drawn, queries",
                "dearer than exact, mean %",
                {
                    name: [(place, row[column]) for place, row in enumerate(rows)]
                    for name, column in (("hybrid", 3), ("greedy", 6))
                },
                logarithmic=False,
                labels=[f"{row[0]} {row[1]}" for row in rows],
            ),
        ],
        notes=[
            f"{len(rows) * per_distribution:,} workloads; every exact plan kept its bounds and no plan was cheaper",
            *(
                f"{name}: " + ", ".join(f"{ms:.2f} ms up to {longest:,}" for longest, ms in points)
                for name, points in times.items()
            ),
        ],
        facts={"times_ms": times, "excess over exact of hybrid and greedy, of exact over bound": facts},
    )


def timed(method: Method, groups: list[Group]) -> float:
    """Milliseconds of CPU for one plan."""
    before = process_time()
    cadence = plan(groups, method)
    taken = 1000 * (process_time() - before)
    if method == "exact":
        check(groups, cadence)
    return taken


def compared(groups: list[Group]) -> tuple[float, float, float]:
    """How much dearer hybrid and greedy are than exact, and exact than the lower bound; parts of one."""
    exact, hybrid, greedy = (plan(groups, method) for method in ("exact", "hybrid", "greedy"))
    check(groups, exact)
    assert exact.lower_bound <= exact.cost_per_unit <= min(hybrid.cost_per_unit, greedy.cost_per_unit)
    return (
        float(hybrid.cost_per_unit / exact.cost_per_unit - 1),
        float(greedy.cost_per_unit / exact.cost_per_unit - 1),
        float(exact.cost_per_unit / exact.lower_bound - 1),
    )


def saved(excess: tuple[float, ...]) -> list[float]:
    """In how many of a hundred workloads the other plan is dearer; by how much on average, and at most, in percent."""
    return [100 * sum(part > 0 for part in excess) / len(excess), 100 * mean(excess), 100 * max(excess)]


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
