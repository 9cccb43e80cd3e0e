"""What the scheduler knows of a query: its contract, and what its executions are made of. No text, no plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from punctual.clock import Micros
from punctual.estimate.quality_curve import QualityCurve
from punctual.schedule.due import BEGINNING, Timetable


class Knob(Protocol):
    """What gives way when there is more to do than time."""

    def setting(self, share: float) -> float:
        """The mildest setting that leaves at most this share of the work; the strongest one where none does."""
        ...

    def share(self, setting: float) -> float:
        """The share of the work that a setting leaves, or more."""
        ...

    @property
    def curve(self) -> QualityCurve:
        """How answers suffer by the share of the work, where QUALITY says nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Contract:
    """One running query.

    Attributes
    ----------
    streams : the streams it reads, in lower case
    range_us : its longest window
    table : when it answers; queries that always run together have the same object
    after : it answers instants after this one
    deadline_us : the answer is due so long after the release; None where the query names no deadline
    bound_us : its period, or how far apart its answers may be
    fixed : whether the instants are those of a PERIOD
    sharing_class : queries of one class are answered together at an instant
    shared, own : the work of an execution that its class pays once, and that every query pays
    meaning : what decides its answers; another query of the same name has another one
    in_order : whether an answer depends on the one before
    knob : what gives way; None: nothing does
    curve : how its answers suffer from less input; None: it is never answered from a sample
    sheds : whether less input saves work; what is answered from panes costs the same
    stages : each instant has an answer for each of these, due so long after the release, ascending; none: one answer
    ahead : whether answers are better the more is drawn for them before their deadlines
    """

    query: str
    streams: tuple[str, ...]
    range_us: Micros
    table: Timetable
    bound_us: Micros
    after: Micros = BEGINNING
    deadline_us: Micros | None = None
    fixed: bool = True
    sharing_class: str = ""
    shared: float = 0.0
    own: float = 1.0
    meaning: str = ""
    in_order: bool = False
    knob: Knob | None = None
    curve: QualityCurve | None = None
    sheds: bool = False
    stages: tuple[Micros, ...] = ()
    ahead: bool = False

    @property
    def answers(self) -> int:
        """How many answers each instant has."""
        return max(1, len(self.stages))

    @property
    def can_be_late(self) -> bool:
        """Whether its answers have a deadline: those that it names, or with QUALITY its bound."""
        return bool(self.stages) or self.deadline_us is not None or self.curve is not None

    @property
    def allowed_us(self) -> Micros:
        """How long after its release the first answer is urgent: the deadline, or the bound where there is none."""
        return self.allowed(0)

    def allowed(self, number: int) -> Micros:
        """The same for the answer of this number."""
        if self.stages:
            return self.stages[number]
        return self.bound_us if self.deadline_us is None else self.deadline_us

    def begins(self, number: int) -> Micros:
        """How long after its release the answer of this number may be begun: when the one before it was due."""
        return self.stages[number - 1] if number else 0


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a stream has come: complete through an instant, and its smallest and largest accepted event times."""

    through: Micros = BEGINNING
    least: Micros | None = None
    greatest: Micros | None = None


def joint_reach(reaches: Mapping[str, Reach], streams: tuple[str, ...]) -> Reach:
    """How far streams have come together: complete through what all of them are complete through."""
    if len(streams) == 1:
        return reaches.get(streams[0], Reach())
    parts = [reaches.get(name, Reach()) for name in streams]
    return Reach(
        min(part.through for part in parts),
        min((part.least for part in parts if part.least is not None), default=None),
        max((part.greatest for part in parts if part.greatest is not None), default=None),
    )
