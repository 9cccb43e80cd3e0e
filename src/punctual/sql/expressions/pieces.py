"""Expressions being rewritten: runs of pieces, each a token as written or what a token was replaced by.

The expression made of pieces has one spacing and one case of words, so that two ways of writing one give one
expression: equality is what queries are shared by. Quoted text and names of fields stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from punctual.errors import BindError, Span
from punctual.plan.expression import Expression, Part, Term, compose
from punctual.sql.syntax.expression import DEEPEST, OPENING, OPERATOR_WORDS, Call, ColumnReference, ExpressionSyntax

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
    kept = _kept_as_written(expression)
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
            text = token.text if token.kind != "word" or index in kept else token.word.lower()
            pieces.append(Piece(text, _KINDS[token.kind], token.span))
            index += 1
    if max(_depths(pieces), default=0) > DEEPEST:
        fact = f"brackets are more than {DEEPEST} deep once every alias is replaced by what it stands for"
        raise BindError("bind.too-long", fact, span=expression.span)
    return tuple(pieces)


def _kept_as_written(expression: ExpressionSyntax) -> set[int]:
    """The words whose case means something: names of fields, after a dot or as a struct is made."""
    words = ["", *(token.word for token in expression.tokens), ""]
    makes_struct = "STRUCT" in words
    begins = {call.first: call for call in expression.calls}
    around: list[Call] = []
    kept: set[int] = set()
    for index, (before, word, after) in enumerate(zip(words, words[1:], words[2:])):
        while around and around[-1].end <= index:
            around.pop()
        field = makes_struct or (before == "AS" and not (around and around[-1].name in ("cast", "try_cast")))
        if before == "." or (field and after != "(" and word not in OPERATOR_WORDS):
            kept.add(index)
        if index in begins:
            around.append(begins[index])
    return kept


def _depths(pieces: Sequence[Piece]) -> list[int]:
    """In how many brackets it goes on after each piece."""
    words = [piece.text if piece.kind == "symbol" else "" for piece in pieces]
    return list(accumulate((word in OPENING) - (word in (")", "]")) for word in words))


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


def unbracketed(pieces: Pieces) -> Pieces:
    """The pieces without the brackets around all of them."""
    while len(pieces) > 2 and pieces[0].text == "(" and all(_depths(pieces)[:-1]):
        pieces = pieces[1:-1]
    return pieces
