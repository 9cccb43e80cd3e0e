"""FROM: a tree of windowed streams, tables, subqueries and models, their joins and unions.

UNION ALL binds tighter than a comma or JOIN: ``a UNION ALL b JOIN c ON ...`` joins the rows of both streams with
``c``. Joins group from left to right; brackets group otherwise.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace

from punctual.errors import ParseError
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.durations import parse_duration
from punctual.sql.syntax.expression_extent import take_expression, take_expressions
from punctual.sql.syntax.models import ModelSyntax
from punctual.sql.syntax.parse_clause import CLAUSES
from punctual.sql.syntax.parse_model import parse_model
from punctual.sql.syntax.parse_number import whole_number
from punctual.sql.syntax.select import (
    FromItem,
    FromJoin,
    FromSyntax,
    FromUnion,
    JoinKind,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SelectSyntax,
    WindowSyntax,
)
from punctual.sql.syntax.written import Name

JOINS: dict[tuple[str, ...], JoinKind] = {
    (): "inner",
    ("INNER",): "inner",
    ("LEFT",): "left outer",
    ("LEFT", "OUTER"): "left outer",
    ("LEFT", "SEMI"): "left semi",
    ("LEFT", "ANTI"): "left anti",
    ("RIGHT",): "right outer",
    ("RIGHT", "OUTER"): "right outer",
    ("FULL",): "full outer",
    ("FULL", "OUTER"): "full outer",
    ("CROSS",): "cross",
    ("SEMI",): "left semi",
    ("ANTI",): "left anti",
}
"""The words before JOIN."""
JOIN_WORDS = frozenset(("JOIN", "NATURAL", "ON", *(words[0] for words in JOINS if words)))
AFTER_FROM = frozenset(("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION"))
ENDS_EXPRESSION = CLAUSES | AFTER_FROM | JOIN_WORDS
WINDOW_EXAMPLE = "for example: [RANGE 20 MINUTES SLIDE 2 MINUTES]"
MOST_JOINS = 100
"""More joins in one FROM are refused: the tree is walked by recursion."""

ParseSelect = Callable[[Cursor], SelectSyntax]


def parse_from(cursor: Cursor, parse_select: ParseSelect) -> FromSyntax:
    """The tree after FROM."""
    begin = cursor.index
    tree = _union(cursor, parse_select)
    for _ in range(MOST_JOINS):
        first = cursor.index
        if _at_union(cursor):
            cursor.expect("UNION", "ALL")
            tree = FromUnion((tree, _union(cursor, parse_select)), cursor.since(begin))
            continue
        join: tuple[JoinKind, bool] | None = ("comma", False) if cursor.accept(",") else _join_words(cursor)
        if join is None:
            return tree
        kind, natural = join
        words = cursor.since(first)
        right = _union(cursor, parse_select)
        on = None
        if kind != "comma" and cursor.accept("ON"):
            on = take_expression(cursor, "a join condition", ENDS_EXPRESSION)
        tree = FromJoin(kind, natural, tree, right, on, words)
    raise ParseError("parse.syntax", f"FROM has more than {MOST_JOINS} joins", span=cursor.since(begin))


def _union(cursor: Cursor, parse_select: ParseSelect) -> FromSyntax:
    first = cursor.index
    parts = [_item(cursor, parse_select)]
    while _at_union(cursor):
        cursor.expect("UNION", "ALL")
        parts.append(_item(cursor, parse_select))
    return parts[0] if len(parts) == 1 else FromUnion(tuple(parts), cursor.since(first))


def _at_union(cursor: Cursor) -> bool:
    return cursor.at("UNION", "ALL") and cursor.peek(2).word != "SELECT"


def _join_words(cursor: Cursor) -> tuple[JoinKind, bool] | None:
    natural = cursor.accept("NATURAL")
    for words, kind in JOINS.items():
        if cursor.accept(*words, "JOIN"):
            return kind, natural
    if natural or cursor.peek().word in JOIN_WORDS - {"ON"}:
        while cursor.peek().word in ("INNER", "LEFT", "RIGHT", "FULL", "CROSS", "OUTER", "SEMI", "ANTI"):
            cursor.next()
        raise cursor.wrong("JOIN", hint="JOIN and LEFT JOIN are there")
    return None


def _item(cursor: Cursor, parse_select: ParseSelect) -> FromSyntax:
    first = cursor.index
    source: Name | SelectSyntax
    if cursor.at("(", "SELECT"):
        with cursor.nested():
            cursor.expect("(")
            source = parse_select(cursor)
            cursor.expect(")")
    elif cursor.at("("):
        with cursor.nested():
            cursor.expect("(")
            tree = parse_from(cursor, parse_select)
            cursor.expect(")")
        if not isinstance(tree, FromJoin) and (alias := _alias(cursor)) is not None:
            return replace(tree, alias=alias)
        return tree
    else:
        source = cursor.name("a stream or a table")
    window: WindowSyntax | None = None
    model: ModelSyntax | None = None
    alias = None
    while True:
        if window is None and cursor.at("["):
            window = parse_window(cursor)
        elif model is None and cursor.at("MODEL"):
            model = parse_model(cursor)
        elif alias is None and (named := _alias(cursor)) is not None:
            alias = named
        else:
            return FromItem(source, cursor.since(first), window, model, alias)


def _alias(cursor: Cursor) -> Name | None:
    if cursor.accept("AS"):
        return cursor.name("an alias")
    token = cursor.peek()
    if token.kind == "quoted" or (token.kind == "word" and token.word not in ENDS_EXPRESSION | {"MODEL", "USING"}):
        return cursor.name("an alias")
    return None


def parse_window(cursor: Cursor) -> WindowSyntax:
    """A window in its brackets."""
    first = cursor.index
    cursor.expect("[")
    if cursor.accept("NOW"):
        _close_window(cursor)
        return NowWindow(cursor.since(first))
    if cursor.at("ROWS") or cursor.at("PARTITION BY"):
        partitioned = cursor.accept("PARTITION BY")
        partition = take_expressions(cursor, "a key", frozenset(("ROWS",))) if partitioned else ()
        cursor.expect("ROWS")
        rows = whole_number(cursor, "a number of rows")
        _close_window(cursor)
        return RowsWindow(rows, partition, cursor.since(first))
    if not (cursor.at("RANGE") or cursor.at("SIZE")):
        raise cursor.wrong("a window", hint=WINDOW_EXAMPLE)
    bare = cursor.next().word == "SIZE"
    length = parse_duration(cursor, bare_seconds=bare)
    slide_first = cursor.index
    slide = parse_duration(cursor, bare_seconds=bare) if cursor.accept("ADVANCE" if bare else "SLIDE") else None
    slide_span = cursor.since(slide_first)
    _close_window(cursor)
    return RangeWindow(length, slide, slide_span, cursor.since(first))


def _close_window(cursor: Cursor) -> None:
    if not cursor.accept("]"):
        raise cursor.wrong('"]"', hint=WINDOW_EXAMPLE)


def reject_leftover(cursor: Cursor) -> ParseError:
    """What to say when a query goes on with something that is no clause; a misspelt one may look like an alias."""
    words = [w for w in (cursor.peek().word, cursor.peek(-1).word) if w not in CLAUSES | AFTER_FROM]
    near = [n for word in words for n in difflib.get_close_matches(word, CLAUSES | AFTER_FROM, n=1, cutoff=0.75)]
    hint = f"did you mean {near[0]}?" if near else "clauses: " + ", ".join(sorted(CLAUSES))
    return cursor.wrong("a clause or the end of the statement", hint=hint)
