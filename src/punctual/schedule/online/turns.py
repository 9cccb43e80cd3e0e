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
    begins, spare = state.core_free_at, None
    for one in state.alive:
        if one.queued:
            return Turn(one, one.queued)
        until = min(one.deadline, state.next_release)
        if state.bonus and one.beyond >= one.one_round and until - begins >= one.one_round:
            spare = _spare(state) if spare is None else spare
            if min(max(state.rules.joblet, one.one_round), one.beyond) <= spare + one.one_round:
                return Turn(one, one.beyond, bonus=True, granted=True)
    drawn = drawn_for_bonus(state) if state.bonus else None
    return None if drawn is None else Turn(drawn, float("inf"), bonus=True)


def _spare(state: State) -> float:
    """So much core time may go to something else, and all that is essential can still be done."""
    due, least = 0.0, float("inf")
    for one in state.alive:
        if one.queued:
            due += one.queued
            left = core_time_until(one.deadline, state.now, state.rules.cores, state.given)
            least = min(least, left - due)
    return least
