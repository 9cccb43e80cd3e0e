"""FROM: windowed streams, tables, subqueries, joins, unions of windows, models."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from punctual.errors import ParseError, Span
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.expression import Expression
from punctual.sql.syntax.expression_extent import take_expression
from punctual.sql.syntax.parse_clause import CLAUSES
from punctual.sql.syntax.parse_relation import parse_fit, whole_number
from punctual.sql.syntax.statement import FromSyntax, ModelSyntax, Name, SelectSyntax, WindowSyntax

JOIN_WORDS = frozenset(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ON"))
AFTER_FROM = frozenset(("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION"))
ENDS_EXPRESSION = CLAUSES | AFTER_FROM | JOIN_WORDS
WINDOW_EXAMPLE = "for example: [RANGE 20 MINUTES SLIDE 2 MINUTES]"

ParseSelect = Callable[[Cursor], SelectSyntax]
How = Literal["first", "comma", "inner", "left", "other", "union"]


def parse_from(cursor: Cursor, parse_select: ParseSelect) -> tuple[FromSyntax, ...]:
    """The items after FROM."""
    items = list(_item(cursor, parse_select, "first", None))
    while True:
        first = cursor.index
        how = _how(cursor)
        if how is None:
            return tuple(items)
        joined = _item(cursor, parse_select, how, cursor.since(first))
        if how in ("inner", "left", "other") and cursor.accept("ON"):
            on = take_expression(cursor, "a join condition", ENDS_EXPRESSION)
            joined = [replace(joined[0], on=on), *joined[1:]]
        items += joined


def _how(cursor: Cursor) -> How | None:
    if cursor.accept(","):
        return "comma"
    if cursor.accept("JOIN") or cursor.accept("INNER", "JOIN"):
        return "inner"
    if cursor.accept("LEFT", "OUTER", "JOIN") or cursor.accept("LEFT", "JOIN"):
        return "left"
    if cursor.at("UNION", "ALL") and cursor.peek(2).word != "SELECT":
        cursor.expect("UNION", "ALL")
        return "union"
    if cursor.peek().word in ("RIGHT", "FULL", "CROSS", "NATURAL", "LEFT", "INNER"):
        cursor.next()
        while cursor.peek().word in ("OUTER", "SEMI", "ANTI", "INNER", "LEFT", "RIGHT", "FULL"):
            cursor.next()
        cursor.expect("JOIN")
        return "other"
    return None


def _item(cursor: Cursor, parse_select: ParseSelect, how: How, how_span: Span | None) -> list[FromSyntax]:
    first = cursor.index
    source: Name | SelectSyntax
    if cursor.at("(") and cursor.peek(1).word == "SELECT":
        cursor.expect("(")
        source = parse_select(cursor)
        cursor.expect(")")
    elif cursor.accept("("):
        union = list(parse_from(cursor, parse_select))
        cursor.expect(")")
        return [replace(union[0], alias=_alias(cursor) or union[0].alias, how=how, how_span=how_span), *union[1:]]
    else:
        source = cursor.name("a stream or a table")
    window: WindowSyntax | None = None
    model: ModelSyntax | None = None
    alias: Name | None = None
    while True:
        if window is None and cursor.at("["):
            window = _window(cursor)
        elif model is None and cursor.at("MODEL"):
            model = _model(cursor)
        elif alias is None and (found := _alias(cursor)) is not None:
            alias = found
        else:
            return [FromSyntax(source, cursor.since(first), window, model, alias, how, how_span)]


def _alias(cursor: Cursor) -> Name | None:
    if cursor.accept("AS"):
        return cursor.name("an alias")
    token = cursor.peek()
    if token.kind == "quoted" or (token.kind == "word" and token.word not in ENDS_EXPRESSION | {"MODEL", "USING"}):
        return cursor.name("an alias")
    return None


def _window(cursor: Cursor) -> WindowSyntax:
    first = cursor.index
    cursor.expect("[")
    if cursor.accept("NOW"):
        window = WindowSyntax("NOW", Span(0, 0))
    elif cursor.accept("ROWS"):
        whole_number(cursor, "a number of rows")
        window = WindowSyntax("ROWS", Span(0, 0))
    elif cursor.accept("PARTITION BY"):
        keys = [take_expression(cursor, "a key", frozenset(("ROWS",)))]
        while cursor.accept(","):
            keys.append(take_expression(cursor, "a key", frozenset(("ROWS",))))
        cursor.expect("ROWS")
        whole_number(cursor, "a number of rows")
        window = WindowSyntax("PARTITION BY", Span(0, 0), partition=tuple(keys))
    elif cursor.at("RANGE") or cursor.at("SIZE"):
        bare = cursor.next().word == "SIZE"
        length = parse_duration(cursor, bare_seconds=bare)
        slide, slide_first = None, cursor.index
        if cursor.accept("ADVANCE" if bare else "SLIDE"):
            slide = parse_duration(cursor, bare_seconds=bare)
        slide_span = cursor.since(slide_first) if slide is not None else None
        window = WindowSyntax("RANGE", Span(0, 0), length, slide, slide_span)
    else:
        raise cursor.wrong("a window", hint=WINDOW_EXAMPLE)
    if not cursor.at("]"):
        raise cursor.wrong('"]"', hint=WINDOW_EXAMPLE)
    cursor.expect("]")
    return replace(window, span=cursor.since(first))


def _model(cursor: Cursor) -> ModelSyntax:
    first = cursor.index
    cursor.expect("MODEL")
    attributes: list[Name] = []
    expressions: list[Expression] = []
    columns: list[Name] = []
    bracket = cursor.accept("(")
    attributes.append(cursor.name("a modelled attribute"))
    if bracket or cursor.at("="):
        cursor.expect("=")
        expressions.append(take_expression(cursor, "an expression", frozenset(("FOR", "SPLIT"))))
        while bracket and cursor.accept(","):
            attributes.append(cursor.name("a modelled attribute"))
            cursor.expect("=")
            expressions.append(take_expression(cursor, "an expression"))
        if bracket:
            cursor.expect(")")
        cursor.expect("FOR")
        parse_duration(cursor)
    elif cursor.accept("FIT"):
        parse_fit(cursor)
    elif cursor.accept("BY"):
        cursor.name("the name of a solver")
        cursor.expect("(")
        if not cursor.at(")"):
            columns.append(cursor.name("a column"))
            while cursor.accept(","):
                columns.append(cursor.name("a column"))
        cursor.expect(")")
    else:
        raise cursor.wrong("=, FIT or BY", hint="for example: MODEL x = x + v * t FOR 60 SECONDS")
    if cursor.accept("SPLIT"):
        cursor.name("the name of a split function")
    return ModelSyntax(tuple(attributes), tuple(expressions), tuple(columns), cursor.since(first))


def reject_leftover(cursor: Cursor) -> ParseError:
    """What to say when a query goes on with something that is no clause; a misspelt one may look like an alias."""
    words = [w for w in (cursor.peek().word, cursor.peek(-1).word) if w not in CLAUSES | AFTER_FROM]
    near = [n for word in words for n in difflib.get_close_matches(word, CLAUSES | AFTER_FROM, n=1, cutoff=0.75)]
    hint = f"did you mean {near[0]}?" if near else "clauses: " + ", ".join(sorted(CLAUSES))
    return cursor.wrong("a clause or the end of the statement", hint=hint)
