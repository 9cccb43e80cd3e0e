"""The scheduler under load, simulated: quality, deadlines and recovery against what can be computed.

The optimum is the equal quality at which all demand, by the second, is what the cores can do.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from punctual.clock import SECOND, Micros
from punctual.config import Qos
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import CONCAVE, CONVEX, LINEAR
from punctual.schedule.contract import Contract
from punctual.schedule.state import Rules
from tests.schedule.loaded import Answered, Loaded, loaded, sampled

CORES = 2.0
READING_US = LATENCY_US = 100_000.0
WARM_US: Micros = 1_060 * SECOND
"""The engine starts at second 1,000 and knows nothing of latencies."""


def workload(load: float) -> tuple[list[Contract], dict[str, ExecutionCost]]:
    """Ten queries that suffer little, ten evenly, four soon; at this load of the cores."""
    random = np.random.default_rng(0)
    contracts: list[Contract] = []
    costs: dict[str, ExecutionCost] = {}
    for number, curve in enumerate([CONVEX] * 10 + [LINEAR] * 10 + [CONCAVE] * 4):
        period = float(random.choice([4, 8, 16]))
        contracts.append(sampled(f"q{number}", period, curve))
        fixed, work = random.uniform(5e3, 2e4), random.uniform(1e5, 4e5) * period / 8
        costs[f"q{number}"] = ExecutionCost(fixed, work)
    scale = (load * CORES - demand(contracts, costs, None)) / (
        demand(contracts, costs, 1.0) - demand(contracts, costs, None)
    )
    return contracts, {name: ExecutionCost(one.fixed_us, scale * one.work_us) for name, one in costs.items()}


def demand(contracts: list[Contract], costs: dict[str, ExecutionCost], quality: float | None) -> float:
    """Cores that are needed at a quality; None: without any input. A pass a second is what a tick brings."""
    found = (READING_US + CORES * LATENCY_US) / SECOND
    for one in contracts:
        share = 0.0
        if quality is not None:
            share = 1.0 if one.curve is None else max(one.curve.share(quality), one.curve.least_share)
        found += costs[one.query].at(share) / one.bound_us
    return found


def optimum(contracts: list[Contract], costs: dict[str, ExecutionCost]) -> float:
    grid = np.linspace(0, 1, 10_001)
    return float(max(q for q in grid if demand(contracts, costs, float(q)) <= CORES))


@cache
def run(load: float, qos: Qos, noise: float = 0.0, seconds: int = 300) -> Loaded:
    contracts, costs = workload(load)
    found = loaded(
        Rules("live", timed=True, qos=qos, cores=CORES), contracts, costs, reading_us=READING_US,
        latency_us=LATENCY_US, noise=noise,
    )  # fmt: skip
    found.run(seconds)
    return found


def settled(world: Loaded) -> list[Answered]:
    return [one for one in world.answers if one.at > WARM_US]


@pytest.mark.parametrize("load", [0.5, 0.9, 1.0, 1.2, 1.5, 2.5])
def test_quality_is_near_the_optimum_and_no_deadline_is_missed(load: float) -> None:
    found = settled(run(load, "dynamic-sampling"))
    best = optimum(*workload(load))
    assert all(one.on_time for one in found)
    quality = np.array([one.quality for one in found])
    assert quality.mean() >= best - 0.03
    assert quality.std() < 0.1


def test_noise_costs_little() -> None:
    """Jobs take up to 15 % more or less than anybody could know."""
    found = settled(run(1.5, "dynamic-sampling", 0.15))
    assert np.mean([one.on_time for one in found]) > 0.97
    assert np.mean([one.quality for one in found]) >= optimum(*workload(1.5)) - 0.04


@pytest.mark.parametrize("load", [1.2, 1.5])
def test_prediction_is_better_than_feedback_and_that_better_than_nothing(load: float) -> None:
    policies: tuple[Qos, ...] = ("dynamic-sampling", "feedback", "best-effort")
    quality = [np.mean([one.quality for one in settled(run(load, qos, seconds=150))]) for qos in policies]
    assert quality[0] > quality[1] + 0.1
    assert quality[1] > quality[2] + 0.1


def test_equal_quality_in_every_pass() -> None:
    by_level: dict[float, list[float]] = {}
    contracts = {one.query: one for one in workload(1.5)[0]}
    for one in settled(run(1.5, "dynamic-sampling")):
        curve = contracts[one.query].curve
        assert curve is not None
        if one.level is not None and one.share > curve.least_share:
            by_level.setdefault(one.level, []).append(curve.quality(one.share))
    assert len(by_level) > 10
    for level, qualities in by_level.items():
        assert max(qualities) - min(qualities) <= 0.02
        assert abs(float(np.mean(qualities)) - level) <= 0.02


def test_every_instant_is_answered_once() -> None:
    found = run(1.5, "dynamic-sampling")
    answered = [(one.query, one.at) for one in found.answers]
    assert len(answered) == len(set(answered))
    for contract in workload(1.5)[0]:
        mine = sorted(at for query, at in answered if query == contract.query)
        assert mine == list(range(mine[0], mine[-1] + 1, contract.bound_us))


def test_an_exact_query_is_untouched_by_the_others() -> None:
    contracts, costs = workload(1.3)
    exact = sampled("exact", 4, None, 4)
    world = loaded(
        Rules("live", timed=True, qos="dynamic-sampling", cores=CORES),
        [*contracts, exact],
        {**costs, "exact": ExecutionCost(10_000, 400_000)},
        reading_us=READING_US,
        latency_us=LATENCY_US,
    )
    world.run(200)
    mine = [one for one in settled(world) if one.query == "exact"]
    assert len(mine) > 20
    assert all(one.share == 1.0 and one.on_time for one in mine)
    assert all(one.on_time for one in settled(world))


def test_quality_returns_by_itself_after_a_burst() -> None:
    contracts, costs = workload(0.7)
    begin, end = 1_100 * SECOND, 1_130 * SECOND
    world = loaded(
        Rules("live", timed=True, qos="dynamic-sampling", cores=CORES), contracts, costs, reading_us=READING_US,
        latency_us=LATENCY_US, load=lambda now: 3.0 if begin <= now < end else 1.0,
    )  # fmt: skip
    world.run(240)
    before = [level for at, level in world.levels if WARM_US < at < begin]
    during = [level for at, level in world.levels if begin + 5 * SECOND < at < end]
    after = [level for at, level in world.levels if at > end + 20 * SECOND]
    assert set(before) == {1.0}
    assert max(level for level in during if level is not None) < 0.9
    assert set(after) == {1.0}
    began, ended = world.said[-2:]
    assert began.startswith("answers give way, to a quality of 0.")
    assert ended.startswith("all answers use everything again")
    calm = [one for one in world.answers if one.at > end + 20 * SECOND]
    assert all(one.share == 1.0 and one.on_time for one in calm)
    missed = [one for one in world.answers if begin <= one.at and not one.on_time]
    # What a burst costs before anybody knows of it: the pass under way when it begins.
    assert len(missed) <= 0.05 * sum(begin <= one.at < end for one in world.answers)


@pytest.mark.parametrize("by_s", [3_600, 5, -5, -3_600])
def test_a_clock_that_jumps_makes_nobody_late(by_s: int) -> None:
    world = run.__wrapped__(1.2, "dynamic-sampling", seconds=97)
    before = len(world.answers)
    world.jump(by_s * SECOND)
    world.run(100)
    levels = [level for at, level in world.levels if at > 1_097 * SECOND]
    assert len(world.answers) - before > 150
    assert all(one.on_time for one in world.answers[before:])
    assert min(level for level in levels if level is not None) > 0.8, "nobody gives way for a jump"
