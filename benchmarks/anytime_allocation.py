"""Sharing cores among anytime queries: how long plans take, and how far sharing online is from the best plan.

Three questions about the scheduler alone, without Spark. Queries are the paper's: they come at random, have one to
three answers, and one to six seconds for each.

* The time of an allocation against the number of queries: by critical intervals, for usual queries and for those that
  are hardest for it (as many different ratios as queries).
* The time of PO-MULTIQ, the published algorithm, with its filter and without: against the length of an epoch (Figure 3)
  and against the number of queries alive (Figure 4). Every allocation is compared with the exact one.
* The largest deviation of sharing online (OO-MULTIQ, by a simulated clock) from the best plan, against the number of
  queries alive: the worst kind of query on average, which is what its theorem is about, and single queries; and where
  more is needed than there is, with the drops that the paper has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from statistics import median
from time import process_time

import numpy as np

from benchmarks.anytime_model import LONGEST, SHORTEST, Compared, compared, draw
from benchmarks.report import Goal, Picture, Point, Result
from punctual.clock import SECOND
from punctual.schedule.epoch import AnytimeQuery, allocate, allocate_by_graph, stages

CORES = 2
COUNTS = (100, 300, 1_000, 3_000, 10_000)
JUDGED = 1_000
EPOCHS = (30, 60, 120, 300)
ALIVE = (5, 10, 20, 40)
ONLINE_ALIVE = (20, 50, 100, 200)
LOADS = (0.5, 0.8, 1.2)
JOBLET_MS = 50.0
COLUMNS = (
    "load",
    "drops",
    "alive",
    "queries",
    "worst kind, deviation",
    "single ones, spread",
    "least of one",
    "most of one",
    "µs per event",
)
GOAL_MS = 50.0
GOAL_KIND = 0.1
GOAL_SHARE = 0.01

Queries = list[AnytimeQuery]


def usual(random: np.random.Generator, count: int) -> Queries:
    """So many stages, 7 alive at a time, at a load of 0.8, times in microseconds; the epoch is as long as it takes."""
    length = count * (SHORTEST + LONGEST) / 2 / 7.0
    found: Queries = []
    while len(found) < count:
        answers = int(random.integers(1, 4))
        start = random.uniform(0.0, length)
        deadlines = start + np.cumsum(random.uniform(SHORTEST, LONGEST, answers))
        needed = [random.uniform(0.5, 1.5) * 0.8 * CORES * length / count] * answers
        found += [
            AnytimeQuery(*(round(SECOND * time) for time in (stage.start, stage.deadline, stage.essential)))
            for stage in stages(start, deadlines.tolist(), needed)
        ]
    return found[:count]


def wide(random: np.random.Generator, count: int) -> Queries:
    """Lifetimes of all lengths, times with all their digits."""
    ends = np.sort(random.uniform(0.0, 1.0, (count, 2)), axis=1)
    return [AnytimeQuery(*end, need) for end, need in zip(ends.tolist(), random.pareto(1.0, count).tolist())]


def nested(random: np.random.Generator, count: int) -> Queries:
    """Each inside the one before it, and loaded more."""
    return [AnytimeQuery(place, 2 * count - place, (1 + 50 / count) ** place) for place in range(count)]


def rising(random: np.random.Generator, count: int) -> Queries:
    """Each a little later than the one before it, and larger: nearly every query has a ratio of its own."""
    return [AnytimeQuery(place, place + 50, (1 + 20 / count) ** place) for place in range(count)]


SHAPES: dict[str, Callable[[np.random.Generator, int], Queries]] = {
    "usual": usual, "wide": wide, "nested": nested, "rising": rising,
}  # fmt: skip


def run(quick: bool) -> Result:
    random = np.random.default_rng(13)
    allocate(usual(random, 10), CORES)
    counts, repeats = (COUNTS[:3], 2) if quick else (COUNTS, 7)
    exact = {
        shape: {count: [timed(allocate, make(random, count)) for _ in range(repeats)] for count in counts}
        for shape, make in SHAPES.items()
    }
    epochs, alive = (EPOCHS[:2], ALIVE[:2]) if quick else (EPOCHS, ALIVE)
    by_epoch = {length: graphs([usual_for(random, length, 7.0) for _ in range(repeats)]) for length in epochs}
    by_alive = {some: graphs([usual_for(random, 60, some) for _ in range(repeats)]) for some in alive}
    online = deviations(quick)
    return Result(
        name="anytime_allocation",
        title="Sharing cores among anytime queries: time of a plan, and online against the best plan",
        columns=COLUMNS,
        rows=[row(*key, found, took_us) for key, (found, took_us) in online.items()],
        goals=goals(exact, online),
        pictures=[
            Picture("queries", "ms of CPU, exact allocation", {k: medians(v) for k, v in exact.items()}),
            Picture("epoch, s (7 alive)", "ms of CPU", graph_series(by_epoch)),
            Picture("alive at a time (epoch of 60 s)", "ms of CPU", graph_series(by_alive)),
            deviation_picture(online),
        ],
        notes=notes(exact, by_epoch, by_alive),
        facts={
            "exact_ms": exact,
            "by_epoch_ms": by_epoch,
            "by_alive_ms": by_alive,
            "by kind, given over best": {
                " ".join(map(str, key)): found.by_kind() for key, (found, _) in online.items()
            },
        },
    )


def usual_for(random: np.random.Generator, length: float, alive: float) -> Queries:
    """Usual queries, so many alive at a time, in an epoch of ``length`` seconds."""
    count = round(alive * length / ((SHORTEST + LONGEST) / 2))
    squeeze = 7.0 / alive
    return [
        AnytimeQuery(query.start * squeeze, query.start * squeeze + query.lifetime, query.essential * squeeze)
        for query in usual(random, count)
    ]


def timed(way: Callable[[Queries, float], list[float]], queries: Queries) -> float:
    """Milliseconds of CPU for one plan; all core time of somebody's life must be given away."""
    before = process_time()
    allocated = way(queries, CORES)
    taken = 1000 * (process_time() - before)
    until, alive = -inf, 0.0
    for query in sorted(queries, key=lambda query: query.start):
        alive += max(0.0, query.deadline - max(query.start, until))
        until = max(until, query.deadline)
    assert abs(sum(allocated) / (CORES * alive) - 1) < 1e-9
    return taken


def graphs(draws: Sequence[Queries]) -> dict[str, list[float]]:
    """Times of the published algorithm and of the exact one, on the same queries; all give the same."""
    ways: dict[str, Callable[[Queries, float], list[float]]] = {
        "filtered": allocate_by_graph,
        "not filtered": lambda queries, cores: allocate_by_graph(queries, cores, filtering=False),
        "critical intervals": allocate,
    }
    for queries in draws[:1]:
        exact = allocate(queries, CORES)
        for way in ways.values():
            assert np.allclose(way(queries, CORES), exact, rtol=1e-6)
    return {name: [timed(way, queries) for queries in draws] for name, way in ways.items()}


Online = dict[tuple[float, str, int], tuple[Compared, float]]


def deviations(quick: bool) -> Online:
    """By load, drops and number alive: what was given online against the best plan, and microseconds per event."""
    found: Online = {}
    for load in LOADS[1:] if quick else LOADS:
        for alive in ONLINE_ALIVE[:2] if quick else ONLINE_ALIVE:
            for drops in ("fair", "uniform") if load > 1 else ("fair",):
                seeds = range(1 if quick else max(3, 400 // alive))
                draws = [draw(np.random.default_rng(seed), alive, load, CORES, length=30.0) for seed in seeds]
                before = process_time()
                told = compared(draws, CORES, joblets=10, uniform=drops == "uniform")
                found[load, drops, alive] = told, 1e6 * (process_time() - before) / told.steps
    return found


def deviation(found: Compared) -> float:
    """Of the worst kind, as a part of what would be best."""
    return max(abs(ratio - 1) for ratio in found.by_kind().values())


def row(load: float, drops: str, alive: int, found: Compared, took_us: float) -> list[object]:
    ratios = found.given / found.best
    spread, least, most = (float(value) for value in (ratios.std(), ratios.min(), ratios.max()))
    return [load, drops, alive, found.given.size, deviation(found), spread, least, most, took_us]


def goals(exact: dict[str, dict[int, list[float]]], online: Online) -> list[Goal]:
    many = [found for (_load, drops, alive), (found, _us) in online.items() if drops == "fair" and alive >= 50]
    slowest_us = max(took_us for (_load, drops, _alive), (_found, took_us) in online.items() if drops == "fair")
    return [
        Goal(f"allocation of {JUDGED:,} usual queries, slowest, ms", GOAL_MS, max(exact["usual"][JUDGED])),
        Goal(
            "the same, hardest of the other shapes, ms",
            GOAL_MS,
            max(max(by_count[JUDGED]) for shape, by_count in exact.items() if shape != "usual"),
        ),
        Goal(
            "online, 50 and more alive: worst kind's deviation from the best plan", GOAL_KIND, max(map(deviation, many))
        ),
        Goal(
            f"online: time of an event over a joblet of {JOBLET_MS:.0f} ms, worst",
            GOAL_SHARE,
            slowest_us / 1000 / JOBLET_MS,
        ),
    ]


def medians(by_count: dict[int, list[float]]) -> list[Point]:
    return [(count, median(taken)) for count, taken in by_count.items()]


def graph_series(by: dict[int, dict[str, list[float]]]) -> dict[str, list[Point]]:
    return {name: [(x, median(found[name])) for x, found in by.items()] for name in next(iter(by.values()))}


def deviation_picture(online: Online) -> Picture:
    series: dict[str, list[Point]] = {}
    for (load, drops, alive), (found, _us) in online.items():
        name = f"load {load}" if drops == "fair" else f"load {load}, uniform drops"
        series.setdefault(f"{name}, worst kind", []).append((alive, 100 * deviation(found)))
        series.setdefault(f"{name}, spread of single ones", []).append(
            (alive, 100 * float((found.given / found.best).std()))
        )
    return Picture("alive at a time", "deviation from the best plan, %", series, logarithmic=False)


def notes(
    exact: dict[str, dict[int, list[float]]],
    by_epoch: dict[int, dict[str, list[float]]],
    by_alive: dict[int, dict[str, list[float]]],
) -> list[str]:
    lines = [
        f"allocation, {shape}: " + ", ".join(f"{ms:.1f} ms for {count:,}" for count, ms in medians(by_count))
        for shape, by_count in exact.items()
    ]
    for title, by in (("epoch of {} s", by_epoch), ("{} alive", by_alive)):
        for x, found in by.items():
            told = ", ".join(f"{name} {median(taken):.1f}" for name, taken in found.items())
            lines.append(f"{title.format(x)}, ms: {told}")
    return [*lines, "all allocations gave away all core time; the published algorithm gave the same as the exact one"]
