"""What the sharing of cores hears and what it says: events are in the past tense, commands are imperatives.

A *joblet* is a small piece of a query's work, on one core. Times are by one clock that never goes back, core times in
the same unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from punctual.schedule.epoch import AnytimeQuery

# -- events ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrived:
    """A query, or the next stage of one, is to start (E1). ``one_round`` is the core time of one round of it.

    ``granted`` is the core time that a plan gives it; None: there is no plan, and what is essential is queued.
    Names tell stages apart: those of one query overlap for the moment in which one ends and the next one begins.
    """

    at: float
    name: str
    query: AnytimeQuery
    one_round: float
    granted: float | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A joblet has ended, and a core is free (E2 where nothing is queued); ``used`` is the core time that it took."""

    at: float
    joblet: int
    used: float


@dataclass(frozen=True, slots=True)
class Reestimated:
    """A query needs ``left`` beyond what it has begun: rounds cost something else than was thought, or more are due.

    None: only what a round costs is another.
    """

    at: float
    name: str
    left: float | None
    one_round: float


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nobody wants a query any more."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Something else will need the cores at ``release`` (None: nothing known), or needs them now: no ``bonus``."""

    at: float
    release: float | None
    bonus: bool = True


@dataclass(frozen=True, slots=True)
class TimePassed:
    """It is as late as was asked for (``wake_at`` of the state)."""

    at: float


Event: TypeAlias = Arrived | Ended | Reestimated | Withdrawn | Foreseen | TimePassed

# -- commands ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Joblet:
    """So much core time for a query, beginning now or when a core is free, and never running beyond ``until``.

    ``bonus`` is beyond what is essential, ``granted`` what of that a plan gave.
    """

    number: int
    name: str
    begins: float
    budget: float
    until: float
    bonus: bool
    granted: bool = False

    @property
    def ends(self) -> float:
        """When it is expected to end."""
        return self.begins + self.budget


@dataclass(frozen=True, slots=True)
class Start:
    """Give a joblet to the next free core; from now on it is not cancelled."""

    joblet: Joblet


@dataclass(frozen=True, slots=True)
class Drop:
    """So much of a query's essential work will not be done by its deadline: it was queued and is cancelled."""

    name: str
    core_time: float


Command: TypeAlias = Start | Drop
