"""The time that a pass gives to what it answers from rows, where some of it is late whatever is done."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from punctual.clock import SECOND, Micros
from punctual.schedule.cohorts import Cohort
from punctual.schedule.due import DueInstants, Run
from punctual.schedule.firings import FiringGroup
from punctual.schedule.levels import with_budgets
from punctual.schedule.passes import Candidate, Pass
from tests.schedule.loaded import sampled

NOW = 1_000 * SECOND
LATENCY_US = 50_000.0
LATE = NOW - 30 * SECOND


def candidate(query: str, rows_us: float, *deadlines: Micros) -> Candidate:
    size = len(deadlines)
    zeros = np.zeros(size, np.int64)
    due = DueInstants(np.arange(1, size + 1) * SECOND, zeros, zeros, (Run("1s", SECOND),))
    group = FiringGroup(Cohort((sampled(query, 1, None),), (0,)), 0, due, zeros)
    return Candidate(group, np.array(deadlines, np.int64), 0.0, 0.0, rows_us)


def budgets(*several: Candidate) -> dict[str, Micros | None]:
    planned = with_budgets(Pass(tuple(one.group for one in several)), several, NOW, LATENCY_US)
    return {group.cohort.queries[0]: group.budget_us for group in planned.groups}


def test_what_is_long_late_takes_no_time_from_those_that_can_be_in_time() -> None:
    soon, later = candidate("soon", 200_000.0, NOW + 2 * SECOND), candidate("later", 100_000.0, NOW + 4 * SECOND)
    alone = budgets(soon, later)
    assert alone == {"soon": 2 * SECOND, "later": pytest.approx(2.975 * SECOND, abs=2)}
    found = budgets(candidate("late", 300_000.0, LATE), soon, later)
    assert {name: found[name] for name in alone} == alone
    assert found["late"] == alone["later"], "as long as the others need"


def test_a_deadline_within_the_latency_is_lost_too() -> None:
    soon = candidate("soon", 200_000.0, NOW + 2 * SECOND)
    assert budgets(candidate("late", 1_000.0, NOW + 40_000), soon) == {"late": 2 * SECOND, "soon": 2 * SECOND}


def test_instants_that_are_late_leave_the_others_of_their_query_in_time() -> None:
    assert budgets(candidate("both", 100_000.0, LATE, NOW + 2 * SECOND)) == {"both": 2 * SECOND}


def test_where_all_are_late_nobody_has_more_than_a_pass_takes_anyway() -> None:
    found = budgets(candidate("a", 100_000.0, LATE), candidate("b", 100_000.0, LATE - SECOND))
    assert found == {"a": LATENCY_US, "b": LATENCY_US}


def test_what_is_answered_from_panes_has_no_budget() -> None:
    late = replace(candidate("late", 0.0, LATE), own=1.0)
    assert budgets(late, candidate("soon", 1.0, NOW + SECOND)) == {"late": None, "soon": SECOND}
