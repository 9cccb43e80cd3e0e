"""What gives way under overload: decided before a pass, journaled, and found again after a crash.

A setting of a knob belongs to a query's instants. Those of a batch are in the journal until the next batch has one,
since everything before it is answered by then: a pass that is run again after a crash cuts as it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from punctual.clock import Micros
from punctual.engine.journal import Journal
from punctual.estimate.pass_cost import PassCost
from punctual.kinds.job import Job
from punctual.kinds.kind import Knob
from punctual.kinds.registry import kind_of
from punctual.schedule.tail_cut import tail_cut

SUBJECT = "cuts"
Decision = tuple[int, str, Micros, Micros, float]
"""Batch, query, first and last instant, eps."""


class Cuts:
    """Reads and writes the journal's tail cuts."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._decided: list[Decision] = [tuple(one) for one in journal.read(SUBJECT)]

    def known(self, batch: int, asked: Sequence[Job]) -> list[Job]:
        """What is due, with the cuts that were decided for it before."""
        mine = [one for one in self._decided if one[0] == batch]
        return [part for one in asked for part in _parts(one, mine)]

    def decide(
        self, batch: int, asked: Sequence[Job], now: Micros, released: Micros, cost: PassCost, work: float
    ) -> list[Job]:
        """The pass as it is run: queries with a deadline give way where it would be missed otherwise."""
        knobs = [_knob(one) for one in asked]
        mine = [one for one, knob in zip(asked, knobs) if knob is not None]
        if not mine:
            return list(asked)
        deadline = released + min(one.reader.query.deadline_us or 0 for one in mine)
        expected = cost.fixed_us + cost.slope_us * work
        there = [knob for knob in knobs if knob is not None]
        eps = tail_cut(deadline - now, expected, lambda eps: max(knob.work_left(eps) for knob in there))
        if eps is None:
            return list(asked)
        before = [one for one in self._decided if one[0] == batch]
        spans = [(one.reader.query.name, int(one.due.instants[0]), int(one.due.instants[-1])) for one in mine]
        self._decided = [*before, *((batch, name, first, last, eps) for name, first, last in spans)]
        self._journal.write(SUBJECT, [list(one) for one in self._decided])
        return [one if knob is None else replace(one, setting=eps) for one, knob in zip(asked, knobs)]


def _parts(asked: Job, decided: Sequence[Decision]) -> list[Job]:
    """A query's instants with each of these cuts, and those without, oldest first."""
    found: list[Job] = []
    left = asked
    for _batch, query, first, last, eps in decided:
        if query == asked.reader.query.name:
            inside = (left.due.instants >= first) & (left.due.instants <= last)
            found.append(replace(left.only(inside), setting=eps))
            left = left.only(~inside)
    parts = [part for part in (*found, left) if part.due.instants.size]
    return sorted(parts, key=lambda part: int(part.due.instants[0]))


def _knob(job: Job) -> Knob | None:
    """What gives way, where that is any help: somebody asked for the answer in time, and it was not set before."""
    if job.query.deadline_us is None or job.setting is not None:
        return None
    return kind_of(job.query).knob(job.query)
