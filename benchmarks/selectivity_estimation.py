"""Selectivities from samples, and what they make of predicted costs: Figures 8 and 9 of Wei and others.

Simulated: windows are drawn, and so are samples of them, by row or by key; expected costs are those of our formulas
with constants within the ranges of the paper's Table 1. *Static* samples a tenth; *dynamic* spends as much as that on
the two selectivities of the plan, in proportion to what each is worth.

Then contents change from round to round, and three estimators predict: the last exact selectivities, a static sampler,
and what the engine does (the last ones, and a sampler where they were found to be worse).
"""

from __future__ import annotations

from statistics import mean, pstdev

import numpy as np

from benchmarks.report import Goal, Picture, Point, Result
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.operator_costs import estimated_rows, plan_cost
from punctual.estimate.sampling import (
    STATIC_RATIO,
    EstimatorErrors,
    Sampled,
    dynamic_ratios,
    gradient,
)
from punctual.plan.operators import OperatorNode

READS = OperatorNode("read", window=0), OperatorNode("read", window=1)
SELECTED = OperatorNode("join", (OperatorNode("select", (READS[0],)), READS[1]))
JOINED = OperatorNode("aggregate", (OperatorNode("join", READS),))
PLAN = OperatorNode("aggregate", (SELECTED,))
COST = LinearCost.guessed(0.0, read=0.25, select=0.16, selected=0.04, join=4.5, joined=0.1, aggregate=0.3, group=0.1)
"""Microseconds, within the ranges of the paper's Table 1: a join is the dear operator."""
GROUPS = 10.0
MATCHES = 1.0


class Windows:
    """A draw of two windows of ``n`` rows: this part of the left one is selected, a row meets one of the other."""

    def __init__(self, rng: np.random.Generator, n: int, selected: float, keys: int | None = None) -> None:
        self.rng, self.n = rng, n
        self.keys = keys or max(2, round(n / MATCHES))
        self.chosen = rng.random(n) < selected
        self.left, self.right = rng.integers(0, self.keys, n), rng.integers(0, self.keys, n)

    def joined(self, left: np.ndarray, right: np.ndarray) -> float:
        return float((np.bincount(left, minlength=self.keys) * np.bincount(right, minlength=self.keys)).sum())

    def truth(self) -> tuple[float, float]:
        """The selectivities of the selection and of the join behind it."""
        some = self.left[self.chosen]
        return some.size / self.n, self.joined(some, self.right) / max(1, some.size * self.n)

    def by_row(self, ratio: float) -> float | None:
        """The selection's by a sample."""
        sample = self.rng.random(self.n) < ratio
        return float(self.chosen[sample].mean()) if sample.any() else None

    def by_key(self, ratio: float) -> float | None:
        """The join's by a sample of keys."""
        kept = self.rng.random(self.keys) < ratio
        left, right = self.left[self.chosen & kept[self.left]], self.right[kept[self.right]]
        return ratio * self.joined(left, right) / (left.size * right.size) if left.size and right.size else None

    def by_rows_of_both(self, ratio: float) -> float | None:
        """The join's by samples of rows, which see few pairs."""
        left = self.left[self.chosen & (self.rng.random(self.n) < ratio)]
        right = self.right[self.rng.random(self.n) < ratio]
        return self.joined(left, right) / (left.size * right.size) if left.size and right.size else None


def cost(n: int, select: float, join: float) -> float:
    """Of select, join, aggregate."""
    return plan_cost(COST, PLAN, estimated_rows(PLAN, [n, n], (GROUPS, join, select, None, None)))


def cost_without(n: int, join: float) -> float:
    """Of join, aggregate."""
    return plan_cost(COST, JOINED, estimated_rows(JOINED, [n, n], (GROUPS, join, None, None)))


def ratios(n: int, select: float, join: float) -> list[float]:
    """Dynamic ones of the selection and of the join, for what a static sampler costs."""
    known = (GROUPS, join, select, None, None)
    found = estimated_rows(PLAN, [n, n], known)
    each = COST.each("select") + select * COST.each("selected") + COST.each("read")
    behind = (cost(n, select, join) - each * n) / (found[2] + n)
    meeting = min(0.5, join * n)  # a row may have several matches, whose number varies at least as a coin does
    selection = Sampled(gradient(COST, PLAN, [n, n], known, 2), select, n, each)
    joining = Sampled(gradient(COST, PLAN, [n, n], known, 1) / n, meeting, found[2] + n, behind)
    return dynamic_ratios([selection, joining], STATIC_RATIO * cost(n, select, join))


def errors(
    n: int, selected: float, draws: int, seed: int
) -> dict[str, list[float]]:
    """Relative errors over draws, of selectivities and of costs."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[float]] = {}

    def add(name: str, estimate: float | None, truth: float) -> None:
        if estimate is not None and truth > 0:
            found.setdefault(name, []).append(abs(estimate / truth - 1))

    for _draw in range(draws):
        windows = Windows(rng, n, selected)
        select, join = windows.truth()
        if not select or not join:
            continue
        s, j, pairs = windows.by_row(STATIC_RATIO), windows.by_key(STATIC_RATIO), windows.by_rows_of_both(STATIC_RATIO)
        add("selection", s, select)
        add("join by key", j, join)
        add("join by row", pairs, join)
        if s is not None and j is not None:
            add("cost, join first", cost_without(n, j), cost_without(n, join))
            add("cost, static", cost(n, s, j), cost(n, select, join))
        more, less = ratios(n, select, join)
        s, j = windows.by_row(more), windows.by_key(less)
        if s is not None:
            # A sample that saw no pair says nothing; the truth of before stands in for the last exact one.
            add("cost, dynamic", cost(n, s, join if j is None else j), cost(n, select, join))
    return found


def drifting(kind: str, rounds: int, n: int, seed: int) -> dict[str, float]:
    """The mean error of the predicted cost by each estimator, and how often the engine's choice was a sampler."""
    rng = np.random.default_rng(seed)
    chosen, known, seen = 0.3, (0.3, MATCHES / n), EstimatorErrors()
    found: dict[str, list[float]] = {"last exact": [], "static sampler": [], "chosen": []}
    samplers = 0
    for number in range(rounds):
        if kind == "calm":
            chosen = float(np.clip(chosen + rng.normal(0, 0.01), 0.05, 0.95))
        elif kind == "jumps":
            chosen = float(rng.uniform(0.05, 0.95)) if number % 10 == 0 else chosen
        else:
            chosen = 0.1 if number % 2 else 0.8
        windows = Windows(rng, n, chosen)
        select, join = windows.truth()
        truth = cost(n, select, join)
        s, j = windows.by_row(STATIC_RATIO), windows.by_key(STATIC_RATIO)
        sampled = cost(n, known[0] if s is None else s, known[1] if j is None else j)
        last, sample = abs(cost(n, *known) / truth - 1), abs(sampled / truth - 1)
        uses = seen.wants_sampler
        samplers += uses
        found["last exact"].append(last)
        found["static sampler"].append(sample)
        found["chosen"].append(sample if uses else last)
        seen = seen.after(last, sample if uses else None)
        known = (select, join)
    return {**{name: mean(several) for name, several in found.items()}, "rounds with a sampler": samplers / rounds}


def run(quick: bool) -> Result:
    draws = 30 if quick else 400
    sizes = (300, 3_000) if quick else (100, 300, 1_000, 3_000, 10_000, 30_000)
    parts = (0.2,) if quick else (0.1, 0.2, 0.5, 0.9)
    found = {(n, s): errors(n, s, draws, seed) for seed, (n, s) in enumerate((n, s) for n in sizes for s in parts)}
    drifts = {kind: drifting(kind, 60 if quick else 400, 10_000, 7) for kind in ("calm", "jumps", "swings")}
    names = ("selection", "join by key", "join by row", "cost, join first", "cost, static", "cost, dynamic")
    lines = [[n, s, *(mean(several[name]) for name in names)] for (n, s), several in found.items()]

    def curve(name: str, s: float) -> list[Point]:
        return [(n, mean(found[n, s][name])) for n in sizes]

    at = 0.2
    middle = sizes[len(sizes) // 2]
    fall = mean(found[middle, at]["cost, dynamic"]) / mean(found[middle, at]["cost, static"])
    swings = drifts["swings"]
    return Result(
        name="selectivity_estimation",
        title="Errors of selectivities from samples, and of costs by them",
        columns=["rows", "selected", *names],
        rows=lines,
        goals=[
            Goal(f"cost error of dynamic over static sampling, {middle:,} rows", 0.5, fall),
            Goal("swinging contents: error of the engine's choice over the last exact", 0.5,
                 swings["chosen"] / swings["last exact"]),
        ],
        pictures=[
            Picture("rows", "error of selection", {f"s = {s}": curve("selection", s) for s in parts}),
            Picture("rows", f"error of join, s = {at}", {n: curve(n, at) for n in ("join by key", "join by row")}),
            Picture("rows", f"error of cost, s = {at}", {name: curve(name, at) for name in names[3:]}),
            Picture(
                "", "error of cost",
                {name: [(x, drift[name]) for x, drift in enumerate(drifts.values())]
                 for name in ("last exact", "static sampler", "chosen")},
                labels=list(drifts),
            ),
        ],
        notes=[
            *(f"{kind}: " + ", ".join(f"{name} {value:.3f}" for name, value in drift.items())
              for kind, drift in drifts.items()),
        ],
        facts={
            "errors": {
                f"{n} {s}": {name: [mean(v), pstdev(v)] for name, v in several.items()}
                for (n, s), several in found.items()
            },
            "drifts": drifts,
        },
    )
