"""Selectivities from samples: what a sample says, how large it should be, and whether it is worth while.

A *sampler* runs a query over a part of its windows, before the query itself. By row, each row is in it or not; by key,
rows are in it by their join key, so that rows that match stay together. A sample of a tenth of both sides by row would
see a hundredth of the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from punctual.estimate.linear_cost import ALPHA, LinearCost
from punctual.estimate.operator_costs import estimated_rows, plan_cost, selectivities
from punctual.plan.operators import OperatorNode, OperatorRows

STATIC_RATIO = 0.1
LEAST_RATIO = 0.01
CPU_SHARE = 0.05
"""So much of all core time may go into samplers."""
GOOD_ENOUGH = 0.1
"""Estimates that are wrong by less than this need no sampler."""
TRIED_AFTER = 0.8
"""A sampler stays in use while its error is below this part of the other's."""
_STEP = 1e-3


def sampled_selectivities(
    sample: OperatorRows, ratio: float, known: Sequence[float | None], *, by_key: bool
) -> tuple[float | None, ...]:
    """What a sample says about the whole; of what it cannot tell (groups, limits), and of what it did not see, what is
    known already.

    By key, a pair is in the sample with the probability of a row: so many of ``ratio^2 n_L n_R`` pairs say that
    ``ratio`` times as many of all match.

    >>> join = OperatorNode("join", (OperatorNode("read", window=0), OperatorNode("read", window=1)))
    >>> sampled_selectivities(OperatorRows(join, (20, 100, 50)), 0.1, (None, None, None), by_key=True)[0]
    0.0004
    """
    found = []
    for (node, _below), seen, old in zip(
        sample.operators.numbered(), selectivities(sample.operators, sample.rows), known
    ):
        if seen is None or node.kind in ("aggregate", "limit"):
            found.append(old)
        else:
            found.append(seen * ratio if by_key and node.kind in ("join", "pairs") else seen)
    return tuple(found)


def gradient(
    cost: LinearCost, operators: OperatorNode, windows: Sequence[float], known: Sequence[float | None], number: int
) -> float:
    """dT/ds: how much dearer the plan gets with the selectivity of one operator."""
    here = known[number]
    if here is None or here <= 0:
        return 0.0
    more = [s if place != number else here * (1 + _STEP) for place, s in enumerate(known)]
    before, after = (plan_cost(cost, operators, estimated_rows(operators, windows, s)) for s in (known, more))
    return (after - before) / (here * _STEP)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Something that may be sampled: how the whole cost depends on what is to be found out, that itself (as a part of
    what it is found from), how many rows there are, and what sampling one of them costs."""

    gradient: float
    selectivity: float
    rows: float
    row_us: float

    @property
    def worth(self) -> float:
        """What a larger sample of it is worth by its price: |dT/ds| sqrt(s (1 - s) / (n c)), c the price of all n."""
        s = min(max(self.selectivity, 0.0), 1.0)
        price = self.rows * self.row_us
        return abs(self.gradient) * (s * (1 - s) / (self.rows * price)) ** 0.5 if price > 0 else 0.0


def dynamic_ratios(sampled: Sequence[Sampled], budget_us: float) -> list[float]:
    """How large samples should be when they may cost so much together: in proportion to what each is worth.

    At least :data:`LEAST_RATIO` and at most all; what one cannot use is left to the others. This is the least variance
    of the whole cost for the price: that of a sample is (dT/ds)^2 s (1 - s) / (ratio n), and its price ratio c.

    >>> cheap, dear = Sampled(1e4, 0.5, 1e4, 0.1), Sampled(1e4, 0.5, 1e4, 10.0)
    >>> [round(ratio, 3) for ratio in dynamic_ratios([cheap, dear], 5_500)]
    [0.5, 0.05]
    """
    ratios = [LEAST_RATIO] * len(sampled)
    free = {number for number, one in enumerate(sampled) if one.worth > 0}
    while free:
        spent = sum(one.rows * one.row_us * ratios[n] for n, one in enumerate(sampled) if n not in free)
        each = sum(sampled[n].worth * sampled[n].rows * sampled[n].row_us for n in free)
        scale = max(0.0, budget_us - spent) / each
        wanted = {n: scale * sampled[n].worth for n in free}
        over = {n for n, ratio in wanted.items() if ratio > 1}
        under = {n for n, ratio in wanted.items() if ratio < LEAST_RATIO}
        bound = over or under
        for n in bound or free:
            ratios[n] = min(max(wanted[n], LEAST_RATIO), 1.0)
        if not bound:
            break
        free -= bound
    return ratios


@dataclass(frozen=True, slots=True)
class EstimatorErrors:
    """How far off the expected cost of a query was, by its last exact selectivities and by those of samples; smoothed.

    None where that was never seen.
    """

    last_exact: float | None = None
    sampled: float | None = None

    def after(self, last_exact: float, sampled: float | None) -> EstimatorErrors:
        """The same with one more execution, which had a sampler or not.

        >>> EstimatorErrors().after(0.5, None).after(0.0, 0.1)
        EstimatorErrors(last_exact=0.4, sampled=0.1)
        """
        return EstimatorErrors(
            _smoothed(self.last_exact, last_exact),
            self.sampled if sampled is None else _smoothed(self.sampled, sampled),
        )

    @property
    def wants_sampler(self) -> bool:
        """Whether samples are worth trying: the last selectivities were found to predict badly, and worse than they."""
        if self.last_exact is None or self.last_exact <= GOOD_ENOUGH:
            return False
        return self.sampled is None or self.sampled < TRIED_AFTER * self.last_exact


def _smoothed(old: float | None, new: float) -> float:
    return new if old is None else (1 - ALPHA) * old + ALPHA * new


@dataclass(frozen=True, slots=True)
class SamplingBudget:
    """Core time of all jobs and of samplers so far; old times count less."""

    used_us: float = 0.0
    sampled_us: float = 0.0

    def allows(self, expected_us: float, sampler_us: float) -> bool:
        """Whether a sampler of this cost may run before a job of that one.

        >>> SamplingBudget(1e6, 2e4).allows(1e6, 8e4), SamplingBudget(1e6, 2e4).allows(1e6, 9e4)
        (True, False)
        """
        return self.sampled_us + sampler_us <= CPU_SHARE * (self.used_us + expected_us)

    def after(self, used_us: float, sampled_us: float) -> SamplingBudget:
        keep = 1 - ALPHA / 20
        return SamplingBudget(keep * self.used_us + used_us, keep * self.sampled_us + sampled_us)
