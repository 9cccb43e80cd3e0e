"""Open firings as the policies see them: by when, at what cost, and what gives way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import QualityCurve
from punctual.schedule.contract import Contract
from punctual.schedule.firings import FiringGroup
from punctual.schedule.qos.prices import Prices
from punctual.schedule.quality import Firing
from punctual.schedule.stages.sharing import Sharing

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
MAX_LUMPS = 64
"""Instants of a group that are told apart; a backlog of more is weighed in so many lumps."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenGroup:
    """``cost`` is that of an execution, in core time; ``curve`` that of what gives way, None where nothing does.

    ``said_us`` is how long it takes to answer an execution from what was drawn ahead; 0 where nothing was.
    """

    group: FiringGroup
    deadlines: I64
    cost: ExecutionCost
    curve: QualityCurve | None
    said_us: float = 0.0

    def lumps(self) -> list[I64]:
        """Its instants by number, in lumps that are decided as one, ascending."""
        size = self.deadlines.size
        return [part for part in np.array_split(np.arange(size), min(size, MAX_LUMPS)) if part.size]

    def firing(self, lump: I64) -> Firing:
        """Some of its instants as one firing, due with the first of them."""
        cost, count = self.cost, lump.size
        return Firing(int(self.deadlines[lump].min()), count * cost.fixed_us, count * cost.work_us, self.curve)


def giving_way(contract: Contract, keep: float | None = None) -> QualityCurve | None:
    """How the answers of a query suffer when it gives way; None where it does not.

    It does by using less of its input, if it says how it suffers and that saves anything, and if nobody forced its
    share; or by its knob, if it has a deadline and its answers do not follow from each other.
    """
    if contract.sheds and contract.curve is not None:
        return contract.curve if keep is None else None
    named = contract.deadline_us is not None or contract.stages
    if contract.knob is not None and named and not contract.in_order:
        return contract.curve or contract.knob.curve
    return None


def open_groups(
    groups: Iterable[FiringGroup], prices: Prices, keep: float | None = None, sharing: Sharing | None = None
) -> list[OpenGroup]:
    """All of them; what was decided before stands. ``keep`` is the share that somebody forced.

    What is drawn ahead (``sharing``) is answered from what there is: that keeps one core for a while.
    """
    found = []
    for group in groups:
        contract = group.cohort.one
        cost, curve = prices.of(group.cohort), giving_way(contract, keep)
        if sharing is not None and sharing.is_drawn(group):
            said_us = sharing.times.of_all(group.cohort.queries)
            found.append(OpenGroup(group, group.deadlines, ExecutionCost(fixed_us=said_us), None, said_us))
            continue
        share = group.setting if contract.sheds else None
        if share is None and group.setting is not None and contract.knob is not None:
            share = contract.knob.share(group.setting)
        if share is None and keep is not None and contract.sheds and contract.curve is not None:
            share = max(keep, contract.curve.least_share)
        if share is not None or group.setting is not None:
            cost, curve = ExecutionCost(cost.at(1.0 if share is None else share)), None
        found.append(OpenGroup(group, group.deadlines, cost, curve))
    return found
