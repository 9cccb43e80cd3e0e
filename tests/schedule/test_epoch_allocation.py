"""Fair core time of anytime queries: against filling up on thousands of instances, and by what makes it the best."""

from __future__ import annotations

from itertools import pairwise
from math import inf, nan
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import PlanError
from punctual.schedule.epoch import AnytimeQuery, allocate, allocate_by_graph, first_to_run
from tests.oracles.water_filling import filled_up, time_alive

EXAMPLES = settings(derandomize=True, deadline=None, max_examples=150)
WHOLE = st.tuples(st.integers(0, 40), st.integers(1, 20), st.integers(1, 30)).map(
    lambda drawn: AnytimeQuery(drawn[0], drawn[0] + drawn[1], drawn[2])
)
BROKEN = st.tuples(st.floats(-5, 5), st.floats(0.01, 3), st.floats(0.001, 4)).map(
    lambda drawn: AnytimeQuery(drawn[0], drawn[0] + drawn[1], drawn[2])
)
MANY = st.lists(WHOLE, min_size=1, max_size=25) | st.lists(BROKEN, min_size=1, max_size=25)
CORES = st.sampled_from([1, 2, 3, 0.5, 16])


def drawn(random: Random) -> tuple[list[AnytimeQuery], float]:
    """A few queries: on a coarse grid lifetimes are equal or touch, on a fine one they do not."""
    grid = random.choice([3, 6, 12, None])
    queries = []
    for _query in range(random.randint(1, 7)):
        if grid is None:
            start, deadline = sorted([random.random(), random.random()])
        else:
            start, deadline = sorted(random.sample(range(grid + 1), 2))
        queries.append(AnytimeQuery(start, deadline, random.choice([0, 1, 2, 5, 3 * random.random()])))
    return queries, random.choice([1, 2, 3, 0.5])


def plain(queries: list[AnytimeQuery]) -> list[tuple[float, float, float]]:
    return [(query.start, query.deadline, query.essential) for query in queries]


@pytest.mark.parametrize("hundred", range(30))
def test_all_ways_equal_filling_up(hundred: int) -> None:
    shed = 0
    for seed in range(100 * hundred, 100 * hundred + 100):
        queries, cores = drawn(Random(seed))
        expected = pytest.approx(filled_up(plain(queries), cores).tolist(), rel=1e-7, abs=1e-12)
        assert allocate(queries, cores) == expected
        assert allocate_by_graph(queries, cores) == expected
        assert allocate_by_graph(queries, cores, filtering=False) == expected
        shed += any(time < query.essential for time, query in zip(allocate(queries, cores), queries))
    assert 30 < shed < 90, "some instances are overloaded and some are not"


@pytest.mark.parametrize("seed", range(20))
def test_the_graph_agrees_where_there_are_many(seed: int) -> None:
    random = Random(seed)
    starts = [random.uniform(0, 30) for _query in range(60)]
    queries = [AnytimeQuery(start, start + random.uniform(1, 6), random.uniform(0.1, 1.5)) for start in starts]
    expected = pytest.approx(allocate(queries, 2), rel=1e-9)
    assert allocate_by_graph(queries, 2) == expected
    assert allocate_by_graph(queries, 2, filtering=False) == expected


def run(queries: list[AnytimeQuery], left: list[float], cores: float) -> tuple[list[float], float]:
    """Let them run, the earliest deadline first, one on all cores: what each lacks, and how long cores were busy."""
    left, busy = list(left), 0.0
    moments = sorted({time for query in queries for time in (query.start, query.deadline)})
    for now, until in pairwise(moments):
        while until - now > 1e-12 * abs(until) and (place := first_to_run(queries, left, now)) is not None:
            assert queries[place].start <= now < queries[place].deadline
            took = min(left[place] / cores, until - now)
            left[place] = 0.0 if took * cores >= left[place] * (1 - 1e-12) else left[place] - took * cores
            now, busy = now + took, busy + took
    return left, busy


@given(MANY, CORES)
@EXAMPLES
def test_what_is_given_can_be_run_by_the_deadlines_and_no_core_is_idle(
    queries: list[AnytimeQuery], cores: float
) -> None:
    """DP1 and DP2, by really running it in the order that the plan is carried out in."""
    allocated = allocate(queries, cores)
    lack, busy = run(queries, allocated, cores)
    assert lack == pytest.approx([0.0] * len(queries), abs=1e-7)
    assert busy == pytest.approx(time_alive(plain(queries)), rel=1e-9)
    assert sum(allocated) == pytest.approx(cores * busy, rel=1e-9)


@given(MANY, CORES)
@EXAMPLES
def test_nobody_can_have_more_without_taking_it_from_who_has_no_more(queries: list[AnytimeQuery], cores: float) -> None:
    """DP3: those up to any ratio use all core time in which one of them is alive, so none of them can grow."""
    allocated = allocate(queries, cores)
    ratios = [time / query.essential for time, query in zip(allocated, queries)]
    for ratio in ratios:
        up_to = [place for place, other in enumerate(ratios) if other <= ratio * (1 + 1e-9)]
        most = cores * time_alive(plain([queries[place] for place in up_to]))
        assert sum(allocated[place] for place in up_to) == pytest.approx(most, rel=1e-7)


@given(MANY, st.randoms(use_true_random=False))
@EXAMPLES
def test_the_order_of_queries_does_not_matter(queries: list[AnytimeQuery], random: Random) -> None:
    order = list(range(len(queries)))
    random.shuffle(order)
    allocated = allocate(queries, 2)
    assert allocate([queries[place] for place in order], 2) == [allocated[place] for place in order]


def test_the_unit_does_not_matter() -> None:
    random = Random(3)
    now = 1_790_000_000_000_000
    spans = [(random.randrange(10**8), random.randrange(1, 10**7), random.randrange(1, 10**6)) for _ in range(200)]
    micros = [AnytimeQuery(now + start, now + start + length, needed) for start, length, needed in spans]
    eighths = [AnytimeQuery(start / 8, (start + length) / 8, needed / 8) for start, length, needed in spans]
    assert allocate(micros, 2) == pytest.approx([8 * time for time in allocate(eighths, 2)], rel=1e-14)
    assert allocate(micros, 2) == pytest.approx(allocate_by_graph(micros, 2), rel=1e-6)


def test_only_those_inside_an_overloaded_interval_lose_and_all_the_same_part() -> None:
    inside = [AnytimeQuery(10, 20, 16), AnytimeQuery(12, 18, 4), AnytimeQuery(10, 15, 20)]
    outside = [AnytimeQuery(0, 12, 5), AnytimeQuery(18, 40, 7), AnytimeQuery(0, 40, 3)]
    allocated = allocate(inside + outside, 2)
    assert allocated[:3] == pytest.approx([8, 2, 10])
    assert all(time > query.essential for time, query in zip(allocated[3:], outside))


def test_one_query_has_all_of_its_lifetime() -> None:
    for needed in (1e-9, 1, 1e9):
        assert allocate([AnytimeQuery(3, 7, needed)], 2) == [8.0]
        assert allocate_by_graph([AnytimeQuery(3, 7, needed)], 2) == [8.0]


@pytest.mark.parametrize("way", [allocate, allocate_by_graph])
def test_who_needs_nothing_gets_nothing(way: object) -> None:
    assert callable(way)
    assert way([], 2) == []
    assert way([AnytimeQuery(0, 1, 0)], 2) == [0.0]
    assert way([AnytimeQuery(0, 1, 0), AnytimeQuery(0, 2, 1)], 2) == [0.0, 4.0]


def test_equal_lifetimes_share_by_what_they_need_and_touching_ones_do_not() -> None:
    queries = [AnytimeQuery(0, 1, 1), AnytimeQuery(0, 1, 3), AnytimeQuery(1, 2, 1)]
    for way in (allocate, allocate_by_graph):
        assert way(queries, 1) == pytest.approx([0.25, 0.75, 1.0])


def test_thirds_and_tenths_need_no_tolerance() -> None:
    """What rounding makes of 0.1 + 0.2 is a lifetime like any other, also where it is next to none."""
    queries = [AnytimeQuery(0.1, 0.3, 1 / 3), AnytimeQuery(0.3, 0.1 + 0.2, 1 / 3), AnytimeQuery(0.1 + 0.2, 0.4, 1 / 3)]
    assert allocate(queries, 1) == pytest.approx([0.2, 0.1 + 0.2 - 0.3, 0.1], rel=1e-12)


def test_lengths_and_times_of_all_magnitudes() -> None:
    queries = [AnytimeQuery(-1.0, 1e17, 5e-324), AnytimeQuery(1e-20, 2e-20, 1e200), AnytimeQuery(3.0, 4.0, 1e-200)]
    first, second, third = allocate(queries, 3)
    assert second == pytest.approx(3e-20)
    assert (first, third) == pytest.approx((3e17, 3.0))
    # In floats the second lifetime is none.
    assert allocate_by_graph([AnytimeQuery(-1, 9, 1), AnytimeQuery(1e-20, 2e-20, 1)], 3) == pytest.approx([30.0, 0.0])


def test_many_different_ratios() -> None:
    """Each lifetime is inside the one before it, and loaded more: as many constraint intervals as queries."""
    queries = [AnytimeQuery(place, 600 - place, 1.1**place) for place in range(300)]
    allocated = allocate(queries, 1)
    ratios = [time / query.essential for time, query in zip(allocated, queries)]
    assert ratios == sorted(ratios, reverse=True)
    assert len({round(ratio, 12) for ratio in ratios}) > 100
    assert sum(allocated) == pytest.approx(600)
    assert run(queries, allocated, 1)[0] == pytest.approx([0.0] * 300, abs=1e-9)


@pytest.mark.parametrize(
    ("start", "deadline", "essential"),
    [(1, 1, 1), (2, 1, 1), (0, inf, 1), (-inf, 0, 1), (nan, 1, 1), (0, nan, 1), (0, 1, -1), (0, 1, nan), (0, 1, inf)],
)
def test_what_is_no_query(start: float, deadline: float, essential: float) -> None:
    with pytest.raises(PlanError) as raised:
        AnytimeQuery(start, deadline, essential)
    assert raised.value.code == "plan.bad-anytime-query"
    assert raised.value.hint


@pytest.mark.parametrize("cores", [0, -1, nan, inf])
def test_what_is_no_number_of_cores(cores: float) -> None:
    for way in (allocate, allocate_by_graph):
        with pytest.raises(PlanError) as raised:
            way([AnytimeQuery(0, 1, 1)], cores)
        assert raised.value.code == "plan.bad-cores"
