"""The scheduler by scripts of events, without a clock; and by simulation: everything due is answered once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from punctual.clock import SECOND
from punctual.estimate.quality_curve import LINEAR, QualityCurve
from punctual.schedule.cohorts import Contracts
from punctual.schedule.due import Timetable
from punctual.schedule.events import (
    Answer,
    Apply,
    BatchRead,
    Commit,
    Compact,
    Complete,
    Journal,
    Look,
    NothingRead,
    ProgramChanged,
    Read,
    ReadAsked,
    Settle,
    StopAsked,
    StopQuery,
    TimerFired,
)
from punctual.schedule.levels import Decision
from punctual.schedule.state import Rules
from tests.schedule.script import Script, instants
from tests.schedule.simulated import contract, world


def test_once_reads_ahead_answers_in_order_and_ends() -> None:
    script = Script(Rules("once"), contract("q", 1))
    assert script(TimerFired(script.now())) == [Read()]
    assert script(BatchRead(script.now(), 0, 0)) == [Commit()]
    # While the first batch is applied and answered the second one is read, and no third one.
    assert script.committed(0, 3) == [Apply(0), Read()]
    (first,) = script.applied(0)
    assert instants(first) == {"q": [1, 2, 3]}
    assert script(BatchRead(script.now(), 0, 0)) == [Commit()]
    assert script.committed(1, 5) == []
    assert script.answered() == [Apply(1), Read()]
    (second,) = script.applied(1)
    assert instants(second) == {"q": [4, 5]}
    assert script(NothingRead(script.now())) == [Complete({}, ended=True)]
    assert script.committed(2, 6) == []
    assert script.answered() == [Apply(2)]
    (third,) = script.applied(2)
    assert instants(third) == {"q": [6]}
    assert script.answered() == [Settle(finished=True)]


def test_a_step_is_settled_when_everything_is_answered() -> None:
    script = Script(Rules("stepped"), contract("q", 1))
    assert script(ReadAsked(script.now(), 7)) == [Read(7)]
    assert script(BatchRead(script.now(), 0, 0)) == [Commit()]
    assert script.committed(0, 2) == [Apply(0)]
    script.applied(0)
    assert script.answered() == [Settle(finished=False)]
    assert script(ReadAsked(script.now())) == [Read()]
    assert script(NothingRead(script.now())) == [Settle(finished=False)]


def test_live_looks_while_it_cannot_read_and_reads_by_the_tick() -> None:
    script = Script(Rules("live", timed=True, tick_us=SECOND), contract("q", 1))
    assert script(TimerFired(script.now())) == [Read()]
    script.at = SECOND
    assert script(TimerFired(script.now())) == [Look()]
    script.at += SECOND // 2
    assert script(TimerFired(script.now())) == []
    assert script(NothingRead(script.now())) == [Read()]


def test_a_silent_stream_is_complete_step_by_step() -> None:
    rules = Rules("live", timed=True, tick_us=SECOND, idle_us=2 * SECOND)
    script = Script(rules, contract("q", 1))
    script(TimerFired(script.now()))
    script(BatchRead(script.now(), 0, 0))
    script.at = 100_000 * SECOND
    script.committed(0, 1)
    script.applied(0)
    script.at += 3 * SECOND
    script.answered()
    assert script(NothingRead(script.now())) == [Read()]  # rows that are there go first
    assert script(NothingRead(script.now())) == [Complete({"s": 10_002 * SECOND - 1})]  # ten thousand instants
    assert script.committed(1, 10_001)[-1] == Read()


def test_a_query_with_too_much_to_answer_is_stopped_and_no_other() -> None:
    script = Script(Rules("stepped"), contract("often", 1e-6), contract("q", 1))
    script(ReadAsked(script.now()))
    script(BatchRead(script.now(), 0, 0))
    stop, apply = script.committed(0, 60)
    assert isinstance(stop, StopQuery)
    assert stop.query == "often"
    assert "59,000,001 instants" in stop.fact
    assert apply == Apply(0)
    (answer,) = script.applied(0)
    assert list(instants(answer)) == ["q"]


def test_urgent_firings_go_first_whatever_batch_released_them() -> None:
    patient = contract("patient", 1, deadline_us=100 * SECOND)
    urgent = replace(contract("urgent", 1, deadline_us=SECOND), table=Timetable.multiples(4 * SECOND))
    script = Script(Rules("live", timed=True), patient, urgent)
    script(TimerFired(script.now()))
    script(BatchRead(script.now(), 0, 0))
    assert script.committed(0, 3) == [Apply(0)]
    (first,) = script.applied(0)
    assert instants(first) == {"patient": [1, 2, 3]}
    script.at = SECOND
    assert script(TimerFired(script.now())) == [Read()]
    script(BatchRead(script.now(), 0, 0))
    script.committed(1, 4)
    # A pass takes so long that only the head of the queue can be on time.
    script.state = replace(script.state, cost=script.state.cost.after(0, 900_000).after(0, 900_000).after(0, 900_000))
    script.answered(took=900_000)
    (second,) = script.applied(1)
    assert instants(second)["urgent"] == [4]


class _Half:
    curve: QualityCurve = LINEAR

    def setting(self, share: float) -> float:
        return 0.5 if share > 0.25 else 0.25

    def share(self, setting: float) -> float:
        return setting


def test_a_setting_is_in_the_journal_before_its_pass_and_found_again() -> None:
    hurried = contract("q", 1, deadline_us=1, knob=_Half())
    script = Script(Rules("stepped", timed=True, qos="dynamic-sampling"), hurried)
    script(ReadAsked(script.now()))
    script(BatchRead(script.now(), 0, 0))
    script.committed(0, 2)
    journal, answer = script.applied(0)
    assert journal == Journal((Decision(0, "q", SECOND, 2 * SECOND, 0.25, 0.0),))
    assert isinstance(answer, Answer)
    assert [group.setting for group in answer.current_pass.groups] == [0.25]
    # The same batch after a crash, in a run that sheds nothing: what was decided stands.
    again = Script(Rules("stepped", timed=True), hurried)
    again.state = replace(again.state, decisions=journal.decisions)
    again(ReadAsked(again.now()))
    again(BatchRead(again.now(), 0, 0))
    again.committed(0, 2)
    (answer,) = again.applied(0)
    assert isinstance(answer, Answer)
    assert [group.setting for group in answer.current_pass.groups] == [0.25]


def test_what_is_dropped_is_no_longer_answered() -> None:
    script = Script(Rules("stepped"), contract("a", 1), contract("b", 1))
    script(ReadAsked(script.now()))
    script(BatchRead(script.now(), 0, 0))
    script.committed(0, 2)
    left = Contracts([replace(script.state.contracts["a"], meaning="another"), script.state.contracts["b"]])
    assert script(ProgramChanged(script.now(), left, {"s": 0})) == []
    (answer,) = script.applied(0)
    assert list(instants(answer)) == ["b"]  # another query of the same name answers what comes after


def test_a_paced_batch_waits_for_its_time() -> None:
    script = Script(Rules("once", timed=True, speed=2.0), contract("q", 1))
    assert script(TimerFired(script.now())) == [Read(1)]
    assert script(BatchRead(script.now(), 10 * SECOND, 14 * SECOND)) == []
    script.at = 2 * SECOND - 1
    assert script(TimerFired(script.now())) == []
    script.at = 2 * SECOND
    (commit,) = script(TimerFired(script.now()))
    assert isinstance(commit, Commit)
    assert commit.pace is not None
    assert commit.pace.time_of(14 * SECOND) == 2 * SECOND
    assert script.committed(0, 14)[-1] == Read(1)
    script.at = 9 * SECOND
    assert script(BatchRead(script.now(), 14 * SECOND, 16 * SECOND)) == [Commit(commit.pace)]
    assert script.state.intake.files == 2  # behind: more at once


def test_a_stop_lets_the_batch_end() -> None:
    script = Script(Rules("live", timed=True), contract("q", 1))
    script(TimerFired(script.now()))
    assert script(StopAsked(script.now())) == []
    assert script(BatchRead(script.now(), 0, 0)) == [Commit()]
    assert script.committed(0, 2) == [Apply(0)]
    script.applied(0)
    assert script.answered() == [Settle(finished=True)]


def test_batches_are_compacted_once_they_are_answered() -> None:
    script = Script(Rules("once", batches_per_base=2), contract("q", 1))
    script(TimerFired(script.now()))
    script(BatchRead(script.now(), 0, 0))
    script.committed(0, 1)
    script.applied(0)
    script(BatchRead(script.now(), 0, 0))
    script.committed(1, 2)
    assert script.answered() == [Compact(0), Read()]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("timed", [False, True])
def test_every_due_instant_is_answered_once_whatever_takes_how_long(seed: int, timed: bool) -> None:
    random = np.random.default_rng(seed)
    tops = np.cumsum(random.integers(0, 6, random.integers(1, 30))) * SECOND + SECOND
    rules = Rules(
        "once", timed=timed, late_pending=bool(seed % 2), batches_per_base=int(random.integers(1, 5)), tick_us=SECOND
    )
    contracts = [
        contract("a", 1, deadline_us=SECOND),
        contract("b", 3, fixed=False),
        contract("c", 2, stages=(SECOND, 100_000 * SECOND)),  # nobody is later than the last deadline
        contract("d", 1, in_order=True),
    ]
    contracts[3] = replace(contracts[3], sharing_class="a")
    run = world(rules, contracts, tops.tolist(), seed)
    run.run()
    assert run.finished
    assert len(run.answered) == len(set(run.answered))
    first, last = int(tops[0]), int(tops[-1])
    for one in contracts:
        due = [at for at in range(0, last + 1, one.bound_us) if at >= first]
        found = [(at, number) for query, at, number in run.answered if query == one.query]
        assert sorted(found) == [(at, number) for at in due for number in range(one.answers)]
        if one.in_order or not timed:
            assert [at for at, number in found if number == 0] == due
