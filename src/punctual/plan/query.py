"""A standing query: a header that every query has, and a body that says what its answers are made of.

Names, registration, cadence, delivery and status know headers only. What a body means is known to its kind
(:mod:`punctual.kinds`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.expression import Expression
from punctual.plan.fingerprint import LAYOUT
from punctual.plan.quality import Quality


@dataclass(frozen=True, slots=True)
class Input:
    """A windowed stream: the rows of ``(at - range_us, at]``.

    ``name`` is what FROM calls it, where that tells the windows of a join apart. ``told_apart_by`` is what its rows are
    told apart by while they are read, before anything is known of their values: it follows from the stream's source.
    """

    stream: str
    range_us: Micros
    name: str = ""
    told_apart_by: tuple[str, ...] = field(default=("line",), compare=False, metadata=LAYOUT)


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: its name and its answer expression."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Order:
    """One ORDER BY item over an answer expression. NULL sorts as Spark does unless said."""

    expression: Expression
    ascending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Period:
    """An answer at every multiple of ``us``; ``span`` is its place in the program."""

    us: Micros
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Bound:
    """Answers never more than ``us`` apart; the engine chooses the instants.

    ``word`` is how the program says it, ``span`` where.
    """

    us: Micros
    word: Literal["SLIDE", "FREQUENCY"] = field(default="SLIDE", compare=False, metadata=LAYOUT)
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Once:
    """One instant alone: the first one, after the query was registered, through which its streams are complete.

    With ``--once`` it is the end of the input. Nobody knows it before, so it may be any microsecond.
    """

    span: Span | None = field(default=None, compare=False)

    @property
    def us(self) -> Micros:
        """What its instant is a multiple of."""
        return 1


Cadence = Period | Bound | Once


@dataclass(frozen=True, slots=True)
class Body:
    """What answers are made of. Each kind of query has a subclass of its own, a frozen value."""


@dataclass(frozen=True, slots=True)
class Query:
    """A header and a body.

    Several ``inputs`` are the streams of a UNION ALL (see :mod:`punctual.plan.united`), or the windows of a row query
    or of a join.
    ``quality`` is what QUALITY says; without it the query is never answered from a sample. ``stages`` are what ANSWERS
    says: an instant has an answer for each, due so long after its release, ascending; without it there is one answer.
    ``text`` is the statement as written, ``span`` its place.
    """

    name: str
    inputs: tuple[Input, ...]
    cadence: Cadence
    outputs: tuple[Output, ...]
    body: Body
    order: tuple[Order, ...] = ()
    limit: int | None = None
    deadline_us: Micros | None = None
    quality: Quality | None = None
    stages: tuple[Micros, ...] = ()
    text: str = field(default="", metadata=LAYOUT)
    span: Span | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """Every stream that it reads."""
        return tuple(dict.fromkeys(one.stream for one in self.inputs))

    @property
    def due_us(self) -> tuple[Micros | None, ...]:
        """How long after its release each answer of an instant is due, by the numbers of the answers.

        By ANSWERS, by DEADLINE, or with QUALITY by its period or bound.
        """
        if self.stages:
            return self.stages
        return (self.cadence.us if self.deadline_us is None and self.quality is not None else self.deadline_us,)

    @property
    def range_us(self) -> Micros:
        """How far back an answer reaches."""
        return max(one.range_us for one in self.inputs)
