"""Where rows come from: FROM FILES, KAFKA, RATE or FEED."""

from __future__ import annotations

from punctual.config import unit_us
from punctual.errors import BindError, ParseError
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.parse_number import whole_number
from punctual.sql.syntax.statement import FeedSyntax, FilesSyntax, KafkaSyntax, RateSyntax, SourceSyntax
from punctual.sql.syntax.written import Name

FORMATS = ("JSON", "CSV", "PARQUET")
SOURCES = ("FILES", "KAFKA", "RATE", "FEED")


def parse_source(cursor: Cursor) -> SourceSyntax:
    """After FROM."""
    first = cursor.index
    kind = cursor.choice(SOURCES, "where rows come from")
    if kind == "FEED":
        return FeedSyntax(cursor.since(first))
    if kind == "RATE":
        return _rate(cursor, first)
    if kind == "KAFKA":
        servers = cursor.string("the servers as a string, such as 'host:9092'")
        cursor.expect("TOPIC")
        topic = cursor.string("a topic").value
        form, options = _format_and_options(cursor)
        return KafkaSyntax(Name(servers.value, servers.span), topic, form, options, cursor.since(first))
    return parse_files(cursor, first)


def parse_files(cursor: Cursor, first: int) -> FilesSyntax:
    """After FILES; ``first`` is the index of that word."""
    token = cursor.peek()
    if token.kind != "string" or not token.value.strip():
        raise BindError(
            "bind.bad-path",
            "FROM FILES needs a path",
            span=token.span if token.kind == "string" else cursor.since(first),
            hint="for example: FROM FILES 'data/speed' FORMAT JSON",
        )
    cursor.next()
    form, options = _format_and_options(cursor)
    return FilesSyntax(Name(token.value, token.span), form, options, cursor.since(first))


def _rate(cursor: Cursor, first: int) -> RateSyntax:
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
    return RateSyntax(rows, size, limit, cursor.since(first))


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
