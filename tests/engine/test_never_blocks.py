"""Nobody waits for a job: a backend whose jobs end when the test lets them, and an engine that goes on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.clock import SECOND, SystemClock, iso
from punctual.engine.engine import Engine
from punctual.runtime.backend import Question, Tick
from tests.inprocess.backend import InProcess

PATIENCE_S = 60
"""Longer than anything takes here; what does not come by then never does."""
PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME, x INT) FROM FEED;
CREATE QUERY q AS SELECT sum(x) + 1 AS total FROM s [RANGE 5 SECONDS] PERIOD 1 SECOND;
"""


class Held(InProcess):
    """Jobs begin, and go on when they are let; so do evaluations."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.evaluating = threading.Semaphore(0), threading.Semaphore(0)
        self.read, self.evaluate_on = threading.Event(), threading.Event()
        self.read.set()
        self.evaluate_on.set()

    def tick(self, tick: Tick) -> pa.Table:
        self.reading.release()
        assert self.read.wait(PATIENCE_S)
        return super().tick(tick)

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        self.evaluating.release()
        assert self.evaluate_on.wait(PATIENCE_S)
        return super().evaluate(questions)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Engine, Held]]:
    backend = Held()
    engine = Engine(str(tmp_path / "state"), backend=lambda: backend, options={"tick": "20 ms", "idle": "1 hour"})
    engine.sql(PROGRAM)
    engine.open()
    yield engine, backend
    backend.read.set()
    backend.evaluate_on.set()
    engine.close()


BEGIN = SystemClock().now() // SECOND * SECOND - 100 * SECOND
"""Once for all: a second may pass between two calls."""


def feed(engine: Engine, *seconds: int) -> None:
    engine.feed("s", [(iso(BEGIN + second * SECOND), 1) for second in seconds])


def test_calls_are_answered_while_a_job_runs(held: tuple[Engine, Held]) -> None:
    engine, backend = held
    backend.read.clear()
    engine.start()
    feed(engine, 0, 3)
    assert backend.reading.acquire(timeout=PATIENCE_S)
    # The job runs until the test ends it: whatever returns before that did not wait for it.
    engine.sql("CREATE QUERY more AS SELECT count(*) AS n FROM s [RANGE 5 SECONDS] PERIOD 1 SECOND")
    assert set(engine.catalog.queries) == {"q", "more"}
    assert engine.status()["running"]
    assert engine.stopped() == frozenset()
    assert list(engine.records()) == []
    engine.stop()
    assert not backend.read.is_set()


def test_a_stop_in_the_middle_of_a_job_loses_nothing(held: tuple[Engine, Held], tmp_path: Path) -> None:
    engine, backend = held
    backend.read.clear()
    engine.start()
    feed(engine, 0, 3)
    assert backend.reading.acquire(timeout=PATIENCE_S)
    engine.stop()
    again = Engine(str(tmp_path / "state"), backend=InProcess, live=False)
    again.sql(PROGRAM)
    with again:
        again.open()
        assert again.tick() is not None
        again.end()
        assert again.answers("q")["total"].tolist() == [2, 2, 2, 3]


def test_a_query_that_came_during_a_job_runs_from_the_next_batch_on(held: tuple[Engine, Held]) -> None:
    engine, backend = held
    backend.read.clear()
    engine.start()
    feed(engine, 0, 3)
    assert backend.reading.acquire(timeout=PATIENCE_S)
    engine.sql("CREATE QUERY more AS SELECT count(*) AS n FROM s [RANGE 5 SECONDS] PERIOD 1 SECOND")
    backend.read.set()
    answered = threading.Event()
    while len(engine.answers("q")) < 3:
        answered.wait(0.01)
    feed(engine, 4, 6)
    while not len(engine.answers("more")):
        answered.wait(0.01)
    first = engine.answers("more")["at"].min()
    assert first > engine.answers("q")["at"].iloc[2]  # after what was complete when it began to run
    engine.stop()


def test_the_next_batch_is_read_while_the_last_one_is_answered(held: tuple[Engine, Held]) -> None:
    engine, backend = held
    backend.evaluate_on.clear()
    engine.start()
    feed(engine, 0, 3)
    assert backend.evaluating.acquire(timeout=PATIENCE_S)
    assert backend.reading.acquire(timeout=PATIENCE_S)
    feed(engine, 4, 6)
    assert backend.reading.acquire(timeout=PATIENCE_S)  # though nothing of the first batch is answered
    assert list(engine.records()) == []
    backend.evaluate_on.set()
    while len(engine.answers("q")) < 6:
        threading.Event().wait(0.01)
    assert engine.answers("q")["total"].tolist() == [2, 2, 2, 3, 4, 3]
    engine.stop()


def test_what_ends_the_loop_reaches_who_calls(held: tuple[Engine, Held], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, backend = held

    def breaks(_tick: Tick) -> pa.Table:
        raise KeyboardInterrupt("the end")

    monkeypatch.setattr(backend, "tick", breaks)
    engine.start()
    feed(engine, 0, 3)
    with pytest.raises(KeyboardInterrupt, match="the end"):
        engine.wait(PATIENCE_S)
    with pytest.raises(KeyboardInterrupt, match="the end"):
        engine.sql("CREATE QUERY more AS SELECT count(*) AS n FROM s [RANGE 5 SECONDS] PERIOD 1 SECOND")
    with pytest.raises(KeyboardInterrupt, match="the end"):
        engine.stop()
