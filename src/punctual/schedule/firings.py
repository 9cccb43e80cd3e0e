"""Firings: what is released and not fully answered.

Model
-----
A firing is (query, instant, number). A committed batch releases instants; each stays open until its last answer is in
the log. Firings of one cohort that one batch released are a *group*, kept as arrays: each of its queries at each of its
instants. Long releases are listed part by part, so that years of silence cost no memory; what is not listed yet is a
*release*.

Open firings say what is still to answer, what must be kept for it (`oldest`), and which batches are done
(`closed_before`). At start they are derived again: batch by batch from the manifests, without what the log has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.arrivals import Arrivals, release_times
from punctual.schedule.cohorts import Cohort
from punctual.schedule.due import Due, DueInstants, parts
from punctual.schedule.late_counts import LateCounts

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
MAX_INSTANTS_LISTED = 100_000
"""So many instants are listed at once, and answered in one pass of a replay: memory stays flat over long gaps."""

Answered = Mapping[str, Mapping[int, I64]]
"""By query and number: instants that are in the log."""
OpenFrom = tuple[tuple[tuple[str, ...], Micros], ...]
"""Queries, and an instant after which all of their open windows begin."""


@dataclass(frozen=True, slots=True, eq=False)
class FiringGroup:
    """Open firings of one cohort that one batch released.

    ``released`` are wall-clock times, None in a replay at full speed; ``late`` counts the rows that came too late for
    each window, a row for each query, None where none did; ``setting`` is that of the knob, or the share of the input
    of a query that is sampled, where one was decided (None: everything), and ``level`` is the quality that it follows
    from. In a pass ``budget_us`` is how long after its beginning the queries should be through, where that is known.
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

    @property
    def size(self) -> int:
        """How many firings."""
        return int(self.due.instants.size) * len(self.cohort)

    @staticmethod
    def joined(groups: Sequence[FiringGroup]) -> FiringGroup:
        """Groups of one cohort, of several batches, as one: of the newest batch."""
        late = None
        if any(group.late is not None for group in groups):
            none = [np.zeros((len(g.cohort), g.due.instants.size), np.int64) for g in groups]
            late = np.concatenate([zero if g.late is None else g.late for g, zero in zip(groups, none)], axis=1)
        released = [group.released for group in groups if group.released is not None]
        return replace(
            groups[-1],
            due=DueInstants.joined([group.due for group in groups]),
            released=np.concatenate(released) if released else None,
            late=late,
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

    def without(self, queries: frozenset[str]) -> Release:
        """Without all instants of these queries."""
        if not queries:
            return self
        left = ((cohort, cohort.without(queries), due) for cohort, due in self.dues)
        return replace(self, dues=tuple((cohort.only(members), due) for cohort, members, due in left if members))


@dataclass(frozen=True, slots=True, eq=False)
class Firings:
    """Everything open: listed groups, oldest batch first, and releases that are not listed yet."""

    groups: tuple[FiringGroup, ...] = ()
    releases: tuple[Release, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups or self.releases)

    @property
    def listed_size(self) -> int:
        """How many are listed."""
        return sum(group.size for group in self.groups)

    @property
    def most(self) -> int:
        """No more than this are open."""
        waiting = (due.most * len(cohort) for release in self.releases for cohort, due in release.dues)
        return self.listed_size + sum(waiting)

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
            for over, part in done.cut(group):
                if not over:
                    groups.append(part)
                elif part.number + 1 < part.cohort.one.answers:
                    groups.append(replace(part, number=part.number + 1))
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
        self._by_cohort: dict[int, list[I64]] = {}
        for group in passed:
            self._by_cohort.setdefault(id(group.cohort), []).append(group.due.instants)
        self._passed = passed

    def cut(self, group: FiringGroup) -> Iterator[tuple[int, FiringGroup]]:
        """What is left of a group (0) and what is done of it (1)."""
        mine = self._by_cohort.get(id(group.cohort))
        if mine is None:  # it lost members during the pass, or was not in it
            yield from group.cut(lambda query: self._of_query(group, query))
        elif any(instants is group.due.instants for instants in mine):  # nearly always: the whole group was in the pass
            yield 1, group
        else:
            over = np.isin(group.due.instants, np.concatenate(mine))
            yield from ((number, group.only(over == number)) for number in np.unique(over).astype(int).tolist())

    def _of_query(self, group: FiringGroup, query: str) -> I64:
        mine = [one.due.instants for one in self._passed if query in one.cohort.queries]
        none = np.zeros(0, np.int64)
        return np.isin(group.due.instants, np.concatenate([none, *mine])).astype(np.int64)


def _list_part(release: Release) -> tuple[list[FiringGroup], Release | None]:
    """The oldest part of a release as groups, and what is left of it."""
    dues = {id(due): due for _cohort, due in release.dues}
    start, stop = next(parts(list(dues.values()), MAX_INSTANTS_LISTED))
    cut = {which: due.part(start, stop).listed() for which, due in dues.items()}
    groups: list[FiringGroup] = []
    for cohort, due in release.dues:
        group = _group(release, cohort, cut[id(due)])
        groups += _unanswered(group, release.answered) if release.answered else [group]
    rest = {which: due.part(stop, due.last) for which, due in dues.items()}
    some = {which for which, due in rest.items() if due.most}
    left = tuple((cohort, rest[id(due)]) for cohort, due in release.dues if id(due) in some)
    return [group for group in groups if group.size], replace(release, dues=left) if left else None


def _group(release: Release, cohort: Cohort, due: DueInstants) -> FiringGroup:
    streams = cohort.one.streams
    released = None
    if release.arrivals is not None:
        released = release_times(due.instants, [release.arrivals[name] for name in streams])
    late = None
    if release.late is not None:
        counts = [release.late[name].count(due.instants, cohort.ranges) for name in streams]
        some = [count for count in counts if count is not None]
        late = np.sum(some, axis=0) if some else None
    return FiringGroup(cohort, release.batch, due, released, late)


def _unanswered(group: FiringGroup, answered: Answered) -> list[FiringGroup]:
    """The group without what the log has: by the number of the answer that comes next."""

    def following(query: str) -> I64:
        found = np.zeros(group.due.instants.size, np.int64)
        for number, instants in answered.get(query, {}).items():
            there = np.isin(group.due.instants, instants)
            found[there] = np.maximum(found[there], number + 1)
        return found

    answers = group.cohort.one.answers
    return [replace(part, number=number) for number, part in group.cut(following) if number < answers]
