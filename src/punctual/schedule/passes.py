"""The next pass: which open firings are answered together.

An execution is a sharing class at an instant: all of the class's queries that are due then are answered together. The
rule of :mod:`punctual.schedule.edf` says which executions make up the next pass; every instant gets its own answer,
whichever pass it shares. Where answers depend on those before them, an execution takes the earlier ones of its class
along. In a replay at full speed nothing is late: everything listed of the oldest batch is one pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.estimate.pass_cost import PassCost
from punctual.schedule.edf import PendingColumns, next_pass
from punctual.schedule.firings import FiringGroup, Firings


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """Firings that are answered together, by cohort in the order of their batches, and how much work they are."""

    groups: tuple[FiringGroup, ...]
    work: float = 0.0

    @property
    def instants(self) -> int:
        return sum(group.size for group in self.groups)


def replay_pass(firings: Firings) -> Pass:
    """Everything that is listed of the oldest batch."""
    oldest = firings.groups[0].batch
    return Pass(tuple(group for group in firings.groups if group.batch == oldest))


def urgent_pass(firings: Firings, now: Micros, cost: PassCost, *, late_pending: bool) -> Pass:
    """What deadlines and lateness ask for next."""
    executions = _Executions(firings.groups)
    return executions.pass_of(executions.choose(now, cost, late_pending=late_pending))


class _Executions:
    """All open firings as executions, in arrays. Queries of a cohort are of one class: they are never parted."""

    def __init__(self, groups: tuple[FiringGroup, ...]) -> None:
        self._groups = groups
        counts = np.array([group.due.instants.size for group in groups])
        mine = [group.cohort.one for group in groups]
        index = {name: number for number, name in enumerate(dict.fromkeys(c.sharing_class for c in mine))}
        owner = np.repeat([index[c.sharing_class] for c in mine], counts)
        at = np.concatenate([group.due.instants for group in groups])
        order = np.lexsort((at, owner))
        new = np.ones(order.size, np.bool_)
        new[1:] = (at[order][1:] != at[order][:-1]) | (owner[order][1:] != owner[order][:-1])
        starts = np.flatnonzero(new)
        self._execution = np.empty(order.size, np.int64)
        self._execution[order] = np.cumsum(new) - 1
        self._offsets = np.concatenate([[0], np.cumsum(counts)])
        released = np.concatenate([_released(group) for group in groups])
        deadline = (released + np.repeat(np.array([c.allowed_us for c in mine], np.int64), counts))[order]
        shared = np.repeat([group.cohort.shared for group in groups], counts)[order]
        own = np.repeat([group.cohort.own for group in groups], counts)[order]
        fixed = np.repeat([c.fixed for c in mine], counts)[order]
        self._columns = PendingColumns(
            tuple(index),
            owner[order][starts],
            at[order][starts],
            np.minimum.reduceat(deadline, starts),
            np.maximum.reduceat(shared, starts) + np.add.reduceat(own, starts),
            ~np.logical_or.reduceat(fixed, starts),
        )
        self._in_order = np.zeros(len(index), np.bool_)
        self._in_order[[index[c.sharing_class] for c in mine if c.in_order]] = True

    def choose(self, now: Micros, cost: PassCost, *, late_pending: bool) -> NDArray[np.intp]:
        """The executions of the next pass."""
        pending = replace(self._columns, work_us=cost.slope_us * self._columns.work_us)
        chosen = np.array(next_pass(pending, now, cost.fixed_us, late_pending=late_pending), np.intp)
        return self._with_earlier(chosen)

    def _with_earlier(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """The chosen executions and, in classes that are answered in order, all that are earlier."""
        if not self._in_order.any():
            return chosen
        owner = self._columns.owner
        last = np.full(self._in_order.size, -1)
        np.maximum.at(last, owner[chosen], chosen)  # a class's executions are numbered by instant
        also = self._in_order[owner] & (np.arange(owner.size) <= last[owner])
        also[chosen] = True
        return np.flatnonzero(also)

    def pass_of(self, chosen: NDArray[np.intp]) -> Pass:
        """The firings of these executions."""
        work = float(self._columns.work_us[chosen].sum())
        if chosen.size == self._columns.at.size:
            return Pass(self._groups, work)
        taken = np.zeros(self._columns.at.size, np.bool_)
        taken[chosen] = True
        found = []
        for group, start, end in zip(self._groups, self._offsets, self._offsets[1:]):
            here = taken[self._execution[start:end]]
            if here.any():
                found.append(group.only(here))
        return Pass(tuple(found), work)


def _released(group: FiringGroup) -> NDArray[np.int64]:
    assert group.released is not None, "where time counts every firing has a release"
    return group.released
