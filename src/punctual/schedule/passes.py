"""The next pass: which open firings are answered together.

An execution is a sharing class at an instant: all of the class's queries that are due then are answered together. The
rule of :mod:`punctual.schedule.edf` says which executions make up the next pass; every instant gets its own answer,
whichever pass it shares. Where answers depend on those before them, an execution takes the earlier ones of its class
along. In a replay at full speed nothing is late: everything listed of the oldest batch is one pass, all answers of
each instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.edf import PendingColumns, next_pass
from punctual.schedule.firings import FiringGroup, Firings


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """Firings that are answered together, by cohort in the order of their batches, and how much work they are.

    ``work`` is what is answered from panes, ``rows_us`` how long what is answered from rows is expected to keep all
    cores, ``said_us`` how long it is expected to take to answer from what was drawn ahead.
    """

    groups: tuple[FiringGroup, ...]
    work: float = 0.0
    rows_us: float = 0.0
    said_us: float = 0.0

    @property
    def instants(self) -> int:
        return sum(group.size for group in self.groups)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Open firings of a group, as they would be answered: by when, and the work of each instant.

    ``decided`` says whether its setting is a new one.
    """

    group: FiringGroup
    deadlines: NDArray[np.int64]
    shared: float
    own: float
    rows_us: float
    decided: bool = False
    said_us: float = 0.0


@dataclass(frozen=True, slots=True)
class Speeds:
    """How long a pass takes: its fixed part, and a unit of work from panes.

    ``leeway`` is the part of the head's time that those who could wait leave to errors of this.
    """

    fixed_us: float
    slope_us: float
    leeway: float = 0.0


def replay_pass(firings: Firings) -> Pass:
    """Everything that is listed of the oldest batch, every answer that an instant still has."""
    oldest = min(group.batch for group in firings.groups)
    groups = (group for group in firings.groups if group.batch == oldest)
    return Pass(tuple(
        group if number == group.number else replace(group, number=number)
        for group in groups
        for number in range(group.number, group.answers)
    ))  # fmt: skip


def urgent_pass(
    candidates: Sequence[Candidate], now: Micros, speeds: Speeds, *, late_pending: bool, until: Micros | None = None
) -> tuple[Pass, list[Candidate]]:
    """What deadlines and lateness ask for next, and the candidates that it was made of, group by group.

    It should end by ``until``, if it can.
    """
    executions = _Executions(candidates)
    return executions.pass_of(executions.choose(now, speeds, late_pending, until))


class _Executions:
    """All open firings as executions, in arrays. Queries of a cohort are of one class: they are never parted."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        groups = [one.group for one in candidates]
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
        deadline = np.concatenate([one.deadlines for one in candidates])[order]
        shared, own, rows_us, said_us = (
            np.repeat(column, counts)[order]
            for column in zip(*((one.shared, one.own, one.rows_us, one.said_us) for one in candidates))
        )
        fixed = np.repeat([c.fixed for c in mine], counts)[order]
        self._work = np.maximum.reduceat(shared, starts) + np.add.reduceat(own, starts)
        self._rows_us = np.add.reduceat(rows_us, starts)
        self._said_us = np.add.reduceat(said_us, starts)
        self._columns = PendingColumns(
            tuple(index),
            owner[order][starts],
            at[order][starts],
            np.minimum.reduceat(deadline, starts),
            self._work,
            ~np.logical_or.reduceat(fixed, starts),
        )
        self._in_order = np.zeros(len(index), np.bool_)
        self._in_order[[index[c.sharing_class] for c in mine if c.in_order]] = True

    def choose(self, now: Micros, speeds: Speeds, late_pending: bool, until: Micros | None) -> NDArray[np.intp]:
        """The executions of the next pass."""
        pending = replace(self._columns, work_us=speeds.slope_us * self._work + self._rows_us + self._said_us)
        found = next_pass(pending, now, speeds.fixed_us, late_pending=late_pending, until=until, leeway=speeds.leeway)
        chosen = np.array(found, np.intp)
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

    def pass_of(self, chosen: NDArray[np.intp]) -> tuple[Pass, list[Candidate]]:
        """The firings of these executions."""
        took = tuple(float(one[chosen].sum()) for one in (self._work, self._rows_us, self._said_us))
        if chosen.size == self._columns.at.size:
            return Pass(tuple(one.group for one in self._candidates), *took), list(self._candidates)
        taken = np.zeros(self._columns.at.size, np.bool_)
        taken[chosen] = True
        groups, found = [], []
        for one, start, end in zip(self._candidates, self._offsets, self._offsets[1:]):
            here = taken[self._execution[start:end]]
            if here.any():
                groups.append(one.group.only(here))
                found.append(replace(one, deadlines=one.deadlines[here]))
        return Pass(tuple(groups), *took), found
