"""Sharing classes: queries whose joint execution can cost no more than its dearest member.

Windows over the same rows (stream, enrichment, filter, group keys) that keep the same synopses are one class: one scan
of the longest answers them all, whatever their ranges. Queries with a walk (``plan.shared.Walk``) are one class where
they agree on it: the longest walk answers them all. Queries of different classes share the job that reads
rows and nothing else, so when they run is planned class by class.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.plan.fingerprint import fingerprint
from punctual.plan.query import Period
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
    found: dict[str, list[Reader]] = {}
    for reader in plan.readers:
        found.setdefault(_identity(plan, reader), []).append(reader)
    return tuple(
        SharingClass(identity, readers[0].query.streams, readers[0].unit, tuple(_member(r) for r in readers))
        for identity, readers in found.items()
    )


def _member(reader: Reader) -> Member:
    query = reader.query
    fixed = isinstance(query.cadence, Period)
    return Member(query.name, query.cadence.us, query.range_us, fixed, reader.walk)


def _identity(plan: SharedPlan, reader: Reader) -> str:
    unit = plan.units[reader.unit]
    if reader.walk is None:
        states = sorted({fingerprint(unit.synopses[use.synopsis], use.conditions) for use in reader.uses})
    else:  # however long the longest is just now
        states = [reader.walk.key]
    return fingerprint(unit.identity, reader.where, tuple(states))
