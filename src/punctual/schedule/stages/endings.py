"""Firings that end before their last number: cancelled, or past their last deadline.

An ending is a decision: it is in the journal before anything follows from it, and stays there as long as the log does
not say that everything of its batch is answered. So a firing that has ended does not come back after a crash.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.firings import FiringGroup, Firings, Release

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ending:
    """A query's instants from ``first`` through ``last``, released by a batch, have no more than so many answers."""

    batch: int
    query: str
    first: Micros
    last: Micros
    answers: int

    def ends(self, at: I64, number: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which answers of the query never come."""
        gone: NDArray[np.bool_] = (at >= self.first) & (at <= self.last) & (number >= self.answers)
        return gone


def ended(groups: Iterable[FiringGroup], endings: Sequence[Ending]) -> tuple[FiringGroup, ...]:
    """Firings without what has ended, each with the number of answers that it will have, cut where these differ."""
    if not endings:
        return tuple(groups)
    known: dict[tuple[str, int], list[Ending]] = {}
    for one in endings:
        known.setdefault((one.query, one.batch), []).append(one)
    found: list[FiringGroup] = []
    for group in groups:
        if not any((query, group.batch) in known for query in group.cohort.queries):
            found.append(group)
            continue
        for answers, part in group.cut(partial(_answers, known, group)):
            if part.number < answers:
                found.append(part if answers == part.answers else replace(part, limit=answers))
    return tuple(found)


def _answers(known: Mapping[tuple[str, int], Sequence[Ending]], group: FiringGroup, query: str) -> I64:
    """For each instant of a group how many answers of a query there will be."""
    at = group.due.instants
    found = np.full(at.size, group.answers, np.int64)
    for one in known.get((query, group.batch), ()):
        inside = (at >= one.first) & (at <= one.last)
        found[inside] = np.minimum(found[inside], one.answers)
    return found


def last_chances(chosen: Iterable[FiringGroup], firings: Firings, now: Micros) -> tuple[Ending, ...]:
    """Firings of a pass whose last deadline has passed: this answer is their last one, if it is not anyway."""
    found: list[Ending] = []
    for group in chosen:
        if group.released is None or group.number + 1 >= group.answers:
            continue
        late = group.released + group.cohort.one.stages[-1] < now
        found += _endings(group.only(late), group.number + 1, firings.groups) if late.any() else []
    return tuple(found)


def cancelled(
    query: str, at: Micros | None, firings: Firings, unapplied: Sequence[Release], endings: Sequence[Ending]
) -> tuple[tuple[Ending, ...], int]:
    """What ends the instants of a query that are open, or one of them, and how many these are.

    ``endings`` are those that are known. Where a query has one answer for each instant, nothing is ended.
    """
    unlisted = [part for release in (*firings.releases, *unapplied) for part in release.of(query)]
    groups = [*firings.groups, *ended(unlisted, endings)]
    found: list[Ending] = []
    count = 0
    for group in groups:
        if query not in group.cohort.queries or not group.cohort.one.stages:
            continue
        chosen = np.ones(group.due.instants.size, np.bool_) if at is None else group.due.instants == at
        if chosen.any():
            count += int(np.count_nonzero(chosen))
            mine = group.of([group.cohort.queries.index(query)]).only(chosen)
            found += _endings(mine, group.number, groups)
    return tuple(found), count


def _endings(group: FiringGroup, answers: int, beside: Iterable[FiringGroup]) -> list[Ending]:
    """Endings of all queries of a group at all of its instants, and of nothing ``beside`` that lies between them."""
    at, queries = group.due.instants, frozenset(group.cohort.queries)
    near = [one for one in beside if one.batch == group.batch and not queries.isdisjoint(one.cohort.queries)]
    others = np.setdiff1d(np.concatenate([np.zeros(0, np.int64), *(one.due.instants for one in near)]), at)
    stretches = np.split(at, np.flatnonzero(np.diff(np.searchsorted(others, at))) + 1)
    return [
        Ending(group.batch, query, int(stretch[0]), int(stretch[-1]), answers)
        for query in group.cohort.queries
        for stretch in stretches
    ]


def still_needed(endings: Sequence[Ending], logged_before: int, queries: Collection[str]) -> tuple[Ending, ...]:
    """Those of batches that the log does not call answered, and of queries that still run."""
    return tuple(one for one in endings if one.batch >= logged_before and one.query in queries)
