"""The rounds of one window, drawn part after part, by several threads at once where there are some.

A part follows from rows, seed and the numbers of its rounds, so it does not matter who draws it, or when. What is said
of a window rests on the parts from the first round on, as far as they go without a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Condition
from typing import Any

import pyarrow as pa

from punctual.kinds.world_run import WorldRun
from punctual.kinds.worlds.called_groups import CalledGroups, Calling
from punctual.kinds.worlds.closed import ClosedForms, closed_forms
from punctual.kinds.worlds.drawn_groups import DrawnGroups
from punctual.kinds.worlds.rounds.needed_rounds import MOST_ROUNDS, needed_rounds
from punctual.kinds.worlds.rounds.panes import Keeping
from punctual.kinds.worlds.rounds.seldom import rounds_for_tails, seldom
from punctual.kinds.worlds.simulate import GroupsInWorlds
from punctual.kinds.worlds.summaries import Summaries
from punctual.kinds.worlds.world_rows import Remarks, WorldRows
from punctual.plan.worlds import Called, Worlds
from punctual.runtime.backend import JobLimit

MOST_NUMBERS = 1 << 25
"""Of an aggregate, groups by rounds: a quarter of a gigabyte."""


MOST_AHEAD = 1 << 20
"""Nor is more drawn ahead of an answer than so many numbers, unless it was asked for: all of them are looked at once
more when it is due."""


class WindowDrawing:
    """The worlds of a query at one instant, for so many ``answers``; ``keeping`` says where panes keep the first."""

    def __init__(
        self,
        body: Worlds,
        columns: Sequence[pa.Array],
        at: int,
        run: WorldRun,
        query: str = "",
        keeping: Keeping | None = None,
        answers: int = 1,
    ) -> None:
        self._body = body
        self._answers = answers
        self._rows = WorldRows.of(body, columns, at, run.seed, run.shared)
        self._known = run.closed_forms and closed_forms(body) is not None
        calling = Calling(run.functions, query)
        self._groups = _groups(body, self._rows, calling, None if self._known else keeping, known=self._known)
        self._seldom = seldom(body, self._groups) if isinstance(self._groups, GroupsInWorlds) else None
        self.for_tails = 0 if self._seldom is None else rounds_for_tails(body, self._seldom)
        """From so many rounds on all expectations have intervals."""
        self._changed = Condition()
        self._parts: list[Any] = []
        self._later: dict[int, Any] = {}
        self._begun = self._rounds = 0
        self._now: Callable[[], float] = float if run.meter is None else run.meter.now
        self.drawn_us = 0.0
        """Core time of all draws but for those that panes keep, where somebody measures it."""
        self._problem: Exception | None = None
        self.asked_for = 0
        """How many rounds CONFIDENCE asks for, once somebody has looked."""

    @property
    def varies(self) -> bool:
        """Whether worlds differ, and something is to be said that is not known without drawing them."""
        return not self._known and self._groups.varies

    @property
    def remarks(self) -> Remarks:
        """What is to be said of the rows of its windows."""
        return self._rows.remarks

    @property
    def rounds(self) -> int:
        """How many rounds there are: the longest beginning without a gap."""
        return self._rounds

    @property
    def kept(self) -> int:
        """So many rounds panes keep: what they cost says nothing of others."""
        return self._groups.kept

    @property
    def most(self) -> int:
        """No more rounds are drawn: of many groups there would be too many numbers."""
        return min(MOST_ROUNDS, max(1, MOST_NUMBERS // max(1, self._groups.groups)))

    @property
    def own(self) -> int:
        """How many rounds each answer of the instant is to add; 0 where so many are needed as the data ask for."""
        return self._body.effort.rounds if self.varies and self._body.effort.confidence is None else 0

    @property
    def needed(self) -> int:
        """How many rounds are needed in all, by what was seen of the data; 0 where each answer adds its own."""
        return min(self.asked_for, self.most) if self.varies and self._body.effort.confidence is not None else 0

    def begin(self, rounds: int) -> None:
        """Draw so many rounds at least that one knows what is needed, and what a round costs."""
        effort = self._body.effort
        self.until(min(rounds, effort.rounds) if effort.confidence is None else effort.rounds)
        if self.varies and effort.confidence is not None:
            self.look()

    def finish(self, number: int) -> None:
        """Draw what the answer of this number is to rest on, however long that takes."""
        self.until(max(self.own * (number + 1), self.needed))

    def look(self) -> tuple[Summaries, int]:
        """What the rounds so far say, and how many CONFIDENCE asks for by that."""
        said = self.said(self.rounds)
        self.asked_for = max(self.for_tails, needed_rounds(self._body.effort, said, said.rounds))
        return said, self.asked_for

    @property
    def full(self) -> bool:
        """Whether more rounds would be too many to say quickly what they are."""
        return not self.varies or self._begun >= self._most_ahead

    @property
    def begun(self) -> bool:
        """The same: what is under way takes no time."""
        return self.full

    @property
    def _most_ahead(self) -> int:
        wanted = max(self._answers * self._body.effort.rounds, self.needed)
        return min(self.most, max(wanted, MOST_AHEAD // max(1, self._groups.groups)))

    def draw(self, rounds: int, limit: JobLimit | None = None) -> int:
        """Draw up to so many more rounds, no more than are drawn at once; how many were drawn, 0: there may be none."""
        some = self._taken(self._most_ahead, rounds)
        if some:
            self._put(some)
        return len(some)

    def until(self, rounds: int) -> None:
        """Have so many rounds at least, or as many as there may be; what others have begun is waited for."""
        while self.rounds < rounds:
            if some := self._taken(rounds):
                self._put(some)
                continue
            with self._changed:
                self._changed.wait_for(lambda: self._problem is not None or self.rounds == self._begun)
            if self._problem is not None:
                raise self._problem
            if self._begun >= min(rounds, self.most) or not self.varies:
                return

    def said(self, rounds: int) -> Summaries:
        """What the rounds so far say. Where worlds do not differ, or nothing has to be drawn, ``rounds`` are alike."""
        if self.varies:
            with self._changed:
                if isinstance(self._groups, GroupsInWorlds):
                    self._parts = [self._groups.joined(self._parts)]
                parts = list(self._parts)
            worlds = self._groups.joined(parts)
            itself = self._groups.itself if isinstance(self._groups, GroupsInWorlds) else None
            shared = None if itself is None else (self._rows.shared, itself)
            return Summaries(self._body, self._groups.keys, worlds, self._groups.codes, None, self._seldom, shared)
        first: Any = self._groups.part(range(1))
        worlds = replace(self._groups.joined([first]), rounds=rounds)
        forms, missed = None, self._seldom
        if self._known:
            assert isinstance(self._groups, GroupsInWorlds), "what is known without worlds has groups that are"
            forms, missed = ClosedForms(self._body, self._groups), None
        return Summaries(self._body, self._groups.keys, worlds, self._groups.codes, forms, missed)

    def _taken(self, until: int, count: int = MOST_ROUNDS) -> range:
        """The next rounds that nobody has begun, so many at most, and as are drawn at once, none beyond ``until``."""
        with self._changed:
            count = min(self._groups.at_once(self._begun), count) if self.varies else 0
            some = range(self._begun, max(min(self._begun + count, until, self.most), self._begun))
            self._begun = some.stop
            return some

    def _put(self, some: range) -> None:
        began = self._now()
        try:
            part = self._groups.part(some)
        except Exception as problem:
            with self._changed:  # nobody waits for it
                self._problem = problem
                self._changed.notify_all()
            raise
        with self._changed:
            self.drawn_us += self._now() - began if some.start >= self.kept else 0.0
            self._later[some.start] = part
            while (following := self._later.pop(self._rounds, None)) is not None:
                self._parts.append(following)
                self._rounds += following.rounds
            self._changed.notify_all()


def _groups(
    body: Worlds, rows: WorldRows, calling: Calling, keeping: Keeping | None, *, known: bool
) -> GroupsInWorlds | DrawnGroups | CalledGroups:
    if known:
        return GroupsInWorlds.of(body, rows)
    groups = DrawnGroups(body, rows) if body.drawn_keys else GroupsInWorlds.of(body, rows, keeping)
    if not any(isinstance(one, Called) for one in body.aggregates):
        return groups
    return CalledGroups(body, rows, groups, calling)
