"""Samplers of row queries: which queries have one, by which columns their windows are sampled, and how much of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from punctual.estimate.operator_costs import plan_cost
from punctual.estimate.row_costs import QueryCost, RowCosts, RowFiring
from punctual.estimate.sampling import CPU_SHARE, STATIC_RATIO, Sampled, SamplingBudget, dynamic_ratios, gradient
from punctual.plan.operators import OperatorNode

_JOIN = re.compile(r"\w+Join \[([^\]]*)\], \[([^\]]*)\]")
_NAME = re.compile(r"\w+")

Keys = dict[int, tuple[str, ...]]
"""By number of a window, the columns whose hash decides which of its rows are in a sample; none: the whole row."""


@dataclass(frozen=True, slots=True)
class SampledQuery:
    """How the windows of one firing are sampled."""

    ratio: float
    keys: Keys

    @property
    def by_key(self) -> bool:
        return any(self.keys.values())


def sample_keys(operators: OperatorNode) -> Keys | None:
    """By which columns windows are sampled so that rows that match stay together; None where there is no such way.

    >>> reads = OperatorNode("read", window=0), OperatorNode("read", window=1)
    >>> sample_keys(OperatorNode("join", reads, "SortMergeJoin [k, m], [l, n], Inner"))
    {0: ('k', 'm'), 1: ('l', 'n')}
    >>> sample_keys(OperatorNode("join", reads, "SortMergeJoin [coalesce(k, )], [l], Inner")) is None
    True
    """
    found: Keys = {}
    for node in operators.nodes():
        if node.kind == "pairs":
            return None
        if node.kind in ("join", "semijoin"):
            match = _JOIN.match(node.about)
            if match is None:
                return None
            for child, text in zip(node.children, match.groups()):
                names = tuple(name.strip() for name in text.split(","))
                for read in (one for one in child.nodes() if one.window is not None):
                    assert read.window is not None
                    if not all(_NAME.fullmatch(name) for name in names) or found.get(read.window, names) != names:
                        return None
                    found[read.window] = names
        elif node.window is not None:
            found.setdefault(node.window, ())
    return found


def samplers(
    costs: RowCosts, firings: Sequence[RowFiring], budget: SamplingBudget, *, static: bool = False
) -> list[SampledQuery] | None:
    """How the firings of a job are sampled before it, all of them by one job; None where that is not worth while.

    It is where some query wants it, all of them can be sampled, and the sampler's job stays within its share of all
    core time. A ``static`` one takes a tenth every time, whatever it costs and whoever wants it.
    """
    known = [costs.of(firing) for firing in firings]
    if any(one.planned for one in known):
        return None
    if not static and not any(one.errors.wants_sampler for one in known):
        return None
    keys = [sample_keys(one.operators) for one in known]
    ratios = [STATIC_RATIO] * len(known)
    if not static:
        expected = sum(costs.expected(firings))
        cost = costs.operators
        fixed = cost.each("job") + len(known) * cost.each("slot")
        sampled = [_sampled(costs, one, firing) for one, firing in zip(known, firings)]
        left = CPU_SHARE * (budget.used_us + expected) - budget.sampled_us - fixed
        ratios = dynamic_ratios(sampled, 0.99 * left)
        price = fixed + sum(one.rows * one.row_us * ratio for one, ratio in zip(sampled, ratios))
        if not budget.allows(expected, price):
            return None
    found = [SampledQuery(ratio, key) for ratio, key in zip(ratios, keys) if key is not None]
    return found if len(found) == len(known) else None


def _sampled(costs: RowCosts, one: QueryCost, firing: RowFiring) -> Sampled:
    """A query as something to sample: by the operator whose selectivity its cost depends on most."""
    rows, total = one.rows(firing.windows), sum(firing.windows)
    cost = costs.operators
    each = one.factor * (plan_cost(cost, one.operators, rows) - cost.each("slot")) / max(total, 1.0)
    best = Sampled(0.0, 0.5, total, each)
    for number, (node, below) in enumerate(one.operators.numbered()):
        if node.kind in ("select", "join", "semijoin", "generate"):
            # Of a join, the part of the rows of its left side that find a match, or at most all.
            scale = max(rows[below[1]], 1.0) if node.kind == "join" else 1.0
            selectivity = (one.selectivities[number] or 0.0) * scale
            slope = gradient(cost, one.operators, firing.windows, one.selectivities, number) / scale
            # A row may have several matches, whose number varies at least as a coin does.
            most = 0.5 if node.kind == "join" else 0.99
            found = Sampled(slope, min(max(selectivity, 0.01), most), total, each)
            best = max(best, found, key=lambda sampled: sampled.worth)
    return best
