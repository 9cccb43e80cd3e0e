"""Which open firings may be answered now, and when the next one may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.cohorts import Cohort
from punctual.schedule.firings import FiringGroup
from punctual.schedule.stages.sharing import Sharing

I64 = NDArray[np.int64]
NEVER = 2**62
"""What waits for rows is answered once these are there, and by no time."""


def ready(groups: Iterable[FiringGroup], now: Micros, sharing: Sharing | None = None) -> tuple[FiringGroup, ...]:
    """The firings that may be answered now: their stage has begun, and where rounds are drawn it is about to end.

    ``sharing`` is None where nobody draws before answers are due.
    """
    found: list[FiringGroup] = []
    for group in groups:
        begins = _begins(group, sharing)
        if begins is None:
            found.append(group)
        elif (begun := begins <= now).any():
            found.append(group.only(begun))
    return tuple(found)


def any_ready(groups: Iterable[FiringGroup], now: Micros, sharing: Sharing | None = None) -> bool:
    """Whether there are any."""
    every = (_begins(group, sharing) for group in groups)
    return any(begins is None or bool((begins <= now).any()) for begins in every)


def next_begin(groups: Iterable[FiringGroup], now: Micros, sharing: Sharing | None = None) -> Micros | None:
    """When the next stage begins that has not begun yet, or the next answer; None where none waits."""
    found: list[Micros] = []
    for group in groups:
        if (begins := _begins(group, sharing)) is not None:
            times = [begins, group.begins] if sharing is not None and sharing.is_ahead(group) else [begins]
            found += [int(later.min()) for one in times if (later := one[(one > now) & (one < NEVER)]).size]
    return min(found, default=None)


def deadlines_to_come(groups: Iterable[FiringGroup], now: Micros) -> Iterator[tuple[Cohort, I64]]:
    """The deadlines of answers of open firings that cannot be begun yet."""
    for group in groups:
        contract, released = group.cohort.one, group.released
        if released is not None and group.answers > 1:
            for number in range(group.number, group.answers):
                waiting = released + contract.begins(number) > now
                yield group.cohort, released[waiting] + contract.allowed(number)


def _begins(group: FiringGroup, sharing: Sharing | None) -> I64 | None:
    """When each of them may be answered; None where none has to wait: nothing does where no time counts."""
    if group.released is None:
        return None
    if sharing is not None and sharing.is_ahead(group):
        later = np.maximum(group.begins, group.deadlines - sharing.lead_us(group.cohort.one, group.number))
        return np.where(sharing.made(group), np.where(sharing.full(group), group.begins, later), NEVER)
    return group.begins if group.number else None
