"""What is due in a live engine and not answered yet, pass after pass.

An execution is a sharing class at an instant: all of the class's queries that are due then are answered together. The
scheduler (:mod:`punctual.schedule.edf`) says which executions make up the next pass; every due instant gets its own
answer, whichever pass it shares. Where an answer depends on the one before it, an execution of its class takes the
earlier ones along.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.engine.cadences import Timing
from punctual.estimate.pass_cost import PassCost
from punctual.kinds.job import Job
from punctual.kinds.registry import kind_of
from punctual.plan.query import Period
from punctual.schedule.edf import PendingColumns, next_pass


class Waiting:
    """The executions of queries that were released together.

    Parameters
    ----------
    asked : queries with the instants that are due
    released : when the engine learned of them; a deadline is so long after it, the bound where there is none
    """

    def __init__(self, asked: Sequence[Job], timing: Timing, released: Micros) -> None:
        self._asked = asked
        counts = np.array([a.due.instants.size for a in asked])
        queries = [a.reader.query for a in asked]
        names = {name: place for place, name in enumerate(dict.fromkeys(timing.classes[q.name] for q in queries))}
        works = [timing.works[q.name] for q in queries]
        owner = np.repeat([names[timing.classes[q.name]] for q in queries], counts)
        at = np.concatenate([a.due.instants for a in asked])
        order = np.lexsort((at, owner))
        new = np.ones(order.size, np.bool_)
        new[1:] = (at[order][1:] != at[order][:-1]) | (owner[order][1:] != owner[order][:-1])
        starts = np.flatnonzero(new)
        self._execution = np.empty(order.size, np.int64)
        self._execution[order] = np.cumsum(new) - 1
        self._offsets = np.concatenate([[0], np.cumsum(counts)])
        allowed = [q.cadence.us if q.deadline_us is None else q.deadline_us for q in queries]
        deadline = np.repeat(np.array(allowed, np.int64), counts)[order] + released
        shared = np.repeat([float(work.shared) for work in works], counts)[order]
        own = np.repeat([float(work.own) or 1.0 for work in works], counts)[order]
        fixed = np.repeat([isinstance(q.cadence, Period) for q in queries], counts)[order]
        self._columns = PendingColumns(
            tuple(names),
            owner[order][starts],
            at[order][starts],
            np.minimum.reduceat(deadline, starts),
            np.maximum.reduceat(shared, starts) + np.add.reduceat(own, starts),
            ~np.logical_or.reduceat(fixed, starts),
        )
        self._left = np.arange(starts.size)
        self._in_order = np.zeros(len(names), np.bool_)
        in_order = [q.name for q in queries if kind_of(q).in_order(q)]
        self._in_order[[names[timing.classes[name]] for name in in_order]] = True

    def __bool__(self) -> bool:
        return self._left.size > 0

    def take(self, now: Micros, cost: PassCost, *, late_pending: bool) -> tuple[list[Job], float]:
        """The next pass: queries with their instants in it, and how much work it is."""
        left, slope = self._left, cost.slope_us
        columns = self._columns
        pending = PendingColumns(
            columns.names,
            columns.owner[left],
            columns.at[left],
            columns.deadline[left],
            slope * columns.work_us[left],
            columns.bounded[left],
        )
        chosen = np.array(next_pass(pending, now, cost.fixed_us, late_pending=late_pending))
        chosen = self._with_earlier(chosen)
        work = float(columns.work_us[left[chosen]].sum())
        if chosen.size == columns.at.size:
            self._left = left[:0]
            return list(self._asked), work
        taken = np.zeros(columns.at.size, np.bool_)
        taken[left[chosen]] = True
        self._left = np.delete(left, chosen)
        found = []
        for a, start, end in zip(self._asked, self._offsets, self._offsets[1:]):
            here = taken[self._execution[start:end]]
            if here.any():
                found.append(a.only(here))
        return found, work

    def _with_earlier(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """The chosen executions and, in classes that are answered in order, all that are earlier."""
        if not self._in_order.any():
            return chosen
        owner = self._columns.owner[self._left]
        last = np.full(self._in_order.size, -1)
        np.maximum.at(last, owner[chosen], self._left[chosen])  # a class's executions are numbered by instant
        also = self._in_order[owner] & (self._left <= last[owner])
        also[chosen] = True
        return np.flatnonzero(also)
