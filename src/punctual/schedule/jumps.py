"""A wall clock that jumps: how long something has waited is what the steady clock says.

Releases and deadlines are times of the wall clock, since answers show them. When it jumps, all times that are
remembered jump with it, so nobody gains or loses any time. A time before a jump forward that is told only later (of
rows that were being read) is moved then. A time that lies in the future, by a clock that has jumped back or by one of
another machine, counts as now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import SECOND, Micros
from punctual.schedule.arrivals import Arrivals
from punctual.schedule.due import BEGINNING
from punctual.schedule.firings import FiringGroup, Release

I64 = NDArray[np.int64]
LEAST_US: Micros = SECOND // 4
"""Clocks that part by less between two events are slewed, or were read one after the other."""
MAX_JUMPS = 8
"""So many are remembered."""


@dataclass(frozen=True, slots=True)
class Jump:
    """The clock jumped by ``by`` when it stood at ``before`` or a little later."""

    before: Micros
    by: Micros


@dataclass(frozen=True, slots=True, eq=False)
class Shifted:
    """Arrivals by a clock that has jumped since."""

    arrivals: Arrivals
    by: Micros

    def times(self, instants: I64) -> I64:
        found = self.arrivals.times(instants)
        return np.where(found > BEGINNING, found + self.by, found)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Arrivals that are told at a time, some of them by a clock that had not jumped yet."""

    arrivals: Arrivals
    now: Micros
    jumps: tuple[Jump, ...] = ()

    def times(self, instants: I64) -> I64:
        """
        >>> from punctual.schedule.arrivals import AtOnce
        >>> [int(Told(AtOnce(0, at), 900, (Jump(100, 700),)).times(np.array([5]))[0]) for at in (90, 850, 950)]
        [790, 850, 900]
        """
        found = self.arrivals.times(instants)
        for jump in self.jumps:
            found = np.where((found > BEGINNING) & (found <= jump.before), found + jump.by, found)
        return np.minimum(found, self.now)


def jumped(wall: Micros, steady: Micros) -> Micros:
    """By how much the wall clock jumped when it went on by ``wall`` and the steady one by ``steady``; 0: it did not."""
    by = wall - steady
    return by if abs(by) >= LEAST_US else 0


def remembered(jumps: Sequence[Jump], new: Jump) -> tuple[Jump, ...]:
    """With one more; those back need not be remembered, since what they leave in the future counts as now."""
    return (*jumps, new)[-MAX_JUMPS:] if new.by > 0 else tuple(jumps)


def shifted_groups(groups: Sequence[FiringGroup], by: Micros) -> tuple[FiringGroup, ...]:
    """Firings whose releases jump with the clock."""
    return tuple(group if group.released is None else replace(group, released=group.released + by) for group in groups)


def shifted_releases(releases: Sequence[Release], by: Micros) -> tuple[Release, ...]:
    """The same of those that are not listed."""
    return tuple(
        release
        if release.arrivals is None
        else replace(
            release,
            arrivals={name: Shifted(one, by) for name, one in release.arrivals.items()},
            committed=None if release.committed is None else release.committed + by,
        )
        for release in releases
    )
