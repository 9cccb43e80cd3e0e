"""Tail cuts of rankings under overload: decided before a pass, journaled, and found again after a crash.

A cut belongs to a query's instants. Those of a batch are in the journal until the next batch has one, since everything
before it is answered by then: a pass that is run again after a crash cuts as it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.engine.journal import Journal, TailCut
from punctual.engine.passes import Asked
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.ranking_reach import share_of_walk
from punctual.schedule.due import Listed
from punctual.schedule.tail_cut import tail_cut


class Cuts:
    """Reads and writes the journal's tail cuts."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def known(self, batch: int, asked: Sequence[Asked]) -> list[Asked]:
        """What is due, with the cuts that were decided for it before."""
        mine = self._of(batch)
        return [part for one in asked for part in _parts(one, mine)]

    def decide(
        self, batch: int, asked: Sequence[Asked], now: Micros, released: Micros, cost: PassCost, work: float
    ) -> list[Asked]:
        """The pass as it is run: rankings with a deadline are cut where it would be missed otherwise."""
        mine = [one for one in asked if _gives_way(one)]
        if not mine:
            return list(asked)
        deadline = released + min(one.reader.query.deadline_us or 0 for one in mine)
        ranks = max(one.reader.query.top.ranks for one in mine if one.reader.query.top is not None)
        expected = cost.fixed_us + cost.slope_us * work
        eps = tail_cut(deadline - now, expected, lambda eps: share_of_walk(ranks, eps))
        if eps is None:
            return list(asked)
        spans = [(one.reader.query.name, int(one.due.instants[0]), int(one.due.instants[-1])) for one in mine]
        cuts = (*self._of(batch), *(TailCut(batch, name, first, last, eps) for name, first, last in spans))
        self._journal.write(replace(self._journal.decided, cuts=cuts))
        return [replace(one, eps=eps) if _gives_way(one) else one for one in asked]

    def _of(self, batch: int) -> tuple[TailCut, ...]:
        return tuple(cut for cut in self._journal.decided.cuts if cut.batch == batch)


def _parts(asked: Asked, decided: Sequence[TailCut]) -> list[Asked]:
    """A query's instants with each of these cuts, and those without, oldest first."""
    found: list[Asked] = []
    left = asked.due
    for cut in decided:
        if cut.query == asked.reader.query.name:
            inside = (left.instants >= cut.first) & (left.instants <= cut.last)
            found.append(replace(asked, due=_some(left, inside), eps=cut.eps))
            left = _some(left, ~inside)
    parts = [part for part in (*found, replace(asked, due=left)) if part.due.instants.size]
    return sorted(parts, key=lambda part: int(part.due.instants[0]))


def _gives_way(asked: Asked) -> bool:
    """Whether a looser tail is any help: it is read by ranks, in a time that somebody asked for.

    What is displayed by STABLE follows from the answer before, so its answers of one batch are not cut apart.
    """
    query = asked.reader.query
    if query.top is None or query.top.whole or query.top.margin:
        return False
    return query.deadline_us is not None and asked.eps is None


def _some(due: Listed, which: NDArray[np.bool_]) -> Listed:
    return Listed(due.instants[which], due.ran[which], due.number[which], due.runs)
