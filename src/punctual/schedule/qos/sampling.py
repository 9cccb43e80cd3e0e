"""The level, for ``dynamic-sampling`` and ``fixed-sampling``: one quality for all, by what everything will cost.

They differ in how selectivities are sampled before a job (:mod:`punctual.estimate.row_samplers`), which makes their
predictions better or dearer.

A firing that cannot be on time even at its least share gives way as far as it may, and gets a second deadline, ten
seconds after the first one, or as long after it as that was after its release. Until then it stands back behind those
that can be on time; then it goes first, as the earliest deadline does. So nobody is made late for it soon, and it does
not starve. The level leaves time for late ones as far as nobody else falls below what is acceptable.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import SECOND, Micros
from punctual.schedule.qos.capacity import Capacity
from punctual.schedule.qos.open_groups import OpenGroup
from punctual.schedule.qos.verdict import Verdict
from punctual.schedule.quality import ROUNDING, Firing, given_up, highest_within, in_order, punctual_within

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
STANDS_BACK_US: Micros = 10 * SECOND
"""So long a late one waits for those that can be on time, at least."""


@dataclass(frozen=True, slots=True, eq=False)
class _Lump:
    """Instants of a group, as one firing."""

    group: int
    instants: I64
    firing: Firing


def sampled(groups: Sequence[OpenGroup], future: Sequence[Firing], capacity: Capacity) -> Verdict:
    """The level for open firings and known future ones."""
    lumps = [_Lump(number, lump, group.firing(lump)) for number, group in enumerate(groups) for lump in group.lumps()]
    firings = [*(lump.firing for lump in lumps), *future]
    in_time = punctual_within(firings, _budget(firings, capacity))
    on_time = set(in_time)
    behind = [lump for place, lump in enumerate(lumps) if place not in on_time]
    can_be = [firings[place] for place in in_time]
    chosen = _with_late(can_be, [_second(one, groups) for one in behind], capacity)
    level = 0.0 if given_up(firings, can_be) else highest_within(chosen, _budget(chosen, capacity))
    late: list[Bools | None] = [None] * len(groups)
    for lump in behind:
        mask = late[lump.group]
        mask = np.zeros(groups[lump.group].deadlines.size, np.bool_) if mask is None else mask
        mask[lump.instants] = True
        late[lump.group] = mask
    return Verdict(level, late=tuple(late))


def second_deadlines(group: OpenGroup, late: Bools, now: Micros) -> I64:
    """By when late ones stand back: those whose second deadline is over have their first one again."""
    later = group.deadlines + _second_chance_us(group)
    return np.where(late & (later > now), later, group.deadlines)


def _second(lump: _Lump, groups: Sequence[OpenGroup]) -> Firing:
    """A late one, which uses no more than it must."""
    later = lump.firing.deadline + _second_chance_us(groups[lump.group])
    return Firing(later, lump.firing.demand(0.0), 0.0)


def _second_chance_us(group: OpenGroup) -> Micros:
    return max(group.group.cohort.one.allowed(group.group.number), STANDS_BACK_US)


def _with_late(on_time: list[Firing], late: Sequence[Firing], capacity: Capacity) -> list[Firing]:
    """All in EDF order, with as many late ones as leave everybody the least that is acceptable, the earliest first."""
    waiting = sorted(late, key=lambda firing: firing.deadline)

    def fit(count: int) -> bool:
        tried = _ordered([*on_time, *waiting[:count]])
        demands = np.cumsum([firing.demand(0.0) for firing in tried])
        return bool(np.all(demands <= _budget(tried, capacity) * ROUNDING))

    count = bisect_right(range(1, len(waiting) + 1), 0, key=lambda number: not fit(number))
    return _ordered([*on_time, *waiting[:count]])


def _ordered(firings: Sequence[Firing]) -> list[Firing]:
    return [firings[place] for place in in_order(firings)]


def _budget(firings: Sequence[Firing], capacity: Capacity) -> NDArray[np.float64]:
    return capacity.until(np.array([firing.deadline for firing in firings], np.int64))
