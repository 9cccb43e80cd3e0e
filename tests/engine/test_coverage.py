"""``complete`` is honest: a window that rests on rows which its query's cells never saw says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from punctual.clock import ManualClock
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess

NOW_US = 1_800_000_000_000_000
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, x DOUBLE) FROM FEED;"
Q = "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;"


class Story:
    """Five seconds of rows per batch, one per second; queries come and go between batches."""

    def __init__(self) -> None:
        self.engine = Engine(live=False, clock=ManualClock(NOW_US), backend=InProcess)
        self.engine.sql(STREAM)
        self.engine.open()
        self.batch = 0

    def feed(self, batches: int) -> None:
        for _ in range(batches):
            seconds = [5 * self.batch + i + 1 for i in range(5)]
            self.engine.feed("s", [{"t": f"2026-03-01T00:00:{s:02}Z", "x": float(s)} for s in seconds])
            self.engine.tick()
            self.batch += 1
        self.engine.end()

    def answers(self, query: str) -> dict[int, tuple[Any, bool]]:
        frame = self.engine.answers(query)
        column = frame.columns[2]
        return {at.second: (value, bool(c)) for at, value, c in zip(frame["at"], frame[column], frame["complete"])}


@pytest.fixture
def story() -> Iterator[Story]:
    story = Story()
    yield story
    story.engine.close()


def test_a_query_that_was_gone_for_a_while(story: Story) -> None:
    story.engine.sql(Q)
    story.feed(2)
    story.engine.sql("DROP QUERY q")
    story.feed(1)
    story.engine.sql(Q)
    story.feed(3)
    found = story.answers("q")
    assert found[5] == (5, True)
    assert found[10] == (10, True)
    # Seconds 11 to 15 passed without it.
    assert found[20] == (5, False)
    assert found[25] == (10, True)
    assert found[30] == (10, True)


def test_what_a_younger_query_brought_does_not_cover_what_was_before_it(story: Story) -> None:
    """The first query keeps counts alone; the second brings sums; the third wants sums too, for a longer window."""
    story.engine.sql("CREATE QUERY first AS SELECT count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS];")
    story.feed(2)
    story.engine.sql("CREATE QUERY second AS SELECT sum(x) AS total FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS];")
    story.feed(1)
    story.engine.sql("CREATE QUERY third AS SELECT sum(x) AS total FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS];")
    story.feed(4)
    assert all(complete for _n, complete in story.answers("first").values())
    assert [n for n, _complete in story.answers("first").values()] == [5, 10, 15, 20, 20, 20, 20]
    third = story.answers("third")
    assert {at: complete for at, (_total, complete) in third.items()} == {20: False, 25: False, 30: True, 35: True}
    assert third[30][0] == sum(range(11, 31))
    assert third[35][0] == sum(range(16, 36))


def test_a_query_like_one_that_stands_is_covered_as_that_is(story: Story) -> None:
    story.engine.sql(Q)
    story.feed(3)
    story.engine.sql(Q.replace("QUERY q", "QUERY same"))
    story.feed(1)
    assert story.answers("same") == {20: (10, True)}
