"""The clauses after a query: PERIOD, FREQUENCY, DEADLINE, QUALITY, ERROR and the others, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from punctual.errors import ParseError, Span
from punctual.sql.syntax.clauses import (
    AnswersClause,
    Clause,
    ConfidenceClause,
    DeadlineClause,
    ErrorBound,
    ErrorClause,
    EveryClause,
    FrequencyClause,
    InputShare,
    PeriodClause,
    QualityClause,
    QualityPoint,
    QualityShape,
    RoundsClause,
    SampleClause,
    StableClause,
)
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.parse_number import parse_precision, parse_share, signed_number, whole_number
from punctual.sql.syntax.written import Duration

Parser = Callable[[Cursor, int], Clause]
"""Reads what follows a keyword; the number is the index of the keyword's token."""
SHAPES = ("CONVEX", "LINEAR", "CONCAVE")
QUALITY_EXAMPLE = "for example: QUALITY (100% => 1, 50% => 0.9)"


def parse_clause(cursor: Cursor, seen: tuple[Clause, ...]) -> Clause:
    """The clause whose keyword stands at the cursor."""
    first = cursor.index
    keyword = cursor.next().word
    if any(clause.keyword == keyword for clause in seen):
        raise ParseError(
            "parse.duplicate-clause",
            f"{keyword} is there twice",
            span=cursor.since(first),
            detail="each clause stands at most once in a query",
        )
    return _PARSERS[keyword](cursor, first)


def _with_duration(kind: Callable[[Duration, Span], Clause]) -> Parser:
    def parse(cursor: Cursor, first: int) -> Clause:
        return kind(parse_duration(cursor), cursor.since(first))

    return parse


def _sample(cursor: Cursor, first: int) -> SampleClause:
    cursor.expect("EVERY")
    return SampleClause(parse_duration(cursor), cursor.since(first))


def _answers(cursor: Cursor, first: int) -> AnswersClause:
    cursor.expect("WITHIN")
    return AnswersClause(cursor.several(parse_duration), cursor.since(first))


def _rounds(cursor: Cursor, first: int) -> RoundsClause:
    rounds = whole_number(cursor, "a number of rounds", hint="for example: ROUNDS 500")
    return RoundsClause(rounds, cursor.since(first))


def _confidence(cursor: Cursor, first: int) -> ConfidenceClause:
    share = parse_share(cursor)
    cursor.expect("WITHIN")
    return ConfidenceClause(share, parse_precision(cursor), cursor.since(first))


def _every(cursor: Cursor, first: int) -> EveryClause:
    period = parse_duration(cursor)
    cursor.expect("BY")
    deadline = parse_duration(cursor)
    cursor.expect("ERROR", "WITHIN")
    within = parse_precision(cursor)
    confidence = parse_share(cursor) if cursor.accept("AT") else None
    return EveryClause(period, deadline, within, confidence, cursor.since(first))


def _stable(cursor: Cursor, first: int) -> StableClause:
    if cursor.at("-"):
        raise cursor.wrong("a share such as 5%")
    return StableClause(parse_share(cursor).value, cursor.since(first))


def _error(cursor: Cursor, first: int) -> ErrorClause:
    cursor.expect("WITHIN")
    within = parse_precision(cursor)
    bounds = [ErrorBound(within, cursor.name("an output") if cursor.accept("ON") else None)]
    while cursor.accept(","):
        within = parse_precision(cursor)
        cursor.expect("ON")
        bounds.append(ErrorBound(within, cursor.name("an output")))
    split = None
    if cursor.accept("SPLIT"):
        split = cursor.name("EQUAL, GRADIENT or the name of a split function")
    return ErrorClause(tuple(bounds), split, cursor.since(first))


def _quality(cursor: Cursor, first: int) -> QualityClause:
    if cursor.peek().word in SHAPES:
        shape = cast(QualityShape, cursor.next().word)
        return QualityClause(shape, cursor.since(first))
    if not cursor.at("("):
        raise cursor.wrong("CONVEX, LINEAR, CONCAVE or a table in brackets", hint=QUALITY_EXAMPLE)
    cursor.expect("(")
    points = cursor.several(_point)
    cursor.expect(")")
    return QualityClause(points, cursor.since(first))


def _point(cursor: Cursor) -> QualityPoint:
    """One input: ``share => quality``. Several: ``quality => (input share, ...)``."""
    first = cursor.index
    number = signed_number(cursor, "a share in percent, or a quality")
    if cursor.at("%"):
        cursor.index = first
        share = parse_share(cursor)
        cursor.expect("=>")
        quality = signed_number(cursor, "a quality from 0 to 1")
        return QualityPoint(quality, (InputShare(None, share),), cursor.since(first))
    cursor.expect("=>")
    cursor.expect("(")
    shares = cursor.several(_input_share)
    cursor.expect(")")
    return QualityPoint(number, shares, cursor.since(first))


def _input_share(cursor: Cursor) -> InputShare:
    return InputShare(cursor.name("a FROM item"), parse_share(cursor))


_PARSERS: dict[str, Parser] = {
    "PERIOD": _with_duration(PeriodClause),
    "FREQUENCY": _with_duration(FrequencyClause),
    "DEADLINE": _with_duration(DeadlineClause),
    "QUALITY": _quality,
    "ERROR": _error,
    "SAMPLE": _sample,
    "ANSWERS": _answers,
    "ROUNDS": _rounds,
    "CONFIDENCE": _confidence,
    "EVERY": _every,
    "STABLE": _stable,
}
CLAUSES = frozenset(_PARSERS)
