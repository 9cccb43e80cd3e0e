"""Which open firings may be answered now, and when the next one may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.cohorts import Cohort
from punctual.schedule.firings import FiringGroup

I64 = NDArray[np.int64]


def ready(groups: Iterable[FiringGroup], now: Micros) -> tuple[FiringGroup, ...]:
    """The firings whose stage has begun."""
    found: list[FiringGroup] = []
    for group in groups:
        if not _waits(group):
            found.append(group)
        elif (begun := group.begins <= now).any():
            found.append(group.only(begun))
    return tuple(found)


def any_ready(groups: Iterable[FiringGroup], now: Micros) -> bool:
    """Whether there are any."""
    return any(not _waits(group) or bool((group.begins <= now).any()) for group in groups)


def next_begin(groups: Iterable[FiringGroup], now: Micros) -> Micros | None:
    """When the next stage begins that has not begun yet; None where none waits."""
    begins = (group.begins for group in groups if _waits(group))
    return min((int(later.min()) for one in begins if (later := one[one > now]).size), default=None)


def deadlines_to_come(groups: Iterable[FiringGroup], now: Micros) -> Iterator[tuple[Cohort, I64]]:
    """The deadlines of answers of open firings that cannot be begun yet."""
    for group in groups:
        contract, released = group.cohort.one, group.released
        if released is not None and group.answers > 1:
            for number in range(group.number, group.answers):
                waiting = released + contract.begins(number) > now
                yield group.cohort, released[waiting] + contract.allowed(number)


def _waits(group: FiringGroup) -> bool:
    """Whether some of its firings may have to: first answers never do, nor does anything where no time counts."""
    return group.number > 0 and group.released is not None
