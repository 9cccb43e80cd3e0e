"""Which points of Figure 10 are measured, and what was measured, as a table, goals and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from benchmarks.quality_optimum import Costs, Optimum, fixed_part, optimum
from benchmarks.quality_point import Point
from benchmarks.report import Goal, Picture, Result
from punctual.clock import SECOND

POLICIES = ("best-effort", "feedback", "fixed-sampling", "dynamic-sampling")
LEVELLED = ("feedback", "dynamic-sampling")
"""The two that Figure 10 (c) compares."""
BEST = "dynamic-sampling"
COMPUTED = "optimum, computed"
COLUMNS = ("what", "load %", "quality", "optimum", "deviation", "its", "missed", "by the reader", "cores", "others")
STEP = 1.25
"""How much higher the next rate is at which costs are measured."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which points are measured; ``seconds`` of each are judged. Loads and swings are in percent and paper seconds."""

    factor: float = 4.0
    seconds: float = 60.0
    loads: tuple[int, ...] = (50, 75, 100, 125, 150)
    swings: tuple[int, ...] = (2, 8, 32)
    rates: tuple[float, ...] = (1_000.0, 5_000.0, 10_000.0)
    """Rows per second of a stream, at which costs are measured; then at so many higher ones as are in time."""
    steps: int = 6
    kept: tuple[float, ...] = (0.5, 0.1)
    """Shares that are forced at the last rate that is in time: how much falls with them."""
    warm: float = 10.0
    """So many deadlines pass before anything is judged: windows have four, the rest is for plans, compilers, costs."""
    settle: float = 240.0
    """So many seconds of answers before costs are measured: Java's compilers make them faster for minutes."""
    policies: tuple[str, ...] = POLICIES
    parts: tuple[str, ...] = ("loads", "swings", "burst", "panes")

    @property
    def rising(self) -> list[float]:
        """The rates at which costs are measured, until one is too much."""
        return [*self.rates, *(self.rates[-1] * STEP**number for number in range(1, self.steps + 1))]


QUICK_PLAN = Plan(
    factor=2.0,
    seconds=4.0,
    loads=(100,),
    swings=(2,),
    rates=(20.0, 200.0),
    steps=0,
    kept=(0.3,),
    warm=4.0,
    settle=4.0,
    policies=("best-effort", "dynamic-sampling"),
)


@dataclass(slots=True)
class Measured:
    """Everything that was measured."""

    known: Costs
    cores: float
    """What others left of the cores while costs were measured."""
    rate: float
    """Rows per second of a stream at which all is exact and just in time."""
    loads: dict[tuple[str, int], Point] = field(default_factory=dict)
    swings: dict[tuple[str, int], Point] = field(default_factory=dict)
    panes: dict[int, Point] = field(default_factory=dict)
    burst: Point | None = None

    @classmethod
    def again(cls, facts: Mapping[str, Any], factor: float, known: Costs, cores: float) -> Measured:
        """The points of a result, with costs that were measured anew; load 100 % stays the rate that it was."""

        def points(name: str) -> list[tuple[list[str], Point]]:
            return [(what.rsplit(" ", 1), Point.of(one, factor, cores)) for what, one in facts[name].items()]

        return cls(
            known,
            cores,
            facts["saturating rate"],
            {(policy, int(load)): point for (policy, load), point in points("loads")},
            {(policy, int(period)): point for (policy, period), point in points("swings")},
            {int(load): point for (load,), point in points("panes")},
            None if facts["burst"] is None else Point.of(facts["burst"], factor, cores),
        )


def result(plan: Plan, measured: Measured) -> Result:
    """Tables and pictures of what was measured."""
    best = {load: optimum(measured.known, plan.factor, measured.rate * load / 100) for load in plan.loads}
    return Result(
        name="quality",
        title=f"Quality and deadlines under load: Table 2's workload, times x {plan.factor:g}",
        columns=[*COLUMNS],
        rows=[*_rows(measured, best)],
        goals=_goals(measured, best),
        pictures=_pictures(measured, best),
        notes=[
            f"fixed costs are {fixed_part(measured.known, plan.factor, measured.cores):.2f} of the cores at zero rate",
            f"all is exact and just in time at {measured.rate:.0f} rows per second of each stream",
            f"{plan.seconds:g} s judged at each point, one run of each; others used the machine meanwhile",
        ],
        facts=_facts(plan, measured, best),
    )


def _rows(measured: Measured, best: Mapping[int, Optimum]) -> list[list[Any]]:
    rows = [[policy, load, *_numbers(point, best[load])] for (policy, load), point in measured.loads.items()]
    rows += [[f"panes, {BEST}", load, *_numbers(point)] for load, point in measured.panes.items()]
    rows += [
        [f"{policy}, swinging every {period} s", "100/140", *_numbers(point)]
        for (policy, period), point in measured.swings.items()
    ]
    if measured.burst is not None:
        rows.append([f"{BEST}, burst", "60/180", *_numbers(measured.burst)])
    return rows


def _numbers(point: Point, best: Optimum | None = None) -> list[Any]:
    cores = [point.used_cores, point.others_cores]
    worth, deviation = (None, None) if best is None else best
    return [point.quality, worth, point.deviation, deviation, point.missed, point.seen_missed, *cores]


def _goals(measured: Measured, best: Mapping[int, Optimum]) -> list[Goal]:
    ours = {load: point for (policy, load), point in measured.loads.items() if policy == BEST}
    goals = []
    if ours:
        goals += [
            Goal(
                "below the optimum at any load",
                0.03,
                max(best[load].quality - one.quality for load, one in ours.items()),
            ),
            Goal("deviation of quality at any load", 0.1, max(point.deviation for point in ours.values())),
            Goal("misses at any load", 0.0, max(point.missed for point in ours.values())),
        ]
    for period in dict.fromkeys(period for policy, period in measured.swings if policy == BEST):
        theirs, better = (measured.swings[policy, period].quality for policy in LEVELLED)
        what = f"quality less that of feedback, swinging every {period} s"
        goals.append(Goal(what, 0.0, better - theirs, at_least=True))
    return goals


def _pictures(measured: Measured, best: Mapping[int, Optimum]) -> list[Picture]:
    pictures = []
    if measured.loads:
        policies = list(dict.fromkeys(policy for policy, _load in measured.loads))
        quality = {policy: _line(measured, policy, "quality") for policy in policies}
        quality[COMPUTED] = [(float(load), one.quality) for load, one in sorted(best.items())]
        deviation = {policy: _line(measured, policy, "deviation") for policy in policies}
        deviation[COMPUTED] = [(float(load), one.deviation) for load, one in sorted(best.items())]
        pictures += [
            Picture("load, %", "average quality", quality, logarithmic=False, dashed=[COMPUTED]),
            Picture("load, %", "deviation of quality", deviation, logarithmic=False, dashed=[COMPUTED]),
            Picture(
                "load, %",
                "part of the answers that was late",
                {policy: _line(measured, policy, "missed") for policy in policies},
                logarithmic=False,
            ),
        ]
    if measured.swings:
        swings: dict[str, list[tuple[float, float]]] = {policy: [] for policy in LEVELLED}
        for (policy, period), point in measured.swings.items():
            swings[policy].append((float(period), point.quality))
        pictures.append(Picture("period of the swing, paper seconds", "average quality", swings, logarithmic=False))
    if measured.burst is not None:
        through = through_time(measured.burst)
        through["load"] = [(second, rate / measured.rate) for second, rate in measured.burst.rates if second >= 0]
        pictures.append(
            Picture("seconds", "through a burst, by instant", through, logarithmic=False, dashed=["load"])
        )
    return pictures


def _line(measured: Measured, policy: str, what: str) -> list[tuple[float, float]]:
    points = ((load, point) for (who, load), point in measured.loads.items() if who == policy)
    return [(float(load), getattr(point, what)) for load, point in points]


def through_time(point: Point) -> dict[str, list[tuple[float, float]]]:
    """By instant: the mean quality of its answers, and the part that was late."""
    instants: dict[int, list[tuple[float, bool]]] = {}
    for one in point.answers:
        instants.setdefault(one.at, []).append((one.quality, one.on_time))
    seconds = {at: (at - point.begin) / SECOND for at in sorted(instants)}
    return {
        "quality": [(second, fmean(quality for quality, _ in instants[at])) for at, second in seconds.items()],
        "late": [(second, fmean(not on_time for _, on_time in instants[at])) for at, second in seconds.items()],
    }


def _facts(plan: Plan, measured: Measured, best: Mapping[int, Optimum]) -> dict[str, Any]:
    return {
        "plan": asdict(plan),
        "costs": asdict(measured.known),
        "cores": measured.cores,
        "saturating rate": measured.rate,
        "optimum": {str(load): one._asdict() for load, one in best.items()},
        "loads": {f"{policy} {load}": point.facts() for (policy, load), point in measured.loads.items()},
        "swings": {f"{policy} {period}": point.facts() for (policy, period), point in measured.swings.items()},
        "panes": {str(load): point.facts() for load, point in measured.panes.items()},
        "burst": None if measured.burst is None else measured.burst.facts(),
    }
