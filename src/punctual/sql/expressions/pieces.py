"""Expressions being rewritten: runs of pieces, each a token as written or what a token was replaced by.

The expression made of pieces has one spacing and one case of words, so that two ways of writing one give one
expression: equality is what queries are shared by. Quoted text and names of fields stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from punctual.errors import BindError, Span
from punctual.plan.expression import Expression, Part, Term, compose
from punctual.sql.syntax.expression import OPERATOR_WORDS, ColumnReference, ExpressionSyntax

CLOSING = (",", ")", "]", ".", "[")
OPENED = ("(", "[", ".")
LONGEST_GROWTH = 10_000
"""By how many pieces an expression may grow beyond what is written: aliases of aliases grow without bound."""


PieceKind = Literal["source", "symbol", "number", "field", "column", "answer"]
_KINDS: dict[str, PieceKind] = {
    "symbol": "symbol", "number": "number", "word": "source", "quoted": "source", "string": "source",
}
ARITHMETIC = ("+", "-", "*", "/", "%")
PLAIN_SYMBOLS = frozenset("+-*/%<>=!()")
PLAIN_WORDS = ("AND", "OR", "NOT")
DIGITS = re.compile(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """Something at a place of the program.

    ``source``, ``symbol`` and ``number`` are text, as written or as good as that. Of a ``field``, of a ``column`` (the
    row's) and of an ``answer`` (a key, an aggregate or the instant) the text is the name.
    """

    text: str
    kind: PieceKind
    span: Span


Pieces = tuple[Piece, ...]


def to_pieces(
    expression: ExpressionSyntax,
    replace_column: Callable[[ColumnReference], Sequence[Piece]],
    replace_calls: Mapping[int, tuple[int, Sequence[Piece]]] | None = None,
) -> Pieces:
    """An expression with its columns, and the calls at some tokens, replaced.

    ``replace_calls`` maps the first token of a call to its end and to what stands for it.
    """
    columns = {column.first: column for column in expression.columns}
    calls = replace_calls or {}
    pieces: list[Piece] = []
    index = 0
    while index < len(expression.tokens):
        if index in calls:
            index, replacement = calls[index]
            pieces += replacement
        elif index in columns:
            pieces += replace_column(columns[index])
            index = columns[index].end
            if len(pieces) > len(expression.tokens) + LONGEST_GROWTH:
                raise BindError(
                    "bind.too-long", "this is too long once every alias is replaced by what it stands for",
                    span=expression.span, detail="an alias that uses another one twice doubles its length",
                )
        else:
            token = expression.tokens[index]
            text = token.word.lower() if _may_fold(expression, index) else token.text
            pieces.append(Piece(text, _KINDS[token.kind], token.span))
            index += 1
    return tuple(pieces)


def _may_fold(expression: ExpressionSyntax, index: int) -> bool:
    """Whether the case of a token means nothing: true of all words but names of fields."""
    tokens = expression.tokens
    before = tokens[index - 1].word if index else ""
    if tokens[index].kind != "word" or before == ".":
        return False
    called = index + 1 < len(tokens) and tokens[index + 1].word == "("
    if called or tokens[index].word in OPERATOR_WORDS:
        return True
    if any(token.word == "STRUCT" for token in tokens):
        return False
    inside = [call.name for call in expression.calls if call.first < index < call.end]
    return before != "AS" or (bool(inside) and inside[-1] in ("cast", "try_cast"))


def render(pieces: Sequence[Piece], span: Span | None = None) -> Expression:
    """The pieces as an expression."""
    parts: list[Part] = []
    plain = _is_plain(pieces)
    for index, piece in enumerate(pieces):
        if index and _gap(pieces[index - 1], piece):
            parts.append(" ")
        match piece.kind:
            case "column" | "answer":
                parts.append(Term("column", piece.text))
            case "field":
                parts.append(Term("field", piece.text))
            case "number" if plain:
                parts.append(Term("number", piece.text))
            case _:
                parts.append(piece.text)
    return compose(*parts, span=span)


def _is_plain(pieces: Sequence[Piece]) -> bool:
    """Whether the numbers of an expression are only compared and reckoned with: elsewhere a literal may matter as such
    (the scale of ``round``, the precision of a decimal). Arithmetic of literals alone is Spark's to fold."""
    for piece in pieces:
        match piece.kind:
            case "symbol" if not PLAIN_SYMBOLS.issuperset(piece.text):
                return False
            case "source" if piece.text.upper() not in PLAIN_WORDS:
                return False
            case "number" if not DIGITS.fullmatch(piece.text):
                return False
            case "field":
                return False
    operands = [piece for piece in pieces if piece.kind != "symbol" or piece.text not in ("(", ")")]
    return not any(
        left.kind == right.kind == "number" and between.kind == "symbol" and between.text in ARITHMETIC
        for left, between, right in zip(operands, operands[1:], operands[2:])
    )


def _gap(before: Piece, piece: Piece) -> bool:
    if before.kind == "symbol" and before.text in OPENED:
        return False
    if piece.kind == "symbol" and piece.text in CLOSING:
        return False
    if before.kind == piece.kind == "symbol" and piece.text != "(":
        return before.span.end != piece.span.start or before.text in (")", "]", ",")
    if piece.kind == "symbol" and piece.text == "(":
        return before.kind != "source" or before.text.upper() in OPERATOR_WORDS
    return True


def bracketed(pieces: Pieces, span: Span) -> Pieces:
    """The pieces as one operand."""
    if len(pieces) == 1:
        return pieces
    return (Piece("(", "symbol", span), *pieces, Piece(")", "symbol", span))
