"""Several answers of one instant: when each may be begun, when it is due, and what ends them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from punctual.clock import SECOND, Micros
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import LINEAR
from punctual.schedule.arrivals import AtOnce
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Contract, Reach
from punctual.schedule.due import BEGINNING, Timetable
from punctual.schedule.events import (
    Answer,
    Apply,
    BatchRead,
    CancelAsked,
    Command,
    Commit,
    Compact,
    Compacted,
    Complete,
    Journal,
    NothingRead,
    PassAnswered,
    ProgramChanged,
    Read,
    ReadAsked,
    Settle,
    StopAsked,
    TimerFired,
)
from punctual.schedule.firings import Logged, Release
from punctual.schedule.levels import Decision
from punctual.schedule.qos.admission import hopeless, overcommitted
from punctual.schedule.qos.prices import Prices
from punctual.schedule.stages.endings import Ending, cancelled
from punctual.schedule.stages.once import asked_now
from punctual.schedule.stages.open_instants import open_instants, reopened
from punctual.schedule.state import Rules
from tests.schedule.script import Script
from tests.schedule.simulated import contract, world

STAGES = (SECOND, 3 * SECOND, 5 * SECOND)
LIVE = Rules("live", timed=True, tick_us=1_000 * SECOND)
"""Nothing is read by itself meanwhile."""


def staged(query: str, period_s: float = 1, stages: tuple[Micros, ...] = STAGES, **more: object) -> Contract:
    return contract(query, period_s, stages=stages, **more)


def alike(query: str) -> Contract:
    """Queries that are due together."""
    return replace(staged(query), sharing_class="both")


def answered(command: Command) -> list[tuple[str, int, int]]:
    """Query, instant in seconds, number."""
    assert isinstance(command, Answer)
    return [
        (query, at // SECOND, group.number)
        for group in command.current_pass.groups
        for query in group.cohort.queries
        for at in group.due.instants.tolist()
    ]


def due_by(command: Command) -> list[int]:
    """The deadlines of a pass, in seconds."""
    assert isinstance(command, Answer)
    return [at // SECOND for group in command.current_pass.groups for at in group.deadlines.tolist()]


def released(script: Script, through_s: float) -> list[Command]:
    """One batch; what is commanded once the holders have it."""
    script(TimerFired(script.now()) if script.state.rules.mode != "stepped" else ReadAsked(script.now()))
    script(BatchRead(script.now(), 0, 0))
    batch = script.state.next_batch
    script.committed(batch, through_s)
    return script.applied(batch)


# -- when ---------------------------------------------------------------------------------------------


def test_in_a_replay_all_answers_of_a_batch_are_one_pass() -> None:
    script = Script(Rules("once"), staged("q"), contract("plain", 1))
    (command, *_more) = released(script, 2)
    assert sorted(answered(command)) == [
        ("plain", 1, 0), ("plain", 2, 0), *(("q", at, number) for at in (1, 2) for number in range(3)),
    ]  # fmt: skip
    assert script(NothingRead(script.now())) == [Complete({}, ended=True)]
    script(TimerFired(script.now()))
    assert script.answered() == [Settle(finished=True)]


def test_a_stage_begins_when_the_one_before_is_due_and_is_due_itself_at_its_deadline() -> None:
    script = Script(LIVE, staged("q"))
    script.at = 100 * SECOND
    (first,) = released(script, 1)
    assert (answered(first), due_by(first)) == ([("q", 1, 0)], [101])
    script.at += SECOND // 2
    assert script.answered() == [Settle(finished=False)]  # answered, and the first stage is not over
    assert script.wake == 101 * SECOND
    script.at = 101 * SECOND - 1
    assert script(TimerFired(script.now())) == [Settle(finished=False)]
    script.at = 101 * SECOND
    (second,) = script(TimerFired(script.now()))
    assert (answered(second), due_by(second)) == ([("q", 1, 1)], [103])
    script.at = 104 * SECOND  # late: the next stage has begun
    (third,) = script.answered()
    assert (answered(third), due_by(third)) == ([("q", 1, 2)], [105])
    assert script.answered() == [Settle(finished=False)]
    assert not script.state.firings


def test_the_wall_clock_may_jump_while_a_stage_waits() -> None:
    script = Script(LIVE, staged("q"))
    script.at = 100 * SECOND
    released(script, 1)
    script.answered()
    script.ahead = 3_600 * SECOND
    assert script(TimerFired(script.now())) == [Settle(finished=False)]
    assert script.wake == 101 * SECOND
    script.at = 101 * SECOND
    (second,) = script(TimerFired(script.now()))
    assert due_by(second) == [103 + 3_600]


def test_what_waits_keeps_nobody_from_reading_and_answering() -> None:
    script = Script(replace(LIVE, tick_us=SECOND), staged("slow", 4, (10 * SECOND, 20 * SECOND)), contract("q", 1))
    for second in range(1, 9):
        script.at = second * SECOND
        (command, *_more) = released(script, second)
        number = [("slow", second, 0)] if second in (4, 8) else []
        assert sorted(answered(command)) == [("q", second, 0), *number]
        script.answered()
    script.at = 14 * SECOND
    commands = script(TimerFired(script.now()))
    assert [answered(one) for one in commands if isinstance(one, Answer)] == [[("slow", 4, 1)]]


@pytest.mark.parametrize(("allowed_s", "first"), [(30, ("q", 3, 1)), (0.5, ("other", 4, 0))])
def test_stages_take_part_in_the_order_of_deadlines(allowed_s: float, first: tuple[str, int, int]) -> None:
    """Number 1 is due a second after it begins, another query sooner or later. Passes are slow: one at a time."""
    other = contract("other", 2, deadline_us=int(allowed_s * SECOND))
    script = Script(replace(LIVE, late_pending=False, tick_us=1), staged("q", 3, (SECOND, 2 * SECOND)), other)
    script.at = 100 * SECOND
    released(script, 3)
    script.answered()
    slow = script.state.cost.after(0, 90 * SECOND).after(0, 90 * SECOND).after(0, 90 * SECOND)
    script.state = replace(script.state, cost=slow)
    script.at = 101 * SECOND
    assert script.committed(1, 4)[0] == Apply(1)
    commands = script.applied(1)
    assert [answered(one) for one in commands if isinstance(one, Answer)] == [[first]]


def test_further_answers_are_foreseen_by_levels() -> None:
    """A sampled query gives way to what is known to come, and so to stages that have not begun."""
    slow = replace(contract("slow", 10, deadline_us=6 * SECOND), curve=LINEAR, sheds=True)
    quick = staged("quick", 10, (SECOND, 2 * SECOND, 5 * SECOND))
    costs = {"slow": ExecutionCost(0.0, 4.0 * SECOND), "quick": ExecutionCost(0.0, 0.9 * SECOND)}
    levels = []
    for other in (quick, replace(quick, stages=(SECOND,)), replace(quick, stages=(SECOND, 2 * SECOND, 7 * SECOND))):
        script = Script(replace(LIVE, qos="dynamic-sampling"), slow, other)
        script.at = 100 * SECOND
        script(TimerFired(script.now()))
        script(BatchRead(script.now(), 0, 0))
        script.committed(0, 11)
        script.applied(0, costs)
        levels.append(script.state.level)
    three, one, two = (level or 0.0 for level in levels)
    assert 0 < three < two <= one == 1.0  # what is due after everything that is open is not looked at


def test_settings_are_those_of_a_number() -> None:
    script = Script(Rules("stepped"), staged("q"))
    script.state = replace(script.state, decisions=(Decision(0, "q", SECOND, SECOND, 0.5, None, 1),))
    (command,) = released(script, 1)
    assert isinstance(command, Answer)
    groups = command.current_pass.groups
    assert [(group.number, group.setting) for group in groups] == [(0, None), (1, None), (2, None)]
    live = Script(LIVE, staged("q"))
    live.state = replace(live.state, decisions=(Decision(0, "q", SECOND, SECOND, 0.5, None, 1),))
    released(live, 1)
    live.answered()
    live.at = SECOND
    (command,) = live(TimerFired(live.now()))
    assert isinstance(command, Answer)
    assert [(group.number, group.setting) for group in command.current_pass.groups] == [(1, 0.5)]


def test_steps_do_not_wait_for_stages_and_a_stop_does_not_either() -> None:
    script = Script(Rules("stepped", timed=True), staged("q"))
    released(script, 1)
    assert script.answered() == [Settle(finished=False)]
    assert script.wake is None
    assert script(ReadAsked(script.now())) == [Read()]
    live = Script(LIVE, staged("q"))
    released(live, 1)
    live(StopAsked(live.now()))
    assert live.answered() == [Settle(finished=True)]
    assert live.state.firings.most == 1  # left for the next run


def test_a_paced_replay_ends_with_the_last_stage() -> None:
    script = Script(Rules("once", timed=True, speed=1.0), staged("q", 1, (SECOND, 2 * SECOND)))
    script(TimerFired(script.now()))
    assert isinstance(script(BatchRead(script.now(), 0, 0))[0], Commit)
    script.committed(0, 1)
    script.applied(0)
    script(NothingRead(script.now()))
    script(TimerFired(script.now()))
    assert script.answered() == [Settle(finished=False)]
    assert script.wake == SECOND
    script.at = SECOND
    (second,) = script(TimerFired(script.now()))
    assert answered(second) == [("q", 1, 1)]
    assert script.answered() == [Settle(finished=True)]


@pytest.mark.parametrize("seed", range(20))
def test_every_answer_comes_once_and_in_order_whatever_takes_how_long(seed: int) -> None:
    random = np.random.default_rng(seed)
    tops = np.cumsum(random.integers(0, 6, random.integers(1, 20))) * SECOND + SECOND
    rules = Rules("once", timed=bool(seed % 2), batches_per_base=int(random.integers(1, 4)))
    contracts = [staged("a"), contract("b", 1), staged("c", 2, (3 * SECOND, 4 * SECOND)), staged("d", 3, (SECOND,))]
    run = world(rules, contracts, tops.tolist(), seed)
    run.run()
    assert run.finished
    assert len(run.answered) == len(set(run.answered))
    for one in contracts:
        instants = [at for at in range(0, int(tops[-1]) + 1, one.bound_us) if at >= tops[0]]
        for at in instants:
            numbers = [number for query, instant, number in run.answered if (query, instant) == (one.query, at)]
            assert numbers == list(range(len(numbers)))
            # Who is later than the last deadline has one answer more, and no others.
            assert numbers
            assert rules.timed or len(numbers) == one.answers


# -- endings ------------------------------------------------------------------------------------------


def test_past_the_last_deadline_there_is_one_answer_more_and_that_is_decided() -> None:
    script = Script(LIVE, staged("q"))
    script.at = 100 * SECOND
    released(script, 1)
    script.at = 105 * SECOND
    (second,) = script.answered()  # late, and not the last one: the last deadline has not passed
    assert answered(second) == [("q", 1, 1)]
    again = Script(LIVE, staged("q"))
    again.at = 100 * SECOND
    released(again, 1)
    again.at = 105 * SECOND + 1
    journal, last = again.answered()
    assert journal == Journal((), (Ending(0, "q", SECOND, SECOND, 2),))
    assert answered(last) == [("q", 1, 1)]
    assert again.answered() == [Settle(finished=False)]
    assert not again.state.firings


def test_an_ending_is_exact_where_instants_have_other_numbers() -> None:
    """Instants of one batch that are not in the pass go on, also between two that end."""
    script = Script(LIVE, staged("q"))
    released(script, 4)
    group = script.state.firings.groups[0]
    assert group.released is not None
    times = np.array([0, 10, 0, 0]) * SECOND
    spread = replace(group, released=times, number=1)
    parts = tuple(spread.only(np.array(some)) for some in ([True, False, True, True], [False, True, False, False]))
    script.state = replace(script.state, firings=replace(script.state.firings, groups=parts), holder=None)
    script.at = 9 * SECOND
    journal, last = script(TimerFired(script.now()))
    assert sorted(answered(last)) == [("q", 1, 1), ("q", 3, 1), ("q", 4, 1)]
    assert isinstance(journal, Journal)
    assert [(one.first // SECOND, one.last // SECOND) for one in journal.endings] == [(1, 1), (3, 4)]


def test_cancel_ends_what_is_open_and_nothing_that_comes_later() -> None:
    script = Script(replace(LIVE, tick_us=1), staged("q"), staged("other"), contract("plain", 1))
    released(script, 2)
    script.answered()
    journal = script(CancelAsked(script.now(), "q"))[0]
    assert journal == Journal((), (Ending(0, "q", SECOND, 2 * SECOND, 1),))
    assert {query for group in script.state.firings.groups for query in group.cohort.queries} == {"other"}
    assert not any(isinstance(one, Journal) for one in script(CancelAsked(script.now(), "q")))
    assert not any(isinstance(one, Journal) for one in script(CancelAsked(script.now(), "plain")))
    script.at = SECOND // 2
    command = next(one for one in released(script, 3) if isinstance(one, Answer))
    assert ("q", 3, 0) in answered(command)


def test_cancel_is_for_queries_with_several_answers() -> None:
    script = Script(LIVE, contract("plain", 1))
    released(script, 2)
    assert script(CancelAsked(script.now(), "plain")) == []
    assert (script.state.endings, script.state.firings.most) == ((), 2)


def test_cancel_of_one_instant() -> None:
    script = Script(LIVE, alike("q"), alike("twin"))
    released(script, 3)
    script.answered()
    (journal, *_rest) = script(CancelAsked(script.now(), "q", 2 * SECOND))
    assert journal == Journal((), (Ending(0, "q", 2 * SECOND, 2 * SECOND, 1),))
    script.at = SECOND
    (second,) = script(TimerFired(script.now()))
    assert sorted(answered(second)) == [("q", 1, 1), ("q", 3, 1), *(("twin", at, 1) for at in (1, 2, 3))]


def test_cancel_of_what_is_being_answered_and_of_what_is_not_applied() -> None:
    script = Script(LIVE, staged("q"))
    released(script, 1)
    script(CancelAsked(script.now(), "q"))
    assert [(one.first, one.answers) for one in script.state.endings] == [(SECOND, 0)]
    assert script.answered() == [Settle(finished=False)]
    script.at = 1_000 * SECOND
    script(TimerFired(script.now()))
    script(BatchRead(script.now(), 0, 0))
    script.committed(1, 3)
    endings, count = cancelled("q", None, script.state.firings, script.state.unapplied, script.state.endings)
    assert (count, [(one.batch, one.first, one.last) for one in endings]) == (2, [(1, 2 * SECOND, 3 * SECOND)])
    script(CancelAsked(script.now(), "q"))
    state = script.state
    assert cancelled("q", None, state.firings, state.unapplied, state.endings)[1] == 0
    assert script.applied(1) == [Settle(finished=False)]


def test_endings_are_kept_until_the_log_calls_their_batch_answered() -> None:
    script = Script(LIVE, staged("q"), staged("other"))
    released(script, 1)
    script.answered()
    script(CancelAsked(script.now(), "q"))
    script.at = SECOND
    script(TimerFired(script.now()))
    script(PassAnswered(script.now(), 1.0, logged_before=0))
    assert script.state.endings
    script.at = 3 * SECOND
    script(TimerFired(script.now()))
    script(PassAnswered(script.now(), 1.0, logged_before=1))
    assert not script.state.endings


def test_endings_of_queries_that_are_gone_are_forgotten() -> None:
    script = Script(LIVE, staged("q"), staged("other"))
    released(script, 1)
    script.answered()
    script(CancelAsked(script.now(), "q"))
    left = Contracts([script.state.contracts["other"]])
    script(ProgramChanged(script.now(), left, {"s": 0}))
    script.at = SECOND
    script(TimerFired(script.now()))
    script.answered()
    assert not script.state.endings


# -- a base, and after a crash ------------------------------------------------------------------------


def test_batches_become_a_base_while_something_waits() -> None:
    script = Script(replace(LIVE, batches_per_base=2), staged("slow", 1, (SECOND, 100 * SECOND)))
    for second in (1, 2):
        script.at += 1_000 * SECOND if second == 2 else 0
        script.state = replace(script.state, rules=replace(script.state.rules, tick_us=1))
        command = released(script, second)[-1]
        script.state = replace(script.state, rules=replace(script.state.rules, tick_us=1_000_000 * SECOND))
        if second == 1:
            assert isinstance(command, Answer)
            script.answered()
    assert isinstance(command, Answer)
    while isinstance(command, Answer):
        found = script.answered()
        command = found[-1]
    assert [one for one in found if isinstance(one, Compact)] == [Compact(1)]
    assert script.state.firings  # what waits is not answered before
    script(Compacted(script.now()))
    assert script.state.since_base == 0


def test_a_base_is_made_before_the_next_batch_is_applied() -> None:
    script = Script(replace(LIVE, batches_per_base=1, tick_us=1), staged("slow", 1, (100 * SECOND, 200 * SECOND)))
    script(TimerFired(script.now()))
    script(BatchRead(script.now(), 0, 0))
    assert Apply(0) in script.committed(0, 1)
    script.applied(0)
    script.at = 1
    script(BatchRead(script.now(), 0, 0))
    script.committed(1, 2)
    assert script.state.unapplied
    assert script.answered()[0] == Compact(0)
    assert script.state.firings.most == 1
    assert Apply(1) in script(Compacted(script.now()))


def test_releases_that_are_told_again_jump_with_the_clock() -> None:
    """What a run found committed counts from its commit, by the clock as it is now."""
    script = Script(LIVE, staged("q"))
    due = script.state.contracts["q"].table.due(SECOND, 0, SECOND)
    (cohort,) = script.state.contracts.cohorts
    release = Release(0, ((cohort, due),), {"s": AtOnce(0, 100 * SECOND)}, committed=98 * SECOND)
    script.state = replace(script.state, unapplied=(release,), next_batch=1, holder="apply")
    script.at = 100 * SECOND
    script(StopAsked(script.now()))
    script.ahead = 3_600 * SECOND
    (command,) = script.applied(0)
    assert due_by(command) == [99 + 3_600]


def test_what_a_base_keeps_is_opened_again() -> None:
    script = Script(LIVE, alike("q"), alike("twin"))
    script.at = 100 * SECOND
    released(script, 3)
    script.answered()
    (kept,) = open_instants(script.state.firings)
    assert (kept.batch, kept.queries, kept.released) == (0, ("q", "twin"), (100 * SECOND,) * 3)
    at = np.array([SECOND, 2 * SECOND, 3 * SECOND])
    times = np.full(3, 100 * SECOND)
    answered_before = {
        "q": {0: Logged(at, times), 1: Logged(at[:1], times[:1])},
        "twin": {number: Logged(at, times) for number in range(3)},
    }
    cohorts = Contracts([alike("q"), alike("twin")]).cohorts
    groups = reopened([kept], cohorts, answered_before, timed=True)
    found = sorted((group.cohort.queries, group.number, (group.due.instants // SECOND).tolist()) for group in groups)
    assert found == [(("q",), 1, [2, 3]), (("q",), 2, [1])]
    assert all(group.due.runs[0].label == "1s" for group in groups)
    # A query that was made anew under the same name stands for later instants.
    anew = Contracts([replace(staged("q"), after=2 * SECOND)]).cohorts
    groups = reopened([kept], anew, {}, timed=False)
    assert [((group.due.instants // SECOND).tolist(), group.released) for group in groups] == [([3], None)]


def test_late_rows_of_what_a_base_keeps() -> None:
    script = Script(LIVE, alike("q"), alike("twin"))
    released(script, 2)
    group = script.state.firings.groups[0]
    late = np.array([[1, 2], [3, 4]])
    firings = replace(script.state.firings, groups=(replace(group, late=late),))
    (again,) = reopened(open_instants(firings), Contracts([alike("twin")]).cohorts, {}, timed=True)
    assert again.late is not None
    assert (again.cohort.queries, again.late.tolist()) == (("twin",), [[3, 4]])


# -- once ---------------------------------------------------------------------------------------------


def once(query: str, at: Micros | None = None, after: Micros = BEGINNING) -> Contract:
    return replace(staged(query), table=Timetable.once(at), after=after)


def test_who_is_asked_once_is_asked_when_its_streams_are_complete_through_an_instant() -> None:
    contracts = Contracts([once("q"), once("later", after=5), once("asked", 3), contract("plain", 1)])
    assert asked_now(contracts, {"s": Reach()}) == {}
    assert asked_now(contracts, {"s": Reach(4, 5, 9)}) == {}  # before the first row
    assert asked_now(contracts, {"s": Reach(5, 5, 9)}) == {"q": 5}
    assert asked_now(contracts, {"s": Reach(7, 5, 9)}) == {"q": 7, "later": 7}


def test_the_one_instant_is_due_once() -> None:
    script = Script(LIVE, once("q", 2 * SECOND + 7))
    assert released(script, 1) == [Settle(finished=False)]
    script.at = 1_000 * SECOND
    (first,) = released(script, 3)
    assert isinstance(first, Answer)
    assert [group.due.instants.tolist() for group in first.current_pass.groups] == [[2 * SECOND + 7]]
    script.answered()
    script.at = 10_000 * SECOND
    found = released(script, 5)
    assert all(group.number for one in found if isinstance(one, Answer) for group in one.current_pass.groups)


def test_a_silent_stream_is_completed_for_who_is_asked_once() -> None:
    script = Script(Rules("live", timed=True, tick_us=SECOND, idle_us=2 * SECOND), once("q"))
    script(TimerFired(script.now()))
    script(BatchRead(script.now(), 0, 0))
    script.at = 100 * SECOND
    script.committed(0, 0.5)
    script.applied(0)
    script.at += 3 * SECOND
    assert script(NothingRead(script.now())) == [Read()]
    assert script(NothingRead(script.now())) == [Complete({"s": 101 * SECOND})]


def test_when_a_run_asks() -> None:
    script = Script(Rules("once"), once("q"))
    assert not script.state.asks
    script(TimerFired(script.now()))
    assert script(NothingRead(script.now())) == [Complete({}, ended=True)]
    assert script.state.asks
    assert Script(LIVE).state.asks


def test_every_answer_counts_where_there_is_too_much() -> None:
    prices = Prices(cores=1.0)
    cost = ExecutionCost(0.0, 0.4 * SECOND)
    assert overcommitted([(contract("q", 1), cost)], prices, 0.0) is None
    assert overcommitted([(staged("q", 1), cost)], prices, 0.0) is not None


def test_a_first_deadline_that_cannot_hold_is_said() -> None:
    asked = staged("q", 10, (SECOND // 2, 3 * SECOND))
    found = hopeless(asked, ExecutionCost(0, 1_800_000), 2.0)
    assert found is not None
    assert found.sentence == (
        'query "q" needs 0.9 s of all cores for an answer, and its deadline is 0.5 s; '
        "ANSWERS WITHIN 900 MILLISECONDS would hold"
    )
