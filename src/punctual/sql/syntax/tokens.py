"""Program text to tokens with their spans, cut into statements at ``;``.

Model
-----
sqlglot's tokeniser for Spark does the reading, so strings, numbers, comments and backquotes are Spark's. A
:class:`Token` is what a reader calls one: ``5L`` and ``'it''s'`` are one token here though sqlglot makes several of
them. The sqlglot tokens stay inside (``raw``): expressions are handed on without being read again.

Invariants: tokens do not overlap and are in order; ``text[token.start:token.end]`` is the token as written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from sqlglot import Tokenizer as AnyTokenizer
from sqlglot import TokenType
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as RawToken

from punctual.errors import ParseError, Span

Kind = Literal["word", "quoted", "string", "number", "symbol", "end"]

SPARK: Dialect = Dialect.get_or_raise("spark")
STRINGS = frozenset(kind for kind in TokenType if kind.name.endswith("STRING"))


class _Tokenizer(Spark.Tokenizer):
    """Spark's, without the commands that swallow the rest of a statement, without templates and hints."""

    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        text: kind
        for text, kind in Spark.Tokenizer.KEYWORDS.items()
        if not text.startswith(("{", "%", "+", "-%", "-}", "/*"))
    }


@dataclass(frozen=True, slots=True)
class Token:
    """A word, quoted name, string, number or symbol; ``text`` is as written, ``value`` without its quotes."""

    kind: Kind
    text: str
    value: str
    start: int
    end: int
    raw: tuple[RawToken, ...] = ()

    @property
    def word(self) -> str:
        """What keywords and symbols are compared with; empty for what is never one."""
        if self.kind == "word":
            return " ".join(self.text.upper().split())
        return self.text if self.kind == "symbol" else ""

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


def tokenize(text: str) -> tuple[tuple[Token, ...], ParseError | None]:
    """The tokens of a text, and the error where they stop early (a quote or comment that never ends)."""
    try:
        return _tokens(text, text), None
    except TokenError as error:
        offset = _broken_at(text, error)
        opened = "comment" if text.startswith("/*", offset) else "quote"
        problem = ParseError(
            "parse.syntax",
            f"this {opened} never ends",
            span=Span(offset, offset + 1),
            hint=f"close it with {'*/' if opened == 'comment' else text[offset:offset + 1]}",
        )
    try:
        return _tokens(text[:offset], text), problem
    except TokenError:
        return (), problem


def split_statements(tokens: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """Statements between semicolons; empty ones are dropped."""
    statements: list[tuple[Token, ...]] = []
    first = 0
    for index, token in enumerate(tokens):
        if token.word == ";":
            statements.append(tokens[first:index])
            first = index + 1
    statements.append(tokens[first:])
    return [statement for statement in statements if statement]


def _tokens(part: str, text: str) -> tuple[Token, ...]:
    tokenizer: AnyTokenizer = _Tokenizer(dialect=SPARK)
    tokens: list[Token] = []
    group: list[RawToken] = []
    for raw in tokenizer.tokenize(part):
        if group and not (raw.start == group[0].start or _continues_string(group[-1], raw)):
            tokens.append(_token(group, text))
            group = []
        group.append(raw)
    if group:
        tokens.append(_token(group, text))
    return tuple(tokens)


def _continues_string(before: RawToken, raw: RawToken) -> bool:
    """``'it''s'``: a quote doubled inside a string; sqlglot sees two strings that touch."""
    return before.token_type in STRINGS and raw.token_type in STRINGS and raw.start == before.end + 1


def _token(group: list[RawToken], text: str) -> Token:
    first, last = group[0], group[-1]
    written = text[first.start : last.end + 1]
    kind: Kind
    if first.token_type in STRINGS:
        kind = "string"
    elif first.token_type == TokenType.NUMBER:
        kind = "number"
    elif first.token_type == TokenType.IDENTIFIER:
        kind = "quoted"
    else:
        kind = "word" if written[0].isalnum() or written[0] == "_" else "symbol"
    value = first.text if len(group) == 1 else "".join(raw.text for raw in group)
    return Token(kind, written, value, first.start, last.end + 1, tuple(group))


def _broken_at(text: str, error: TokenError) -> int:
    """The offset of what never ends; sqlglot says it only in its message."""
    said = re.search(r"from \d+:(\d+)", str(error.__cause__))
    if said is not None:
        return min(int(said[1]), len(text))
    return max(text.rfind("/*"), 0)
