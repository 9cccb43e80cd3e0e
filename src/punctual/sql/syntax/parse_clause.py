"""The clauses after a query: PERIOD, FREQUENCY, DEADLINE, QUALITY, ERROR and the others, in any order."""

from __future__ import annotations

from punctual.errors import ParseError
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.parse_relation import whole_number
from punctual.sql.syntax.statement import ClauseSyntax, Duration, Name

CLAUSES = frozenset((
    "PERIOD", "FREQUENCY", "DEADLINE", "QUALITY", "ERROR", "SAMPLE", "ANSWERS", "ROUNDS", "CONFIDENCE", "EVERY",
    "STABLE",
))
SHAPES = ("CONVEX", "LINEAR", "CONCAVE")


def parse_clause(cursor: Cursor, seen: tuple[ClauseSyntax, ...]) -> ClauseSyntax:
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
    durations: list[Duration] = []
    names: list[Name] = []
    share: float | None = None
    if keyword in ("PERIOD", "FREQUENCY", "DEADLINE"):
        durations.append(parse_duration(cursor))
    elif keyword == "SAMPLE":
        cursor.expect("EVERY")
        durations.append(parse_duration(cursor))
    elif keyword == "ANSWERS":
        cursor.expect("WITHIN")
        durations.append(parse_duration(cursor))
        while cursor.accept(","):
            durations.append(parse_duration(cursor))
    elif keyword == "ROUNDS":
        whole_number(cursor, "a number of rounds")
    elif keyword == "STABLE":
        share = _share(cursor)
    elif keyword == "CONFIDENCE":
        _share(cursor)
        cursor.expect("WITHIN")
        _bound(cursor)
    elif keyword == "EVERY":
        durations.append(parse_duration(cursor))
        cursor.expect("BY")
        durations.append(parse_duration(cursor))
        cursor.expect("ERROR", "WITHIN")
        _bound(cursor)
        if cursor.accept("AT"):
            _share(cursor)
    elif keyword == "ERROR":
        names += _error(cursor)
    else:
        names += _quality(cursor)
    return ClauseSyntax(keyword, cursor.since(first), tuple(durations), tuple(names), share)


def _error(cursor: Cursor) -> list[Name]:
    cursor.expect("WITHIN")
    _bound(cursor)
    if cursor.accept("OR"):
        _bound(cursor)
    names = []
    if cursor.accept("ON"):
        names.append(cursor.name("a column"))
    if cursor.accept("SPLIT"):
        cursor.name("EQUAL, GRADIENT or the name of a split function")
    return names


def _quality(cursor: Cursor) -> list[Name]:
    if cursor.peek().word in SHAPES:
        cursor.next()
        return []
    if not cursor.at("("):
        raise cursor.wrong("CONVEX, LINEAR, CONCAVE or a list in brackets", hint="QUALITY (100% => 1, 50% => 0.9)")
    cursor.expect("(")
    names: list[Name] = []
    while True:
        _bound(cursor)
        cursor.expect("=>")
        if cursor.accept("("):
            while True:
                names.append(cursor.name("a FROM item"))
                _share(cursor)
                if not cursor.accept(","):
                    break
            cursor.expect(")")
        else:
            _bound(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return names


def _share(cursor: Cursor) -> float:
    percent = cursor.plain_number("a share such as 95%")
    cursor.expect("%")
    return percent / 100


def _bound(cursor: Cursor) -> None:
    """A number, or a share in percent."""
    cursor.number("a number or a share in percent")
    cursor.accept("%")
