"""Expressions being rewritten: runs of pieces, each a token as written or what a token was replaced by.

The text made of pieces has one spacing and one case of words, so that two ways of writing one expression give one
text: equality of texts is what queries are shared by. Quoted text and names of fields stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from punctual.errors import BindError, Span
from punctual.sql.syntax.expression import OPERATOR_WORDS, ColumnReference, Expression

CLOSING = (",", ")", "]", ".", "[")
OPENED = ("(", "[", ".")
LONGEST_GROWTH = 10_000
"""By how many pieces an expression may grow beyond what is written: aliases of aliases grow without bound."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text at a place. A ``column`` is a row's column, ``bound`` needs nothing more, ``source`` is as written."""

    text: str
    kind: Literal["source", "column", "bound"]
    span: Span
    symbol: bool = False


Pieces = tuple[Piece, ...]


def to_pieces(
    expression: Expression,
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
            pieces.append(Piece(text, "source", token.span, token.kind == "symbol"))
            index += 1
    return tuple(pieces)


def _may_fold(expression: Expression, index: int) -> bool:
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


def render(pieces: Sequence[Piece]) -> str:
    """The pieces as Spark SQL."""
    text = ""
    for index, piece in enumerate(pieces):
        if index and _gap(pieces[index - 1], piece):
            text += " "
        text += piece.text
    return text


def _gap(before: Piece, piece: Piece) -> bool:
    if before.symbol and before.text in OPENED:
        return False
    if piece.symbol and piece.text in CLOSING:
        return False
    if before.symbol and piece.symbol and piece.text != "(":
        return before.span.end != piece.span.start or before.text in (")", "]", ",")
    if piece.symbol and piece.text == "(":
        return before.symbol or before.text.upper() in OPERATOR_WORDS or before.kind != "source"
    return True


def bracketed(pieces: Pieces, span: Span) -> Pieces:
    """The pieces as one operand."""
    if len(pieces) == 1:
        return pieces
    return (Piece("(", "bound", span, True), *pieces, Piece(")", "bound", span, True))
