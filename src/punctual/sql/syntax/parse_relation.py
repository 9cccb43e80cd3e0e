"""CREATE STREAM and CREATE TABLE: columns with their roles, and where rows come from."""

from __future__ import annotations

from typing import Literal, cast

from punctual.errors import ParseError, Span
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.expression_extent import take_expression
from punctual.sql.syntax.parse_number import whole_number
from punctual.sql.syntax.parse_source import parse_source
from punctual.sql.syntax.parse_type import parse_type
from punctual.sql.syntax.statement import (
    ColumnSyntax,
    CreateRelationSyntax,
    GivenDistribution,
    MissingValue,
    UncertainSyntax,
)
from punctual.sql.syntax.written import Duration, Name

GIVEN = ("NORMAL", "UNIFORM", "DISCRETE")
MISSING = ("EMPIRICAL", "INTERPOLATED", "NEAREST")
ENDS_CONDITION = frozenset(("AS", "KEY", "PROBABILITY", "RULE", "EVENT", "WATERMARK"))


def parse_create_relation(cursor: Cursor, kind: Literal["stream", "table"]) -> CreateRelationSyntax:
    """After CREATE STREAM or CREATE TABLE."""
    name = cursor.name(f"the name of the {kind}")
    cursor.expect("(")
    columns = cursor.several(_column)
    if not cursor.at(")"):
        raise cursor.wrong('"," or ")" after the column')
    cursor.expect(")")
    cursor.expect("FROM")
    source = parse_source(cursor)
    return CreateRelationSyntax(kind, name, columns, source, cursor.since(0))


def _column(cursor: Cursor) -> ColumnSyntax:
    name = cursor.name("a column name")
    type_text, type_span = parse_type(cursor)
    roles: dict[str, Span] = {}
    watermark: Duration | None = None
    derived: ExpressionSyntax | None = None
    uncertain: UncertainSyntax | None = None
    while not cursor.at(",") and not cursor.at(")"):
        first = cursor.index
        if cursor.accept("EVENT", "TIME"):
            role = "EVENT TIME"
        elif cursor.accept("WATERMARK"):
            role, watermark = "WATERMARK", parse_duration(cursor, zero=True)
        elif cursor.accept("AS"):
            role = "AS"
            cursor.expect("(")
            derived = take_expression(cursor, "an expression")
            cursor.expect(")")
        elif cursor.accept("~"):
            role, uncertain = "~", parse_uncertain(cursor, first)
        else:
            role = cursor.choice(("KEY", "PROBABILITY", "RULE"), "a column's role, \",\" or \")\"")
        if role in roles:
            raise ParseError(
                "parse.duplicate-clause", f'{role} is there twice for column "{name.text}"', span=cursor.since(first)
            )
        roles[role] = cursor.since(first)
    return ColumnSyntax(name, type_text, type_span, tuple(roles.items()), watermark, derived, uncertain)


CONSTANTS = "a constant may be a column too, for example: sd DOUBLE AS (2.0)"
FORMS = {
    "NORMAL": "NORMAL(mean, sd)",
    "UNIFORM": "UNIFORM(low, high)",
    "DISCRETE": "DISCRETE(values, weights)",
    "EMPIRICAL": "EMPIRICAL BY k",
    "INTERPOLATED": "INTERPOLATED BY k WITHIN 30 MINUTES",
    "NEAREST": "NEAREST 10 BY (x, y)",
}
"""How a distribution is written, in hints."""


def parse_uncertain(cursor: Cursor, first: int) -> UncertainSyntax:
    """What follows ``~``; ``first`` is the token where its place begins."""
    kind = cursor.choice(GIVEN + MISSING, "a distribution")
    hint = f"for example: ~ {FORMS[kind]}"
    if kind in GIVEN:
        cursor.expect("(", hint=hint)
        one = cursor.name("a column", CONSTANTS)
        cursor.expect(",", hint=hint)
        other = cursor.name("a column", CONSTANTS)
        cursor.expect(")", hint=hint)
        given = cast(Literal["NORMAL", "UNIFORM", "DISCRETE"], kind)
        return GivenDistribution(given, (one, other), cursor.since(first))
    neighbours = _neighbours(cursor, hint) if kind == "NEAREST" else None
    cursor.expect("BY", hint=hint)
    columns = _names(cursor)
    within = parse_duration(cursor) if kind == "INTERPOLATED" and cursor.accept("WITHIN") else None
    condition = take_expression(cursor, "a condition", ENDS_CONDITION) if cursor.accept("IF") else None
    missing = cast(Literal["EMPIRICAL", "INTERPOLATED", "NEAREST"], kind)
    return MissingValue(missing, columns, cursor.since(first), neighbours, within, condition)


def _neighbours(cursor: Cursor, hint: str) -> int:
    if cursor.peek().kind != "number" and not cursor.at("-"):
        raise cursor.wrong("a number of neighbours", hint)
    return whole_number(cursor, "a number of neighbours", code="bind.bad-neighbours", hint=hint)


def _names(cursor: Cursor) -> tuple[Name, ...]:
    if not cursor.accept("("):
        return (cursor.name("a column"),)
    names = cursor.several(lambda cursor: cursor.name("a column"))
    cursor.expect(")")
    return names
