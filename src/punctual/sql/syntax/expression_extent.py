"""Where an expression ends inside a statement.

Our clause words (PERIOD, ERROR, QUALITY ...) are not reserved: a column may be called ``period``. Two operands never
stand side by side in an expression, so such a word ends it only where an operator would have to come. The same rule
finds an alias without AS.
"""

from __future__ import annotations

from punctual.errors import ParseError
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.expression import OPERATOR_WORDS, ExpressionSyntax, interval_word, matching, parse_expression

HARD_STOPS = frozenset(("FROM", "GROUP BY", "ORDER BY"))
CONTINUING = OPERATOR_WORDS - {"FROM", "WHERE", "AS", "ON", "USING", "SELECT", "BY", "ALL", "CASE", "INTERVAL"} | {
    "COLLATE", "IGNORE", "RESPECT", "WITHIN",
}
"""Words that go on with an expression after an operand."""


def take_expression(cursor: Cursor, what: str, stops: frozenset[str] = frozenset()) -> ExpressionSyntax:
    """Read an expression: up to a comma, a closing bracket, a word of ``stops``, or a second operand."""
    first, cases, operand, interval = cursor.index, 0, False, False
    while not cursor.done:
        token = cursor.peek()
        word = token.word
        if cases == 0:
            if word in (",", ")", "]"):
                break
            if word in HARD_STOPS and cursor.peek(-1).word != "DISTINCT":
                break
            if operand and token.kind in ("word", "quoted") and not (interval and interval_word(token.text)):
                if word in stops and not (word == "WITHIN" and cursor.peek(1).word.startswith("GROUP")):
                    break
                if word not in CONTINUING:
                    break
        if word in ("(", "["):
            cursor.index = _closing(cursor)
        cases += (word == "CASE") - (word == "END" and cases > 0)
        literal = token.kind in ("number", "string")
        interval = word == "INTERVAL" or (interval and (literal or interval_word(token.text)))
        cursor.next()
        operand = _ends_operand(cursor, first)
    if cursor.index == first:
        raise cursor.wrong(what)
    return parse_expression(cursor.source, tuple(cursor.tokens[first : cursor.index]))


def take_expressions(cursor: Cursor, what: str, stops: frozenset[str] = frozenset()) -> tuple[ExpressionSyntax, ...]:
    """Read expressions with commas between them."""
    return cursor.several(lambda cursor: take_expression(cursor, what, stops))


def _closing(cursor: Cursor) -> int:
    index = matching(tuple(cursor.tokens), cursor.index)
    if index == len(cursor.tokens):
        raise ParseError("parse.syntax", "this bracket is never closed", span=cursor.peek().span)
    return index


def _ends_operand(cursor: Cursor, first: int) -> bool:
    token = cursor.peek(-1)
    if token.kind == "symbol":
        star = token.word == "*" and (cursor.index - 1 == first or cursor.peek(-2).word == ".")
        return star or token.word in (")", "]")
    halves = ("IGNORE", "NULLS"), ("RESPECT", "NULLS"), ("WITHIN", "GROUP")
    if any(token.word == one and cursor.at(other) for one, other in halves):
        return False
    return token.word not in OPERATOR_WORDS and not (token.word == "COLLATE" and cursor.index - 1 > first)
