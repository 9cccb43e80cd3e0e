"""Due instants against enumeration, to the microsecond."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.schedule.due import BEGINNING, FOREVER, Due, Run, Stretch, Timetable, parts

SMALL = st.integers(-60, 60)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    step = draw(st.integers(1, 17))
    offsets = draw(st.sets(st.integers(0, step - 1), min_size=1, max_size=4))
    return Run(str(draw(st.integers(1, 30))), step, tuple(sorted(offsets)), draw(st.integers(0, 3)))


@st.composite
def timetables(draw: st.DrawFn) -> Timetable:
    ends = [*sorted(draw(st.sets(SMALL, max_size=2))), FOREVER]
    several = [tuple(draw(st.lists(runs(), min_size=1, max_size=3))) for _ in ends]
    return Timetable(tuple(Stretch(end, some, 1) for end, some in zip(ends, several)))


def on(run: Run, t: int) -> bool:
    return t % run.step in run.offsets


def enumerate_due(table: Timetable, least: int | None, after: int, through: int) -> list[tuple[int, str, int]]:
    """(instant, label of what runs, number) by looking at every instant."""
    found = []
    for t in range(-130, 130):
        if least is None or t < least or not after < t <= through:
            continue
        stretch = next(s for s in table.stretches if t <= s.until)
        ran = [run for run in stretch.runs if on(run, t)]
        if ran:
            found.append((t, ran[0].label, t // (ran[0].unit or ran[0].step)))
    return found


def listed(due: Due) -> list[tuple[int, str, int]]:
    one = due.listed()
    labels = [one.runs[i].label for i in one.ran.tolist()]
    return list(zip(one.instants.tolist(), labels, one.number.tolist()))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(timetables(), st.one_of(st.none(), SMALL), SMALL, SMALL)
def test_due_is_every_instant_of_the_timetable(table: Timetable, least: int | None, after: int, through: int) -> None:
    due = table.due(least, after, through)
    expected = enumerate_due(table, least, after, through)
    assert listed(due) == expected
    assert due.most >= len(expected)
    assert bool(due.most) == bool(expected)
    if expected:
        assert due.first == expected[0][0]
        assert due.last >= expected[-1][0]


@settings(derandomize=True, deadline=None)
@given(timetables(), SMALL, SMALL, SMALL, SMALL, SMALL)
def test_a_part_is_what_lies_inside(t: Timetable, least: int, after: int, through: int, a: int, b: int) -> None:
    whole = t.due(least, after, through)
    assert listed(whole.part(a, b)) == [one for one in listed(whole) if a < one[0] <= b]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(timetables(), SMALL, SMALL, SMALL), max_size=4), st.integers(1, 20))
def test_parts_cover_every_instant_once_oldest_first(
    specs: list[tuple[Timetable, int, int, int]], most: int
) -> None:
    dues = [table.due(*bounds) for table, *bounds in specs]
    cuts = list(parts(dues, most))
    assert all(a < b for a, b in cuts)
    assert all(before[1] == after[0] for before, after in pairwise(cuts))
    for one in dues:
        gathered = [t for a, b in cuts for t in one.part(a, b).instants().tolist()]
        assert gathered == one.instants().tolist()
    for a, b in cuts:
        # One instant may have many queries: it is never torn.
        assert sum(one.part(a, b).instants().size for one in dues) <= most or b == a + 1


@settings(derandomize=True, deadline=None)
@given(runs(), SMALL, SMALL)
def test_a_run_counts_and_steps(run: Run, after: int, through: int) -> None:
    expected = [t for t in range(after + 1, through + 1) if on(run, t)]
    assert run.instants(after, through).tolist() == expected
    assert run.count(after, through) == len(expected)
    assert run.following(after) == next(t for t in range(after + 1, after + 40) if on(run, t))


def multiples(step: int, least: int | None, after: int, through: int) -> list[int]:
    instants: list[int] = Timetable.multiples(step).due(least, after, through).instants().tolist()
    return instants


def test_nothing_is_due_before_the_first_row() -> None:
    assert multiples(10, None, BEGINNING, 10**18) == []


def test_the_boundaries_are_exact() -> None:
    assert multiples(10, 20, BEGINNING, 19) == []
    assert multiples(10, 20, BEGINNING, 20) == [20]
    assert multiples(10, 21, BEGINNING, 30) == [30]
    assert multiples(10, 0, 20, 30) == [30]


def test_no_instant_is_lost_over_centuries() -> None:
    day = 86_400 * 10**6
    table = Timetable.multiples(day)
    assert table.due(0, -1, 200_000 * day).instants()[-1] == 200_000 * day
