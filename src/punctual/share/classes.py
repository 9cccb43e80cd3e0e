"""Sharing classes: queries whose joint execution can cost no more than its dearest member.

Windows over the same rows (stream, enrichment, filter, group keys) that keep the same synopses are one class: one scan
of the longest answers them all, whatever their ranges. Rankings of one window (the same range too) by one score are a
class chained by k: one walk for the largest answers them all. Queries of different classes share the job that reads
rows and nothing else, so when they run is planned class by class.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.plan.fingerprint import fingerprint
from punctual.plan.query import Period
from punctual.plan.shared import Reader, SharedPlan


@dataclass(frozen=True, slots=True)
class Member:
    """A query of a class; ``fixed`` where its instants are the multiples of ``bound`` (PERIOD) and no others.

    ``ranks`` is how many ranks of every row it has to know, 0 for aggregates.
    """

    query: str
    bound: Micros
    range_us: Micros
    fixed: bool
    ranks: int = 0


@dataclass(frozen=True, slots=True)
class SharingClass:
    """``identity`` stays the same while its queries come and go; ``unit`` is the place of their unit in the plan."""

    identity: str
    streams: tuple[str, ...]
    unit: int
    members: tuple[Member, ...]

    @property
    def ranking(self) -> bool:
        """Whether its members rank the rows of one window."""
        return self.members[0].ranks > 0

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
    return Member(query.name, query.cadence.us, query.range_us, fixed, 0 if query.top is None else query.top.ranks)


def _identity(plan: SharedPlan, reader: Reader) -> str:
    unit, top = plan.units[reader.unit], reader.query.top
    if top is None:
        states = sorted({fingerprint(unit.synopses[use.synopsis], use.conditions) for use in reader.uses})
    else:  # whatever the largest k is just now
        states = [fingerprint(top.kept, top.ascending, reader.query.range_us)]
    return fingerprint(unit.identity, reader.where, tuple(states))
