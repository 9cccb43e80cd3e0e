"""Work that is known to come: instants that are committed and not applied yet, those that timetables have next, and
further answers of instants that have several.

When an instant will be released is known from the last one: event times go on as the clock does, so it comes as long
after its event time as that did; a paced replay knows it exactly. What should have been released already counts as
released now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.estimate.execution_cost import ExecutionCost
from punctual.schedule.arrivals import Arrivals, release_times
from punctual.schedule.cohorts import Cohort, Contracts
from punctual.schedule.contract import Reach, joint_reach
from punctual.schedule.due import BEGINNING, Due, parts
from punctual.schedule.events import Pace
from punctual.schedule.firings import FiringGroup, Release
from punctual.schedule.qos.open_groups import giving_way
from punctual.schedule.qos.prices import Prices
from punctual.schedule.quality import Firing
from punctual.schedule.stages.waiting import deadlines_to_come

I64 = NDArray[np.int64]
Released: TypeAlias = tuple[Cohort, I64, I64]
"""Queries, instants, and when each of these is released."""
MAX_INSTANTS = 200
"""So many instants of a cohort are looked ahead, at most."""


def delays(
    known: Mapping[str, Micros], reaches: Mapping[str, Reach], arrivals: Mapping[str, Arrivals] | None
) -> dict[str, Micros]:
    """By stream, how long after its event time the last instant was released."""
    found = dict(known)
    for name, arrived in (arrivals or {}).items():
        through = reaches[name].through
        if through > BEGINNING:
            at = int(arrived.times(np.array([through], np.int64))[0])
            if at > BEGINNING:
                found[name] = at - through
    return found


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of the time until ``horizon``; ``delays`` are by stream, and ``pace`` is that of a replay."""

    now: Micros
    horizon: Micros
    contracts: Contracts
    reaches: Mapping[str, Reach]
    watermarks: Mapping[str, Micros]
    delays: Mapping[str, Micros]
    unapplied: tuple[Release, ...] = ()
    pace: Pace | None = None
    opened: tuple[FiringGroup, ...] = ()
    most: int = MAX_INSTANTS
    """So many instants of a cohort are looked ahead."""
    unable: frozenset[str] = frozenset()
    """Queries for which nothing can be drawn before they are answered."""

    def firings(self, prices: Prices, keep: float | None) -> tuple[list[Firing], list[Firing]]:
        """What will be due until then: what is answered by passes, and what is drawn for beside them.

        No core stands idle for the latter.
        """
        passes, stages = list[Firing](), list[Firing]()
        for cohort, deadlines in self._due():
            contract = cohort.one
            curve = giving_way(contract, keep)
            if self._is_ahead(cohort):
                cost = prices.expected(cohort) or ExecutionCost()
                stages += [Firing(at, cost.alone_fixed_us, cost.alone_work_us, curve) for at in deadlines]
                continue
            cost = prices.of(cohort)
            fixed, work = cost.fixed_us, cost.work_us
            if curve is None and keep is not None and contract.sheds and contract.curve is not None:
                work *= max(keep, contract.curve.least_share)
            passes += [Firing(at, fixed, work, curve) for at in deadlines]
        return passes, stages

    def _is_ahead(self, cohort: Cohort) -> bool:
        return cohort.one.ahead and self.unable.isdisjoint(cohort.queries)

    def _due(self) -> Iterator[tuple[Cohort, list[Micros]]]:
        """The deadlines until then, those of a cohort together."""
        released = [(cohort, times) for cohort, _instants, times in self._until_due()]
        found: dict[int, tuple[Cohort, list[I64]]] = {}
        for cohort, deadlines in (*self._deadlines(released), *deadlines_to_come(self.opened, self.now)):
            found.setdefault(id(cohort), (cohort, []))[1].append(deadlines)
        for cohort, several in found.values():
            every = np.concatenate(several)
            yield cohort, every[every <= self.horizon].tolist()

    def _deadlines(self, several: Iterable[tuple[Cohort, I64]]) -> Iterator[tuple[Cohort, I64]]:
        """The deadlines of all answers of instants, by when these are released."""
        for cohort, released in several:
            for number in range(cohort.one.answers):
                yield cohort, np.maximum(released, self.now) + cohort.one.allowed(number)

    def released(self) -> Iterator[Released]:
        """What will be released until then."""
        yield from self._committed()
        for cohort in self.contracts.cohorts:
            yield from self._to_come(cohort, self.horizon)

    def _until_due(self) -> Iterator[Released]:
        """What will be released and due until then."""
        yield from self._committed()
        for cohort in self.contracts.cohorts:
            yield from self._to_come(cohort, self.horizon - cohort.one.allowed_us)

    def _committed(self) -> Iterator[Released]:
        """Instants of batches that wait to be applied, and when they were released."""
        for release in self.unapplied:
            if release.arrivals is not None:
                for cohort, due in release.dues:
                    instants, arrivals = _first(due, self.most), release.arrivals
                    yield cohort, instants, release_times(instants, [arrivals[name] for name in cohort.one.streams])

    def _to_come(self, cohort: Cohort, until: Micros) -> Iterator[Released]:
        """Instants of a timetable, and when they will be released."""
        contract = cohort.one
        reach = joint_reach(self.reaches, contract.streams)
        delay = self._delay(contract.streams)
        if delay is None or reach.least is None:
            return
        due = contract.table.due(reach.least, max(contract.after, reach.through), self._event_time(until, delay))
        if due.most:
            instants = _first(due, self.most)
            yield cohort, instants, self._released(instants, delay)

    def _delay(self, streams: tuple[str, ...]) -> Micros | None:
        """How long after its event time an instant of these streams is released; None where nobody knows."""
        if self.pace is not None:
            return max(self.watermarks.get(name, 0) for name in streams)
        known = [self.delays.get(name) for name in streams]
        some = [one for one in known if one is not None]
        return max(some) if len(some) == len(known) else None

    def _released(self, instants: I64, delay: Micros) -> I64:
        if self.pace is None:
            return instants + delay
        return np.array([self.pace.time_of(at + delay) for at in instants.tolist()], np.int64)

    def _event_time(self, wall: Micros, delay: Micros) -> Micros:
        """The event time of what is released at a time."""
        if self.pace is None:
            return wall - delay
        return self.pace.least + int((wall - self.pace.began) * self.pace.speed) - delay


def _first(due: Due, most: int) -> I64:
    """The first of its instants."""
    if not due.most:
        return np.zeros(0, np.int64)
    start, stop = next(parts([due], most))
    return due.part(start, stop).instants()
