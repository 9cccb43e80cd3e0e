"""Which row queries are answered by which job: a slot is one query at one instant.

In a replay one query is due at many instants, and as many slots of it are one job. A plan is made for a number of slots
of each query, so that there are few such numbers: powers of two, and slots that nobody asks are left empty. An empty
slot costs some milliseconds, a plan ten times as much for each of its slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

MOST_SLOTS = 32
"""Of one job: its plan is as large as all of them."""
MOST_INSTANTS = 16
"""Of one query in one job."""

Asked = TypeVar("Asked")


def dealt(asked: Mapping[Asked, Sequence[int]]) -> Iterator[dict[Asked, Sequence[int]]]:
    """Jobs for what is asked of each query: every number in one of them.

    >>> [{query: len(works) for query, works in job.items()} for job in dealt({"a": range(20), "b": range(20, 33)})]
    [{'a': 16}, {'a': 4, 'b': 13}]
    """
    job: dict[Asked, Sequence[int]] = {}
    taken = 0
    for query, works in asked.items():
        for first in range(0, len(works), MOST_INSTANTS):
            part = works[first : first + MOST_INSTANTS]
            if query in job or taken + slots_for(len(part)) > MOST_SLOTS:
                yield job
                job, taken = {}, 0
            job[query] = part
            taken += slots_for(len(part))
    if job:
        yield job


def slots_for(works: int) -> int:
    """How many slots a plan has for so many instants of a query: the next power of two.

    >>> [slots_for(works) for works in (1, 2, 3, 9)]
    [1, 2, 4, 16]
    """
    return 1 << (works - 1).bit_length()
