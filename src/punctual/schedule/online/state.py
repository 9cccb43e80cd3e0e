"""What the sharing of cores remembers from event to event: a frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from punctual.errors import PlanError
from punctual.schedule.epoch import AnytimeQuery
from punctual.schedule.online.events import Joblet


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the whole run.

    Attributes
    ----------
    cores : how many there are
    joblet : the core time of a joblet; a query whose rounds take longer has joblets of one round
    seed : of all draws
    ahead : so many joblets wait outside for a free core, where it takes a while to hand one over
    uniform_drops : where not all can be done, drop what is drawn from the queue; for comparison only
    """

    cores: int
    joblet: float
    seed: int = 0
    ahead: int = 0
    uniform_drops: bool = False

    def __post_init__(self) -> None:
        if self.cores < 1:
            raise PlanError("plan.bad-cores", f"{self.cores} is not a number of cores", hint="give at least 1")
        if not (isfinite(self.joblet) and self.joblet > 0):
            raise PlanError(
                "plan.bad-joblet", f"{self.joblet} is not the time of a joblet", hint="give a time above zero"
            )
        if self.ahead < 0:
            raise PlanError("plan.bad-joblet", f"{self.ahead} joblets cannot wait for a core", hint="give at least 0")

    @property
    def negligible(self) -> float:
        """Less core time than that is rounding."""
        return 1e-9 * self.joblet

    def weight(self, query: AnytimeQuery) -> float:
        """Of a query in the draws of bonus joblets; ``bonus.py`` says why.

        >>> Rules(cores=2, joblet=1).weight(AnytimeQuery(0, 10, 4)), Rules(2, 1).weight(AnytimeQuery(0, 2, 4))
        (0.5, 4.0)
        """
        return query.essential / max(query.lifetime - query.essential / self.cores, self.joblet)


@dataclass(frozen=True, slots=True)
class Alive:
    """A query whose deadline has not come."""

    name: str
    query: AnytimeQuery
    one_round: float
    queued: float
    """Essential core time that no joblet has begun and that was not dropped: the joblets in the queue."""
    weight: float
    """How likely it is to get the next bonus joblet, against the weights of the others."""
    begun: float = 0.0
    """Core time of the joblets that ended, and the budget of those that run."""
    beyond: float = 0.0
    """What a plan gives it beyond what is essential, and no joblet has begun."""

    @property
    def deadline(self) -> float:
        return self.query.deadline


@dataclass(frozen=True, slots=True)
class State:
    """Everything that decisions depend on."""

    rules: Rules
    now: float = float("-inf")
    alive: tuple[Alive, ...] = ()
    """Earliest deadline first, then in the order in which they came: the order of the queue."""
    given: tuple[Joblet, ...] = ()
    """Joblets that run or wait for a core outside, in the order in which they were given."""
    release: float | None = None
    bonus: bool = True
    joblets: int = 0
    """How many there have been."""
    draws: int = 0

    @property
    def core_free_at(self) -> float:
        """When the next joblet would begin."""
        waiting = len(self.given) - self.rules.cores
        return self.now if waiting < 0 else max(self.now, sorted(joblet.ends for joblet in self.given)[waiting])

    @property
    def next_release(self) -> float:
        """The next time at which something else needs the cores, as far as is known."""
        return self.release if self.release is not None and self.release > self.now else float("inf")

    @property
    def wake_at(self) -> float | None:
        """When time alone changes what can be done: at a deadline, or once a release that cores wait for has passed."""
        time = min([self.next_release, *(one.deadline for one in self.alive[:1])])
        return time if isfinite(time) else None
