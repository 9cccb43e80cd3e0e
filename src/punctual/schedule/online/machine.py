"""OO-MULTIQ: who runs on the cores, decided when something happens, without knowing what will come.

Two events matter. When a query arrives (E1), its essential work is queued in the order of deadlines; where a deadline
can no longer be met, joblets are dropped (``shedding.py``). When a core is free, it gets the first joblet of the queue,
and where the queue is empty (E2) a bonus joblet (``bonus.py``). A joblet that a core has is never taken back, so what
arrives waits for a joblet at most; bonus joblets also end before the next release that is known. Queries may also come
with core time that a plan gave them; it has its place in the queue (``turns.py``).

Pure: time comes with the events, draws follow from the seed and their number. Cost: in proportion to the number of
queries alive.

References
----------
Ge and others, anytime queries with deadlines on multicores, Algorithm OO-MULTIQ. Theorem 3: earliest deadline first for
essential work meets all deadlines that can be met, but for the joblets that cannot be interrupted.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

from punctual.errors import InternalError
from punctual.schedule.online.events import (
    Arrived,
    Command,
    Drop,
    Ended,
    Event,
    Foreseen,
    Joblet,
    Reestimated,
    Start,
    TimePassed,
    Withdrawn,
)
from punctual.schedule.online.shedding import shed
from punctual.schedule.online.state import Alive, State
from punctual.schedule.online.turns import next_turn


def step(state: State, event: Event) -> tuple[State, list[Command]]:
    """The state after an event, and what to do now.

    On one core, a query that needs 3 within 10 gets joblets of 2 and 1, then bonus:

    >>> from punctual.schedule.epoch import AnytimeQuery
    >>> from punctual.schedule.online import Rules
    >>> state, commands = step(State(Rules(cores=1, joblet=2)), Arrived(0, "a", AnytimeQuery(0, 10, 3), one_round=1))
    >>> commands
    [Start(joblet=Joblet(number=0, name='a', begins=0, budget=2, until=10, bonus=False, granted=False))]
    >>> state, commands = step(state, Ended(2, 0, used=2))
    >>> state, commands = step(state, Ended(3, 1, used=1))
    >>> commands
    [Start(joblet=Joblet(number=2, name='a', begins=3, budget=2, until=10, bonus=True, granted=False))]
    """
    if event.at < state.now:
        raise InternalError(f"time went back from {state.now} to {event.at}")
    state, worse = _after(replace(state, now=event.at), event)
    state, commands = _expired(state)
    if worse:
        state, dropped = shed(state)
        commands += dropped
    state, more = _filled(state)
    return state, commands + more


def _expired(state: State) -> tuple[State, list[Command]]:
    """Without the queries whose deadline has come; what they have queued is lost."""
    count = bisect_right(state.alive, state.now, key=lambda one: one.deadline)
    if not count:
        return state, []
    lost: list[Command] = [Drop(one.name, one.queued) for one in state.alive[:count] if one.queued]
    return replace(state, alive=state.alive[count:]), lost


def _after(state: State, event: Event) -> tuple[State, bool]:
    """What the event itself changes, and whether a deadline that could be met may now be too early."""
    match event:
        case Arrived():
            return _with_query(state, event), True
        case Ended(_, number, used):
            return _with_end(state, number, used)
        case Reestimated(_, name, left, one_round):
            one = _alive(state, name)
            if one is None:
                return state, False
            if left is None:
                return _with(state, replace(one, one_round=one_round)), False
            if not (left >= 0 and one_round > 0):
                raise InternalError(f'query "{name}" cannot need {left} in rounds of {one_round}')
            query = replace(one.query, essential=one.begun + left)
            weight = state.rules.weight(query)
            changed = replace(one, query=query, queued=left, one_round=one_round, weight=weight)
            return _with(state, changed), left > one.queued
        case Withdrawn(_, name):
            return replace(state, alive=tuple(one for one in state.alive if one.name != name)), False
        case Foreseen(_, release, bonus):
            return replace(state, release=release, bonus=bonus), False
        case TimePassed():
            return state, False


def _with_query(state: State, event: Arrived) -> State:
    query = event.query
    if not (event.one_round > 0 and query.start <= event.at):
        raise InternalError(f'query "{event.name}" arrived before its start, or its rounds take no time')
    if _alive(state, event.name) is not None:
        raise InternalError(f'query "{event.name}" arrived twice')
    place = bisect_right(state.alive, query.deadline, key=lambda one: one.deadline)
    granted = query.essential if event.granted is None else event.granted
    queued = min(granted, query.essential)
    one = Alive(event.name, query, event.one_round, queued, state.rules.weight(query), beyond=granted - queued)
    return replace(state, alive=(*state.alive[:place], one, *state.alive[place:]))


def _with_end(state: State, number: int, used: float) -> tuple[State, bool]:
    """Without a joblet that has ended, and those that wait begin sooner or later than was thought.

    What it left of its budget is queued again where that is a round at least.
    """
    place = next((place for place, joblet in enumerate(state.given) if joblet.number == number), None)
    if place is None:
        raise InternalError(f"joblet {number} ended that does not run")
    joblet, waiting = state.given[place], state.given[max(place + 1, state.rules.cores) :]
    state = replace(state, given=(*state.given[:place], *state.given[place + 1 : state.rules.cores]))
    for following in waiting:
        state = replace(state, given=(*state.given, replace(following, begins=state.core_free_at)))
    one = _alive(state, joblet.name)
    if one is not None:
        rest = joblet.budget - used
        again = rest if rest < 0 or (used > 0 and rest >= one.one_round) else 0.0
        queued = one.queued if joblet.bonus else max(one.queued + again, 0.0)
        beyond = max(one.beyond + again, 0.0) if joblet.granted else one.beyond
        state = _with(state, replace(one, queued=queued, beyond=beyond, begun=one.begun - rest))
    return state, state.now > joblet.ends


def _filled(state: State) -> tuple[State, list[Command]]:
    """The state with a joblet for every core that is free, as long as there are any."""
    commands: list[Command] = []
    while len(state.given) < state.rules.cores + state.rules.ahead:
        turn = next_turn(state)
        if turn is None:
            break
        one, begins = turn.one, state.core_free_at
        until = min(one.deadline, state.next_release) if turn.bonus else one.deadline
        budget = min(max(state.rules.joblet, one.one_round), turn.most, until - begins)
        if not turn.bonus and budget < min(one.one_round, one.queued):
            commands.append(Drop(one.name, one.queued))
            state = _with(state, replace(one, queued=0.0))
            continue
        joblet = Joblet(state.joblets, one.name, begins, budget, until, turn.bonus, turn.granted)
        queued = one.queued if turn.bonus else one.queued - budget
        queued = queued if queued > state.rules.negligible else 0.0
        beyond = one.beyond - budget if turn.granted else one.beyond
        state = _with(state, replace(one, queued=queued, beyond=beyond, begun=one.begun + budget))
        drawn = turn.bonus and not turn.granted
        state = replace(state, given=(*state.given, joblet), joblets=state.joblets + 1, draws=state.draws + drawn)
        commands.append(Start(joblet))
    return state, commands


def _alive(state: State, name: str) -> Alive | None:
    return next((one for one in state.alive if one.name == name), None)


def _with(state: State, changed: Alive) -> State:
    """The state with a query that is alive replaced by the same one, changed."""
    place = next(place for place, one in enumerate(state.alive) if one.name == changed.name)
    return replace(state, alive=(*state.alive[:place], changed, *state.alive[place + 1 :]))
