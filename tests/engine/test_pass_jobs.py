"""Firings of a pass become jobs: each query's in one, whichever cohorts it was in when they were released."""

from __future__ import annotations

import numpy as np

from punctual.engine.answers.pass_jobs import joined
from punctual.schedule.cohorts import Cohort, Contracts
from punctual.schedule.contract import Contract
from punctual.schedule.due import DueInstants, Run, Timetable
from punctual.schedule.firings import FiringGroup


def cohort(queries: str) -> Cohort:
    (found,) = Contracts(Contract(query, ("s",), 10, Timetable.multiples(1), 1) for query in queries).cohorts
    return found


def group(who: Cohort, instants: list[int], late: list[list[int]] | None = None, number: int = 0) -> FiringGroup:
    at = np.array(instants)
    due = DueInstants(at, np.zeros_like(at), at, (Run("1us", 1),))
    return FiringGroup(who, 1, due, at + 100, None if late is None else np.array(late), number)


def told(groups: list[FiringGroup]) -> list[tuple[str, int, list[int], list[int], list[list[int]]]]:
    return [
        (
            "".join(one.cohort.queries),
            one.number,
            one.due.instants.tolist(),
            [] if one.released is None else one.released.tolist(),
            [] if one.late is None else one.late.tolist(),
        )
        for one in groups
    ]


def test_a_cohort_of_several_batches_is_one() -> None:
    both = cohort("ab")
    found = joined([group(both, [1, 2]), group(cohort("c"), [1]), group(both, [3], [[7], [8]])])
    assert told(found) == [
        ("ab", 0, [1, 2, 3], [101, 102, 103], [[0, 0, 7], [0, 0, 8]]),
        ("c", 0, [1], [101], []),
    ]


def test_answers_of_other_numbers_are_jobs_of_their_own() -> None:
    both = cohort("ab")
    found = joined([group(both, [1]), group(both, [2], number=1)])
    assert [one[:3] for one in told(found)] == [("ab", 0, [1]), ("ab", 1, [2])]


def test_a_query_of_several_cohorts_has_one_job() -> None:
    """A program changed between two batches: b was with a before, and is with c now."""
    found = joined([group(cohort("ab"), [1], [[5], [6]]), group(cohort("bc"), [2])])
    assert told(found) == [
        ("a", 0, [1], [101], [[5]]),
        ("b", 0, [1, 2], [101, 102], [[6, 0]]),
        ("c", 0, [2], [102], []),
    ]
