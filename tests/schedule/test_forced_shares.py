"""Shares that somebody asked for (``SET keep``) and those that were decided before: what such firings then cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from punctual.clock import SECOND
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.quality_curve import LINEAR, table
from punctual.schedule.events import Answer
from punctual.schedule.levels import Decision
from punctual.schedule.state import Rules
from tests.schedule.loaded import sampled
from tests.schedule.script import Script, instants

CONTRACTS = [sampled("soon", 1, LINEAR, 0.5), sampled("later", 1, LINEAR, 0.9)]
COSTS = {"soon": ExecutionCost(0, 1e6), "later": ExecutionCost(0, 1e6)}


def chosen(keep: float | None, decisions: tuple[Decision, ...] = ()) -> Answer:
    """The first pass of two queries that take a second each of everything, and have half a second."""
    one = Script(Rules("stepped", timed=True, qos="best-effort", keep=keep), *CONTRACTS)
    one.state = replace(one.state, cost=PassCost(1.0, 0.0, 0.0, 0.0, 0.0), decisions=decisions)
    one.committed(0, 1)
    answer = one.applied(0, COSTS)[-1]
    assert isinstance(answer, Answer)
    return answer


def test_a_pass_costs_what_its_shares_need() -> None:
    whole, tenth = chosen(None), chosen(0.1)
    assert instants(whole) == {"soon": [1]}, "both together would be late"
    assert instants(tenth) == {"soon": [1], "later": [1]}
    assert tenth.current_pass.rows_us == pytest.approx(0.2 * whole.current_pass.rows_us)


def test_nobody_costs_less_than_the_least_that_it_accepts() -> None:
    floor = sampled("floor", 1, table([(1.0, 1.0), (0.4, 0.5)]))
    one = Script(Rules("stepped", timed=True, keep=0.1), floor)
    one.committed(0, 1)
    one.applied(0, {"floor": ExecutionCost(0, 1e6)})
    assert one.state.current_pass is not None
    everything = chosen(None).current_pass.rows_us
    assert one.state.current_pass.rows_us == pytest.approx(0.4 * everything)


def test_what_was_decided_before_costs_what_its_share_needs() -> None:
    decided = tuple(Decision(0, name, SECOND, SECOND, 0.1, 0.1) for name in COSTS)
    found = chosen(None, decided)
    assert instants(found) == {"soon": [1], "later": [1]}
    assert found.current_pass.rows_us == pytest.approx(0.2 * chosen(None).current_pass.rows_us)
