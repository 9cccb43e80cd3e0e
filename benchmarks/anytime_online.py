"""Sharing cores as anytime queries come: Figures 5 and 6 of Ge and others, fairness, and deadlines, by a virtual clock.

No query runs. The planners are the engine's own (``punctual.schedule``), queries are the paper's (Q1 to Q5 at random,
1 to 3 answers in 1 to 6 seconds, 100 essential rounds each), and rounds cost other than was thought
(``anytime_virtual``). Costs are such that ``FULL`` queries a second need both cores whole.

*Figure 5*: rounds that a stage had over those that the plan of its epoch gave it, mean and standard deviation, by the
rate of queries; estimated by one round, as in the paper, and by ten.
*Figure 6*: CPU time of the online decisions over the core time of joblets, by the rate of queries. The decisions are
timed for real, joblets take virtual time.
*Deadlines* at 50, 90 and 120 %: stages with at least one round, and with all essential ones, in both modes; beside
them the stages to which a plan gives what is essential if it knows all costs.
*Fairness*: the largest deviation of what is given online from the optimum of ``allocate``, by the number alive; of the
worst kind of query on average, which Theorem 4 is about, and of single queries. Rounds cost what was thought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.anytime_allocation import deviation
from benchmarks.anytime_model import Compared, compared, draw
from benchmarks.anytime_stages import Stage, rounds_for_load, staged
from benchmarks.anytime_virtual import Costs, Floats, Run, online, planned
from benchmarks.anytime_workload import ROUNDS, asked
from benchmarks.report import Goal, Picture, Point, Result
from punctual.schedule.epoch import allocate
from punctual.schedule.online import Rules

CORES, FULL = 2, 10.0
JOBLET_S = 0.05
SECONDS = 60.0
RATES = (1.0, 2.5, 5.0, 7.5, 9.0, 12.0)
JUDGED_RATES = (5.0, 9.0, 12.0)
TRIED = (1, 10)
ALIVE, LOADS = (5, 10, 20, 50, 100, 200), (0.5, 0.9, 1.2)
ENOUGH_ALIVE = 50
GOAL_SHARE, GOAL_KIND, GOAL_MEAN, GOAL_ESSENTIAL = 0.01, 0.1, 0.05, 0.99
COLUMNS = ("load, %", "mode", "stages", "with a round, %", "all essential, %", "the same, best plan, %",
           "of essential rounds, %", "rounds a stage", "cores busy, %", "µs a decision")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """Several runs of one mode at one rate, as one."""

    rounds: Floats
    """By stage: those in its answer."""
    expected: Floats
    """Those that the plan gives it by its estimate; online nothing is planned, and all are 0."""
    feasible: Floats
    """What a plan that knows all costs gives each, over what is essential."""
    core_s: float
    seconds: float
    decisions: int
    decided_s: float

    @property
    def overhead(self) -> float:
        """CPU time of decisions over the core time of joblets."""
        return self.decided_s / self.core_s

    @property
    def all_essential(self) -> float:
        return float((self.rounds >= ROUNDS).mean())

    @property
    def could_be(self) -> float:
        return float((self.feasible >= 1 - 1e-9).mean())

    @property
    def without_round(self) -> float:
        return float((self.rounds < 1).mean())


def run(quick: bool) -> Result:
    seeds, rates, seconds = (range(1), JUDGED_RATES, 12.0) if quick else (range(5), RATES, SECONDS)
    came = {rate: outcome("online", rate, seeds, Costs(), seconds) for rate in rates}
    plans = {
        tried: {rate: outcome("planned", rate, seeds, Costs(tried=tried), seconds) for rate in rates} for tried in TRIED
    }
    alive = ALIVE[:4] if quick else ALIVE
    fairness = {(load, some): fair(load, some, quick=quick) for load in LOADS for some in alive}
    judged = [
        (rate, mode, found[rate])
        for rate in JUDGED_RATES
        for mode, found in (("online", came), ("planned", plans[TRIED[0]]))
    ]
    return Result(
        name="anytime_online",
        title="Sharing cores as queries come: plans kept, decisions, deadlines, fairness (by a virtual clock)",
        columns=COLUMNS,
        rows=[row(rate, mode, found) for rate, mode, found in judged],
        goals=goals(came, plans, fairness),
        pictures=[
            figure_5(plans),
            Picture("queries a second", "decisions, % of the core time of joblets",
                    {"online": [(rate, 100 * found.overhead) for rate, found in came.items()]}, logarithmic=False),
            deadlines(judged),
            fairness_picture(fairness),
        ],
        notes=notes(came, plans, fairness),
        facts={
            "online": {rate: told(found) for rate, found in came.items()},
            "planned, by rounds tried": {
                tried: {rate: told(found) for rate, found in by.items()} for tried, by in plans.items()
            },
            "fairness": {f"{load} {some}": single(found) for (load, some), found in fairness.items()},
        },
    )  # fmt: skip


def outcome(mode: str, rate: float, seeds: range, costs: Costs, seconds: float = SECONDS) -> Outcome:
    """Queries that come for so long, once for each seed, and run to their last deadline."""
    parts: list[tuple[Floats, Floats, Floats]] = []
    core_s = length = decided_s = 0.0
    decisions = 0
    for seed in seeds:
        stages = staged(asked(seed, rate, seconds), rounds_for_load(1.0, FULL, CORES))
        random = np.random.default_rng([seed, round(10 * rate)])
        estimates = costs.estimates(random, stages)
        plan = [0.0] * len(stages)
        if mode == "online":
            found = online(stages, estimates, Rules(CORES, JOBLET_S, seed), costs, random)
        else:
            plan = allocate([one.needing(cost) for one, cost in zip(stages, estimates)], CORES)
            found = planned(stages, estimates, plan, CORES, JOBLET_S, costs, random)
        length += checked(found, stages)
        knowing = allocate([one.needing(one.one_round) for one in stages], CORES)
        parts.append((
            np.array(found.rounds, np.float64), np.array(plan) / np.array(estimates),
            np.array(knowing) / (ROUNDS * np.array([one.one_round for one in stages])),
        ))  # fmt: skip
        core_s, decided_s, decisions = core_s + found.core_s, decided_s + found.decided_s, decisions + found.decisions
    rounds, expected, feasible = (np.concatenate(part) for part in zip(*parts))
    return Outcome(rounds, expected, feasible, core_s, length, decisions, decided_s)


def checked(found: Run, stages: Sequence[Stage]) -> float:
    """How long it went on; no more joblets ran at once than there are cores, none before its stage had begun.

    Nothing begins after its deadline; a round that has begun by then may end.
    """
    assert found.most_at_once() <= CORES
    for place, began, ended in found.joblets:
        assert stages[place].start <= began <= ended
        assert began < stages[place].deadline
    length = max(ended for _place, _began, ended in found.joblets) - min(stage.start for stage in stages)
    assert found.core_s <= CORES * length * (1 + 1e-9)
    return length


def fair(load: float, alive: int, *, quick: bool) -> Compared:
    """What is given online, and what would be best: a draw of half a minute for each seed."""
    seeds = range(1 if quick else max(3, 400 // alive))
    draws = [draw(np.random.default_rng(seed), alive, load, CORES, length=30.0) for seed in seeds]
    return compared(draws, CORES, joblets=10)


def single(found: Compared) -> dict[str, float]:
    """Deviations of what is given from what would be best, as parts of it."""
    ratios = np.abs(found.given / found.best - 1)
    return {
        "queries": float(ratios.size),
        "worst kind": deviation(found),
        "half of the queries": float(np.quantile(ratios, 0.5)),
        "95 % of the queries": float(np.quantile(ratios, 0.95)),
        "worst query": float(ratios.max()),
    }


def kept(found: Outcome) -> tuple[float, float]:
    """Rounds that stages had over those that were planned, of stages with a round at least: mean and deviation."""
    some = found.expected >= 1
    ratios = found.rounds[some] / found.expected[some]
    return float(ratios.mean()), float(ratios.std())


def row(rate: float, mode: str, found: Outcome) -> list[object]:
    shares = [1 - found.without_round, found.all_essential, found.could_be, np.minimum(found.rounds / ROUNDS, 1).mean()]
    busy = found.core_s / (CORES * found.seconds)
    return [round(100 * rate / FULL), mode, found.rounds.size, *(100 * float(share) for share in shares),
            float(found.rounds.mean()), 100 * busy, 1e6 * found.decided_s / found.decisions]  # fmt: skip


def goals(
    came: dict[float, Outcome], plans: dict[int, dict[float, Outcome]], fairness: dict[tuple[float, int], Compared]
) -> list[Goal]:
    many = [deviation(found) for (_load, alive), found in fairness.items() if alive >= ENOUGH_ALIVE]
    first, half = plans[TRIED[0]], JUDGED_RATES[0]
    return [
        Goal("decisions online, of the core time of joblets, worst rate", GOAL_SHARE,
             max(found.overhead for found in came.values())),
        Goal(f"online, {ENOUGH_ALIVE} and more alive: worst kind's deviation from the optimum", GOAL_KIND, max(many)),
        Goal("online: stages without any round, worst rate", 0.0, max(found.without_round for found in came.values())),
        Goal("planned: the same", 0.0, max(found.without_round for found in first.values())),
        Goal("online at 50 %: stages with all essential rounds (ours)", GOAL_ESSENTIAL, came[half].all_essential,
             at_least=True),
        Goal("planned at 50 %: the same (ours)", GOAL_ESSENTIAL, first[half].all_essential, at_least=True),
        Goal("rounds over planned ones: mean's distance from 1, worst rate (ours)", GOAL_MEAN,
             max(abs(kept(found)[0] - 1) for found in first.values())),
    ]  # fmt: skip


def figure_5(plans: dict[int, dict[float, Outcome]]) -> Picture:
    """Means with their deviations; those of the second way a little to the right, where both can be seen."""
    series: dict[str, list[Point]] = {}
    spread: dict[str, list[float]] = {}
    for number, (tried, by_rate) in enumerate(plans.items()):
        name = f"estimated by {tried} round{'s' if tried > 1 else ''}, with the deviation of stages"
        series[name] = [(rate + 0.15 * number, kept(found)[0]) for rate, found in by_rate.items()]
        spread[name] = [kept(found)[1] for found in by_rate.values()]
    return Picture("queries a second", "rounds over planned rounds", series, logarithmic=False, spread=spread)


def deadlines(judged: Sequence[tuple[float, str, Outcome]]) -> Picture:
    names = [f"{100 * rate / FULL:.0f} %" for rate in JUDGED_RATES]
    series: dict[str, list[Point]] = {}
    for rate, mode, found in judged:
        place = float(JUDGED_RATES.index(rate))
        series.setdefault(f"{mode}, a round", []).append((place, 100 * (1 - found.without_round)))
        series.setdefault(f"{mode}, all essential", []).append((place, 100 * found.all_essential))
        if mode == "online":
            series.setdefault("all essential, by a plan that knows", []).append((place, 100 * found.could_be))
    return Picture("load", "stages by their deadline, %", series, logarithmic=False, labels=names)


def fairness_picture(fairness: dict[tuple[float, int], Compared]) -> Picture:
    series: dict[str, list[Point]] = {}
    for (load, alive), found in fairness.items():
        for what in ("worst kind", "95 % of the queries"):
            series.setdefault(f"load {load}, {what}", []).append((alive, 100 * single(found)[what]))
    return Picture("alive at a time", "deviation from the optimum, %", series, logarithmic=False)


def told(found: Outcome) -> dict[str, float]:
    mean, spread = kept(found) if found.expected.any() else (np.nan, np.nan)
    ratio = {} if np.isnan(mean) else {"over planned, mean": mean, "over planned, deviation": spread}
    return {
        "stages": float(found.rounds.size), "without a round": found.without_round,
        "all essential": found.all_essential, "all essential by a plan that knows": found.could_be,
        "of essential rounds": float(np.minimum(found.rounds / ROUNDS, 1).mean()),
        "rounds": float(found.rounds.mean()), "core s": found.core_s, "s": found.seconds,
        "decisions": float(found.decisions), "s of decisions": found.decided_s, **ratio,
    }  # fmt: skip


def notes(
    came: dict[float, Outcome], plans: dict[int, dict[float, Outcome]], fairness: dict[tuple[float, int], Compared]
) -> list[str]:
    lines = [
        "decisions online, % of core time: "
        + ", ".join(f"{100 * found.overhead:.2g} at {rate:g}/s" for rate, found in came.items())
    ]
    for tried, by_rate in plans.items():
        each = ", ".join(
            f"{kept(found)[0]:.3f} ± {kept(found)[1]:.3f} at {rate:g}/s" for rate, found in by_rate.items()
        )
        lines.append(f"rounds over planned, estimated by {tried}: {each}")
    for (load, alive), found in fairness.items():
        said = ", ".join(f"{name} {value:.2f}" for name, value in single(found).items() if name != "queries")
        lines.append(f"deviation at load {load}, {alive} alive: {said}")
    return [*lines, "never more joblets at once than cores; none began before its stage or after its deadline"]
