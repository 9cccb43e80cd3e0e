"""Figure 10 of Wei and others on the live engine: quality and deadlines under load, four policies, Table 2's workload.

First the costs are measured at rates at which everything is exact and in time, and at the last of them with shares that
are forced. They give the rate at which it no longer is in time, and the optimum. Then loads from 50 to 150 % under each
policy (10a, 10b), loads that swing between 100 and 140 % (10c), a burst of three times the load for thirty seconds, and
the same workload from panes.

``python -m benchmarks.quality --seconds 300 --loads 50 75 100 125 150`` sets the length of a point and which there are.
``--costs`` measures nothing but costs, and computes the optimum of the last result anew: where something else ran while
its costs were measured. The short form is a few seconds of each.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf

from benchmarks.engines import WarmBackend, warm
from benchmarks.quality_measured import LEVELLED, POLICIES, QUICK_PLAN, Measured, Plan, result
from benchmarks.quality_optimum import costs, fixed_part, saturation, still_part
from benchmarks.quality_point import STEPS_PER_DEADLINE, Point, Run, measure
from benchmarks.quality_workload import burst, steady, swinging
from benchmarks.report import RESULTS, Result, publish

BURST_S, BURST_TIMES, CALM_LOAD = 30.0, 3.0, 0.6
LATE = 0.05
"""A rate at which so many exact answers are late is beyond load 100 %."""
PATIENCE_S = 60.0
"""Costs are only known of what was answered, however late."""


def run(quick: bool) -> Result:
    return figures(QUICK_PLAN if quick else Plan())


def figures(plan: Plan) -> Result:
    """Measure a plan and make tables and pictures of it; once interrupted, of the points that there are."""
    with warm() as backend:
        measured = calibrated(backend, plan)
        with suppress(KeyboardInterrupt):
            _measure(backend, plan, measured)
    return result(plan, measured)


def with_costs_again(plan: Plan) -> Result:
    """The last result with the optimum by costs that are measured now."""
    facts = json.loads((RESULTS / "quality.json").read_text())["facts"]
    with warm() as backend:
        found = calibrated(backend, plan)
    asked = {**facts["plan"], "rates": plan.rates, "settle": plan.settle, "steps": plan.steps}
    plan = Plan(**{name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()})
    return result(plan, Measured.again(facts, plan.factor, found.known, found.cores))


def calibrated(backend: WarmBackend, plan: Plan) -> Measured:
    """Costs at rates at which all is exact and in time, up to the first at which it is not, and what follows."""
    for policy in ("best-effort", "dynamic-sampling"):
        settling = replace(_exact(plan, plan.rates[-1]), measured_s=plan.settle / 2, qos=policy)
        measure(backend, settling, steady(plan.rates[-1]))
    points: list[tuple[float, Point]] = []
    late = inf
    for rate in plan.rising:
        point = measure(backend, _exact(plan, rate), steady(rate))
        _say(f"costs at {rate:.0f} rows per second", point)
        if len(points) > 1 and point.missed > LATE:
            late = rate
            break
        points.append((rate, point))
    known = costs([(rate, plan.factor / STEPS_PER_DEADLINE, point.ledger) for rate, point in points], plan.factor)
    rate = points[-1][0]
    kept = []
    for share in plan.kept:
        point = measure(backend, replace(_exact(plan, rate), keep=f"{share:.0%}"), steady(rate))
        _say(f"costs at {rate:.0f} rows per second, {share:.0%} of them used", point)
        kept.append((share, point.ledger))
    if kept:
        known = replace(known, still=still_part(known, plan.factor, rate, kept))
    cores = min(point.left_cores for _rate, point in points)
    just = min(saturation(known, plan.factor), late)
    fixed = fixed_part(known, plan.factor, cores)
    still = f"{known.still:.2f} of what rows cost does not fall with the share"
    print(f"  {cores:.2f} cores, fixed part {fixed:.2f}, {still}, just in time at {just:.0f} rows/s", file=sys.stderr)
    return Measured(known, cores, just)


def _exact(plan: Plan, rate: float) -> Run:
    return replace(_run(plan, "best-effort", rate), patience_s=PATIENCE_S)


def _measure(backend: WarmBackend, plan: Plan, measured: Measured) -> None:
    rate = measured.rate
    if "loads" in plan.parts:
        for load in plan.loads:
            for policy in plan.policies:
                point = measure(backend, _run(plan, policy, load), steady(rate * load / 100))
                measured.loads[policy, load] = point
                _say(f"{policy} at {load} %", point)
    if "burst" in plan.parts:
        one = _run(plan, "dynamic-sampling", 0)
        seconds = min(BURST_S, plan.seconds)
        shape = burst(CALM_LOAD * rate, BURST_TIMES, one.warm_s + seconds, seconds)
        measured.burst = measure(backend, replace(one, measured_s=4 * seconds), shape)
        _say("burst", measured.burst)
    if "swings" in plan.parts:
        for period in plan.swings:
            for policy in LEVELLED:
                one = _run(plan, policy, period)
                length = max(one.measured_s, period * plan.factor)
                swing = swinging(rate, 1.4 * rate, period * plan.factor)
                point = measure(backend, replace(one, measured_s=length), swing)
                measured.swings[policy, period] = point
                _say(f"{policy}, period {period} s", point)
    if "panes" in plan.parts:
        for load in plan.loads:
            one = _run(plan, "dynamic-sampling", load)
            measured.panes[load] = measure(backend, replace(one, window_merge="auto"), steady(rate * load / 100))
            _say(f"panes at {load} %", measured.panes[load])


def _run(plan: Plan, policy: str, seed: float) -> Run:
    """The longest window is full before anything is judged, and costs are learned as far as a few instants teach."""
    return Run(plan.factor, plan.warm * plan.factor, max(plan.seconds, 2 * plan.factor), policy, seed=int(seed))


def _say(what: str, point: Point) -> None:
    numbers = f"quality {point.quality:.3f}, deviation {point.deviation:.3f}, missed {point.missed:.3f}"
    cores = f"{point.used_cores:.2f} cores, others {point.others_cores:.2f}"
    print(f"  {what}: {numbers} ({point.seen_missed:.3f} by the reader's clock), {cores}", file=sys.stderr, flush=True)


def _main(arguments: Sequence[str]) -> int:
    default = Plan()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--factor", type=float, default=default.factor, help="times of the paper by this")
    parser.add_argument("--seconds", type=float, default=default.seconds, help="judged at each point")
    parser.add_argument("--rates", type=float, nargs="+", default=default.rates, help="at which costs are measured")
    parser.add_argument("--loads", type=int, nargs="*", default=default.loads, help="percent")
    parser.add_argument("--swings", type=int, nargs="*", default=default.swings, help="periods in seconds of the paper")
    parser.add_argument("--warm", type=float, default=default.warm, help="deadlines before anything is judged")
    parser.add_argument("--settle", type=float, default=default.settle, help="seconds before costs are measured")
    parser.add_argument("--costs", action="store_true", help="measure no points: those of the last result stay")
    parser.add_argument("--policies", nargs="*", default=POLICIES, choices=POLICIES)
    parser.add_argument("--parts", nargs="*", default=default.parts, choices=default.parts)
    given = parser.parse_args(arguments)
    lists = {name: tuple(getattr(given, name)) for name in ("rates", "loads", "swings", "policies", "parts")}
    plan = Plan(given.factor, given.seconds, warm=given.warm, settle=given.settle, **lists)
    publish(with_costs_again(plan) if given.costs else figures(plan), quick=False)
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
