"""What a cadence is planned for: groups of queries with a bound between executions and the cost of one.

A *sharing class* is a set of groups whose joint execution costs its dearest member: windows merged by one scan, top-k
chained by k, worlds chained by rounds. One execution answers every group of the class that is not dearer. Bounds are
integers of a unit that the class chooses (:func:`unit_of`); costs are exact fractions, so that plans can be compared
without rounding.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd, isfinite

from punctual.errors import PlanError

Cost = int | float | Fraction
"""A float stands for the number that it is exactly."""


@dataclass(frozen=True, slots=True, init=False)
class Group:
    """At most ``bound`` units between executions, each of which costs ``cost`` when it runs alone.

    >>> Group(2, 0.5)
    Group(bound=2, cost=Fraction(1, 2))
    """

    bound: int
    cost: Fraction

    def __init__(self, bound: int, cost: Cost) -> None:
        whole = operator.index(bound) if hasattr(bound, "__index__") else 0
        if whole < 1:
            raise PlanError(
                "plan.bad-group",
                f"{bound!r} is not a bound",
                hint="give whole units, at least 1; unit_of finds the unit of durations",
            )
        if not isfinite(cost) or cost < 0:
            raise PlanError("plan.bad-group", f"{cost} is not a cost", hint="give a finite number that is not negative")
        object.__setattr__(self, "bound", whole)
        object.__setattr__(self, "cost", Fraction(cost))


@dataclass(frozen=True, slots=True)
class Block:
    """Groups that run together: at the bound of the block, at the cost of its dearest member (``index``)."""

    bound: int
    cost: Fraction
    index: int
    members: tuple[int, ...]


def unit_of(durations_us: Iterable[int]) -> int:
    """The longest unit, in microseconds, of which all durations are integers.

    >>> unit_of([2_000_000, 3_000_000, 500_000])
    500000
    """
    unit = reduce(gcd, durations_us, 0)
    if unit <= 0:
        raise PlanError("plan.bad-group", "there is no unit of no durations, or of none above zero")
    return unit


def fold_finishing(groups_with_finishing: Sequence[tuple[Group, Cost]]) -> tuple[Group, ...]:
    """Groups whose cost includes finishing the answers that an execution gives, in the same order.

    One execution of a group also finishes (and writes) the answers of every group that is not dearer: level i costs
    ``c_i`` and the sum of ``e_j`` over ``j <= i``. Costs stay in the same order, so the exact plan stays exact.

    >>> fold_finishing([(Group(2, 9), 1), (Group(3, 14), 2)])
    (Group(bound=2, cost=Fraction(10, 1)), Group(bound=3, cost=Fraction(17, 1)))
    """
    finishing: dict[Fraction, Fraction] = {}
    for group, cost in groups_with_finishing:
        finishing[group.cost] = finishing.get(group.cost, Fraction(0)) + Fraction(cost)
    answered = Fraction(0)
    for level in sorted(finishing):
        answered += finishing[level]
        finishing[level] = answered
    return tuple(Group(group.bound, group.cost + finishing[group.cost]) for group, _cost in groups_with_finishing)


def one_block_each(groups: Sequence[Group]) -> tuple[Block, ...]:
    """Each group a block of its own."""
    return tuple(Block(group.bound, group.cost, index, (index,)) for index, group in enumerate(groups))


def merged_block(blocks: Iterable[Block]) -> Block:
    """One block at its fastest member's bound and its dearest member's cost."""
    blocks = tuple(blocks)
    if len(blocks) == 1:
        return blocks[0]
    dearest = max(blocks, key=lambda block: (block.cost, -block.bound, -block.index))
    members = tuple(sorted(member for block in blocks for member in block.members))
    return Block(min(block.bound for block in blocks), dearest.cost, dearest.index, members)


def by_bound(groups: Sequence[Group]) -> tuple[Block, ...]:
    """Groups of one bound together, ascending by bound."""
    same: dict[int, list[Block]] = {}
    for block in one_block_each(groups):
        same.setdefault(block.bound, []).append(block)
    return tuple(merged_block(same[bound]) for bound in sorted(same))


def combined(groups: Sequence[Group]) -> tuple[Block, ...]:
    """The combination rule: a group joins one that runs at least as often and is at least as dear, for nothing.

    What is left is a staircase: bounds and costs both rise strictly.

    >>> [(block.bound, block.members) for block in combined([Group(2, 3), Group(5, 5), Group(7, 2)])]
    [(2, (0,)), (5, (1, 2))]
    """
    stairs: list[list[Block]] = []
    for block in by_bound(groups):
        if stairs and block.cost <= stairs[-1][0].cost:
            stairs[-1].append(block)
        else:
            stairs.append([block])
    return tuple(merged_block(stair) for stair in stairs)


def least_rate(stairs: Sequence[Block]) -> Fraction:
    """No plan costs less per unit: each level's run costs at least what it adds to the level below, every bound."""
    below = [Fraction(0), *(block.cost for block in stairs)]
    return sum(((block.cost - less) / block.bound for block, less in zip(stairs, below)), Fraction(0))
