"""Jobs that were ended and run again with less: what is learned of the time of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from punctual.clock import SECOND
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import LINEAR
from punctual.estimate.rows_took import RowsTook
from punctual.estimate.spent import RowsSpent
from punctual.schedule.events import BatchRead, PassAnswered, ReadAsked
from punctual.schedule.state import Rules
from tests.schedule.loaded import sampled
from tests.schedule.script import Script

RERUN = RowsSpent(100_000.0, 100_000.0)


def seen() -> RowsTook:
    """Jobs of 50 ms, and as long as their core time says on all of two cores."""
    took = RowsTook()
    for work in (1e6, 8e6, 5e6, 3e6) * 5:
        took = took.after(RowsSpent(work, work), 50_000 + work / 2, 2.0)
    return took


def after(rows_us: float, spent: RowsSpent, passes: int = 1) -> tuple[RowsTook, float]:
    """What is known after passes that took ten milliseconds besides their jobs, and how long passes take besides."""
    one = Script(Rules("stepped", timed=True, qos="dynamic-sampling", cores=2.0), sampled("q", 1, LINEAR))
    one.state = replace(one.state, rows_took=seen())
    for batch in range(passes):
        one(ReadAsked(one.now()))
        one(BatchRead(one.now(), 0, 0))
        one.committed(batch, batch + 1)
        one.applied(batch, {"q": ExecutionCost(0, 100_000)})
        one.at += SECOND
        one(PassAnswered(one.now(), rows_us + 10_000.0, rows_us=rows_us, rows_spent=spent))
    return one.state.rows_took, one.state.cost.fixed_us


def test_what_is_run_again_is_known_by_its_own_time() -> None:
    alone, rest = after(100_000.0, RERUN)
    # Half a second that says nothing: more was expected of what was ended.
    ended, more = after(600_000.0, RERUN + RowsSpent(ended_us=500_000.0, ended_expected_us=1_000_000.0))
    assert ended == alone
    assert more == pytest.approx(rest), "nor is it time of what is answered from panes"


def test_a_job_that_was_ended_would_have_taken_no_less() -> None:
    """Two seconds were expected of each, and they are ended after six, again and again."""

    def job_us(one: RowsTook) -> float:
        return one.latency_us + one.pace * 2_000_000.0

    alone, _rest = after(100_000.0, RERUN, passes=12)
    ended, _rest = after(6_100_000.0, RERUN + RowsSpent(ended_us=6_000_000.0, ended_expected_us=4_000_000.0), 12)
    assert job_us(alone) == pytest.approx(2_100_000.0, rel=0.1)
    assert job_us(ended) > 4_000_000.0
