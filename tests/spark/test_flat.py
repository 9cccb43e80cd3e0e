"""Two hundred ticks on Spark: the state on disk and the cells in memory stay flat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.store.records import RecordLog

PROGRAM = """
CREATE STREAM gps (t TIMESTAMP EVENT TIME WATERMARK 5 SECONDS, truck STRING, kmh DOUBLE) FROM FEED;
CREATE QUERY mean AS
SELECT truck, avg(kmh) AS kmh, count(*) AS n FROM gps [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY truck;
CREATE QUERY top AS SELECT max(kmh) AS kmh FROM gps [RANGE 30 MINUTES] WHERE kmh > 20 PERIOD 5 MINUTES;
"""
TICKS = 200


def size_of(folder: Path) -> tuple[int, int]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)


@pytest.mark.long
@pytest.mark.spark
def test_two_hundred_ticks_are_flat(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The answer log is forgotten by whole segments: small ones, so that the run fills many.
    monkeypatch.setitem(RecordLog.__init__.__kwdefaults__, "segment_bytes", 16 * 1024)
    clock = ManualClock(10**15)
    engine = Engine(str(tmp_path / "state"), clock=clock, options={"keep_answers": "1 hour"})
    engine.sql(PROGRAM)
    engine.open()
    seen: list[tuple[int, int, int]] = []
    for _tick in range(TICKS):
        rows: list[dict[str, Any]] = [
            {"t": iso(clock.now() + i * SECOND), "truck": f"T{i % 7}", "kmh": float(i % 90)} for i in range(200)
        ]
        engine.feed("gps", rows)
        assert engine.tick() is not None
        clock.sleep(200 * SECOND)
        files, size = size_of(tmp_path / "state")
        seen.append((files, size, engine._opened().core.held.holders.cells))
    engine.close()
    # Between two compactions everything grows a little; the highest of a quarter does not grow with time.
    quarter = TICKS // 4
    for part in range(3):
        second = max(row[part] for row in seen[quarter : 2 * quarter])
        last = max(row[part] for row in seen[-quarter:])
        assert last <= 1.1 * second
