"""Plans of one sharing class, one after the other, and the timetables that follow from them.

Model
-----
A *cadence plan* of a class says which runs there are, and which of them answer each query (its *slot*). It takes over
at an instant ``since`` at which the plan before it runs its dearest group, and which answers every query of the class:
so everything has just run when the new plan's cycle begins there (its *anchor*), and no gap exceeds a bound across the
change, whatever the two plans are. A plan that begins at ``BEGINNING`` has no predecessor; its cycles start at
multiples of the cycle since 1970 UTC. Before its first plan a query runs at the multiples of its own bound.

Queries are named by what they mean, not by their names: a query that is dropped and made anew is another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from punctual.clock import Micros
from punctual.schedule.due import FOREVER, Run, Stretch, Timetable


@dataclass(frozen=True, slots=True)
class Slot:
    """A query in a plan: the indices of the runs that answer it, all on multiples of ``lattice``."""

    lattice: Micros
    runs: range


@dataclass(frozen=True, slots=True)
class CadencePlan:
    """One plan of one class.

    Attributes
    ----------
    identity : of the class
    request : what was planned: the queries, their bounds and the method, as a fingerprint
    since : the instant at which it takes over
    handed_by : the run of the plan before that it takes over from, for the name of that execution
    method, why : for people
    costs : what a merge and an answer cost when it was planned, as fractions
    runs : the dearest first
    slots : by what the query means; those with PERIOD have none, since nothing moves them
    """

    identity: str
    request: str
    since: Micros
    handed_by: Run | None
    method: str
    why: str
    costs: tuple[str, str]
    runs: tuple[Run, ...]
    slots: Mapping[str, Slot]


def followed(plans: Sequence[CadencePlan], new: CadencePlan) -> tuple[CadencePlan, ...]:
    """The plans of a class with a new one; plans that had not begun by then never do."""
    return (*(plan for plan in plans if plan.since < new.since), new)


def takeover(plans: Sequence[CadencePlan], after: Micros) -> tuple[Micros, Run]:
    """The first instant after this one at which the plan in force runs its dearest group, and that run."""
    for index, plan in enumerate(plans):
        until = plans[index + 1].since if index + 1 < len(plans) else FOREVER
        instant = plan.runs[0].following(max(after, plan.since))
        if instant <= until:
            return instant, plan.runs[0]
        if until > after:
            handed = plans[index + 1].handed_by
            assert handed is not None, "a plan that follows another one takes over from it"
            return until, handed
    raise AssertionError("the last plan has no end")


def timetable(key: str, bound: Micros, plans: Sequence[CadencePlan]) -> Timetable:
    """When a query answers, by the plans (ascending) that have a slot for it."""
    stretches: list[Stretch] = []
    current = Timetable.multiples(bound).stretches[0]
    for plan in plans:
        slot = plan.slots.get(key)
        if slot is None:
            continue
        if plan.handed_by is not None:
            stretches.append(current._replace(until=plan.since - 1))
            # Every microsecond of a stretch that is one microsecond long.
            handed = Run(plan.handed_by.label, 1, (0,), plan.handed_by.unit)
            stretches.append(Stretch(plan.since, (handed,), gcd(plan.since, slot.lattice)))
        current = Stretch(FOREVER, plan.runs[slot.runs.start : slot.runs.stop], slot.lattice)
    return Timetable((*stretches, current))


def step_from(table: Timetable, after: Micros) -> Micros:
    """Of what all instants after this one are multiples."""
    return gcd(*(stretch.lattice for stretch in table.stretches if stretch.until > after))
