"""How many rounds an answer rests on, and what it says then.

With ROUNDS the answer of stage i (counted from 1) has i times as many. With CONFIDENCE it is as many as the data ask
for: some rounds tell how much results vary between worlds, that says how many are needed, and so on until they suffice.
Nothing is added because an interval looks narrow by chance: rounds are the first ones, and the number follows from the
variance, so the same rows and the same seed give the same answer.

Where time is short there are fewer: a share of what the stage was to add, at least one round. Where rounds were drawn
ahead, the answer rests on as many as there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from punctual.estimate.quality_curve import CONVEX, QualityCurve
from punctual.kinds.worlds.summaries import Summaries, Summarised
from punctual.kinds.worlds.world_rows import Remarks
from punctual.plan.worlds import Effort

GROWTH = 4
"""How much further one look at the variance may carry."""


class DrawnRounds(Protocol):
    """The worlds of a query at one instant, whoever draws them."""

    for_tails: int
    """From so many rounds on all expectations have intervals."""

    @property
    def varies(self) -> bool:
        """Whether worlds differ, and something is to be said that is not known without drawing them."""
        ...

    @property
    def remarks(self) -> Remarks:
        """What is to be said of the rows of its windows."""
        ...

    @property
    def rounds(self) -> int:
        """How many rounds there are: the longest beginning without a gap."""
        ...

    @property
    def most(self) -> int:
        """No more rounds are drawn: there would be too many numbers."""
        ...

    def until(self, rounds: int) -> None:
        """Have so many rounds at least, or as many as there may be."""
        ...

    def said(self, rounds: int) -> Summaries:
        """What the rounds so far say. Where worlds do not differ, or nothing has to be drawn, ``rounds`` are alike."""
        ...

    def look(self) -> tuple[Summaries, int]:
        """What the rounds so far say, and how many CONFIDENCE asks for by that."""
        ...


@dataclass(frozen=True, slots=True)
class FewerRounds:
    """The knob of a query over worlds; its setting is the share of the rounds that an answer is to add."""

    @property
    def curve(self) -> QualityCurve:
        """Errors fall with the root of the rounds, so the last ones are worth least."""
        return CONVEX

    def setting(self, share: float) -> float:
        """The share itself."""
        return share

    def share(self, setting: float) -> float:
        """The same."""
        return setting


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """The result rows of a window, how many rounds they rest on (0: none were needed), and how many it should have
    been; ``remarks`` are about the rows of the window."""

    said: Summarised
    rounds: int
    wanted: int
    remarks: Remarks

    @property
    def reached(self) -> bool:
        """Whether there are as many rounds as were asked for."""
        return self.rounds >= self.wanted

    @property
    def share(self) -> float:
        """The part of the rounds that there is of those that were asked for."""
        return 1.0 if self.reached else self.rounds / self.wanted


def settle(effort: Effort, drawing: DrawnRounds, number: int, share: float = 1.0) -> Settled:
    """The answer of this number of an instant, with a share of the rounds that its stage adds."""
    asked = effort.at_first(number)
    if not drawing.varies:
        return Settled(drawing.said(asked).all(), 0, 0, drawing.remarks)
    if effort.confidence is None:
        drawing.until(_fewer(asked - effort.rounds, asked, share))
        said = drawing.said(asked)
        return Settled(said.all(), said.rounds, asked, drawing.remarks)
    drawing.until(_fewer(0, asked, share))
    said, needed = drawing.look()
    while (enough := _fewer(0, needed, share)) > said.rounds and said.rounds < drawing.most:
        drawing.until(min(enough, max(drawing.for_tails, GROWTH * said.rounds)))
        said, needed = drawing.look()
    return Settled(said.all(), said.rounds, needed, drawing.remarks)


def as_drawn(effort: Effort, drawing: DrawnRounds, number: int) -> Settled:
    """The answer from the rounds that were drawn ahead; one is drawn where there are none."""
    if not drawing.varies:
        return settle(effort, drawing, number)
    drawing.until(1)
    if effort.confidence is None:
        said = drawing.said(drawing.rounds)
        return Settled(said.all(), said.rounds, effort.at_first(number), drawing.remarks)
    said, needed = drawing.look()
    return Settled(said.all(), said.rounds, needed, drawing.remarks)


def _fewer(before: int, asked: int, share: float) -> int:
    """So many rounds where only a share of those after the first ``before`` is drawn, and one at least."""
    return before + max(1, round(share * (asked - before)))
