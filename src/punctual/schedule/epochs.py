"""Plans of one sharing class, one after the other, and the timetables that follow from them.

Model
-----
An *epoch* is one cadence plan of a class: its runs, and which of them answer each query. It takes over at an instant
``since`` at which the plan before it runs its dearest group, and which answers every query of the class: so everything
has just run when the new plan's cycle begins there (its *anchor*), and no gap exceeds a bound across the change,
whatever the two plans are. An epoch that begins at ``BEGINNING`` has no predecessor; its cycles start at multiples
of the cycle since 1970 UTC. Before its first epoch a query runs at the multiples of its own bound.

Queries are named by what they mean, not by their names: a query that is dropped and made anew is another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from punctual.clock import Micros
from punctual.schedule.due import FOREVER, Run, Stretch, Timetable


@dataclass(frozen=True, slots=True)
class Seat:
    """A query in an epoch: the places of the runs that answer it, all on multiples of ``lattice``."""

    lattice: Micros
    runs: range


@dataclass(frozen=True, slots=True)
class Epoch:
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
    seats : by what the query means; those with PERIOD are not seated, since nothing moves them
    """

    identity: str
    request: str
    since: Micros
    handed_by: Run | None
    method: str
    why: str
    costs: tuple[str, str]
    runs: tuple[Run, ...]
    seats: Mapping[str, Seat]


def followed(epochs: Sequence[Epoch], new: Epoch) -> tuple[Epoch, ...]:
    """The epochs of a class with a new one; plans that had not begun by then never do."""
    return (*(epoch for epoch in epochs if epoch.since < new.since), new)


def takeover(epochs: Sequence[Epoch], after: Micros) -> tuple[Micros, Run]:
    """The first instant after this one at which the plan in force runs its dearest group, and that run."""
    for place, epoch in enumerate(epochs):
        until = epochs[place + 1].since if place + 1 < len(epochs) else FOREVER
        instant = epoch.runs[0].following(max(after, epoch.since))
        if instant <= until:
            return instant, epoch.runs[0]
        if until > after:
            handed = epochs[place + 1].handed_by
            assert handed is not None, "an epoch that follows another one takes over from it"
            return until, handed
    raise AssertionError("the last epoch has no end")


def timetable(key: str, bound: Micros, epochs: Sequence[Epoch]) -> Timetable:
    """When a query answers, by the epochs (ascending) that seat it."""
    stretches: list[Stretch] = []
    current = Timetable.multiples(bound).stretches[0]
    for epoch in epochs:
        seat = epoch.seats.get(key)
        if seat is None:
            continue
        if epoch.handed_by is not None:
            stretches.append(current._replace(until=epoch.since - 1))
            # Every microsecond of a stretch that is one microsecond long.
            handed = Run(epoch.handed_by.label, 1, (0,), epoch.handed_by.unit)
            stretches.append(Stretch(epoch.since, (handed,), gcd(epoch.since, seat.lattice)))
        current = Stretch(FOREVER, epoch.runs[seat.runs.start : seat.runs.stop], seat.lattice)
    return Timetable((*stretches, current))


def step_from(table: Timetable, after: Micros) -> Micros:
    """Of what all instants after this one are multiples."""
    return gcd(*(stretch.lattice for stretch in table.stretches if stretch.until > after))
