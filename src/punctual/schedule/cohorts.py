"""Queries that are due together: whatever is decided about one of them at an instant is decided about all.

Model
-----
A *cohort* are the queries of a program that agree on all that the scheduler decides by: timetable, streams, since when
they stand, deadline, quality, class, how many answers an instant has. Their windows may differ. So a thousand queries
over ten slides are ten things to remember, and what a batch costs here follows the timetables and not the queries.

A cohort may lose members (one is dropped, one was answered before a crash); the others stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.contract import Contract

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """Contracts that agree on everything but windows, work and knobs, and their places in the program.

    ``ranges`` are their windows; ``shared`` and ``own`` are the work of an execution that all of them pay once, and
    each for itself.
    """

    contracts: tuple[Contract, ...]
    places: tuple[int, ...]
    queries: tuple[str, ...] = field(init=False)
    ranges: I64 = field(init=False)
    longest: Micros = field(init=False)
    shared: float = field(init=False)
    own: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", tuple(one.query for one in self.contracts))
        object.__setattr__(self, "ranges", np.array([one.range_us for one in self.contracts], np.int64))
        object.__setattr__(self, "longest", int(self.ranges.max()))
        object.__setattr__(self, "shared", max(one.shared for one in self.contracts))
        object.__setattr__(self, "own", sum(one.own or 1.0 for one in self.contracts))

    def __len__(self) -> int:
        return len(self.contracts)

    @property
    def one(self) -> Contract:
        """One of them, for what they agree on."""
        return self.contracts[0]

    def only(self, members: Iterable[int]) -> Cohort:
        """The members with these numbers."""
        chosen = list(members)
        if len(chosen) == len(self):
            return self
        return Cohort(tuple(self.contracts[n] for n in chosen), tuple(self.places[n] for n in chosen))

    def parted(self, key: Callable[[str], Hashable]) -> dict[Hashable, list[int]]:
        """The numbers of the members by what the key says of their queries."""
        found: dict[Hashable, list[int]] = {}
        for number, query in enumerate(self.queries):
            found.setdefault(key(query), []).append(number)
        return found

    def without(self, queries: frozenset[str]) -> list[int]:
        """The numbers of the members that are not among these queries."""
        if queries.isdisjoint(self.queries):
            return list(range(len(self)))
        return [number for number, query in enumerate(self.queries) if query not in queries]


class Contracts(Mapping[str, Contract]):
    """The contracts of a program by query, in the program's order, and as cohorts."""

    __slots__ = ("_by_query", "cohorts")

    def __init__(self, contracts: Iterable[Contract] = ()) -> None:
        self._by_query = {one.query: one for one in contracts}
        found: dict[Hashable, list[tuple[int, Contract]]] = {}
        for place, one in enumerate(self._by_query.values()):
            found.setdefault(_agreed(one), []).append((place, one))
        self.cohorts = tuple(
            Cohort(tuple(one for _place, one in several), tuple(place for place, _one in several))
            for several in found.values()
        )

    def __getitem__(self, query: str) -> Contract:
        return self._by_query[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_query)

    def __len__(self) -> int:
        return len(self._by_query)


def _agreed(one: Contract) -> Hashable:
    """What queries of one cohort agree on. Timetables that are always the same are the same object."""
    return (
        id(one.table), one.streams, one.after, one.deadline_us, one.allowed_us, one.fixed, one.sharing_class,
        one.in_order, type(one.knob), one.curve, one.sheds, one.stages, one.ahead,
    )  # fmt: skip
