"""The job says the greatest event time of each part of a slice, where parts arrived at different times, only there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.ports.feeds.releases import NOT_YET, Completed
from punctual.runtime.backend import Tick
from punctual.store.products import Facts, outputs
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
PROGRAM = """
CREATE STREAM fed (t TIMESTAMP EVENT TIME WATERMARK 1 SECOND, x DOUBLE) FROM FEED;
CREATE TABLE names (x DOUBLE, name STRING) FROM FILES 'names.csv' FORMAT CSV;
CREATE QUERY q AS SELECT count(*) AS n FROM fed [RANGE 10 SECONDS] PERIOD 1 SECOND;
CREATE QUERY twice AS SELECT count(*) AS n FROM fed [RANGE 10 SECONDS], names WHERE fed.x = names.x PERIOD 1 SECOND;
"""


class Watched(InProcess):
    """Keeps what the last tick was asked and what it said."""

    ticks: list[tuple[Tick, Facts]]

    def __init__(self) -> None:
        super().__init__(partitions=3)
        self.ticks = []

    def tick(self, tick: Tick) -> pa.Table:
        output = super().tick(tick)
        facts = Facts("fed")
        for produced in outputs(output):
            if isinstance(produced.product, Facts):
                facts = facts.plus(produced.product)
        self.ticks.append((tick, facts))
        return output


def test_tops_are_told_where_arrivals_differ(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("x,name\n1,a\n1,b\n")
    clock = ManualClock(START)
    backend = Watched()

    def feed(second: int, *times: float) -> None:
        clock.at = START + second * SECOND
        engine.feed("fed", [(iso(START + int(time * SECOND)), 1.0) for time in times])

    with Engine(base=str(tmp_path), clock=clock, backend=lambda: backend) as engine:
        engine.sql(PROGRAM)
        engine.open()
        feed(1, 0.5, 3)
        feed(1, 2)
        engine.tick()
        tick, facts = backend.ticks[-1]
        assert (tick.work[0].tops, facts.tops, facts.greatest) == (False, {}, START + 3 * SECOND)
        before = facts.greatest - SECOND - 1
        feed(4, 7, 5)
        feed(6, 6, 0.1)
        feed(8, 9)
        engine.tick()
        (work,), facts = backend.ticks[-1][0].work, backend.ticks[-1][1]
        assert work.tops
        tops = {os.path.basename(path): (top - START) // SECOND for path, top in facts.tops.items()}
        assert tops == {"000000000002.json": 7, "000000000003.json": 6, "000000000004.json": 9}
        assert (facts.accepted, facts.late) == (4, 1)
        arrivals = work.feed.arrivals(work.slice)
        instants = START + np.arange(4, 10) * SECOND
        released = arrivals.releases(instants, Completed(before, SECOND, facts.greatest, facts.tops))
        # Complete below 6 s with the file that was fed in second 4, below 8 s with the one of second 8.
        late = [(at - START) // SECOND if at != NOT_YET else None for at in released.tolist()]
        assert late == [4, 4, 8, 8, None, None]


def test_tops_of_partitions_are_the_greatest_in_any_order() -> None:
    one, other = Facts("s", tops={"a": 3, "b": 9}), Facts("s", tops={"a": 5, "c": 1})
    for first, second in ((one, other), (other, one)):
        assert Facts("s").plus(first).plus(second).tops == {"a": 5, "b": 9, "c": 1}
