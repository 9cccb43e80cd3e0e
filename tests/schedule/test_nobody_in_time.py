"""The worst overload: none of those that give way can be on time, and what is then said of the level."""

from __future__ import annotations

from punctual.clock import SECOND
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import LINEAR
from punctual.schedule.contract import Contract
from punctual.schedule.events import BatchApplied, Say
from punctual.schedule.qos.notices import DUE, GivingWay
from punctual.schedule.state import Rules
from punctual.schedule.step import step
from tests.schedule.loaded import sampled
from tests.schedule.script import NONE, Script

COSTS = {"lost": ExecutionCost(5e6, 1e6), "well": ExecutionCost(0, 1_000), "exact": ExecutionCost(1_000)}


def said(*contracts: Contract) -> tuple[float | None, list[Say]]:
    """The level of a pass, and what is said of it."""
    one = Script(Rules("stepped", timed=True, qos="dynamic-sampling"), *contracts)
    one.committed(0, 1)
    one.state, commands = step(one.state, BatchApplied(one.now(), 0, NONE, executions=COSTS))
    return one.state.level, [command for command in commands if isinstance(command, Say)]


def test_the_level_is_nothing() -> None:
    level, (say,) = said(sampled("lost", 1, LINEAR))
    assert level == 0.0
    assert say.notice.level == 0.0
    assert say.notice.text.startswith("late answers give way, to the least that they accept: ")
    assert said(sampled("lost", 1, LINEAR), sampled("exact", 1, None))[0] == 0.0


def test_those_that_can_be_on_time_keep_theirs() -> None:
    """The late one alone gives way, and is answered after the other."""
    level, says = said(sampled("lost", 1, LINEAR, 0.5), sampled("well", 1, LINEAR))
    assert level == 1.0
    assert not says


def test_late_ones_count_in_how_far_answers_gave_way() -> None:
    state, begins = GivingWay().after(0, 1.0, "", DUE, gave_way=True)
    assert begins is not None
    assert (begins.text, begins.level) == ("late answers give way, to the least that they accept: ", 0.0)
    _state, ends = state.after(20 * SECOND, 1.0, "", DUE, gave_way=False)
    assert ends is not None
    assert ends.text == "all answers use everything again, after 0 s of down to 0.00"
