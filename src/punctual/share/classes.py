"""Sharing classes: queries whose joint execution can cost no more than its dearest member.

Windows over the same rows (stream, enrichment, filter, group keys) that keep the same synopses are one class: one scan
of the longest answers them all, whatever their ranges. Queries with a walk (``plan.shared.Walk``) are one class where
they agree on it: the longest walk answers them all. Queries of different classes share the job that reads
rows and nothing else, so when they run is planned class by class.

When a query is added, only its class changes (:class:`Classes`).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace

from punctual.clock import Micros
from punctual.plan.fingerprint import fingerprint
from punctual.plan.query import Once, Period
from punctual.plan.shared import Reader, SharedPlan, Walk


@dataclass(frozen=True, slots=True)
class Member:
    """A query of a class; ``fixed`` where its instants are the multiples of ``bound`` (PERIOD) and no others."""

    query: str
    bound: Micros
    range_us: Micros
    fixed: bool
    walk: Walk | None = None

    @property
    def steps(self) -> int:
        """How far its walk goes."""
        return 0 if self.walk is None else self.walk.steps


@dataclass(frozen=True, slots=True)
class SharingClass:
    """``identity`` stays the same while its queries come and go; ``unit`` is the place of their unit in the plan."""

    identity: str
    streams: tuple[str, ...]
    unit: int
    members: tuple[Member, ...]

    @property
    def walked_in(self) -> str | None:
        """What the steps of its members' walk are called; None where they merge panes."""
        walk = self.members[0].walk
        return None if walk is None else walk.counted_in

    @property
    def stream(self) -> str:
        """What it reads, by name."""
        return " + ".join(self.streams)


def sharing_classes(plan: SharedPlan) -> tuple[SharingClass, ...]:
    """The classes of all queries, in the order of their first ones."""
    return Classes().of(plan)


class Classes:
    """Sharing classes of plans that follow each other, as :func:`sharing_classes` gives them.

    Where readers were added to a plan, only they are looked at. A class that did not change stays the same object.
    """

    def __init__(self) -> None:
        self._readers: tuple[Reader, ...] = ()
        self._units: list[str] = []
        self._classes: dict[str, SharingClass] = {}

    def of(self, plan: SharedPlan) -> tuple[SharingClass, ...]:
        """The classes of a plan."""
        units = [unit.identity for unit in plan.units]
        grown = len(self._readers) <= len(plan.readers) and all(map(operator.is_, self._readers, plan.readers))
        known = len(self._readers) if grown and units[: len(self._units)] == self._units else 0
        classes = dict(self._classes) if known else {}
        groups: dict[str, list[Reader]] = {}
        for reader in plan.readers[known:]:
            if isinstance(reader.query.cadence, Once):  # whose instant fits into no cycle
                continue
            groups.setdefault(_identity(plan, reader, units[reader.unit]), []).append(reader)
        for identity, readers in groups.items():
            members = tuple(_member(reader) for reader in readers)
            if identity in classes:
                classes[identity] = replace(classes[identity], members=(*classes[identity].members, *members))
            else:
                classes[identity] = SharingClass(identity, readers[0].query.streams, readers[0].unit, members)
        self._readers, self._units, self._classes = plan.readers, units, classes
        return tuple(classes.values())


def _member(reader: Reader) -> Member:
    query = reader.query
    fixed = isinstance(query.cadence, Period)
    return Member(query.name, query.cadence.us, query.range_us, fixed, reader.walk)


def _identity(plan: SharedPlan, reader: Reader, unit_identity: str) -> str:
    unit = plan.units[reader.unit]
    if reader.walk is None:
        states = sorted({fingerprint(unit.synopses[use.synopsis], use.conditions) for use in reader.uses})
    else:  # however long the longest is just now
        states = [reader.walk.key]
    return fingerprint(unit_identity, reader.where, tuple(states))
