"""Generated rows: the plan against a count by hand."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import FeedError
from punctual.ports.feeds.rate import RateFeed
from punctual.ports.feeds.slices import RateSlice, Slice


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    rows=st.integers(1, 50), per=st.integers(1, 200), limit=st.none() | st.integers(0, 300),
    origin=st.integers(-100, 100), passed=st.integers(-20, 300), done=st.integers(0, 40),
)  # fmt: skip
def test_live_rows_are_those_that_have_happened(
    rows: int, per: int, limit: int | None, origin: int, passed: int, done: int
) -> None:
    feed = RateFeed(rows, per, limit)
    now = origin + passed
    happened = 0
    while (limit is None or happened < limit) and feed.time_of(happened, origin) <= now:
        happened += 1
    planned = feed.plan(done, origin, now, max_rows=25)
    end = min(happened, done + 25)
    assert planned == (RateSlice(done, end, origin) if end > done else None)


def test_once_goes_to_the_limit_in_batches() -> None:
    feed = RateFeed(1_000, 1_000_000, 2_500_000)
    ends, done = [], 0
    while (planned := feed.plan(done, 0, None)) is not None:
        assert msgspec.json.decode(msgspec.json.encode(planned), type=Slice) == planned
        done = planned.end
        ends.append(done)
    assert ends == [1_000_000, 2_000_000, 2_500_000]


def test_once_without_a_limit_is_refused() -> None:
    with pytest.raises(FeedError) as failed:
        RateFeed(1, 1).plan(0, 0, None)
    assert failed.value.code == "feed.endless"
