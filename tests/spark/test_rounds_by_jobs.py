"""Spark's way over worlds, live: jobs draw for answers until they are due, and are ended once nobody wants them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.clock import SystemClock
from punctual.engine.engine import Engine
from tests.engine.test_rounds_ahead import OPTIONS, STREAM, live, rows, written
from tests.engine.test_rounds_by_jobs import CHANCE, SPREADS, check_same_as_replayed
from tests.spark.backends import Shared

pytestmark = pytest.mark.spark


def test_live_answers_have_the_bytes_of_a_replay(spark: SparkSession, tmp_path: Path) -> None:
    program = (
        f"CREATE QUERY q AS {SPREADS} PERIOD 10 SECONDS ANSWERS WITHIN 20 SECONDS, 25 SECONDS ROUNDS 20;"
        f"CREATE QUERY p AS {CHANCE} PERIOD 10 SECONDS ANSWERS WITHIN 22 SECONDS CONFIDENCE 95% WITHIN 0.05;"
    )
    live(tmp_path, program, 3, SystemClock(), Shared, tick="100 ms", max_answer_rows="20000")
    counts = [one["rounds"] for one in written(tmp_path, "q")]
    assert len(counts) == 2
    assert 1 <= counts[0] <= counts[1]
    check_same_as_replayed(tmp_path, "q", SPREADS, Shared)
    check_same_as_replayed(tmp_path, "p", CHANCE, Shared)


SLOW = (
    "SELECT EXPECTED(count(*)) AS y FROM s [RANGE 10 SECONDS] AS a, s [RANGE 10 SECONDS] AS b, s [RANGE 10 SECONDS] AS"
    " c, s [RANGE 10 SECONDS] AS d, s [RANGE 10 SECONDS] AS e, s [RANGE 10 SECONDS] AS f"
    " WHERE a.x + b.x + c.x + d.x + e.x * f.x > 20"
)
"""Thirty rows to the power of six in every world."""


def test_a_cancelled_job_is_ended(spark: SparkSession, tmp_path: Path) -> None:
    tracker = spark.sparkContext.statusTracker()
    program = f"CREATE QUERY q AS {SLOW} PERIOD 10 SECONDS ANSWERS WITHIN 30 MINUTES ROUNDS 20;"
    engine = Engine(str(tmp_path / "state"), backend=Shared, options={**OPTIONS, "tick": "100 ms"})
    engine.sql(STREAM + program)
    engine.open()
    engine.feed("s", rows())
    running = threading.Thread(target=engine.run)
    running.start()
    try:
        # A batch is read by a job, too: one that is there for two seconds is a joblet's.
        seen: dict[int, int] = {}
        until = time.monotonic() + 120
        while max(seen.values(), default=0) < 20 and time.monotonic() < until:
            seen = {job: seen.get(job, 0) + 1 for job in tracker.getActiveJobsIds()}
            time.sleep(0.1)
        assert seen, "a job is under way"
        assert engine.cancel("q") == 1
    finally:
        engine.request_stop()
        running.join(60)
    assert not running.is_alive(), "nobody waits for a job that takes an hour"
    until = time.monotonic() + 30
    while tracker.getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.1)
    assert not tracker.getActiveJobsIds()
    engine.close()
