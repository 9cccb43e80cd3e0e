"""Firings: what is released and not fully answered.

Model
-----
A firing is (query, instant, number). A committed batch releases instants; each stays open until its last answer is in
the log. Firings of one cohort that one batch released are a *group*, kept as arrays: each of its queries at each of its
instants, and the number of the answer that comes next. Long releases are listed part by part, so that years of silence
cost no memory; what is not listed yet is a *release*.

Open firings say what is still to answer, what must be kept for it (`oldest`), and which batches are done
(`closed_before`). At start they are derived again: batch by batch from the manifests, without what the log has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.arrivals import Arrivals, release_times
from punctual.schedule.cohorts import Cohort
from punctual.schedule.due import BEGINNING, Due, DueInstants, parts
from punctual.schedule.late_counts import LateCounts

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
MAX_INSTANTS_LISTED = 100_000
"""So many instants are listed at once, and answered in one pass of a replay: memory stays flat over long gaps."""


class Logged(NamedTuple):
    """Instants that are in the log, and when they were released; ``BEGINNING`` where it does not say so."""

    at: I64
    released: I64


Answered = Mapping[str, Mapping[int, Logged]]
"""What is in the log, by query and number."""
OpenFrom = tuple[tuple[tuple[str, ...], Micros], ...]
"""Queries, and an instant after which all of their open windows begin."""


@dataclass(frozen=True, slots=True, eq=False)
class FiringGroup:
    """Open firings of one cohort that one batch released.

    ``released`` are wall-clock times, None in a replay at full speed; ``late`` counts the rows that came too late for
    each window, a row for each query, None where none did; ``setting`` is that of the knob, or the share of the input
    of a query that is sampled, where one was decided (None: everything), and ``level`` is the quality that it follows
    from. In a pass ``budget_us`` is how long after its beginning the queries should be through, where that is known.
    ``number`` is that of the next answer, ``limit`` how many answers there will be, where that is less than was asked.
    """

    cohort: Cohort
    batch: int
    due: DueInstants
    released: I64 | None = None
    late: NDArray[np.int64] | None = None
    number: int = 0
    setting: float | None = None
    level: float | None = None
    budget_us: Micros | None = None
    limit: int | None = None

    @property
    def answers(self) -> int:
        """How many answers each firing has, those before included."""
        return self.cohort.one.answers if self.limit is None else self.limit

    @property
    def begins(self) -> I64:
        """When the next answer of each instant may be begun."""
        assert self.released is not None, "where time counts every firing has a release"
        return self.released + self.cohort.one.begins(self.number)

    @property
    def deadlines(self) -> I64:
        """When the next answer of each instant is due."""
        assert self.released is not None, "where time counts every firing has a release"
        return self.released + self.cohort.one.allowed(self.number)

    @property
    def size(self) -> int:
        """How many firings."""
        return int(self.due.instants.size) * len(self.cohort)

    @staticmethod
    def joined(groups: Sequence[FiringGroup]) -> FiringGroup:
        """Groups of one cohort, of several batches, as one of the newest batch, its instants in their order."""
        late = None
        if any(group.late is not None for group in groups):
            none = [np.zeros((len(g.cohort), g.due.instants.size), np.int64) for g in groups]
            late = np.concatenate([zero if g.late is None else g.late for g, zero in zip(groups, none)], axis=1)
        released = [group.released for group in groups if group.released is not None]
        due = DueInstants.joined([group.due for group in groups])
        order = np.argsort(due.instants, kind="stable")
        return replace(
            groups[-1],
            due=due.only(order),
            released=np.concatenate(released)[order] if released else None,
            late=None if late is None else late[:, order],
        )

    def only(self, chosen: Bools) -> FiringGroup:
        """Some of their instants."""
        if chosen.all():
            return self
        return replace(
            self,
            due=self.due.only(chosen),
            released=None if self.released is None else self.released[chosen],
            late=None if self.late is None else self.late[:, chosen],
        )

    def of(self, members: Sequence[int]) -> FiringGroup:
        """Some of their queries."""
        if len(members) == len(self.cohort):
            return self
        late = None if self.late is None else self.late[members]
        return replace(self, cohort=self.cohort.only(members), late=late)

    def cut(self, of_query: Callable[[str], I64]) -> Iterator[tuple[int, FiringGroup]]:
        """The group in parts: by the number that each query has for each instant.

        Queries that have the same numbers stay together.
        """
        by_query = {query: of_query(query) for query in self.cohort.queries}
        for members in self.cohort.parted(lambda query: by_query[query].tobytes()).values():
            mine, numbers = self.of(members), by_query[self.cohort.queries[members[0]]]
            for number in np.unique(numbers).tolist():
                yield number, mine.only(numbers == number)


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Instants that a batch released and that are not listed yet.

    ``arrivals`` says when the rows that complete them could be read, by stream; None in a replay at full speed.
    ``late`` are the late rows by stream as of the batch.
    """

    batch: int
    dues: tuple[tuple[Cohort, Due], ...]
    arrivals: Mapping[str, Arrivals] | None = None
    late: Mapping[str, LateCounts] | None = None
    answered: Answered | None = None
    """What the log has of these instants: after a crash."""
    committed: Micros | None = None
    """After a crash: when the batch was committed. Instants of several answers count from there, others anew."""

    def without(self, queries: frozenset[str]) -> Release:
        """Without all instants of these queries."""
        if not queries:
            return self
        left = ((cohort, cohort.without(queries), due) for cohort, due in self.dues)
        return replace(self, dues=tuple((cohort.only(members), due) for cohort, members, due in left if members))

    def of(self, query: str) -> list[FiringGroup]:
        """What is open of one query."""
        mine = ((cohort, due) for cohort, due in self.dues if query in cohort.queries)
        groups = [_group(self, cohort.only([cohort.queries.index(query)]), due.listed()) for cohort, due in mine]
        return [part for group in groups for part in unanswered(group, self.answered or {})]


@dataclass(frozen=True, slots=True, eq=False)
class Firings:
    """Everything open: listed groups, oldest batch first, and releases that are not listed yet."""

    groups: tuple[FiringGroup, ...] = ()
    releases: tuple[Release, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups or self.releases)

    @property
    def listed_size(self) -> int:
        """How many are listed and have no answer yet; others may wait long for their next one."""
        return sum(group.size for group in self.groups if not group.number)

    @property
    def most(self) -> int:
        """No more than this are open."""
        waiting = (due.most * len(cohort) for release in self.releases for cohort, due in release.dues)
        return sum(group.size for group in self.groups) + sum(waiting)

    def closed_before(self, following: int) -> int:
        """Batches below this one are fully answered; ``following`` is the next batch's number."""
        open_batches = [group.batch for group in self.groups] + [release.batch for release in self.releases]
        return min(open_batches, default=following)

    def oldest(self) -> OpenFrom:
        """Where the open windows begin."""
        firsts = [(group.cohort, int(group.due.instants[0])) for group in self.groups]
        firsts += [(cohort, due.first) for release in self.releases for cohort, due in release.dues if due.most]
        return tuple((cohort.queries, first - cohort.longest) for cohort, first in firsts)

    def released(self, release: Release) -> Firings:
        """With one more release."""
        return replace(self, releases=(*self.releases, release)).listed() if release.dues else self

    def listed(self) -> Firings:
        """With as much listed as may be at once."""
        firings = self
        while firings.releases and firings.listed_size < MAX_INSTANTS_LISTED:
            first, *rest = firings.releases
            groups, left = _list_part(first)
            firings = Firings((*firings.groups, *groups), (*((left,) if left is not None else ()), *rest))
        return firings

    def answered(self, passed: Sequence[FiringGroup]) -> Firings:
        """Without the firings of a pass, or waiting for their next answer where each has several."""
        done = _Done(passed)
        groups: list[FiringGroup] = []
        for group in self.groups:
            for number, part in done.cut(group):
                if number == part.number:
                    groups.append(part)
                elif number < part.answers:  # what was decided was decided for the answer before
                    groups.append(replace(part, number=number, setting=None, level=None))
        return replace(self, groups=tuple(groups))

    def without(self, queries: Iterable[str]) -> Firings:
        """Without all firings of these queries: they were dropped or stopped."""
        gone = frozenset(queries)
        if not gone:
            return self
        left = ((group, group.cohort.without(gone)) for group in self.groups)
        releases = (release.without(gone) for release in self.releases)
        return Firings(
            tuple(group.of(members) for group, members in left if members),
            tuple(release for release in releases if release.dues),
        )


class _Done:
    """What a pass answered."""

    def __init__(self, passed: Sequence[FiringGroup]) -> None:
        self._by_cohort: dict[int, list[FiringGroup]] = {}
        for group in passed:
            self._by_cohort.setdefault(id(group.cohort), []).append(group)
        self._passed = passed
        self._queries = frozenset(query for group in passed for query in group.cohort.queries)

    def cut(self, group: FiringGroup) -> Iterator[tuple[int, FiringGroup]]:
        """The group in parts, by the number of the answer that comes next."""
        mine = self._by_cohort.get(id(group.cohort))
        if mine is None and self._queries.isdisjoint(group.cohort.queries):
            yield group.number, group
            return
        if mine is None:  # it lost members during the pass
            yield from group.cut(lambda query: _following(group, self._of(query)))
            return
        if group.answers == 1 and any(one.due.instants is group.due.instants for one in mine):
            yield 1, group  # nearly always: the whole group was in the pass
            return
        numbers = _following(group, mine)
        yield from ((number, group.only(numbers == number)) for number in np.unique(numbers).tolist())

    def _of(self, query: str) -> list[FiringGroup]:
        return [one for one in self._passed if query in one.cohort.queries]


def _following(group: FiringGroup, passed: Sequence[FiringGroup]) -> I64:
    """For each instant the number of the answer that comes next, after these firings of the same queries."""
    found = np.full(group.due.instants.size, group.number, np.int64)
    for one in passed:
        there = np.isin(group.due.instants, one.due.instants)
        found[there] = np.maximum(found[there], one.number + 1)
    return found


def _list_part(release: Release) -> tuple[list[FiringGroup], Release | None]:
    """The oldest part of a release as groups, and what is left of it."""
    dues = {id(due): due for _cohort, due in release.dues}
    start, stop = next(parts(list(dues.values()), MAX_INSTANTS_LISTED))
    cut = {which: due.part(start, stop).listed() for which, due in dues.items()}
    groups: list[FiringGroup] = []
    for cohort, due in release.dues:
        group = _group(release, cohort, cut[id(due)])
        groups += unanswered(group, release.answered) if release.answered else [group]
    rest = {which: due.part(stop, due.last) for which, due in dues.items()}
    some = {which for which, due in rest.items() if due.most}
    left = tuple((cohort, rest[id(due)]) for cohort, due in release.dues if id(due) in some)
    return [group for group in groups if group.size], replace(release, dues=left) if left else None


def _group(release: Release, cohort: Cohort, due: DueInstants) -> FiringGroup:
    streams = cohort.one.streams
    released = None
    if release.arrivals is not None:
        released = release_times(due.instants, [release.arrivals[name] for name in streams])
        if release.committed is not None and cohort.one.stages:
            released = np.full(due.instants.size, release.committed, np.int64)
    late = None
    if release.late is not None:
        counts = [release.late[name].count(due.instants, cohort.ranges) for name in streams]
        some = [count for count in counts if count is not None]
        late = np.sum(some, axis=0) if some else None
    return FiringGroup(cohort, release.batch, due, released, late)


def unanswered(group: FiringGroup, answered: Answered) -> list[FiringGroup]:
    """The group without what the log has: by the number of the answer that comes next.

    Who had an answer goes on with the release that this has.
    """

    def following(query: str) -> I64:
        found = np.zeros(group.due.instants.size, np.int64)
        for number, logged in answered.get(query, {}).items():
            there = np.isin(group.due.instants, logged.at)
            found[there] = np.maximum(found[there], number + 1)
        return found

    return [
        replace(again, number=number)
        for number, part in group.cut(following)
        if number < group.answers
        for again in (_as_released(part, answered) if number else [part])
    ]


def _as_released(group: FiringGroup, answered: Answered) -> list[FiringGroup]:
    """The group with the releases of earlier answers; queries whose releases differ part."""
    known = group.released
    if known is None:
        return [group]

    def released(query: str) -> I64:
        found = known.copy()
        for logged in answered[query].values():
            _both, mine, theirs = np.intersect1d(group.due.instants, logged.at, return_indices=True)
            says = logged.released[theirs] > BEGINNING
            found[mine[says]] = logged.released[theirs][says]
        return found

    by_query = {query: released(query) for query in group.cohort.queries}
    return [
        replace(group.of(members), released=by_query[group.cohort.queries[members[0]]])
        for members in group.cohort.parted(lambda query: by_query[query].tobytes()).values()
    ]
