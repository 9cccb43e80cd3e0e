"""Core time of jobs on Spark: what tasks report by either way, and the JVM's part, against what processes used."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from punctual.clock import SECOND, iso
from punctual.engine.engine import Engine

pytestmark = pytest.mark.spark

START = 1_700_000_000 * SECOND
PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x INT) FROM FEED;
CREATE QUERY plain AS SELECT k, avg(x) AS m FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 2 SECONDS;
CREATE QUERY projected AS SELECT k, sum(length(k) * x) AS m FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 2 SECONDS;
CREATE QUERY pairs AS SELECT a.k, count(*) AS n
FROM s [RANGE 2 SECONDS] AS a JOIN s [RANGE 10 SECONDS] AS b ON a.k = b.k AND a.x = b.x GROUP BY a.k PERIOD 2 SECONDS;
"""


def processes() -> float:
    """Core seconds of this process and of all below it."""
    mine = psutil.Process()
    used = 0.0
    for process in [mine, *mine.children(recursive=True)]:
        times = process.cpu_times()
        used += times.user + times.system
    return used


def test_jobs_report_what_they_used(tmp_path: Path) -> None:
    with Engine(str(tmp_path), live=False) as engine:
        engine.sql(PROGRAM)
        engine.open()
        before, recorded = 0.0, 0
        for second in range(14):
            rows = [(iso(START + second * SECOND + i), "abc"[i % 3], i) for i in range(1_000)]
            engine.feed("s", rows)
            engine.tick()
            if second == 3:  # every job has run once
                before, recorded = processes(), len(engine.ledger())
        used = processes() - before
        ledger = engine.ledger().iloc[recorded:]
        backend = engine._backend
        # Stages whose rows Spark projects, and those that read windows, report by accumulators.
        assert backend._jobs.stages.told.value > 0
        assert backend._row_plans._reading.told.value > 0
    assert (ledger["used_ms"] > 0).all()
    told = ledger["used_ms"].sum() / 1000
    assert 0.3 * used < told <= 1.05 * used, "clocks of processes count in hundredths of a second"
