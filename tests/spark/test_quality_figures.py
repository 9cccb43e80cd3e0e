"""A few seconds of the figures of quality on the live engine: their shape, not how fast the machine is."""

from __future__ import annotations

import pytest
from benchmarks.engines import WarmBackend
from benchmarks.quality_point import Run, measure
from benchmarks.quality_workload import due, queries, steady

from punctual.clock import SECOND

pytestmark = pytest.mark.spark


@pytest.mark.usefixtures("spark")
def test_every_answer_of_a_point_is_judged() -> None:
    run = Run(factor=2.0, warm_s=1.0, measured_s=4.0, streams=2, patience_s=120.0)
    point = measure(WarmBackend(), run, steady(50))
    wanted = due(queries(2.0, streams=2), point.begin, point.begin + 4 * SECOND)
    assert [(one.query, one.at) for one in point.answers] == [(query.name, at) for query, at in wanted]
    assert len(wanted) == 4 + 4
    assert all(one.seconds is not None for one in point.answers), "every answer came, late or not"
    assert all(one.quality == 0.0 for one in point.answers if not one.on_time)
    assert all(0.0 < one.quality <= 1.0 for one in point.answers if one.on_time)
    assert {record["record"] for record in point.ledger} >= {"tick", "firing"}
    assert point.used_cores > 0
