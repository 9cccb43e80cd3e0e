"""Open firings as a base keeps them: the manifests that released them are gone once it is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.cohorts import Cohort
from punctual.schedule.due import DueInstants
from punctual.schedule.firings import Answered, FiringGroup, Firings, unanswered

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OpenInstants:
    """Instants of queries that a batch released and that are not fully answered.

    ``released`` is when each was, ``late`` counts the rows that came too late, a row for each query; empty where that
    is not known, or where none did. How many answers there were is in the log.
    """

    batch: int
    queries: tuple[str, ...]
    instants: tuple[Micros, ...]
    released: tuple[Micros, ...] = ()
    late: tuple[tuple[int, ...], ...] = ()


def open_instants(firings: Firings) -> tuple[OpenInstants, ...]:
    """All that is open. Everything is listed: a base is made where nothing but waiting ones are open."""
    assert not firings.releases, "what is not listed has no answer yet"
    return tuple(
        OpenInstants(
            group.batch,
            group.cohort.queries,
            tuple(group.due.instants.tolist()),
            () if group.released is None else tuple(group.released.tolist()),
            () if group.late is None else tuple(map(tuple, group.late.tolist())),
        )
        for group in firings.groups
    )


def reopened(
    several: Iterable[OpenInstants], cohorts: Sequence[Cohort], answered: Answered, *, timed: bool
) -> tuple[FiringGroup, ...]:
    """The firings that a base keeps, of queries that still stand; ``timed`` says whether time counts now."""
    found: list[FiringGroup] = []
    for one in several:
        for cohort in (cohort for cohort in cohorts if cohort.one.stages):
            members = [number for number, query in enumerate(cohort.queries) if query in one.queries]
            group = _group(one, cohort.only(members), timed=timed) if members else None
            found += [] if group is None else unanswered(group, answered)
    return tuple(sorted(found, key=lambda group: group.batch))


def _group(one: OpenInstants, cohort: Cohort, *, timed: bool) -> FiringGroup | None:
    """Some queries of it. A query that was made anew under an old name stands for later instants alone."""
    contract, instants = cohort.one, np.array(one.instants, np.int64)
    stands = instants > contract.after
    dues = [contract.table.due(at, at - 1, at).listed() for at in instants[stands].tolist()]
    if not dues:
        return None
    places = [one.queries.index(query) for query in cohort.queries]
    late = np.array(one.late, np.int64)[places][:, stands] if one.late else None
    released = np.array(one.released, np.int64)[stands] if timed else None
    return FiringGroup(cohort, one.batch, DueInstants.joined(dues), released, late)
