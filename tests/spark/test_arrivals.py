"""The greatest event time of each file, as the job on Spark tells it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.runtime.backend import Tick
from punctual.runtime.spark import SparkBackend
from punctual.store.products import Facts, outputs

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

START = 1_700_000_000 * SECOND


class Watched(SparkBackend):
    """Keeps what ticks said."""

    told: Facts

    def tick(self, tick: Tick) -> pa.Table:
        output = super().tick(tick)
        self.told = Facts("s")
        for produced in outputs(output):
            if isinstance(produced.product, Facts):
                self.told = self.told.plus(produced.product)
        return output


def test_tops_are_told_by_the_paths_that_feeds_know(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    clock = ManualClock(START)
    backend = Watched()
    names = ["plain", "a b+%20", "日本"]
    with Engine(base=str(tmp_path), clock=clock, backend=lambda: backend) as engine:
        engine.sql("""
            CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 1 DAY, x INT) FROM FILES 's' FORMAT JSON;
            CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS] PERIOD 1 SECOND;
        """)
        engine.open()
        for number, name in enumerate(names):
            rows = [{"t": iso(START + number * SECOND), "x": 1}, {"t": iso(START + 9 * SECOND), "x": "bad"}]
            (tmp_path / "s" / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
            clock.at += SECOND
            engine._opened().core.sources.look(clock.at)
        engine.tick()
        assert backend.told.tops == {str(tmp_path / "s" / name): START + n * SECOND for n, name in enumerate(names)}
        (tmp_path / "s" / "last").write_text(json.dumps({"t": iso(START), "x": 1}))
        engine.tick()
        assert (backend.told.tops, backend.told.accepted) == ({}, 1)
