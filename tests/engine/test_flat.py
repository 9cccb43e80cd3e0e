"""A month of life: the state on disk and the cells in memory stay as small as they were in the second week.

Time is simulated. Syncing to the disk is switched off, for this is about what is kept, not about when it is safe; and a
segment of the answer log, which is forgotten whole, is a few kilobytes, so that the month fills many.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from punctual.clock import ManualClock, iso
from punctual.engine.engine import Engine
from punctual.store.records import RecordLog
from tests.inprocess.backend import InProcess

PROGRAM = """
CREATE STREAM gps (t TIMESTAMP EVENT TIME WATERMARK 5 MINUTES, truck STRING, kmh DOUBLE) FROM FEED;
CREATE QUERY hourly AS
SELECT truck, count(*) AS n, avg(kmh) AS mean FROM gps [RANGE 3 HOURS SLIDE 1 HOUR] GROUP BY truck;
CREATE QUERY daily AS SELECT max(kmh) AS top, count(DISTINCT truck) AS trucks FROM gps [RANGE 1 DAY] PERIOD 6 HOURS;
"""
DAY_US = 86_400_000_000
MONTH_US = 30 * DAY_US
SEGMENT_BYTES = 16 * 1024
SAMPLE_TICKS = 5


@dataclass(frozen=True, slots=True)
class Size:
    """What the program holds after a tick."""

    files: int
    bytes: int
    cells: int


def _size(engine: Engine, state: Path) -> Size:
    found = [os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(state) for name in names]
    return Size(len(found), sum(found), engine._opened().core.held.holders.cells)


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(os, "fdatasync", lambda handle: None)
    defaults = RecordLog.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "segment_bytes", SEGMENT_BYTES)


@pytest.mark.parametrize("ticks", [260, pytest.param(2_000, marks=pytest.mark.long)])
def test_a_month_is_flat(tmp_path: Path, light: None, ticks: int) -> None:
    random = np.random.default_rng(5)
    clock = ManualClock(1_000 * DAY_US)
    state, step_us = tmp_path / "state", MONTH_US // ticks
    engine = Engine(str(state), str(tmp_path / "out"), clock=clock, backend=InProcess, live=False)
    engine.sql(PROGRAM)
    engine.open()
    sizes: list[Size] = []
    try:
        for tick in range(ticks):
            clock.sleep(step_us)
            ages, trucks = random.integers(0, step_us, 5), random.integers(0, 4, 5)
            rows = [(iso(clock.now() - int(age)), f"T{truck}", float(age % 97)) for age, truck in zip(ages, trucks)]
            engine.feed("gps", rows)
            engine.tick()
            if tick % SAMPLE_TICKS == 0:
                sizes.append(_size(engine, state))
    finally:
        engine.close()
    quarter = len(sizes) // 4
    second, last = sizes[quarter : 2 * quarter], sizes[-quarter:]
    for what in ("files", "bytes", "cells"):
        before = max(getattr(size, what) for size in second)
        after = max(getattr(size, what) for size in last)
        assert after <= before * 1.1 + 2, f"{what} grew from {before} to {after}"
    answers = (tmp_path / "out" / "hourly.jsonl").read_bytes().count(b"\n")
    assert abs(answers - 30 * 24) <= 1 + step_us // (DAY_US // 24)
