"""Due instants against enumeration, to the microsecond."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.schedule.due import BEGINNING, due, parts

SMALL = st.integers(-60, 60)


def enumerate_due(step: int, least: int | None, after: int, through: int) -> list[int]:
    return [t for t in range(-200, 200) if least is not None and t % step == 0 and t >= least and after < t <= through]


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 17), st.one_of(st.none(), SMALL), SMALL, SMALL)
def test_due_is_every_multiple_in_between(step: int, least: int | None, after: int, through: int) -> None:
    found = due(step, least, after, through)
    assert found.instants().tolist() == enumerate_due(step, least, after, through)
    assert found.count == len(enumerate_due(step, least, after, through))


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 17), SMALL, SMALL, SMALL, SMALL, SMALL)
def test_a_part_is_what_lies_inside(step: int, least: int, after: int, through: int, a: int, b: int) -> None:
    whole = due(step, least, after, through)
    assert whole.part(a, b).instants().tolist() == [t for t in whole.instants().tolist() if a < t <= b]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 17), SMALL, SMALL, SMALL), max_size=4), st.integers(1, 20))
def test_parts_cover_every_instant_once_oldest_first(specs: list[tuple[int, int, int, int]], most: int) -> None:
    dues = [due(*spec) for spec in specs]
    cuts = list(parts(dues, most))
    assert all(a < b for a, b in cuts)
    assert all(before[1] == after[0] for before, after in pairwise(cuts))
    for one in dues:
        gathered = [t for a, b in cuts for t in one.part(a, b).instants().tolist()]
        assert gathered == one.instants().tolist()
    for a, b in cuts:
        # One instant may have many queries: it is never torn.
        assert sum(one.part(a, b).count for one in dues) <= most or b == a + 1


def test_nothing_is_due_before_the_first_row() -> None:
    assert due(10, None, BEGINNING, 10**18).count == 0


def test_the_boundaries_are_exact() -> None:
    assert due(10, 20, BEGINNING, 19).count == 0
    assert due(10, 20, BEGINNING, 20).instants().tolist() == [20]
    assert due(10, 21, BEGINNING, 30).instants().tolist() == [30]
    assert due(10, 0, 20, 30).instants().tolist() == [30]
