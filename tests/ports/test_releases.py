"""When instants are released: the arithmetic against a walk through parts and rows, one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.ports.feeds.rate import RateFeed
from punctual.ports.feeds.releases import BEFORE, NOT_YET, Completed, PartArrivals
from punctual.ports.feeds.slices import RateSlice

SMALL = st.integers(-40, 40)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(
    parts=st.lists(st.tuples(SMALL, st.none() | SMALL), min_size=1, max_size=6),
    instants=st.lists(SMALL, min_size=1, max_size=12), before=st.none() | SMALL, watermark=st.integers(0, 9),
)  # fmt: skip
def test_an_instant_is_released_by_the_first_part_that_completes_it(
    parts: list[tuple[int, int | None]], instants: list[int], before: int | None, watermark: int
) -> None:
    through = -1_000 if before is None else before - watermark - 1
    expected = []
    for instant in instants:
        greatest = before
        release = BEFORE if instant <= through else NOT_YET
        for arrival, top in parts:
            if top is not None:
                greatest = top if greatest is None else max(greatest, top)
            if release == NOT_YET and greatest is not None and greatest - watermark - 1 >= instant:
                release = arrival
        expected.append(release)
    names = tuple(f"part {number}" for number in range(len(parts)))
    arrivals = PartArrivals(names, tuple(arrival for arrival, _top in parts))
    tops = {name: top for name, (_arrival, top) in zip(names, parts) if top is not None}
    # Where all parts arrived together the job does not say more than the greatest event time of all.
    batch = Completed(through, watermark, max(tops.values(), default=None), tops if arrivals.differ else {})
    assert arrivals.releases(np.array(instants), batch).tolist() == expected


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    rows=st.integers(1, 7), per=st.integers(1, 30), origin=SMALL, begun=st.integers(0, 30), count=st.integers(1, 40),
    instants=st.lists(st.integers(-60, 150), min_size=1, max_size=12), watermark=st.integers(0, 9), started=SMALL,
)  # fmt: skip
def test_a_generated_row_arrives_when_it_happens(
    rows: int, per: int, origin: int, begun: int, count: int, instants: list[int], watermark: int, started: int
) -> None:
    feed = RateFeed(rows, per, live=True)
    feed.look(started)
    times = [feed.time_of(row, origin) for row in range(begun, begun + count)]
    through = feed.time_of(begun - 1, origin) - watermark - 1 if begun else -1_000
    expected = []
    for instant in instants:
        first = next((time for time in times if time - watermark - 1 >= instant), None)
        release = NOT_YET if first is None else max(first, started)
        expected.append(BEFORE if instant <= through else release)
    arrivals = feed.arrivals(RateSlice(begun, begun + count, origin))
    assert not arrivals.differ
    batch = Completed(through, watermark, times[-1], {})
    assert arrivals.releases(np.array(instants), batch).tolist() == expected


def test_generated_rows_of_any_rate_stay_within_64_bits() -> None:
    feed = RateFeed(10**9, 10**9, live=True)
    now = 1_700_000_000 * 10**6
    feed.look(now)
    instants = np.array([now + 400 * 86_400 * 10**6])
    batch = Completed(now, 5, int(instants[0]) + 10, {})
    assert feed.arrivals(RateSlice(0, 1, now)).releases(instants, batch).tolist() == [int(instants[0]) + 6]


def test_generated_rows_with_other_event_times_arrive_with_their_slice() -> None:
    feed = RateFeed(1, 10, live=True, timed=False)
    feed.look(5)
    assert feed.arrivals(RateSlice(0, 4, 0)) == PartArrivals(("generated rows",), (30,))
    assert feed.arrivals(RateSlice(0, 1, 0)) == PartArrivals(("generated rows",), (5,))
    once = RateFeed(1, 10, 9, live=False)
    once.look(7)
    assert once.arrivals(RateSlice(0, 4, 0)) == PartArrivals(("generated rows",), (7,))
