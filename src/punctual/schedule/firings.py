"""Firings: what is released and not fully answered.

Model
-----
A firing is (query, instant, number). A committed batch releases instants; each stays open until its last answer is in
the log. Firings of one query that one batch released are a *group*, kept as arrays. Long releases are listed part by
part, so that years of silence cost no memory; what is not listed yet is a *release*.

Open firings say what is still to answer, what must be kept for it (`oldest`), and which batches are done
(`closed_before`). At start they are derived again: batch by batch from the manifests, without what the log has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.arrivals import Arrivals, release_times
from punctual.schedule.contract import Contract
from punctual.schedule.due import Due, DueInstants, parts
from punctual.schedule.late_counts import LateCounts

I64 = NDArray[np.int64]
MAX_INSTANTS_LISTED = 100_000
"""So many instants are listed at once, and answered in one pass of a replay: memory stays flat over long gaps."""

Answered = Mapping[str, Mapping[int, I64]]
"""By query and number: instants that are in the log."""


@dataclass(frozen=True, slots=True, eq=False)
class FiringGroup:
    """Open firings of one query that one batch released.

    ``released`` are wall-clock times, None in a replay at full speed; ``late`` counts the rows that came too late for
    each window, None where none did; ``setting`` is that of the query's knob, where one was decided.
    """

    query: str
    batch: int
    due: DueInstants
    released: I64 | None = None
    late: I64 | None = None
    number: int = 0
    setting: float | None = None

    @property
    def size(self) -> int:
        return int(self.due.instants.size)

    @staticmethod
    def joined(groups: Sequence[FiringGroup]) -> FiringGroup:
        """Groups of one query, of several batches, as one: of the newest batch."""
        late = None
        if any(group.late is not None for group in groups):
            late = np.concatenate([np.zeros(g.size, np.int64) if g.late is None else g.late for g in groups])
        released = [group.released for group in groups if group.released is not None]
        return replace(
            groups[-1],
            due=DueInstants.joined([group.due for group in groups]),
            released=np.concatenate(released) if released else None,
            late=late,
        )

    def only(self, chosen: NDArray[np.bool_]) -> FiringGroup:
        """Some of them."""
        if chosen.all():
            return self
        return replace(
            self,
            due=self.due.only(chosen),
            released=None if self.released is None else self.released[chosen],
            late=None if self.late is None else self.late[chosen],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Instants that a batch released and that are not listed yet.

    ``arrivals`` says when the rows that complete them could be read, by stream; None in a replay at full speed.
    ``late`` are the late rows by stream as of the batch.
    """

    batch: int
    dues: tuple[tuple[Contract, Due], ...]
    arrivals: Mapping[str, Arrivals] | None = None
    late: Mapping[str, LateCounts] | None = None
    answered: Answered | None = None
    """What the log has of these instants: after a crash."""


@dataclass(frozen=True, slots=True, eq=False)
class Firings:
    """Everything open: listed groups, oldest batch first, and releases that are not listed yet."""

    groups: tuple[FiringGroup, ...] = ()
    releases: tuple[Release, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups or self.releases)

    @property
    def instants(self) -> int:
        """How many are listed."""
        return sum(group.size for group in self.groups)

    def closed_before(self, following: int) -> int:
        """Batches below this one are fully answered; ``following`` is the next batch's number."""
        open_batches = [group.batch for group in self.groups] + [release.batch for release in self.releases]
        return min(open_batches, default=following)

    def oldest(self, ranges: Mapping[str, Micros]) -> dict[str, Micros]:
        """By query, the instant after which its open windows begin; ``ranges`` are the lengths of the windows."""
        found: dict[str, Micros] = {}
        firsts = [(group.query, int(group.due.instants[0])) for group in self.groups]
        firsts += [(c.query, due.first) for release in self.releases for c, due in release.dues if due.most]
        for query, first in firsts:
            if query in ranges:
                start = first - ranges[query]
                found[query] = min(found.get(query, start), start)
        return found

    def released(self, release: Release) -> Firings:
        """With one more release."""
        return replace(self, releases=(*self.releases, release)).listed() if release.dues else self

    def listed(self) -> Firings:
        """With as much listed as may be at once."""
        firings = self
        while firings.releases and firings.instants < MAX_INSTANTS_LISTED:
            first, *rest = firings.releases
            groups, left = _list_part(first)
            firings = Firings((*firings.groups, *groups), (*((left,) if left is not None else ()), *rest))
        return firings

    def answered(self, passed: Iterable[FiringGroup], answers: Mapping[str, int]) -> Firings:
        """Without the firings of a pass, or waiting for their next answer where each has several.

        ``answers`` says how many each query gives; firings of a query that is not in it stay.
        """
        done: dict[str, list[I64]] = {}
        for group in passed:
            if group.query in answers:
                done.setdefault(group.query, []).append(group.due.instants)
        groups: list[FiringGroup] = []
        for group in self.groups:
            over, left = _parted(group, done.get(group.query, ()))
            if left is not None:
                groups.append(left)
            if over is not None and group.number + 1 < answers[group.query]:
                groups.append(replace(over, number=group.number + 1))
        return replace(self, groups=tuple(groups))

    def without(self, queries: Iterable[str]) -> Firings:
        """Without all firings of these queries: they were dropped or stopped."""
        gone = frozenset(queries)
        if not gone:
            return self
        releases = tuple(
            replace(one, dues=tuple((c, due) for c, due in one.dues if c.query not in gone)) for one in self.releases
        )
        return Firings(
            tuple(group for group in self.groups if group.query not in gone),
            tuple(release for release in releases if release.dues),
        )


def _parted(group: FiringGroup, done: Sequence[I64]) -> tuple[FiringGroup | None, FiringGroup | None]:
    """What is done of a group, and what is left of it."""
    if not done:
        return None, group
    if any(instants is group.due.instants for instants in done):  # nearly always: the whole group was in the pass
        return group, None
    over = np.isin(group.due.instants, np.concatenate(done))
    return (group.only(over) if over.any() else None), (None if over.all() else group.only(~over))


def _list_part(release: Release) -> tuple[list[FiringGroup], Release | None]:
    """The oldest part of a release as groups, and what is left of it."""
    dues = {id(due): due for _contract, due in release.dues}
    start, stop = next(parts(list(dues.values()), MAX_INSTANTS_LISTED))
    cut = {which: due.part(start, stop).listed() for which, due in dues.items()}
    groups = []
    for contract, due in release.dues:
        group = _group(release, contract, cut[id(due)])
        groups += _unanswered(group, release.answered, contract.answers) if release.answered else [group]
    rest = {which: due.part(stop, due.last) for which, due in dues.items()}
    some = {which for which, due in rest.items() if due.most}
    left = tuple((contract, rest[id(due)]) for contract, due in release.dues if id(due) in some)
    return [group for group in groups if group.size], replace(release, dues=left) if left else None


def _group(release: Release, contract: Contract, due: DueInstants) -> FiringGroup:
    released = None
    if release.arrivals is not None:
        released = release_times(due.instants, [release.arrivals[name] for name in contract.streams])
    late = None
    if release.late is not None:
        counts = [release.late[name].count(due.instants, contract.range_us) for name in contract.streams]
        some = [count for count in counts if count is not None]
        late = np.sum(some, axis=0) if some else None
    return FiringGroup(contract.query, release.batch, due, released, late)


def _unanswered(group: FiringGroup, answered: Answered, answers: int) -> list[FiringGroup]:
    """The group without what the log has: by the number of the answer that comes next."""
    known = answered.get(group.query)
    if not known:
        return [group]
    following = np.zeros(group.size, np.int64)
    for number, instants in known.items():
        there = np.isin(group.due.instants, instants)
        following[there] = np.maximum(following[there], number + 1)
    return [
        replace(group.only(following == number), number=number)
        for number in range(answers)
        if (following == number).any()
    ]
