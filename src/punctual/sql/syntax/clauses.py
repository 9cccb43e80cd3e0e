"""The clauses after a query, each a type of its own. ``keyword`` is the word that it begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from punctual.errors import Span
from punctual.sql.syntax.written import Duration, Name, Precision, Share

QualityShape = Literal["CONVEX", "LINEAR", "CONCAVE"]


@dataclass(frozen=True, slots=True)
class PeriodClause:
    """PERIOD 1 MINUTE."""

    keyword: ClassVar[str] = "PERIOD"
    duration: Duration
    span: Span


@dataclass(frozen=True, slots=True)
class FrequencyClause:
    """FREQUENCY 1 MINUTE."""

    keyword: ClassVar[str] = "FREQUENCY"
    duration: Duration
    span: Span


@dataclass(frozen=True, slots=True)
class DeadlineClause:
    """DEADLINE 2 SECONDS."""

    keyword: ClassVar[str] = "DEADLINE"
    duration: Duration
    span: Span


@dataclass(frozen=True, slots=True)
class InputShare:
    """The share of an input that is used; ``input`` is a FROM item, None where a table has one column of shares."""

    input: Name | None
    share: Share


@dataclass(frozen=True, slots=True)
class QualityPoint:
    """``50% => 0.9`` or ``0.7 => (a 60%, b 30%)``."""

    quality: float
    shares: tuple[InputShare, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class QualityClause:
    """QUALITY LINEAR, or QUALITY with a table of points in the order written."""

    keyword: ClassVar[str] = "QUALITY"
    curve: QualityShape | tuple[QualityPoint, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """``1% OR 0.01 ON a``; without ON it holds for every output that has no bound of its own."""

    within: Precision
    output: Name | None


@dataclass(frozen=True, slots=True)
class ErrorClause:
    """ERROR WITHIN bounds, and after SPLIT how they are divided among the inputs."""

    keyword: ClassVar[str] = "ERROR"
    bounds: tuple[ErrorBound, ...]
    split: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class SampleClause:
    """SAMPLE EVERY 1 SECOND."""

    keyword: ClassVar[str] = "SAMPLE"
    duration: Duration
    span: Span


@dataclass(frozen=True, slots=True)
class AnswersClause:
    """ANSWERS WITHIN 1 SECOND, 5 SECONDS."""

    keyword: ClassVar[str] = "ANSWERS"
    deadlines: tuple[Duration, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RoundsClause:
    """ROUNDS 100."""

    keyword: ClassVar[str] = "ROUNDS"
    rounds: int
    span: Span


@dataclass(frozen=True, slots=True)
class ConfidenceClause:
    """CONFIDENCE 95% WITHIN 0.5."""

    keyword: ClassVar[str] = "CONFIDENCE"
    confidence: Share
    within: Precision
    span: Span


@dataclass(frozen=True, slots=True)
class EveryClause:
    """EVERY 1 MINUTE BY 5 SECONDS ERROR WITHIN 1% AT 95%."""

    keyword: ClassVar[str] = "EVERY"
    period: Duration
    deadline: Duration
    within: Precision
    confidence: Share | None
    span: Span


@dataclass(frozen=True, slots=True)
class StableClause:
    """STABLE 5%; ``share`` is the fraction."""

    keyword: ClassVar[str] = "STABLE"
    share: float
    span: Span


Clause = (
    PeriodClause
    | FrequencyClause
    | DeadlineClause
    | QualityClause
    | ErrorClause
    | SampleClause
    | AnswersClause
    | RoundsClause
    | ConfidenceClause
    | EveryClause
    | StableClause
)
