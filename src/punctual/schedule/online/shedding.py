"""What is dropped when a deadline cannot be met: of those that are due by then, all lose the same part.

The queue runs in deadline order, so what is due by a deadline must fit into the core time until then, beside the
joblets that run already. Where it does not, nothing that is due later can help, and nobody who is due later should lose
anything: only those lose who are due by the earliest deadline that cannot be met (the paper's line 7 draws among all,
which sheds the innocent).

They keep a common share of their essential time, the share at which everything fits; whoever has less keeps what it
has. The paper drops joblets that are drawn from the queue, each as likely as any other (``uniform_drops``, for
comparison). Then who came first loses most, since it takes part in the draws for everybody who comes after it: of fifty
equal queries that need twice the time there is, the first keep 0.36 of their essential time, and the last 0.96.

A query that has not begun keeps one round while others have more than that: no deadline should pass without an answer.
Where not even the rounds fit, a draw decides who has none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from punctual.schedule.online.draws import by_weight, uniform
from punctual.schedule.online.events import Drop, Joblet
from punctual.schedule.online.state import Alive, Rules, State


def core_time_until(deadline: float, now: float, cores: int, given: Sequence[Joblet]) -> float:
    """The core time that there is for what is queued, besides the joblets that were given to cores."""
    taken = (min(joblet.ends, deadline) - max(joblet.begins, now) for joblet in given)
    return cores * (deadline - now) - sum(time for time in taken if time > 0)


def shed(state: State) -> tuple[State, list[Drop]]:
    """The state with so many joblets fewer that all deadlines can be met."""
    rules = state.rules
    left: list[Alive] = []
    draws, due = state.draws, 0.0
    for place, one in enumerate(state.alive):
        left.append(one)
        due += one.queued
        if place + 1 < len(state.alive) and state.alive[place + 1].deadline == one.deadline:
            continue
        excess = due - core_time_until(one.deadline, state.now, rules.cores, state.given)
        if excess > rules.negligible:
            left, draws = _without(left, min(excess, due), rules, draws)
            due = sum(one.queued for one in left)
    drops = [
        Drop(before.name, before.queued - after.queued)
        for before, after in zip(state.alive, left)
        if before.queued - after.queued > rules.negligible
    ]
    return replace(state, alive=tuple(left), draws=draws), drops


def _without(due: list[Alive], excess: float, rules: Rules, draws: int) -> tuple[list[Alive], int]:
    """Those that are due with so much less queued, and how many draws there have been."""
    spare = [one.queued if one.begun else max(one.queued - one.one_round, 0.0) for one in due]
    if rules.uniform_drops:
        lost, draws = _drawn(spare, excess, rules, draws)
    else:
        lost = _beyond_common_share(due, spare, excess)
    queued = [max(one.queued - time, 0.0) for one, time in zip(due, lost)]
    excess -= sum(lost)
    while excess > rules.negligible:
        drawn = by_weight(queued, uniform(rules.seed, draws))
        if drawn is None:
            break
        draws += 1
        excess -= queued[drawn]
        queued[drawn] = 0.0
    return [replace(one, queued=time) for one, time in zip(due, queued)], draws


def _drawn(spare: Sequence[float], excess: float, rules: Rules, draws: int) -> tuple[list[float], int]:
    """What each loses of what it could spare, where every joblet is as likely to be dropped as any other."""
    left = list(spare)
    while excess > rules.negligible:
        drawn = by_weight(left, uniform(rules.seed, draws))
        if drawn is None:
            break
        draws += 1
        dropped = min(left[drawn], rules.joblet)
        excess -= dropped
        left[drawn] -= dropped
    return [before - after for before, after in zip(spare, left)], draws


def _beyond_common_share(due: Sequence[Alive], spare: Sequence[float], excess: float) -> list[float]:
    """What each has beyond the share of its essential time that all can have; never more than it can spare."""
    some = [place for place, time in enumerate(spare) if time > 0]
    have = np.array([due[place].begun + due[place].queued for place in some], np.float64)
    essential = np.array([due[place].query.essential for place in some], np.float64)
    most = np.array([spare[place] for place in some], np.float64)
    if most.sum() <= excess:
        return list(spare)

    def beyond(share: float) -> NDArray[np.float64]:
        return np.clip(have - share * essential, 0.0, most)

    # Between these shares the sum is a straight line.
    shares = np.sort(np.concatenate([(have - most) / essential, have / essential]))
    place = bisect_left(shares, True, lo=1, key=lambda share: bool(beyond(share).sum() < excess))
    low, high = shares[place - 1 : place + 1]
    more, less = beyond(low).sum(), beyond(high).sum()
    lost = [0.0] * len(due)
    for one, time in zip(some, beyond(low + (high - low) * (more - excess) / (more - less))):
        lost[one] = float(time)
    return lost
