"""What gives way: the settings of knobs, decided before a pass and found again after a crash.

A decision belongs to a query's instants. Those of open firings are in the journal; a pass that is run again after a
crash is answered as it was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from punctual.clock import Micros
from punctual.estimate.pass_cost import PassCost
from punctual.schedule.contract import Contract
from punctual.schedule.firings import FiringGroup
from punctual.schedule.passes import Pass


@dataclass(frozen=True, slots=True)
class Decision:
    """A query's instants from ``first`` through ``last``, released by a batch, are answered with this setting."""

    batch: int
    query: str
    first: Micros
    last: Micros
    setting: float


def decide(
    planned: Pass, contracts: Mapping[str, Contract], now: Micros, cost: PassCost
) -> tuple[Pass, tuple[Decision, ...]]:
    """The pass as it is run: queries with a deadline and a knob give way where the deadline would be missed.

    What is displayed in order follows from the answer before, so such answers are not cut apart.
    """
    mine = [group for group in planned.groups if _may_shed(group, contracts[group.query])]
    if not mine:
        return planned, ()
    deadline = min(_deadline(group, contracts[group.query]) for group in mine)
    expected = cost.fixed_us + cost.slope_us * planned.work
    left = deadline - now
    if expected <= left:
        return planned, ()
    share = max(0.0, left / expected)
    chosen = {id(group): _setting(contracts[group.query], share) for group in mine}
    strongest = max(chosen.values())
    decisions = tuple(
        Decision(g.batch, g.query, int(g.due.instants[0]), int(g.due.instants[-1]), strongest) for g in mine
    )
    groups = tuple(replace(g, setting=strongest) if id(g) in chosen else g for g in planned.groups)
    return replace(planned, groups=groups), decisions


def with_decisions(groups: Iterable[FiringGroup], decisions: Sequence[Decision]) -> tuple[FiringGroup, ...]:
    """Firings with the settings that were decided for them, each group cut where decisions begin and end."""
    if not decisions:
        return tuple(groups)
    found: list[FiringGroup] = []
    for group in groups:
        mine = [one for one in decisions if (one.query, one.batch) == (group.query, group.batch)]
        left = group
        for one in mine:
            inside = (left.due.instants >= one.first) & (left.due.instants <= one.last)
            if inside.any():
                found.append(replace(left.only(inside), setting=one.setting))
            if inside.all():
                break
            left = left.only(~inside)
        else:
            found.append(left)
    return tuple(found)


def _may_shed(group: FiringGroup, contract: Contract) -> bool:
    return (
        contract.knob is not None
        and contract.deadline_us is not None
        and not contract.in_order
        and group.setting is None
    )


def _deadline(group: FiringGroup, contract: Contract) -> Micros:
    assert group.released is not None
    assert contract.deadline_us is not None
    return int(group.released.min()) + contract.deadline_us


def _setting(contract: Contract, share: float) -> float:
    assert contract.knob is not None
    return contract.knob.setting(share)
