"""Epochs: stretches of equal length, each planned as a whole before it begins.

Epoch ``number`` is from ``number * length`` to the next one. It is planned ``lead`` before it begins, with all queries
that were submitted by then. A lifetime that spans several epochs is cut at their borders, and its essential time is
split by overlap: each epoch is planned by itself. A query that comes too late for the epoch in which it should start
waits for the first one that is not planned yet; its lifetime is as long as before, since it was promised so much time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite

from punctual.errors import PlanError
from punctual.schedule.epoch.anytime_query import AnytimeQuery
from punctual.schedule.epoch.critical_intervals import allocate


@dataclass(frozen=True, slots=True)
class Epochs:
    """How time is cut: ``length`` of an epoch, and how long before an epoch its plan is made.

    >>> epochs = Epochs(length=300, lead=30)
    >>> epochs.number_at(299), epochs.begins(1), epochs.planned_at(1), epochs.first_after(270), epochs.first_after(271)
    (0, 300, 270, 1, 2)
    """

    length: float
    lead: float

    def __post_init__(self) -> None:
        if not (isfinite(self.length) and self.length > 0):
            raise PlanError("plan.bad-epoch", f"an epoch cannot take {self.length}", hint="give a length above zero")
        if not (isfinite(self.lead) and self.lead >= 0):
            raise PlanError("plan.bad-epoch", f"{self.lead} is not a lead time", hint="give a length, or zero")

    def begins(self, number: int) -> float:
        """When an epoch begins, and the one before it ends."""
        return number * self.length

    def planned_at(self, number: int) -> float:
        """When the plan of an epoch is made: who was not submitted by then is not in it."""
        return self.begins(number) - self.lead

    def number_at(self, time: float) -> int:
        """The epoch that a time belongs to; a border belongs to the epoch that begins there."""
        number = floor(time / self.length)
        # What is divided may be rounded across a border.
        return number - (self.begins(number) > time) + (self.begins(number + 1) <= time)

    def first_after(self, submitted: float) -> int:
        """The first epoch whose plan can still hold a query that is submitted then."""
        number = ceil((submitted + self.lead) / self.length)
        return number + (self.planned_at(number) < submitted) - (self.planned_at(number - 1) >= submitted)


def wait_for_epoch(start: float, submitted: float, epochs: Epochs) -> float:
    """How long a query must wait beyond its start, since it came too late for the epoch that its start is in.

    >>> epochs = Epochs(length=300, lead=30)
    >>> wait_for_epoch(310, 270, epochs), wait_for_epoch(310, 271, epochs)
    (0, 290)
    """
    first = epochs.first_after(submitted)
    return epochs.begins(first) - start if epochs.number_at(start) < first else 0


def delayed(query: AnytimeQuery, wait: float) -> AnytimeQuery:
    """The query with its whole lifetime later by so much; all stages of a query wait alike."""
    return AnytimeQuery(query.start + wait, query.deadline + wait, query.essential)


def piece_in(query: AnytimeQuery, number: int, epochs: Epochs) -> AnytimeQuery | None:
    """The part of a query that is in an epoch, with its share of the essential time; None where there is none.

    >>> piece_in(AnytimeQuery(290, 330, 8), 1, Epochs(length=300, lead=30))
    AnytimeQuery(start=300, deadline=330, essential=6.0)
    """
    start, deadline = max(query.start, epochs.begins(number)), min(query.deadline, epochs.begins(number + 1))
    if start >= deadline:
        return None
    if (start, deadline) == (query.start, query.deadline):
        return query
    return AnytimeQuery(start, deadline, query.essential * ((deadline - start) / query.lifetime))


def split_by_epoch(query: AnytimeQuery, epochs: Epochs) -> dict[int, AnytimeQuery]:
    """The parts of a query by epoch.

    >>> sorted(split_by_epoch(AnytimeQuery(290, 330, 8), Epochs(length=300, lead=30)))
    [0, 1]
    """
    numbers = range(epochs.number_at(query.start), epochs.number_at(query.deadline) + 1)
    return {number: piece for number in numbers if (piece := piece_in(query, number, epochs)) is not None}


def allocate_in_epoch(queries: Sequence[AnytimeQuery], number: int, epochs: Epochs, cores: float) -> list[float]:
    """Core time for each query in one epoch, in their order; nothing for those that are not alive in it.

    >>> allocate_in_epoch([AnytimeQuery(0, 20, 4), AnytimeQuery(5, 8, 1)], 0, Epochs(10, 1), cores=1)
    [7.0, 3.0]
    """
    pieces = [piece_in(query, number, epochs) for query in queries]
    given = iter(allocate([piece for piece in pieces if piece is not None], cores))
    return [0.0 if piece is None else next(given) for piece in pieces]


def first_to_run(queries: Sequence[AnytimeQuery], left: Sequence[float], now: float) -> int | None:
    """Who runs now: of those that are alive and have some of their core time left, the one with the earliest deadline.

    >>> first_to_run([AnytimeQuery(0, 9, 1), AnytimeQuery(0, 5, 1), AnytimeQuery(4, 5, 1)], [1.0, 0.0, 1.0], now=3)
    0
    """
    alive = [
        (query.deadline, place)
        for place, query in enumerate(queries)
        if left[place] > 0 and query.start <= now < query.deadline
    ]
    return min(alive)[1] if alive else None
