"""Sharing the cores as queries come: what each event does, by scripts of events without a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from punctual.errors import InternalError, PlanError
from punctual.schedule.epoch import AnytimeQuery
from punctual.schedule.online import (
    Arrived,
    Command,
    Drop,
    Ended,
    Event,
    Foreseen,
    Joblet,
    Reestimated,
    Rules,
    Start,
    State,
    TimePassed,
    Withdrawn,
    step,
    turns,
)


def arrived(at: float, name: str, deadline: float, essential: float, one_round: float = 1) -> Arrived:
    return Arrived(at, name, AnytimeQuery(at, deadline, essential), one_round)


def play(rules: Rules, *events: Event) -> tuple[State, list[list[Command]]]:
    """The last state, and the commands of each event."""
    state, told = State(rules), []
    for event in events:
        state, commands = step(state, event)
        told.append(commands)
    return state, told


def started(commands: list[Command]) -> list[tuple[str, float, bool]]:
    """Name, budget and whether it is bonus, of all joblets that are started."""
    joblets = [command.joblet for command in commands if isinstance(command, Start)]
    return [(joblet.name, joblet.budget, joblet.bonus) for joblet in joblets]


def queued(state: State) -> dict[str, float]:
    return {one.name: one.queued for one in state.alive}


def test_essential_work_runs_in_the_order_of_deadlines_and_what_runs_is_left_alone() -> None:
    state, told = play(
        Rules(cores=1, joblet=2),
        arrived(0, "later", 20, 4),
        arrived(1, "sooner", 10, 3),
        Ended(2, 0, 2),
        Ended(4, 1, 2),
        Ended(5, 2, 1),
        Ended(7, 3, 2),
    )
    assert [started(commands) for commands in told[:5]] == [
        [("later", 2, False)],
        [],
        [("sooner", 2, False)],
        [("sooner", 1, False)],
        [("later", 2, False)],
    ]
    assert started(told[5])[0][2], "the queue is empty"
    assert not any(isinstance(command, Drop) for commands in told for command in commands)
    assert queued(state) == {"sooner": 0, "later": 0}


def test_every_free_core_has_a_joblet() -> None:
    state, told = play(Rules(cores=3, joblet=2), arrived(0, "a", 10, 3))
    assert started(told[0]) == [("a", 2, False), ("a", 1, False), ("a", 2, True)]
    assert [joblet.ends for joblet in state.given] == [2, 1, 2]


def test_one_joblet_waits_outside_where_that_is_asked_for() -> None:
    state, told = play(Rules(cores=1, joblet=2, ahead=1), arrived(0, "a", 10, 5), Ended(2, 0, 2))
    assert [command.joblet.begins for command in told[0] if isinstance(command, Start)] == [0, 2]
    assert started(told[1]) == [("a", 1, False)]
    assert [(joblet.begins, joblet.ends) for joblet in state.given] == [(2, 4), (4, 5)]
    # The first one takes longer than was thought: the one behind it begins when it ends.
    state, _commands = step(state, Ended(4.5, 1, 2.5))
    assert (state.given[0].begins, state.given[0].ends) == (4.5, 5.5)


def test_a_turn_costs_in_proportion_to_those_who_are_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who has a grant may go on, since the last one needs all there is: that is found out once."""
    asked, real = [], turns.core_time_until

    def counted(deadline: float, now: float, cores: int, given: Sequence[Joblet]) -> float:
        asked.append(deadline)
        return real(deadline, now, cores, given)

    monkeypatch.setattr(turns, "core_time_until", counted)
    with_grants = (Arrived(0, str(place), AnytimeQuery(0, 90, 0), 1, granted=5) for place in range(100))
    nothing_else = Foreseen(0, None, bonus=False)
    state, _told = play(Rules(cores=1, joblet=2), nothing_else, *with_grants, arrived(0, "last", 100, 100))
    assert turns.next_turn(replace(state, bonus=True)) == turns.Turn(state.alive[-1], 98)
    assert len(asked) <= 101


def test_all_joblets_that_wait_move_up_when_one_ends_early() -> None:
    rules, nothing_else = Rules(cores=1, joblet=2, ahead=2), Foreseen(0, None, bonus=False)
    state, told = play(rules, nothing_else, arrived(0, "a", 20, 6, 2), Ended(1, 0, 1), arrived(1, "b", 6.5, 1.5))
    waiting = [(joblet.name, joblet.begins, joblet.ends) for joblet in state.given]
    assert waiting == [("a", 1, 3), ("a", 3, 5), ("b", 5, 6.5)]
    assert not any(isinstance(command, Drop) for commands in told for command in commands)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("uniform", [False, True])
def test_only_what_is_due_by_the_deadline_that_cannot_be_met_is_dropped(uniform: bool, seed: int) -> None:
    """Two that need 12 within 8, and one with all the time in the world, whose joblets are queued as well."""
    state, told = play(
        Rules(cores=1, joblet=1, seed=seed, uniform_drops=uniform),
        arrived(0, "innocent", 100, 30),
        arrived(0, "one", 8, 6),
        arrived(0, "two", 8, 6),
    )
    dropped = {command.name: command.core_time for command in told[2] if isinstance(command, Drop)}
    # A joblet of the innocent one runs until 1.
    assert sum(dropped.values()) == pytest.approx(5)
    assert "innocent" not in dropped
    assert queued(state)["innocent"] == 29
    assert queued(state)["one"] + queued(state)["two"] == pytest.approx(7)


@pytest.mark.parametrize("needs", [[20, 60, 20, 40, 60], [200], [1, 199], [20] * 10])
def test_all_that_are_due_keep_the_same_part(needs: list[float]) -> None:
    arrivals = [arrived(0, str(place), 100, need, one_round=0.25) for place, need in enumerate(needs)]
    state, _told = play(Rules(1, 0.5), *arrivals)
    kept = [one.queued + one.begun for one in state.alive]
    assert kept == pytest.approx([need / 2 for need in needs])


def test_what_has_begun_is_not_lost() -> None:
    """The first has had 30 of its 40 when three more come, so that 0.35 of what is needed would fit."""
    rules = Rules(cores=1, joblet=30)
    state, _told = play(rules, arrived(0, "0", 56, 40), *(arrived(29, str(place), 56, 40) for place in (1, 2, 3)))
    assert [one.queued + one.begun for one in state.alive] == pytest.approx([30, 26 / 3, 26 / 3, 26 / 3])


def test_uniform_drops_are_random_and_follow_from_the_seed() -> None:
    def dropped(seed: int) -> float:
        rules = Rules(cores=1, joblet=1, seed=seed, uniform_drops=True)
        state, _told = play(rules, arrived(0, "a", 50, 1), arrived(0, "b", 51, 20), arrived(0, "c", 51, 60))
        return 20 - queued(state)["b"]

    losses = [dropped(seed) for seed in range(300)]
    assert losses == [dropped(seed) for seed in range(300)]
    # 30 of 80 joblets are dropped: 7.5 of 20 on average, with a spread of 1.9.
    assert sum(losses) / 300 == pytest.approx(7.5, abs=0.4)
    assert len(set(losses)) > 6


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("uniform", [False, True])
def test_everybody_keeps_a_round_while_somebody_has_more(uniform: bool, seed: int) -> None:
    rules = Rules(cores=1, joblet=2, seed=seed, uniform_drops=uniform)
    state, _told = play(rules, *(arrived(0, str(place), 10, 10, one_round=0.5) for place in range(15)))
    # The first joblet runs; 14 others share the 8 that are left.
    assert all(time >= 0.5 for name, time in queued(state).items() if name != "0")
    assert 8 - 2 <= sum(queued(state).values()) <= 8 + 1e-6


def test_rounds_are_dropped_where_not_even_they_fit() -> None:
    arrivals = [arrived(0, str(place), 10, 10, one_round=2) for place in range(15)]
    runs = [play(Rules(1, 2, seed), *arrivals)[0] for seed in range(50)]
    assert all(sorted(queued(state).values()) == [0] * 11 + [2] * 4 for state in runs)
    assert {name for state in runs for name, time in queued(state).items() if time} == set(map(str, range(1, 15)))
    # The first joblet ends so late that one of four is left.
    runs = [step(state, Ended(7, 0, 2))[0] for state in runs]
    assert all(len([joblet for joblet in state.given if not joblet.bonus]) == 1 for state in runs)
    assert all(not any(queued(state).values()) for state in runs)


def test_what_is_queued_at_the_deadline_is_lost_and_said() -> None:
    state, told = play(Rules(1, 2), arrived(0, "a", 4, 4), Ended(3, 0, 2), Ended(4, 1, 1))
    assert started(told[1]) == [("a", pytest.approx(1), False)], "until the deadline, and no longer"
    assert told[1][0] == Drop("a", pytest.approx(1))
    assert state.alive == ()
    _state, told = play(Rules(1, 2), arrived(0, "a", 4, 4), Ended(4, 0, 4))
    assert told[1] == [], "it took longer than its budget, but it is all done"
    _state, told = play(Rules(1, 2), Arrived(5, "late", AnytimeQuery(0, 5, 3), 1))
    assert told == [[Drop("late", 3)]]


def test_nothing_begins_that_cannot_end_a_round_in_time() -> None:
    # There is time for half of a round.
    _state, told = play(Rules(1, 5), arrived(0, "a", 20, 5), arrived(1, "b", 6, 2, one_round=2))
    assert told[1] == [Drop("b", 2)]
    # There is time for all of it, but on two cores, and not for a round on either.
    state, told = play(Rules(2, 3), arrived(0, "a", 10, 6), arrived(0, "b", 5, 4, one_round=3))
    assert told[1] == []
    state, commands = step(state, Ended(3, 0, 3))
    assert commands[0] == Drop("b", 4)
    assert started(commands) == [("a", 3, True)]


def test_bonus_is_by_weight() -> None:
    """Weights of 6 / (20 - 3) and 2 / (10 - 1) on two cores."""
    count = {"a": 0, "b": 0}
    for seed in range(3_000):
        state, _told = play(Rules(2, 5, seed), arrived(0, "a", 20, 6), arrived(0, "b", 10, 2, one_round=0.1))
        while not any(joblet.bonus for joblet in state.given):
            first = min(state.given, key=lambda joblet: joblet.ends)
            state, _commands = step(state, Ended(first.ends, first.number, first.budget))
        for joblet in state.given:
            count[joblet.name] += joblet.bonus
    share = count["a"] / sum(count.values())
    weights = 6 / 17, 2 / 9
    assert share == pytest.approx(weights[0] / sum(weights), abs=0.03)


def test_a_query_without_time_beside_its_essential_part_has_a_finite_weight() -> None:
    rules = Rules(cores=2, joblet=0.5)
    assert rules.weight(AnytimeQuery(0, 2, 4)) == 8
    assert rules.weight(AnytimeQuery(0, 2, 40)) == 80


@pytest.mark.parametrize("seed", range(20))
def test_bonus_ends_before_the_next_release_and_the_deadline(seed: int) -> None:
    rules = Rules(cores=1, joblet=4, seed=seed)
    state, told = play(rules, Foreseen(0, release=9), arrived(0, "a", 30, 4), arrived(0, "b", 12, 1), Ended(4, 0, 4))
    state, commands = step(state, Ended(5, 1, 1))
    assert [budget for _name, budget, bonus in started(commands) if bonus] == [4]
    state, commands = step(state, Ended(9, 2, 4))
    assert [bonus for _name, _budget, bonus in started(commands)] == [True], "the release has passed"
    # Essential work does not wait for a release, bonus does.
    state, told = play(rules, Foreseen(0, release=3.5), arrived(0, "a", 5, 3), Ended(3, 0, 3))
    assert started(told[1]) == [("a", 3, False)]
    assert told[2] == []
    assert state.wake_at == 3.5
    state, commands = step(state, TimePassed(3.5))
    assert started(commands) == [("a", 1.5, True)]
    assert state.wake_at == 5


def test_no_bonus_where_something_else_needs_the_cores() -> None:
    state, told = play(Rules(1, 2), Foreseen(0, None, bonus=False), arrived(0, "a", 9, 2), Ended(2, 0, 2))
    assert told[2] == []
    _state, commands = step(state, Foreseen(3, None))
    assert started(commands) == [("a", 2, True)]


def test_a_joblet_is_a_round_at_least() -> None:
    state, told = play(Rules(1, 2), arrived(0, "a", 30, 12, one_round=6), Ended(6, 0, 6), Ended(12, 1, 6))
    assert [started(commands) for commands in told] == [[("a", 6, False)], [("a", 6, False)], [("a", 6, True)]]
    assert state.given[0].until == 30


def test_what_a_joblet_leaves_is_queued_again_if_it_is_a_round() -> None:
    rules = Rules(cores=1, joblet=5)
    state, told = play(rules, arrived(0, "a", 30, 10, one_round=2), Ended(4, 0, 4))
    assert queued(state) == {"a": 0}
    assert started(told[1]) == [("a", 5, False)], "the one unit that is left is no round"
    state, told = play(rules, arrived(0, "a", 30, 10, one_round=2), Ended(2, 0, 2))
    assert queued(state) == {"a": 3}
    # It took more than its budget: that much less is to do.
    state, told = play(rules, arrived(0, "a", 30, 10, one_round=2), Ended(7, 0, 7))
    assert started(told[1]) == [("a", 3, False)]
    # It did nothing: nothing is tried again.
    state, told = play(rules, arrived(0, "a", 30, 5, one_round=2), Ended(1, 0, 0))
    assert [bonus for _name, _budget, bonus in started(told[1])] == [True]


def test_a_joblet_that_takes_too_long_costs_those_that_are_due() -> None:
    _state, told = play(Rules(1, 2), arrived(0, "a", 10, 2), arrived(0, "b", 10, 8), Ended(6, 0, 6))
    assert told[2][0] == Drop("b", pytest.approx(4))


def test_estimates_change_what_is_left() -> None:
    state, _told = play(Rules(1, 2), arrived(0, "a", 10, 6))
    more, commands = step(state, Reestimated(1, "a", left=20, one_round=1))
    assert commands == [Drop("a", pytest.approx(12))]
    assert queued(more) == {"a": pytest.approx(8)}
    assert more.alive[0].query.essential == 22
    assert more.alive[0].weight == more.rules.weight(AnytimeQuery(0, 10, 22)) > state.alive[0].weight
    less, commands = step(state, Reestimated(1, "a", left=0, one_round=1))
    assert commands == []
    assert started(step(less, Ended(2, 0, 2))[1]) == [("a", 2, True)]
    assert step(state, Reestimated(1, "gone", left=1, one_round=1)) == (replace(state, now=1), [])
    for left, one_round in ((-1, 1), (1, 0)):
        with pytest.raises(InternalError):
            step(state, Reestimated(1, "a", left, one_round))


def test_who_is_withdrawn_gets_nothing_more() -> None:
    state, _told = play(Rules(1, 2), arrived(0, "a", 10, 6), arrived(0, "b", 20, 4), Withdrawn(1, "a"))
    assert [one.name for one in state.alive] == ["b"]
    state, commands = step(state, Ended(2, 0, 2))
    assert started(commands) == [("b", 2, False)]


def test_nothing_is_done_where_nobody_is_alive() -> None:
    state, told = play(Rules(2, 1), TimePassed(0), arrived(0, "a", 4, 4), Withdrawn(0, "a"), Ended(1, 0, 1))
    assert told[3] == []
    assert State(Rules(2, 1)).wake_at is None
    assert state.wake_at is None


def test_who_needs_nothing_gets_no_bonus() -> None:
    _state, told = play(Rules(1, 1), arrived(0, "a", 4, 0))
    assert told == [[]]


def test_the_same_events_give_the_same_commands() -> None:
    events = [arrived(0, "a", 30, 3), arrived(0, "b", 30, 3), *(Ended(at, at - 1, 1) for at in range(1, 30))]
    runs = [play(Rules(1, 1, seed), *events)[1] for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_what_cannot_happen_is_a_bug() -> None:
    state, _told = play(Rules(1, 2), arrived(1, "a", 10, 6))
    for event in (
        TimePassed(0),
        Ended(2, 7, 2),
        arrived(2, "a", 20, 1),
        arrived(2, "b", 20, 1, one_round=0),
        Arrived(2, "b", AnytimeQuery(3, 4, 1), 1),
    ):
        with pytest.raises(InternalError):
            step(state, event)


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ({"cores": 0, "joblet": 1}, "plan.bad-cores"),
        ({"cores": -2, "joblet": 1}, "plan.bad-cores"),
        ({"cores": 1, "joblet": 0}, "plan.bad-joblet"),
        ({"cores": 1, "joblet": float("nan")}, "plan.bad-joblet"),
        ({"cores": 1, "joblet": 1, "ahead": -1}, "plan.bad-joblet"),
    ],
)
def test_rules_that_cannot_be(rules: dict[str, float], code: str) -> None:
    with pytest.raises(PlanError) as raised:
        Rules(**rules)  # type: ignore[arg-type]
    assert raised.value.code == code


def test_a_joblet_says_when_it_ends() -> None:
    assert Joblet(0, "a", begins=2, budget=3, until=9, bonus=False).ends == 5
