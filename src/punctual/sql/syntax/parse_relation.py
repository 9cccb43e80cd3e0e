"""CREATE STREAM, CREATE TABLE and CREATE MODEL: columns with their roles, and where rows come from."""

from __future__ import annotations

from typing import Literal

from punctual.config import unit_us
from punctual.errors import BindError, ParseError, Span
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.expression import Expression
from punctual.sql.syntax.expression_extent import take_expression
from punctual.sql.syntax.parse_type import parse_type
from punctual.sql.syntax.statement import (
    ColumnSyntax,
    CreateModelSyntax,
    CreateRelationSyntax,
    Duration,
    Name,
    SourceSyntax,
    UncertainSyntax,
)

DISTRIBUTIONS = ("NORMAL", "UNIFORM", "DISCRETE", "EMPIRICAL", "INTERPOLATED", "NEAREST")
FORMATS = ("JSON", "CSV", "PARQUET")
SOURCES = ("FILES", "KAFKA", "RATE", "FEED")


def parse_create_relation(cursor: Cursor, kind: Literal["stream", "table"]) -> CreateRelationSyntax:
    """After CREATE STREAM or CREATE TABLE."""
    name = cursor.name(f"the name of the {kind}")
    cursor.expect("(")
    columns = [_column(cursor)]
    while cursor.accept(","):
        columns.append(_column(cursor))
    if not cursor.at(")"):
        raise cursor.wrong('"," or ")" after the column')
    cursor.expect(")")
    cursor.expect("FROM")
    source = _source(cursor)
    return CreateRelationSyntax(kind, name, tuple(columns), source, cursor.since(0))


def parse_create_model(cursor: Cursor) -> CreateModelSyntax:
    """After CREATE MODEL."""
    name = cursor.name("the name of the model")
    cursor.expect("AS", "FIT")
    attribute = cursor.name("the attribute to fit")
    parse_fit(cursor)
    cursor.expect("BY")
    keys = [cursor.name("a key column")]
    while cursor.accept(","):
        keys.append(cursor.name("a key column"))
    cursor.expect("FROM")
    stream = cursor.name("a stream")
    return CreateModelSyntax(name, attribute, tuple(keys), stream, cursor.since(0))


def parse_fit(cursor: Cursor) -> None:
    """WITHIN bound [DEGREE n] [GAP d], in this or the other order."""
    cursor.expect("WITHIN")
    cursor.number("an error bound")
    seen: set[str] = set()
    while cursor.peek().word in ("DEGREE", "GAP") and cursor.peek().word not in seen:
        seen.add(cursor.peek().word)
        if cursor.accept("DEGREE"):
            whole_number(cursor, "a degree", least=0)
        else:
            cursor.expect("GAP")
            parse_duration(cursor)


def whole_number(cursor: Cursor, what: str, least: int = 1, code: str = "parse.syntax") -> int:
    """A whole number of at least ``least``, small enough to count rows with."""
    first = cursor.index
    negative = cursor.accept("-")
    digits = cursor.number(what).text
    if negative or not (digits.isdecimal() and len(digits) <= 18 and int(digits) >= least):
        fact, span = f"{what} is a whole number of at least {least}", cursor.since(first)
        raise (BindError if code.startswith("bind.") else ParseError)(code, fact, span=span)
    return int(digits)


def _column(cursor: Cursor) -> ColumnSyntax:
    name = cursor.name("a column name")
    type_text, type_span = parse_type(cursor)
    roles: dict[str, Span] = {}
    watermark: Duration | None = None
    derived: Expression | None = None
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
            role, uncertain = "~", _uncertain(cursor, first)
        else:
            role = cursor.choice(("KEY", "PROBABILITY", "RULE"), "a column's role, \",\" or \")\"")
        if role in roles:
            raise ParseError(
                "parse.duplicate-clause", f'{role} is there twice for column "{name.text}"', span=cursor.since(first)
            )
        roles[role] = cursor.since(first)
    return ColumnSyntax(name, type_text, type_span, tuple(roles.items()), watermark, derived, uncertain)


def _uncertain(cursor: Cursor, first: int) -> UncertainSyntax:
    kind = cursor.choice(DISTRIBUTIONS, "a distribution")
    names: list[Name] = []
    condition = None
    if kind in ("NORMAL", "UNIFORM", "DISCRETE"):
        cursor.expect("(")
        names.append(cursor.name("a column"))
        cursor.expect(",")
        names.append(cursor.name("a column"))
        cursor.expect(")")
    else:
        if kind == "NEAREST":
            whole_number(cursor, "a number of neighbours")
        cursor.expect("BY")
        names += _names(cursor)
        if cursor.accept("WITHIN"):
            parse_duration(cursor)
        if cursor.accept("IF"):
            condition = take_expression(
                cursor, "a condition", frozenset(("AS", "KEY", "PROBABILITY", "RULE", "EVENT", "WATERMARK"))
            )
    return UncertainSyntax(kind, tuple(names), condition, cursor.since(first))


def _names(cursor: Cursor) -> list[Name]:
    if not cursor.accept("("):
        return [cursor.name("a column")]
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    cursor.expect(")")
    return names


def _source(cursor: Cursor) -> SourceSyntax:
    first = cursor.index
    kind = cursor.choice(SOURCES, "where rows come from")
    if kind == "FEED":
        return SourceSyntax("FEED", cursor.since(first))
    if kind == "RATE":
        rows = whole_number(cursor, "a number of rows")
        cursor.expect("PER")
        size = unit_us(cursor.peek().text) if cursor.peek().kind == "word" else None
        if size is None:
            size = parse_duration(cursor).us
        else:
            cursor.next()
        limit = None
        if cursor.accept("LIMIT"):
            limit = whole_number(cursor, "a number of rows")
            cursor.expect("ROWS")
        return SourceSyntax("RATE", cursor.since(first), rows=rows, per_us=size, limit=limit)
    if kind == "KAFKA":
        servers = cursor.string("the servers as a string, such as 'host:9092'")
        cursor.expect("TOPIC")
        topic = cursor.string("a topic").value
        form, options = _format_and_options(cursor)
        address = Name(servers.value, servers.span)
        return SourceSyntax("KAFKA", cursor.since(first), address, topic, form, options)
    if cursor.peek().kind != "string" or not cursor.peek().value.strip():
        token = cursor.peek()
        raise BindError(
            "bind.bad-path",
            "FROM FILES needs a path",
            span=token.span if token.kind == "string" else cursor.since(first),
            hint="for example: FROM FILES 'data/speed' FORMAT JSON",
        )
    path = cursor.next()
    form, options = _format_and_options(cursor)
    return SourceSyntax("FILES", cursor.since(first), Name(path.value, path.span), None, form, options)


def _format_and_options(cursor: Cursor) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    form: str | None = None
    options: dict[str, str] | None = None
    while cursor.at("FORMAT") or cursor.at("OPTIONS"):
        first = cursor.index
        word = cursor.next().word
        if (form if word == "FORMAT" else options) is not None:
            raise ParseError("parse.duplicate-clause", f"{word} is there twice", span=cursor.since(first))
        if word == "FORMAT":
            form = cursor.choice(FORMATS, "a format")
        else:
            options = _options(cursor)
    return form, tuple((options or {}).items())


def _options(cursor: Cursor) -> dict[str, str]:
    cursor.expect("(")
    options: dict[str, str] = {}
    while True:
        key = cursor.next() if cursor.peek().kind == "string" else None
        name = key.value if key is not None else cursor.name("the name of a reader option").text
        cursor.accept("=")
        options[name] = cursor.string(f"the value of {name} as a string").value
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return options
