"""Generated rows: the plan against a count by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.ports.feeds.rate import RateFeed
from punctual.ports.feeds.slices import RateSlice
from punctual.scan.open_part import open_part, origin_of


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    rows=st.integers(1, 50), per=st.integers(1, 200), limit=st.none() | st.integers(0, 300),
    origin=st.integers(-100, 100), passed=st.integers(-20, 300), done=st.integers(0, 40),
)  # fmt: skip
def test_live_rows_are_those_that_have_happened(
    rows: int, per: int, limit: int | None, origin: int, passed: int, done: int
) -> None:
    feed = RateFeed(rows, per, limit, live=True, batch_rows=25)
    feed.taken(RateSlice(0, done, origin))
    now = origin + passed
    happened = 0
    while (limit is None or happened < limit) and feed.time_of(happened, origin) <= now:
        happened += 1
    assert feed.look(now).rows == max(0, happened - done)
    end = min(happened, done + 25)
    assert feed.plan() == (RateSlice(done, end, origin) if end > done else None)


def test_live_rows_begin_with_the_first_look() -> None:
    feed = RateFeed(1, 1_000_000, live=True)
    assert feed.look(5_700_000).rows == 1
    assert feed.plan() == RateSlice(0, 1, 5_000_000)
    assert feed.look(7_000_000).oldest == 5_700_000, "nothing arrives before the start"


def test_once_goes_to_the_limit_in_batches() -> None:
    feed = RateFeed(1_000, 1_000_000, 2_500_000, live=False)
    feed.look(9)
    ends = []
    while (planned := feed.plan()) is not None:
        feed.taken(planned)
        ends.append(planned.end)
    assert ends == [1_000_000, 2_000_000, 2_500_000]
    assert feed.everything_taken() == RateSlice(0, 2_500_000, 0)


@pytest.mark.parametrize("rows", [1, 3, 7, 1000])
def test_rate_rows_are_where_they_say(rows: int) -> None:
    feed = RateFeed(rows, 1_000_000, limit=700_000, live=True)
    origin = 1_335_000_000_000_000
    planned = RateSlice(990, 600_010, origin)
    parts = feed.parts(planned)
    assert len(parts) > 1
    found = []
    for part, _size in parts:
        for block in open_part(part, feed.reading, frozenset(("ts", "value"))):
            assert block.faults is None
            times = block.column("ts").cast(pa.int64()).to_pylist()
            found += zip(times, block.column("value").to_pylist())
        assert origin_of(part) == "rate"
    assert found == [(feed.time_of(i, origin), i) for i in range(planned.start, planned.end)]
