"""An index into a statement's tokens: look ahead, accept, expect, fail with the token underlined."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from punctual.errors import ParseError, Span
from punctual.sql.syntax.tokens import Token
from punctual.sql.syntax.written import Name

T = TypeVar("T")
DEEPEST = 50


class Cursor:
    """Reads one statement from left to right. Words are compared without regard to case."""

    def __init__(self, source: str, tokens: Sequence[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.index = 0
        self._depth = 0
        last = tokens[-1].end if tokens else len(source)
        self._end = Token("end", "", "", last, last)

    def peek(self, ahead: int = 0) -> Token:
        index = self.index + ahead
        return self.tokens[index] if 0 <= index < len(self.tokens) else self._end

    @property
    def done(self) -> bool:
        return self.index >= len(self.tokens)

    def next(self) -> Token:
        token = self.peek()
        self.index += 1
        return token

    def at(self, *words: str) -> bool:
        return all(self.peek(ahead).word == word for ahead, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, *words: str, hint: str | None = None) -> None:
        for word in words:
            if not self.accept(word):
                raise self.wrong(word if word[:1].isalpha() else f'"{word}"', hint)

    def name(self, what: str, hint: str | None = None) -> Name:
        """An identifier: a word or a name in backquotes."""
        token = self.peek()
        if token.kind not in ("word", "quoted") or token.value == "":
            raise self.wrong(what, hint)
        self.index += 1
        return Name(token.value, token.span)

    def string(self, what: str) -> Token:
        if self.peek().kind != "string":
            raise self.wrong(what)
        return self.next()

    def number(self, what: str) -> Token:
        if self.peek().kind != "number":
            raise self.wrong(what)
        return self.next()

    def plain_number(self, what: str) -> float:
        """A number without a suffix for its type (``5D``)."""
        try:
            return float(self.number(what).text)
        except ValueError:
            self.index -= 1
            raise self.wrong(what) from None

    def choice(self, words: Iterable[str], what: str) -> str:
        """One of some words."""
        words = tuple(words)
        word = self.peek().word
        if word not in words:
            near = difflib.get_close_matches(word, words, n=1)
            raise self.wrong(what, hint=f"did you mean {near[0]}?" if near else f"one of {', '.join(words)}")
        self.index += 1
        return word

    def several(self, read: Callable[[Cursor], T]) -> tuple[T, ...]:
        """What is read here and after every comma."""
        found = [read(self)]
        while self.accept(","):
            found.append(read(self))
        return tuple(found)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Around what may contain itself; too deep is refused, because parsers recurse."""
        if self._depth == DEEPEST:
            raise ParseError("parse.syntax", f"queries are more than {DEEPEST} deep", span=self.peek().span)
        self._depth += 1
        yield
        self._depth -= 1

    def since(self, first: int) -> Span:
        """The span from the token at ``first`` to the last one that was read."""
        start = self.tokens[first].start if first < len(self.tokens) else self._end.start
        return Span(start, max(start, self.peek(-1).end if self.index > first else start))

    def wrong(self, expected: str, hint: str | None = None) -> ParseError:
        """What was expected here, and what stands here instead."""
        token = self.peek()
        here = "the statement ends" if token.kind == "end" else f'there is "{token.text}"'
        span = Span(max(token.start - 1, 0), token.start) if token.kind == "end" else token.span
        return ParseError("parse.syntax", f"expected {expected}, but {here}", span=span, hint=hint)
