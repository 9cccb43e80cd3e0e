"""A row query: Spark SQL as its author wrote it, over the rows of windows.

Such a query is what panes cannot answer. We find its windows and its clauses; all else is Spark's. Its text is kept
token by token, so that places in the program are known, layout does not count, and nobody edits it: a window is
rendered as the view that has its rows, ``now()`` as the instant. A subquery with a window of its own stands in it as
often as it is answered in that window, each time over windows that end so much before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.drawn_rows import DrawnRows
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
    """``now()``; in a subquery with a window the instant of its answer, ``back_us`` before that of the query."""

    back_us: Micros = 0


@dataclass(frozen=True, slots=True)
class AnswersPlace:
    """A subquery with a window: its answers at the instants of the window, the latest first.

    ``back_us`` says for each how long before the query's instant it is.
    """

    answers: tuple[SparkText, ...]
    back_us: tuple[Micros, ...]


Token = Word | WindowPlace | InstantPlace | AnswersPlace


@dataclass(frozen=True, slots=True)
class SparkText:
    """Tokens in order, and the place of each in the program, which means nothing."""

    tokens: tuple[Token, ...] = ()
    spans: tuple[Span, ...] = field(default=(), compare=False, repr=False, metadata=LAYOUT)

    def rendered(
        self, window: Callable[[WindowPlace], str], instant: Callable[[Micros], str]
    ) -> Iterator[tuple[str, Span]]:
        """Its tokens as Spark SQL, each with its place; ``instant`` is the query's instant, so long before it."""
        for token, span in zip(self.tokens, self.spans, strict=True):
            match token:
                case Word():
                    yield (" " if token.gap else "") + token.text, span
                case WindowPlace():
                    yield f" {window(token)}", span
                case InstantPlace():
                    yield f" {instant(token.back_us)}", span
                case AnswersPlace():
                    for number, answer in enumerate(token.answers):
                        yield " UNION ALL (" if number else " ((", span
                        yield from answer.rendered(window, instant)
                        yield ")", span
                    yield ")", span

    def words(self) -> Iterator[tuple[str, Span]]:
        """The words as they are written: those of a subquery with a window once."""
        for token, span in zip(self.tokens, self.spans, strict=True):
            if isinstance(token, Word):
                yield token.text, span
            elif isinstance(token, AnswersPlace):
                yield from token.answers[0].words()

    def since(self, back_us: Micros) -> SparkText:
        """Without the answers of subqueries that are more than so long before the instant."""
        return replace(self, tokens=tuple(_since(token, back_us) for token in self.tokens))

    @property
    def windows(self) -> frozenset[int]:
        """The windows that stand in it."""
        return frozenset(token.window for token in self._every() if isinstance(token, WindowPlace))

    @property
    def names_instant(self) -> bool:
        return any(isinstance(token, InstantPlace) for token in self._every())

    @property
    def oldest_us(self) -> Micros:
        """How long before the instant the oldest answer of a subquery is that stands in it."""
        places = [token for token in self.tokens if isinstance(token, AnswersPlace)]
        return max((max(place.back_us[-1], place.answers[-1].oldest_us) for place in places), default=0)

    @property
    def answers(self) -> int:
        """How many answers of subqueries stand in it."""
        return sum(len(token.answers) for token in self._every() if isinstance(token, AnswersPlace))

    def _every(self) -> Iterator[Token]:
        """Its tokens, and those of all answers in it."""
        for token in self.tokens:
            yield token
            if isinstance(token, AnswersPlace):
                for answer in token.answers:
                    yield from answer._every()

    def __bool__(self) -> bool:
        return bool(self.tokens)


def _since(token: Token, back_us: Micros) -> Token:
    if not isinstance(token, AnswersPlace):
        return token
    count = max(1, sum(back <= back_us for back in token.back_us))
    return AnswersPlace(tuple(one.since(back_us) for one in token.answers[:count]), token.back_us[:count])


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The rows of a stream that a query sees at an instant: those of ``(at - range_us, at]``, or the last ``rows`` that
    are not after it, of each value of the ``keys`` where there are some.

    ``columns`` are those that the query may name, and the keys, in the stream's order. Rows of one event time are
    counted in the order of these columns. A window in a subquery with a window of its own ends at the instant of its
    answer, ``back_us`` before that of the query.

    Where ``drawn`` says so, the query sees what it makes of these columns: the rows of every round.
    """

    stream: str
    range_us: Micros | None
    columns: tuple[str, ...]
    back_us: Micros = 0
    rows: int | None = None
    keys: tuple[str, ...] = ()
    drawn: DrawnRows | None = None

    @property
    def reach_us(self) -> Micros:
        """How long before the instant of the query it begins; of one by rows, how long before it ends."""
        return (self.range_us or 0) + self.back_us


@dataclass(frozen=True, slots=True)
class RowSampling:
    """How the windows of a row query may be samples, so that its answer is a part of the whole one.

    By these columns of each window, so that rows that belong together are there together or not at all; without any,
    row by row; or not, and ``why_not``. Of an outer, semi or anti join ``preserved`` is the window that all rows of the
    answer have a row of: the other one must have every key that this one has, or rows would seem to match nothing.
    """

    by: tuple[tuple[str, ...], ...] = ()
    why_not: str | None = None
    preserved: int | None = None


@dataclass(frozen=True, slots=True)
class RowStatement:
    """``select`` without what follows it at the end: ``order`` after ORDER BY, ``tail`` from LIMIT or OFFSET on.

    ``tables`` are the static tables that it may name, in lower case. Of a query with QUALITY ``names`` are what FROM
    calls the windows, and ``sampling`` says how they may be samples, which only Spark's plan of the text can tell.
    ``plain`` are the columns of its only window that it selects, where it does nothing else: it needs no Spark then.
    """

    select: SparkText
    windows: tuple[RowWindow, ...]
    tables: tuple[str, ...] = ()
    order: SparkText = SparkText()
    tail: SparkText = SparkText()
    names: tuple[str, ...] = ()
    sampling: RowSampling | None = None
    plain: tuple[str, ...] | None = None

    @property
    def names_instant(self) -> bool:
        """Whether ``now()`` stands in it."""
        return any(text.names_instant for text in self.texts)

    @property
    def texts(self) -> tuple[SparkText, ...]:
        """All of its text."""
        return self.select, self.order, self.tail

    @property
    def answers(self) -> int:
        """How many answers of subqueries with windows stand in it."""
        return sum(text.answers for text in self.texts)

    def since(self, back_us: Micros) -> RowStatement:
        """Without the answers of subqueries that are more than so long before the instant; its windows stay."""
        if all(text.oldest_us <= back_us for text in self.texts):
            return self
        select, order, tail = (text.since(back_us) for text in self.texts)
        return replace(self, select=select, order=order, tail=tail)


@dataclass(frozen=True, slots=True)
class RowQuery(Body):
    """The body: what Spark is to answer."""

    statement: RowStatement
