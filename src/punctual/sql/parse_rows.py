"""A query as Spark's own text: its windows and our clauses are found, wherever they stand; all else is left to Spark.

A window stands after the name of a stream, ``s [RANGE 10 SECONDS]``, or after a subquery of FROM. Our clauses (PERIOD,
DEADLINE ...) stand outside all brackets, where an expression has ended: two operands never stand side by side in Spark
SQL, so a column that is called ``period`` is none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.errors import ParseError, Span
from punctual.sql.syntax.clauses import Clause
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.expression import OPENING, OPERATOR_WORDS
from punctual.sql.syntax.parse_clause import CLAUSES, parse_clause
from punctual.sql.syntax.parse_from import ENDS_EXPRESSION, parse_window
from punctual.sql.syntax.select import WindowSyntax
from punctual.sql.syntax.tokens import Token
from punctual.sql.syntax.written import Name

BEFORE_RELATION = frozenset(("FROM", "JOIN", ",", "(", "ALL", "TABLE", "LATERAL"))
BEGINS_SUBQUERY = frozenset(("SELECT", "WITH", "FROM", "VALUES", "TABLE", "("))
BEGINS_WINDOW = frozenset(("RANGE", "SIZE", "NOW", "ROWS", "PARTITION BY"))
ENDS_SELECT = frozenset(("LIMIT", "OFFSET"))
PIPE = "|>"
AFTER_RELATION = ENDS_SELECT | ENDS_EXPRESSION | {
    "AS", "USING", "LATERAL", "TABLESAMPLE", "PIVOT", "UNPIVOT", "WINDOW", "EXCEPT", "INTERSECT", "MINUS", "SORT BY",
    "CLUSTER BY", "DISTRIBUTE BY", "SELECT", "QUALIFY",
}
"""Words after a FROM item that are no name for it."""


@dataclass(frozen=True, slots=True)
class WindowedName:
    """``s [RANGE 10 SECONDS]``: the name of a stream, the ``index`` of its token, and the window after it.

    ``has_alias`` says whether the query gives it a name of its own.
    """

    name: Name
    window: WindowSyntax
    index: int
    has_alias: bool


@dataclass(frozen=True, slots=True)
class WindowedSubquery:
    """``(SELECT ...) [RANGE 1 MINUTE]``: the indexes of its brackets, and the window after it."""

    first: int
    last: int
    window: WindowSyntax


@dataclass(frozen=True, slots=True)
class RowsSyntax:
    """A query from SELECT or WITH on: its tokens without windows and clauses, and those.

    ``order`` and ``tail`` are the indexes of the tokens ORDER BY, and LIMIT or OFFSET, that end the whole query.
    """

    tokens: tuple[Token, ...]
    windows: tuple[WindowedName, ...]
    subqueries: tuple[WindowedSubquery, ...]
    clauses: tuple[Clause, ...]
    order: int
    tail: int
    span: Span


def parse_rows(source: str, tokens: tuple[Token, ...]) -> RowsSyntax:
    """A query from its SELECT or WITH on.

    Raises
    ------
    ParseError
        For brackets that do not match, and windows and clauses that are not well written.
    """
    cursor = Cursor(source, tokens)
    kept: list[Token] = []
    windows: list[WindowedName] = []
    subqueries: list[WindowedSubquery] = []
    clauses: tuple[Clause, ...] = ()
    opened: list[tuple[int, Token]] = []
    closed = -1
    ends: dict[str, int] = {}
    while not cursor.done:
        token = cursor.peek()
        word = token.word
        if word == "[" and cursor.peek(1).word in BEGINS_WINDOW and _is_relation(kept):
            window = parse_window(cursor)
            windows.append(WindowedName(Name(kept[-1].value, kept[-1].span), window, len(kept) - 1, _is_alias(cursor)))
            continue
        if word == "[" and cursor.peek(1).word in BEGINS_WINDOW and _is_subquery(kept, closed):
            subqueries.append(WindowedSubquery(closed, len(kept) - 1, parse_window(cursor)))
            continue
        if not opened and word in CLAUSES and _ends_operand(kept):
            clauses = (*clauses, parse_clause(cursor, clauses))
            continue
        closed = _bracket(token, len(kept), opened)
        if not opened and word == PIPE and cursor.peek(1).word not in ENDS_SELECT:
            ends.clear()  # what follows takes the rows in any order
        elif not opened and (word == "ORDER BY" or word in (PIPE, *ENDS_SELECT)):
            ends.setdefault("order" if word == "ORDER BY" else "tail", len(kept))
        kept.append(cursor.next())
    if opened:
        raise ParseError("parse.syntax", "this bracket is never closed", span=opened[-1][1].span)
    size = len(kept)
    tail = ends.get("tail", size)
    order = min(ends.get("order", tail), tail)
    return RowsSyntax(tuple(kept), tuple(windows), tuple(subqueries), clauses, order, tail, cursor.since(0))


def _is_relation(before: list[Token]) -> bool:
    """Whether the last token is a name where a stream may stand."""
    return (
        len(before) > 1 and before[-1].kind in ("word", "quoted") and before[-2].word in BEFORE_RELATION
    )


def _is_subquery(before: list[Token], opened: int) -> bool:
    """Whether the last token closes the bracket of this index, and a subquery of FROM with it."""
    if not before or before[-1].word != ")" or opened < 1:
        return False
    return before[opened - 1].word in BEFORE_RELATION and before[opened + 1].word in BEGINS_SUBQUERY


def _is_alias(cursor: Cursor) -> bool:
    """Whether a name for what was read stands at the cursor."""
    token = cursor.peek()
    return cursor.at("AS") or token.kind == "quoted" or (token.kind == "word" and token.word not in AFTER_RELATION)


def _ends_operand(before: list[Token]) -> bool:
    """Whether an expression, or a list of FROM items, can end with the last token."""
    last = before[-1] if before else None
    if last is None or last.kind == "symbol":
        return last is not None and last.word in (")", "]", "*")
    if last.word == "ALL" and len(before) > 1 and before[-2].word in ("ORDER BY", "GROUP BY"):
        return True
    return last.word not in OPERATOR_WORDS


def _bracket(token: Token, index: int, opened: list[tuple[int, Token]]) -> int:
    """Keep account of the brackets that are open; the index of the one that the token closes, -1 if it closes none."""
    if token.word in OPENING:
        opened.append((index, token))
    elif token.word in OPENING.values():
        if not opened or OPENING[opened[-1][1].word] != token.word:
            raise ParseError("parse.syntax", "this bracket closes nothing", span=token.span)
        return opened.pop()[0]
    return -1
