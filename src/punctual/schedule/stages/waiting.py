"""Which open firings may be answered now, and when the next one may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.cohorts import Cohort
from punctual.schedule.firings import FiringGroup
from punctual.schedule.stages.open_stages import TOGETHER_US, OpenStages, open_stages
from punctual.schedule.stages.sharing import NEVER, Sharing

I64 = NDArray[np.int64]


def ready(
    groups: tuple[FiringGroup, ...], now: Micros, sharing: Sharing | None = None
) -> tuple[FiringGroup, ...]:
    """The firings that may be answered now: their stage has begun, and where rounds are drawn it is about to end.

    ``sharing`` is None where nobody draws before answers are due.
    """
    stages, begin = _times(groups, sharing)
    soon = (begin <= now + TOGETHER_US) & (stages.begins <= now) if _any(stages, begin, now) else begin <= now
    found = stages.lines(soon)
    for number, begins in stages.others:
        found[number] = np.arange(groups[number].due.instants.size) if begins is None else np.flatnonzero(begins <= now)
    return tuple(_only(groups[number], found[number]) for number in sorted(found) if found[number].size)


def any_ready(groups: tuple[FiringGroup, ...], now: Micros, sharing: Sharing | None = None) -> bool:
    """Whether there are any."""
    return _any(*_times(groups, sharing), now)


def _any(stages: OpenStages, begin: I64, now: Micros) -> bool:
    others = any(begins is None or bool((begins <= now).any()) for _number, begins in stages.others)
    return others or bool((begin <= now).any())


def next_answer(groups: tuple[FiringGroup, ...], now: Micros, sharing: Sharing) -> Micros | None:
    """When the next answer is begun that was drawn for; None where there is none to come."""
    begin = sharing.answers_begin(groups)
    later = begin[(begin > now) & (begin < NEVER)]
    return int(later.min()) if later.size else None


def next_begin(groups: tuple[FiringGroup, ...], now: Micros, sharing: Sharing | None = None) -> Micros | None:
    """When the next stage begins that has not begun yet, or the next answer; None where none waits."""
    stages, begin = _times(groups, sharing)
    times = np.concatenate([begin, stages.begins, *(one for _number, one in stages.others if one is not None)])
    later = times[(times > now) & (times < NEVER)]
    return int(later.min()) if later.size else None


def _times(groups: tuple[FiringGroup, ...], sharing: Sharing | None) -> tuple[OpenStages, I64]:
    """The open stages, and when the answer of each may be begun."""
    if sharing is None:
        return open_stages(groups, None), np.zeros(0, np.int64)
    return sharing.open(groups), sharing.answers_begin(groups)


def _only(group: FiringGroup, places: I64) -> FiringGroup:
    chosen = np.zeros(group.due.instants.size, np.bool_)
    chosen[places] = True
    return group.only(chosen)


def deadlines_to_come(groups: Iterable[FiringGroup], now: Micros) -> Iterator[tuple[Cohort, I64]]:
    """The deadlines of answers of open firings that cannot be begun yet."""
    for group in groups:
        contract, released = group.cohort.one, group.released
        if released is not None and group.answers > 1:
            for number in range(group.number, group.answers):
                waiting = released + contract.begins(number) > now
                yield group.cohort, released[waiting] + contract.allowed(number)
