"""What gives way: the settings of knobs, decided before a pass and found again after a crash.

A decision belongs to a query's instants. Those of open firings are in the journal; a pass that is run again after a
crash is answered as it was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.estimate.pass_cost import PassCost
from punctual.schedule.contract import Contract
from punctual.schedule.firings import FiringGroup
from punctual.schedule.passes import Pass

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Decision:
    """A query's instants from ``first`` through ``last``, released by a batch, are answered with this setting."""

    batch: int
    query: str
    first: Micros
    last: Micros
    setting: float


def decide(planned: Pass, now: Micros, cost: PassCost) -> tuple[Pass, tuple[Decision, ...]]:
    """The pass as it is run: queries with a deadline and a knob give way where the deadline would be missed.

    What is displayed in order follows from the answer before, so such answers are not cut apart.
    """
    mine = [group for group in planned.groups if _may_shed(group)]
    if not mine:
        return planned, ()
    deadline = min(_deadline(group) for group in mine)
    expected = cost.fixed_us + cost.slope_us * planned.work
    left = deadline - now
    if expected <= left:
        return planned, ()
    share = max(0.0, left / expected)
    chosen = {id(group) for group in mine}
    strongest = max(_setting(contract, share) for group in mine for contract in group.cohort.contracts)
    members = sorted(
        ((group.batch, place, query, group) for group in mine for place, query in _members(group)),
        key=lambda member: member[:2],
    )
    decisions = tuple(
        Decision(batch, query, int(group.due.instants[0]), int(group.due.instants[-1]), strongest)
        for batch, _place, query, group in members
    )
    groups = tuple(replace(g, setting=strongest) if id(g) in chosen else g for g in planned.groups)
    return replace(planned, groups=groups), decisions


def with_decisions(groups: Iterable[FiringGroup], decisions: Sequence[Decision]) -> tuple[FiringGroup, ...]:
    """Firings with the settings that were decided for them, each group cut where decisions begin and end."""
    if not decisions:
        return tuple(groups)
    known: dict[tuple[str, int], list[Decision]] = {}
    for one in decisions:
        known.setdefault((one.query, one.batch), []).append(one)
    settings = list(dict.fromkeys(one.setting for one in decisions))
    found: list[FiringGroup] = []
    for group in groups:
        if not any((query, group.batch) in known for query in group.cohort.queries):
            found.append(group)
            continue
        for number, part in group.cut(partial(_settings, known, settings, group)):
            found.append(part if number < 0 else replace(part, setting=settings[number]))
    return tuple(found)


def _settings(
    known: Mapping[tuple[str, int], Sequence[Decision]], settings: Sequence[float], group: FiringGroup, query: str
) -> I64:
    """For each instant of a group the number of the setting that was decided first for a query of it, -1 where none."""
    at = group.due.instants
    found = np.full(at.size, -1, np.int64)
    for one in reversed(known.get((query, group.batch), ())):
        found[(at >= one.first) & (at <= one.last)] = settings.index(one.setting)
    return found


def _members(group: FiringGroup) -> Iterable[tuple[int, str]]:
    return zip(group.cohort.places, group.cohort.queries)


def _may_shed(group: FiringGroup) -> bool:
    contract = group.cohort.one
    return (
        contract.knob is not None
        and contract.deadline_us is not None
        and not contract.in_order
        and group.setting is None
    )


def _deadline(group: FiringGroup) -> Micros:
    assert group.released is not None
    assert group.cohort.one.deadline_us is not None
    return int(group.released.min()) + group.cohort.one.deadline_us


def _setting(contract: Contract, share: float) -> float:
    assert contract.knob is not None
    return contract.knob.setting(share)
