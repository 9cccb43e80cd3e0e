"""How many rounds an answer rests on, and what it says then.

With ROUNDS the answer of stage i (counted from 1) has i times as many. With CONFIDENCE it is as many as the data ask
for: some rounds tell how much results vary between worlds, that says how many are needed, and so on until they suffice.
Nothing is added because an interval looks narrow by chance: rounds are the first ones, and the number follows from the
variance, so the same rows and the same seed give the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.kinds.worlds.called_groups import CalledGroups, Calling
from punctual.kinds.worlds.closed import ClosedForms, closed_forms
from punctual.kinds.worlds.drawn_groups import DrawnGroups
from punctual.kinds.worlds.simulate import GroupsInWorlds
from punctual.kinds.worlds.summaries import Summaries, Summarised
from punctual.kinds.worlds.world_rows import WorldRows
from punctual.plan.worlds import Called, Effort, Worlds

MOST_ROUNDS = 1_000_000
"""CONFIDENCE asks for no more: a half-width that needs more is out of reach."""
MOST_NUMBERS = 1 << 25
"""Nor for more than so many numbers of an aggregate, groups by rounds: a quarter of a gigabyte."""
GROWTH = 4
"""How much further one look at the variance may carry."""


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """The result rows of a window, how many rounds they rest on (0: none were needed), and whether that is what was
    asked for. ``marked`` values were missing, and nothing near them was found."""

    said: Summarised
    rounds: int
    reached: bool
    marked: int


def settle(body: Worlds, rows: WorldRows, number: int, calling: Calling, *, closed: bool) -> Settled:
    """The answer of this number of an instant; by closed forms where there are some and they are wanted."""
    effort = body.effort
    if closed and closed_forms(body) is not None:
        known = GroupsInWorlds(body, rows)
        said = Summaries(body, known.keys, known.until(1), rows.codes, ClosedForms(body, known))
        return Settled(said.all(), 0, True, rows.marked)
    groups = _groups(body, rows, calling)
    wanted = effort.rounds * (number + 1) if effort.confidence is None else effort.rounds
    worlds = groups.until(wanted)
    said = Summaries(body, groups.keys, worlds, groups.codes)
    reached = True
    if effort.confidence is not None and groups.varies:
        most = min(MOST_ROUNDS, MOST_NUMBERS // max(1, worlds.count.shape[0]))
        while (needed := _needed(effort, said, worlds.rounds)) > worlds.rounds and worlds.rounds < most:
            end = min(needed, GROWTH * worlds.rounds, most)
            worlds = groups.until(end)
            said = Summaries(body, groups.keys, worlds, groups.codes)
        reached = needed <= worlds.rounds
    return Settled(said.all(), worlds.rounds if groups.varies else 0, reached, rows.marked)


def _groups(body: Worlds, rows: WorldRows, calling: Calling) -> GroupsInWorlds | DrawnGroups | CalledGroups:
    groups = DrawnGroups(body, rows) if body.drawn_keys else GroupsInWorlds(body, rows)
    if not any(isinstance(one, Called) for one in body.aggregates):
        return groups
    return CalledGroups(body, rows, groups, calling)


def _needed(effort: Effort, said: Summaries, rounds: int) -> int:
    """How many rounds the widest interval asks for, if results vary as much as they did so far."""
    assert effort.confidence is not None
    widths, values = said.half_widths(effort.confidence)
    known = np.isfinite(widths) & np.isfinite(values)
    if not known.any():
        return rounds
    within = np.zeros(widths.size) if effort.absolute is None else np.full(widths.size, effort.absolute)
    if effort.relative is not None:
        within = np.maximum(within, effort.relative * np.abs(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(widths[known] > 0, (widths[known] / within[known]) ** 2, 0.0)
    most = float(times.max())
    return MOST_ROUNDS + 1 if not np.isfinite(most) else int(min(np.ceil(most * rounds), MOST_ROUNDS + 1))
