"""A row query: Spark SQL as its author wrote it, over the rows of windows.

Such a query is what panes cannot answer. We find its windows and its clauses; all else is Spark's. Its text is kept
token by token, so that places in the program are known, layout does not count, and nobody edits it: a window is
rendered as the view that has its rows, ``now()`` as the instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.fingerprint import LAYOUT
from punctual.plan.query import Body


@dataclass(frozen=True, slots=True)
class Word:
    """A token of Spark's; ``gap`` says whether white space stands before it."""

    text: str
    gap: bool = True


@dataclass(frozen=True, slots=True)
class WindowPlace:
    """Where the window of this number stands; ``label`` is what the query calls it, where it gives no other name."""

    window: int
    label: str


@dataclass(frozen=True, slots=True)
class InstantPlace:
    """``now()``."""


Token = Word | WindowPlace | InstantPlace


@dataclass(frozen=True, slots=True)
class SparkText:
    """Tokens in order, and the place of each in the program, which means nothing."""

    tokens: tuple[Token, ...] = ()
    spans: tuple[Span, ...] = field(default=(), compare=False, repr=False, metadata=LAYOUT)

    def rendered(self, window: Callable[[WindowPlace], str], instant: str) -> Iterator[tuple[str, Span]]:
        """Its tokens as Spark SQL, each with its place."""
        for token, span in zip(self.tokens, self.spans, strict=True):
            match token:
                case Word():
                    yield (" " if token.gap else "") + token.text, span
                case WindowPlace():
                    yield f" {window(token)}", span
                case InstantPlace():
                    yield f" {instant}", span

    @property
    def windows(self) -> frozenset[int]:
        """The windows that stand in it."""
        return frozenset(token.window for token in self.tokens if isinstance(token, WindowPlace))

    @property
    def names_instant(self) -> bool:
        return any(isinstance(token, InstantPlace) for token in self.tokens)

    def __bool__(self) -> bool:
        return bool(self.tokens)


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The rows of a stream that a query sees at an instant: those of ``(at - range_us, at]``.

    ``columns`` are those that the query may name, in the stream's order.
    """

    stream: str
    range_us: Micros
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowStatement:
    """``select`` without what follows it at the end: ``order`` after ORDER BY, ``tail`` from LIMIT or OFFSET on.

    ``tables`` are the static tables that it may name, in lower case.
    """

    select: SparkText
    windows: tuple[RowWindow, ...]
    tables: tuple[str, ...] = ()
    order: SparkText = SparkText()
    tail: SparkText = SparkText()

    @property
    def names_instant(self) -> bool:
        """Whether ``now()`` stands in it."""
        return any(text.names_instant for text in (self.select, self.order, self.tail))


@dataclass(frozen=True, slots=True)
class RowQuery(Body):
    """The body: what Spark is to answer."""

    statement: RowStatement
