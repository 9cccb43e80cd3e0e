"""How far the draws for an instant are, and what further rounds of it cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

LEAST_ROUND_US = 1.0
SPARE = 0.8
"""So much of the time that a job has it is expected to take."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """How far the draws for an instant are: how many rounds there are, and what one costs.

    ``own`` are those that each stage is to add; 0 where so many are ``needed`` in all, by what was seen of the data.
    """

    rounds: int
    round_us: float
    own: int = 0
    needed: int = 0
    least: int = 0
    """An answer had so many before a restart."""
    full: bool = False
    """Whether there may be no more."""
    at_once: int = 0
    """Jobs of the data plane draw so many rounds each; 0: threads of the driver draw as many as they have time for."""
    begin_us: float = 0.0
    """What it costs to begin a job."""
    begun: bool = False
    """Whether somebody is at all rounds that there may be."""

    @property
    def each_us(self) -> float:
        """What a round costs, and never nothing."""
        return max(self.round_us, LEAST_ROUND_US)

    @property
    def least_us(self) -> float:
        """The least that is drawn at a time: a round, or a job of them."""
        return self.work_us(max(1, self.at_once))

    def work_us(self, rounds: int) -> float:
        """What so many rounds cost. A job that takes longer than it may is lost, so it has some time to spare.

        >>> Drawn(0, 5.0).work_us(30), Drawn(0, 5.0, at_once=20, begin_us=100.0).work_us(30)
        (150.0, 437.5)
        """
        if not self.at_once:
            return rounds * self.each_us
        return (rounds * self.each_us + ceil(rounds / self.at_once) * self.begin_us) / SPARE

    def rounds_for(self, budget_us: float) -> int:
        """How many rounds so much time is for; those of one job at most.

        >>> one = Drawn(0, 5.0, at_once=20, begin_us=100.0)
        >>> Drawn(0, 5.0).rounds_for(52.0), one.rounds_for(200.0), one.rounds_for(one.work_us(20)), one.rounds_for(9.0)
        (11, 12, 20, 1)
        """
        if not self.at_once:
            return max(1, ceil(budget_us / self.each_us))
        return max(1, min(self.at_once, int((SPARE * budget_us - self.begin_us) / self.each_us + 1e-6)))

    def target(self, number: int) -> int:
        """How many rounds the stage of this number is to have, which begins now.

        >>> Drawn(100, 5.0, own=100).target(1), Drawn(30, 5.0, own=100).target(1), Drawn(950, 5.0, own=100).target(1)
        (200, 200, 1050)
        >>> Drawn(100, 5.0, needed=70).target(0), Drawn(100, 5.0, needed=700).target(2)
        (100, 700)
        >>> Drawn(8, 5.0, own=100, least=950).target(1)
        1050
        """
        if not self.own:
            return max(self.needed, self.rounds, self.least)
        before = max(self.own * number, self.least)
        if number == 0 or self.rounds < before:  # nothing that was drawn before the first stage is beyond it
            return max(before + self.own, self.rounds)
        return self.rounds + self.own
