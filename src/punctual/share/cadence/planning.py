"""Cadence plans: when each group of a sharing class runs, by eight methods.

================  =================================================  ================================
method            which groups run when                              together at one instant
================  =================================================  ================================
``none``          every group at its own bound                       separate executions
``intra``         groups of one bound together                       separate executions
``combined``      also groups that can join another for nothing      separate executions
``conservative``  groups of one bound together                       the dearest due answers the rest
``aggressive``    all at the fastest bound                           one execution
``hybrid``        the best partition into blocks                     the dearest due answers the rest
``greedy``        combined groups, bounds rounded down to multiples  the dearest due answers the rest
``exact``         the cheapest cycle that keeps every bound          the dearest answers the rest
================  =================================================  ================================

``exact`` is optimal among all plans in which an execution answers every group that is not dearer; ``greedy`` costs at
most twice the lower bound, since rounding down loses less than half of a bound. References: tests/papers/golab for
conservative, aggressive and hybrid; tests/papers/chen for the others (NS, IN, INCO, DP, GA) and for the lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import get_args

import numpy as np

from punctual.errors import PlanError
from punctual.share.cadence.cadence import Cadence, ExecutionList, Method, when_due
from punctual.share.cadence.cheapest_cycle import cheapest_cycle
from punctual.share.cadence.dearest_due import Multiples, Rate, rate_of_dearest_due
from punctual.share.cadence.effort import Effort, OutOfSteps
from punctual.share.cadence.groups import Block, Group, by_bound, combined, least_rate, merged_block, one_block_each
from punctual.share.cadence.hybrid import hybrid_blocks
from punctual.share.cadence.rates import rate_of

METHODS: tuple[Method, ...] = get_args(Method)


def plan(groups: Sequence[Group], method: Method, total: Effort | None = None) -> Cadence:
    """The cadence of one sharing class.

    Parameters
    ----------
    groups : sequence of Group
        One per query, or one per set of queries with the same bound; executions name them by their place.
    method : Method
    total : Effort, optional
        The steps that it takes are counted there too.

    Raises
    ------
    PlanError
        ``plan.cadence-too-fine``: the exact plan of such bounds would take too long to find.

    Examples
    --------
    >>> groups = [Group(2, 9), Group(3, 14), Group(5, 29)]
    >>> cadence = plan(groups, "exact")
    >>> cadence.cycle, cadence.cost_per_unit, cadence.lower_bound
    (5, Fraction(52, 5), Fraction(55, 6))
    >>> [(time, group) for time, group in cadence.executions]
    [(2, 1), (4, 0), (5, 2)]
    """
    if not groups:
        raise PlanError("plan.no-groups", "there is nothing to plan: no group was given")
    if method not in METHODS:
        raise PlanError("plan.unknown-method", f'there is no method "{method}"', hint=f"one of {', '.join(METHODS)}")
    stairs = combined(groups)
    least = least_rate(stairs)
    if method == "exact":
        return _exact(groups, stairs, least, Effort(within=total))
    if method == "greedy":
        blocks = rounded_down(stairs)
    elif method == "hybrid":
        blocks = hybrid_blocks(groups, Effort(within=total))
    else:
        blocks = BLOCKS[method](groups)
    executions = when_due(blocks, dearest_only=method not in SEPARATE)
    if method in SEPARATE:
        rate = Rate(rate_of((block.cost, block.bound) for block in blocks), exact=True)
        members = {block.index: block.members for block in blocks}
        answers = tuple(members.get(index, ()) for index in range(len(groups)))
    else:
        # Multiples of each other always find the cheaper ones due: each pays what it adds, as the lower bound does.
        if method == "greedy":
            rate = Rate(least_rate(blocks), exact=True)
        else:
            due = [(block.bound, block.cost) for block in blocks]
            rate = rate_of_dearest_due(due, Multiples((bound for bound, _cost in due), Effort(within=total)))
        answers = _not_dearer(groups, {block.index for block in blocks})
    return Cadence(method, executions.until, executions, rate.cost, least, answers, rate.exact)


def rounded_down(stairs: Sequence[Block]) -> tuple[Block, ...]:
    """Each bound rounded down to a multiple of the one before, so that a run always finds the cheaper ones due.

    >>> [block.bound for block in rounded_down(combined([Group(30, 2), Group(51, 3), Group(60, 4)]))]
    [30, 30, 60]
    """
    rounded: list[Block] = []
    step = 1
    for stair in stairs:
        step *= stair.bound // step
        rounded.append(replace(stair, bound=step))
    return tuple(rounded)


BLOCKS: dict[str, Callable[[Sequence[Group]], tuple[Block, ...]]] = {
    "none": one_block_each,
    "intra": by_bound,
    "combined": combined,
    "conservative": by_bound,
    "aggressive": lambda groups: (merged_block(one_block_each(groups)),),
}
"""The blocks that run when they are due, of the methods that do not search for them."""
SEPARATE = ("none", "intra", "combined")
"""Methods whose executions share nothing with each other, also where their times coincide."""


def _exact(groups: Sequence[Group], stairs: Sequence[Block], least: Fraction, effort: Effort) -> Cadence:
    try:
        best = cheapest_cycle([block.bound for block in stairs], [block.cost for block in stairs], effort)
    except OutOfSteps:
        raise PlanError(
            "plan.cadence-too-fine",
            f"the exact cadence of bounds from {stairs[0].bound} to {stairs[-1].bound} units takes too long to find",
            detail="the lengths that a gap can have grow with the ratio of the largest to the smallest bound",
            hint="SET cadence = greedy",
        ) from None
    runs = np.array([block.index for block in stairs])[best.levels]
    executions = ExecutionList(tuple(best.times.tolist()), tuple(runs.tolist()))
    answers = _not_dearer(groups, {block.index for block in stairs})
    return Cadence("exact", best.length, executions, best.rate, least, answers)


def _not_dearer(groups: Sequence[Group], running: set[int]) -> tuple[tuple[int, ...], ...]:
    """For each group that runs, those that cost no more."""
    answers: list[tuple[int, ...]] = [()] * len(groups)
    answered: list[int] = []
    ascending = sorted(range(len(groups)), key=lambda index: groups[index].cost)
    for _cost, same in groupby(ascending, key=lambda index: groups[index].cost):
        alike = list(same)
        answered += alike
        for index in running.intersection(alike):
            answers[index] = tuple(sorted(answered))
    return tuple(answers)
