"""Decisions that are kept: those of firings that are still open, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from punctual.clock import SECOND
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import LINEAR
from punctual.schedule.cohorts import Contracts
from punctual.schedule.due import DueInstants, Run
from punctual.schedule.events import Answer, Apply, Command, Journal
from punctual.schedule.firings import FiringGroup, Firings, Release
from punctual.schedule.levels import Decision, still_open, with_decisions
from punctual.schedule.state import Rules
from punctual.schedule.step import MOST_BASES_BEHIND
from tests.schedule.loaded import sampled
from tests.schedule.script import Script, instants


def group(query: str, batch: int, *seconds: int) -> FiringGroup:
    cohort = Contracts([sampled(query, 1, LINEAR)]).cohorts[0]
    at = np.array(seconds, np.int64) * SECOND
    return FiringGroup(cohort, batch, DueInstants(at, 0 * at, 0 * at, (Run("1s", SECOND),)), at)


def release(query: str, batch: int, first: int, last: int) -> Release:
    contract = sampled(query, 1, LINEAR)
    due = contract.table.due(0, (first - 1) * SECOND, last * SECOND)
    return Release(batch, ((Contracts([contract]).cohorts[0], due),))


def decision(query: str, batch: int, first: int, last: int, setting: float = 0.5) -> Decision:
    return Decision(batch, query, first * SECOND, last * SECOND, setting, setting)


def test_only_what_is_open_is_kept() -> None:
    listed = (group("a", 1, 3, 4), group("b", 2, 5))
    firings, unapplied = Firings(listed, (release("c", 3, 6, 9),)), (release("a", 4, 10, 12),)
    kept = [
        decision("a", 1, 3, 3),
        decision("a", 1, 2, 8),
        decision("b", 2, 5, 5),
        decision("c", 3, 9, 20),
        decision("a", 4, 10, 10),
    ]
    gone = [
        decision("a", 1, 1, 2),  # other instants
        decision("a", 2, 5, 5),  # another query's batch
        decision("b", 1, 3, 3),  # another batch's query
        decision("c", 3, 10, 11),
        decision("d", 1, 3, 3),
        decision("a", 4, 13, 13),
    ]
    every = tuple(one for pair in zip(gone, [*kept, kept[0]]) for one in pair)
    assert still_open(every, firings, unapplied) == (*kept, kept[0])
    assert still_open((), firings, unapplied) == ()


def test_one_old_firing_keeps_no_decisions_of_others() -> None:
    """A query that needs more than its period never closes its oldest batch; another one gives way in every pass."""
    contracts = [sampled("slow", 1, None, 500.0), sampled("soon", 1, LINEAR, 0.5)]
    costs = {"slow": ExecutionCost(60e6), "soon": ExecutionCost(0, 2e6)}
    one = Script(Rules("stepped", timed=True, qos="dynamic-sampling"), *contracts)
    written: list[Journal] = []
    one.committed(0, 1)
    for batch in range(30):
        commands = one.applied(batch, costs)
        written += journals(commands)
        answer = commands[-1]
        assert isinstance(answer, Answer)
        assert instants(answer) == {"soon": [batch + 1]}
        one.at += SECOND
        one.committed(batch + 1, batch + 2)
        assert [type(command) for command in one.answered()] == [Apply]
    assert one.state.firings.closed_before(99) == 0, "the oldest one is open"
    assert len(written) == 30
    assert max(len(journal.decisions) for journal in written) <= 2
    assert all(journal.decisions[-1].batch == batch for batch, journal in enumerate(written))


def journals(commands: list[Command]) -> list[Journal]:
    return [command for command in commands if isinstance(command, Journal)]


def test_a_decision_of_a_batch_that_is_not_applied_yet_is_kept() -> None:
    """After a crash batches are applied again, and where a base has waited long all is answered before the next."""
    contracts = [sampled("soon", 1, LINEAR, 0.5)]
    one = Script(Rules("stepped", timed=True, qos="dynamic-sampling"), *contracts)
    later = Decision(1, "soon", 2 * SECOND, 2 * SECOND, 0.125, 0.125)
    one.state = replace(one.state, decisions=(later,))
    one.committed(0, 1)
    one.committed(1, 2)
    one.state = replace(one.state, since_base=MOST_BASES_BEHIND * one.state.rules.batches_per_base)
    costs = {"soon": ExecutionCost(0, 2e6)}
    journal, answer = one.applied(0, costs)
    assert instants(answer) == {"soon": [1]}
    assert isinstance(journal, Journal)
    assert journal.decisions[0] == later
    one.answered()
    (answer,) = one.applied(1, costs)
    assert isinstance(answer, Answer)
    assert [group.setting for group in answer.current_pass.groups] == [0.125]


@pytest.mark.parametrize("seed", range(30))
def test_each_instant_has_the_first_setting_that_was_decided_for_it(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups = [
        group(query, batch, *sorted(set(random.integers(0, 30, 8).tolist()))) for query in "ab" for batch in range(3)
    ]
    decisions = []
    for _ in range(random.integers(0, 25)):
        first = int(random.integers(0, 30))
        setting = float(random.integers(1, 5)) / 8
        decisions.append(decision("abc"[random.integers(3)], int(random.integers(4)), first, first + 4, setting))
    found = {
        (part.cohort.queries[0], part.batch, int(at)): part.setting
        for part in with_decisions(groups, decisions)
        for at in part.due.instants
    }
    for one in groups:
        query = one.cohort.queries[0]
        for at in one.due.instants.tolist():
            own = [d for d in decisions if (d.query, d.batch) == (query, one.batch) and d.first <= at <= d.last]
            assert found.pop((query, one.batch, at)) == (own[0].setting if own else None)
    assert not found
