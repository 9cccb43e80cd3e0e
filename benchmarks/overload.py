"""An engine that fell behind, with late-pending sharing and without it.

A simulation (``overload_model``) by a simulated clock. Its costs are parameters: 80 ms for a pass, about what a warm
Spark job with a Python stage takes, and 20 us for a merge. Twenty bounded classes stand and four PERIOD ones; for
thirty seconds no pass begins, or for ten seconds twenty more classes stand, five times as much as one by one fits.
Both policies see the same releases and the same costs, and both share passes while they are in time; they differ in
what runs with a head that is late.

How good is one pass for everything? It ends a backlog as soon as possible, but the mean answer could come sooner: the
least mean end of the stall's backlog is computed beside it, shortest first, cut into passes by dynamic programming.
And what an execution takes decides whether sharing the fixed part is worth the wait: dearer merges show until where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from statistics import mean, median

import numpy as np

from benchmarks.overload_model import FINISH_US, FIXED_US, MERGE_US, Class, Outcome, draw, draw_periods, load, simulate
from benchmarks.report import Goal, Picture, Result
from punctual.clock import SECOND, Micros

LOADS = (0.3, 0.5, 0.7, 0.8, 0.9, 1.1, 1.5, 2.0)
"""Of the bounded classes, one by one; the PERIOD ones add 0.02 to 0.06."""
SHOWN = 0.7
BURST = 5.0
MERGES_US = (2.0, 20.0, 60.0, 100.0, 200.0, 400.0)
CLASSES, PERIODS = 20, 4
BEGIN, STALL_END, BURST_END, HORIZON = (second * SECOND for second in (60, 90, 70, 420))
POLICIES = {"without": False, "with": True}
COLUMNS = (
    "overload",
    "load",
    "late-pending",
    "caught up after s",
    "mean lateness s",
    "answers/s until then",
    "passes",
    "PERIOD answers late",
    "their mean lateness s",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run."""

    catch_up_s: float
    """Infinite where it was still late at the horizon."""
    lateness_s: float
    throughput: float | None
    """None where nothing was late."""
    passes: int
    periods_late: int
    periods_lateness_s: float


def run(quick: bool) -> Result:
    seeds = range(2 if quick else 10)
    loads = (0.5, SHOWN, 1.1) if quick else LOADS
    stalls = {(at_load, name): [stall(seed, at_load, name) for seed in seeds] for at_load in loads for name in POLICIES}
    bursts = {name: [burst(seed, name) for seed in seeds] for name in POLICIES}
    rows = [row("stall", at_load, name, runs) for (at_load, name), runs in stalls.items()]
    rows += [row("burst", SHOWN, name, runs) for name, runs in bursts.items()]
    shown = {name: simulated(0, SHOWN, name) for name in POLICIES}
    dearer = [by_work(merge_us, seeds) for merge_us in MERGES_US]
    one_by_one, together, least, passes = ends_of_backlog(shown["with"], standing(0, SHOWN))
    compared = list(zip(stalls[SHOWN, "with"], stalls[SHOWN, "without"]))
    return Result(
        name="overload",
        title="Catching up, with late-pending sharing and without (simulated clock)",
        columns=COLUMNS,
        rows=rows,
        goals=[
            Goal(f"stall, load {SHOWN}: time to catch up, with over without", 1.0, worst(compared, "catch_up_s")),
            Goal(f"stall, load {SHOWN}: mean lateness, with over without", 1.0, worst(compared, "lateness_s")),
            Goal(
                f"stall, load {SHOWN}: PERIOD answers late, with over without",
                1.0,
                max(a.periods_late / b.periods_late for a, b in compared),
            ),
        ],
        pictures=[
            Picture(
                f"seconds; a stall from {BEGIN // SECOND} to {STALL_END // SECOND}, load {SHOWN}",
                "executions pending",
                {
                    name: [(second, outcome.backlog(second * SECOND)) for second in range(50, 180, 2)]
                    for name, outcome in shown.items()
                },
                logarithmic=False,
            ),
            Picture(
                "load, one by one",
                "caught up after a stall of 30 s, s",
                {
                    name: [
                        (at_load, typical)
                        for at_load in loads
                        if isfinite(typical := median(one.catch_up_s for one in stalls[at_load, name]))
                    ]
                    for name in POLICIES
                },
            ),
            Picture(
                f"mean work of an execution over the fixed cost; load {SHOWN}",
                "with over without",
                {
                    "time to catch up": [(work, catch_up) for work, catch_up, _lateness in dearer],
                    "mean lateness": [(work, lateness) for work, _catch_up, lateness in dearer],
                    "equal": [(dearer[0][0], 1.0), (dearer[-1][0], 1.0)],
                },
                dashed=["equal"],
            ),
        ],
        notes=[
            f"{len(seeds)} seeds; median time to catch up, other columns are means; ratios of goals: the worst seed's",
            f"-: not within {(HORIZON - STALL_END) // SECOND} s",
            "every due instant was answered exactly once in every run",
            "answers to the stall's backlog came, on average after its end, and by prediction: "
            f"{one_by_one:.2f} s one by one, {together:.2f} s in one pass, {least:.2f} s at least ({passes} passes)",
            *(
                f"work {work:.2f} of the fixed cost: with over without {catch_up:.2f} (time), {lateness:.2f} (lateness)"
                for work, catch_up, lateness in dearer
            ),
        ],
        facts={
            "stalls": {f"{at_load} {name}": [facts(one) for one in runs] for (at_load, name), runs in stalls.items()},
            "bursts": {name: [facts(one) for one in runs] for name, runs in bursts.items()},
            "work over fixed cost; with over without of time to catch up and mean lateness": dearer,
            "costs_us": {"pass": FIXED_US, "merge": MERGE_US, "finish": FINISH_US},
        },
    )


def standing(seed: int, at_load: float) -> list[Class]:
    random = np.random.default_rng(seed)
    return [*draw(random, CLASSES, at_load), *draw_periods(random, PERIODS)]


def simulated(seed: int, at_load: float, policy: str) -> Outcome:
    return simulate(
        standing(seed, at_load), HORIZON, late_pending=POLICIES[policy], stall=(BEGIN, STALL_END), seed=seed
    )


def stall(seed: int, at_load: float, policy: str) -> Measured:
    return measured(simulated(seed, at_load, policy), STALL_END, STALL_END)


def burst(seed: int, policy: str) -> Measured:
    extra = draw(np.random.default_rng(1_000 + seed), CLASSES, BURST, "burst")
    guests = [replace(one, first=BEGIN, last=BURST_END) for one in extra]
    assert load(guests) > 1
    outcome = simulate([*standing(seed, SHOWN), *guests], HORIZON, late_pending=POLICIES[policy], seed=seed)
    return measured(outcome, BEGIN, BURST_END)


def by_work(merge_us: float, seeds: Sequence[int]) -> tuple[float, float, float]:
    """Mean work over the fixed cost, and with over without late-pending: time to catch up, mean lateness."""
    works, runs = [], []
    for seed in seeds:
        classes = draw(np.random.default_rng(seed), CLASSES, SHOWN, merge_us=merge_us)
        works += [one.work_us for one in classes]
        runs.append(
            [
                simulate(classes, HORIZON, late_pending=POLICIES[name], stall=(BEGIN, STALL_END), seed=seed)
                for name in ("with", "without")
            ]
        )
    together, alone = zip(*runs)
    return (
        mean(works) / FIXED_US,
        mean(one.caught_up(STALL_END) - STALL_END for one in together)
        / mean(one.caught_up(STALL_END) - STALL_END for one in alone),
        float(mean(one.lateness.mean() for one in together) / mean(one.lateness.mean() for one in alone)),
    )


def measured(outcome: Outcome, begin: Micros, end: Micros) -> Measured:
    """What came of an overload that was there to work off from ``begin`` on and was over at ``end``."""
    assert np.all(outcome.answers == 1)
    caught_up = outcome.caught_up(end)
    periods = outcome.lateness[~outcome.bounded]
    return Measured(
        (caught_up - end) / SECOND if caught_up < HORIZON else inf,
        float(outcome.lateness.mean()) / SECOND,
        outcome.throughput(begin, min(caught_up, HORIZON)) if caught_up > begin else None,
        outcome.passes,
        int(np.count_nonzero(periods)),
        float(periods.mean()) / SECOND,
    )


def row(kind: str, at_load: float, policy: str, runs: Sequence[Measured]) -> list[object]:
    typical = median(one.catch_up_s for one in runs)
    answered = [one.throughput for one in runs if one.throughput is not None]
    return [
        kind,
        f"{at_load} + {BURST}" if kind == "burst" else at_load,
        policy,
        typical if isfinite(typical) else None,
        mean(one.lateness_s for one in runs),
        mean(answered) if answered else None,
        mean(one.passes for one in runs),
        mean(one.periods_late for one in runs),
        mean(one.periods_lateness_s for one in runs),
    ]


def worst(compared: Sequence[tuple[Measured, Measured]], what: str) -> float:
    """The largest ratio over the seeds."""
    return max(float(getattr(a, what) / getattr(b, what)) for a, b in compared)


def ends_of_backlog(outcome: Outcome, classes: Sequence[Class]) -> tuple[float, float, float, int]:
    """Mean seconds from the stall's end to the answer of what was pending then, by predicted work.

    One by one in the order of deadlines; in one pass; and the least there is, with its number of passes: shortest
    first, the best cut by dynamic programming from the back. ``rest[i]`` is the least sum of ends, counted from the
    moment when the first i have been answered; a pass from i to j delays all that are left by its length.
    """
    work_of = {one.name: one.work_us for one in classes}
    pending = np.flatnonzero((outcome.at <= STALL_END) & (outcome.answered > STALL_END))
    order = pending[np.argsort(outcome.deadline[pending], kind="stable")]
    work = np.array([work_of[name] for name in outcome.name[order].tolist()])
    count = len(work)
    done = np.concatenate([[0.0], np.cumsum(np.sort(work))])
    rest, cut = np.zeros(count + 1), np.zeros(count, np.int64)
    for i in range(count - 1, -1, -1):
        sums = (count - i) * (FIXED_US + done[i + 1 :] - done[i]) + rest[i + 1 :]
        cut[i] = i + 1 + int(np.argmin(sums))
        rest[i] = sums.min()
    passes, place = 0, 0
    while place < count:
        passes, place = passes + 1, int(cut[place])
    one_by_one = float(np.cumsum(FIXED_US + work).mean())
    return one_by_one / SECOND, (FIXED_US + float(work.sum())) / SECOND, float(rest[0]) / count / SECOND, passes


def facts(one: Measured) -> dict[str, float | None]:
    """For the JSON file, which has no infinity."""
    return {
        "catch_up_s": one.catch_up_s if isfinite(one.catch_up_s) else None,
        "lateness_s": one.lateness_s,
        "throughput": one.throughput,
        "passes": one.passes,
        "periods_late": one.periods_late,
        "periods_lateness_s": one.periods_lateness_s,
    }
