"""When the groups of a sharing class run: a cycle of executions, what it costs, and what nothing can undercut.

Times are integers of the class's unit, counted from a common zero at which everything has just run. A cycle holds the
executions in (0, cycle] and repeats for ever. Where it would hold more than :data:`MOST_EXECUTIONS` there is no
cycle, and the executions go on without end; the cost per unit is known all the same. Executions are made as they are
read: there may be tens of thousands of them, and a plan whose cost alone is asked for takes no time for that.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Literal, NamedTuple

from punctual.share.cadence.groups import Block

Method = Literal["none", "conservative", "aggressive", "hybrid", "intra", "combined", "exact", "greedy"]
MOST_EXECUTIONS = 20_000


class Execution(NamedTuple):
    """At ``time`` the group with this index runs, and with it all that it answers."""

    time: int
    group: int


@dataclass(frozen=True, slots=True)
class Cadence:
    """A plan for one class.

    Attributes
    ----------
    method : Method
    cycle : int or None
        Its length in units; None where it is too long to write down.
    schedule : ExecutionList or WhenDue
        What the executions are made from.
    cost_per_unit : Fraction
        Exact, or where ``cost_is_exact`` is not set what it costs at most: so many different bounds are due together in
        too many ways to be counted.
    lower_bound : Fraction
        No plan that keeps the bounds costs less per unit.
    answers : tuple of tuples of int
        For each group, the groups that one execution of it answers; empty where it never is the one that runs.
    """

    method: Method
    cycle: int | None
    schedule: ExecutionList | WhenDue
    cost_per_unit: Fraction
    lower_bound: Fraction
    answers: tuple[tuple[int, ...], ...]
    cost_is_exact: bool = True

    @property
    def executions(self) -> tuple[Execution, ...] | Iterator[Execution]:
        """Those in (0, cycle], ascending; where there is no cycle a new generator that never ends."""
        return iter(self.schedule) if self.cycle is None else tuple(self.schedule)


@dataclass(frozen=True, slots=True)
class ExecutionList:
    """One execution after the other: groups at times."""

    times: tuple[int, ...]
    groups: tuple[int, ...]

    def __iter__(self) -> Iterator[Execution]:
        return map(Execution, self.times, self.groups)


@dataclass(frozen=True, slots=True)
class WhenDue:
    """Blocks at every multiple of their bound, of those due together all or only the dearest; ``until`` or for ever."""

    blocks: tuple[Block, ...]
    dearest_only: bool
    until: int | None

    def __iter__(self) -> Iterator[Execution]:
        due = [(block.bound, -block.cost, block.index, block) for block in self.blocks]
        heapq.heapify(due)
        last = 0
        while self.until is None or due[0][0] <= self.until:
            time, _cost, index, block = due[0]
            if not self.dearest_only or time > last:
                yield Execution(time, index)
                last = time
            heapq.heapreplace(due, (time + block.bound, -block.cost, index, block))


def when_due(blocks: Sequence[Block], *, dearest_only: bool) -> WhenDue:
    """Blocks that run when due: in a cycle, or for ever where that is too long."""
    cycle = lcm(*(block.bound for block in blocks))
    endless = sum(cycle // block.bound for block in blocks) > MOST_EXECUTIONS
    return WhenDue(tuple(blocks), dearest_only, None if endless else cycle)
