"""Who gets a free core: essential work and what plans grant in the order of deadlines, then bonus by draws.

Where there is a plan (:mod:`punctual.schedule.epoch`), each query has core time of its own, more than is essential or
less. What plans grant can all be done, and earliest deadline first does it (EDF is optimal), so what is granted beyond
the essential part keeps its place in that order: later, its time would be gone. Should the plan not come true, because
rounds take longer or something else needs the cores, essential work goes first.
"""

from __future__ import annotations

from typing import NamedTuple

from punctual.schedule.online.bonus import drawn_for_bonus
from punctual.schedule.online.shedding import core_time_until
from punctual.schedule.online.state import Alive, State


class Turn(NamedTuple):
    """A query that a core works for next, how much of its work that may be at most, and of which sort."""

    one: Alive
    most: float
    bonus: bool = False
    granted: bool = False


def next_turn(state: State) -> Turn | None:
    """Whose joblet a free core gets; None where it stays free."""
    for one in state.alive:
        if one.queued:
            return Turn(one, one.queued)
        if state.bonus and one.beyond >= one.one_round and _may_go_on(state, one):
            return Turn(one, one.beyond, bonus=True, granted=True)
    drawn = drawn_for_bonus(state) if state.bonus else None
    return None if drawn is None else Turn(drawn, float("inf"), bonus=True)


def _may_go_on(state: State, one: Alive) -> bool:
    """Whether a query has time for a round beyond its essential ones, and all that is essential for others too."""
    if min(one.deadline, state.next_release) - state.core_free_at < one.one_round:
        return False
    due = min(max(state.rules.joblet, one.one_round), one.beyond)
    for other in state.alive:
        due += other.queued
        left = core_time_until(other.deadline, state.now, state.rules.cores, state.given) + one.one_round
        if other.queued and due > left:
            return False
    return True
