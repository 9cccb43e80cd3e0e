"""The text of a row query out of its tokens: where its windows stand, and what of it is repeated.

A subquery with a window is written once for each of its answers in that window. What it names of a WITH outside of it
is answered at its own instants, so it takes that along. ``a [RANGE d] UNION ALL b [RANGE d]`` in FROM, which is ours,
becomes a subquery of Spark's over the columns that all of them have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from punctual.clock import Micros, span_text
from punctual.errors import BindError, Span
from punctual.plan.row_query import AnswersPlace, InstantPlace, SparkText, Token, WindowPlace, Word
from punctual.plan.sql_text import quoted
from punctual.sql.parse_rows import AFTER_RELATION, BEGINS_SUBQUERY, RowsSyntax, WindowedSubquery
from punctual.sql.syntax.expression import OPENING
from punctual.sql.syntax.tokens import Token as Written

MOST_ANSWERS = 100
"""So many answers of subqueries may one answer of a query rest on: each is a part of its plan."""


@dataclass(frozen=True, slots=True)
class StreamUnion:
    """``a [RANGE d] UNION ALL b [RANGE d]`` in FROM: the numbers of its windows, and its first and last token."""

    windows: tuple[int, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Definition:
    """``x AS (SELECT ...)`` of a WITH: its name, its first and last token, and the last where it can be named."""

    name: str
    first: int
    last: int
    visible: int


def stream_unions(rows: RowsSyntax) -> tuple[StreamUnion, ...]:
    """The streams that are united in FROM."""
    group, groups = 0, [0] if rows.windows else []
    for one, other in pairwise(range(len(rows.windows))):
        last = _item_end(rows, one)
        words = [token.word for token in rows.tokens[last + 1 : last + 3]]
        group += words != ["UNION", "ALL"] or rows.windows[other].index != last + 3
        groups.append(group)
    found = []
    for _group, numbers in groupby(range(len(groups)), key=groups.__getitem__):
        members = tuple(numbers)
        if len(members) > 1:
            found.append(StreamUnion(members, rows.windows[members[0]].index, _item_end(rows, members[-1])))
    return tuple(found)


def _item_end(rows: RowsSyntax, window: int) -> int:
    """The last token of a windowed stream: its name, or its alias."""
    item = rows.windows[window]
    return item.index + (1 + (rows.tokens[item.index + 1].word == "AS") if item.has_alias else 0)


class RowTexts:
    """The texts of a query that answers every ``step_us``.

    ``united`` are its unions of streams, with the columns that they have. ``places`` are the windows that stand in the
    texts so far: the number of each as it is written, and how long before the instant it ends.
    """

    def __init__(
        self, rows: RowsSyntax, lengths: Sequence[Micros], step_us: Micros, united: Mapping[StreamUnion, Sequence[str]]
    ) -> None:
        self._rows = rows
        self._tokens = rows.tokens
        self._step = step_us
        self._windows = {one.index: number for number, one in enumerate(rows.windows)}
        self._subqueries = {one.first: (one, length) for one, length in zip(rows.subqueries, lengths)}
        self._unions = {union.first: (union, columns) for union, columns in united.items()}
        self._defined = list(_definitions(rows.tokens))
        self._answered = 0
        self.places: dict[tuple[int, Micros], int] = {}

    def text(self, first: int, end: int) -> SparkText:
        """The text of the tokens from one to before another.

        Raises
        ------
        BindError
            ``bind.too-many-instants`` where subqueries with windows would be answered too often.
        """
        return self._text(first, end, 0)

    def _text(self, first: int, end: int, back_us: Micros) -> SparkText:
        found: list[tuple[Token, Span]] = []
        index = first
        while index < end:
            token = self._tokens[index]
            if index in self._subqueries:
                subquery, length = self._subqueries[index]
                index = subquery.last
                found.append((self._answers(subquery, length, back_us), _from(token, self._tokens[index])))
            elif index in self._unions:
                found += self._union(*self._unions[index], back_us)
                index = self._unions[index][0].last
            elif index in self._windows:
                one = self._rows.windows[self._windows[index]]
                label = "" if one.has_alias else quoted(one.name.text)
                found.append((self._window(self._windows[index], label, back_us), token.span))
            elif _is_now(self._tokens, index):
                index += 2
                found.append((InstantPlace(back_us), _from(token, self._tokens[index])))
            else:
                found.append((Word(token.text, self._gap(index)), token.span))
            index += 1
        return _joined(found)

    def _gap(self, index: int) -> bool:
        """Whether white space stands before a token."""
        if index - 1 in self._windows:
            return self._tokens[index].kind != "symbol"
        return index == 0 or self._tokens[index - 1].end < self._tokens[index].start

    def _window(self, number: int, label: str, back_us: Micros) -> WindowPlace:
        return WindowPlace(self.places.setdefault((number, back_us), len(self.places)), label)

    def _union(self, union: StreamUnion, columns: Sequence[str], back_us: Micros) -> Iterator[tuple[Token, Span]]:
        """The streams as one subquery, under the name that the union has."""
        names = ", ".join(quoted(column) for column in columns) or "1"
        place = _from(self._tokens[union.first], self._tokens[union.last])
        for number in union.windows:
            before = "(SELECT" if number == union.windows[0] else "UNION ALL SELECT"
            yield from ((Word(text), place) for text in (*before.replace("(", "( ").split(), names, "FROM"))
            yield self._window(number, "", back_us), self._rows.windows[number].name.span
        yield Word(")"), place
        if not self._is_named(union):
            yield from ((Word(text), place) for text in ("AS", quoted(union_name(self._rows, union))))

    def _is_named(self, union: StreamUnion) -> bool:
        """Whether it stands in brackets that have a name: ``(a [NOW] UNION ALL b [NOW]) AS u``."""
        after = [*self._tokens[union.last + 1 : union.last + 3]]
        in_brackets = self._tokens[union.first - 1].word == "(" and len(after) == 2 and after[0].word == ")"
        return in_brackets and (
            after[1].word == "AS" or (after[1].kind in ("word", "quoted") and after[1].word not in AFTER_RELATION)
        )

    def _answers(self, subquery: WindowedSubquery, length: Micros, back_us: Micros) -> AnswersPlace:
        """A subquery as often as it is answered in its window."""
        count = instants_in(length, self._step)
        self._answered += count
        if self._answered > MOST_ANSWERS:
            raise BindError(
                "bind.too-many-instants", f"this subquery has {count:,} answers in its window",
                span=subquery.window.span,
                detail=f"it is answered every {span_text(self._step)}, and one answer of a query may rest on "
                f"{MOST_ANSWERS} answers of its subqueries, each counted as often as it is needed",
                hint="make the window shorter, or let the query answer more seldom: a longer PERIOD",
            )
        backs = tuple(back_us + number * self._step for number in range(count))
        return AnswersPlace(tuple(self._answer(subquery.first, subquery.last, back) for back in backs), backs)

    def _answer(self, first: int, last: int, back_us: Micros) -> SparkText:
        """A subquery between its brackets, with what it names of a WITH outside of it."""
        inner = self._text(first + 1, last, back_us)
        needed = self._needed(first, last)
        if not needed:
            return inner
        place = self._tokens[first].span
        found: list[tuple[Token, Span]] = [(Word("WITH"), place)]
        if any(token.word == "RECURSIVE" for token in self._tokens):
            found.append((Word("RECURSIVE"), place))
        for number, one in enumerate(needed):
            found += [(Word(",", gap=False), place)] if number else []
            text = self._text(one.first, one.last + 1, back_us)
            found += zip(text.tokens, text.spans)
        found += ((Word(text), place) for text in ("SELECT", "*", "FROM", "("))
        return _joined([*found, *zip(inner.tokens, inner.spans), (Word(")"), place)])

    def _needed(self, first: int, last: int) -> list[_Definition]:
        """The definitions outside of a subquery that it needs, in their order."""
        needed: list[_Definition] = []
        reading = [(first, last)]
        for one in reversed(self._defined):
            outside = one.last < first and last <= one.visible
            if outside and any(self._names(one.name, *extent) for extent in reading):
                needed.append(one)
                reading.append((one.first + 1, one.last))
        return needed[::-1]

    def _names(self, name: str, first: int, last: int) -> bool:
        return any(
            token.kind in ("word", "quoted") and token.value.lower() == name for token in self._tokens[first : last + 1]
        )


def instants_in(length: Micros, step: Micros) -> int:
    """How many multiples of a step are in (at - length, at], where ``at`` is one of them.

    >>> instants_in(60, 10), instants_in(61, 10), instants_in(5, 10)
    (6, 7, 1)
    """
    return -(-length // step)


def union_name(rows: RowsSyntax, union: StreamUnion) -> str:
    """What the rows of united streams are called: the alias of the first, else of the last, else the first's name."""
    ends = [(rows.windows[number], _item_end(rows, number)) for number in (union.windows[0], union.windows[-1])]
    aliases = [rows.tokens[end].value for item, end in ends if item.has_alias]
    return aliases[0] if aliases else ends[0][0].name.text


def _definitions(tokens: Sequence[Written]) -> Iterator[_Definition]:
    """What WITH defines: ``x AS (SELECT``, or ``x (a, b) AS (SELECT``, which stand nowhere else."""
    closing = _closing(tokens)
    around: list[int] = []
    for index, token in enumerate(tokens):
        if token.word == "(":
            around.append(index)
        elif token.word == ")" and around:
            around.pop()
        if token.word != "AS" or index + 2 >= len(tokens) or tokens[index + 1].word != "(":
            continue
        if tokens[index + 2].word not in BEGINS_SUBQUERY or index == 0:
            continue
        first = index - 1
        if tokens[first].word == ")":
            first = next((n for n, last in closing.items() if last == first), 1) - 1
        if tokens[first].kind in ("word", "quoted"):
            visible = closing[around[-1]] if around else len(tokens)
            yield _Definition(tokens[first].value.lower(), first, closing[index + 1], visible)


def _closing(tokens: Sequence[Written]) -> dict[int, int]:
    """The index of the bracket that closes each."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.word in OPENING:
            opened.append(index)
        elif token.word in OPENING.values():
            found[opened.pop()] = index
    return found


def _is_now(tokens: Sequence[Written], index: int) -> bool:
    """Whether ``now()`` begins here."""
    words = [token.word for token in tokens[index : index + 3]]
    return words == ["NOW", "(", ")"] and (index == 0 or tokens[index - 1].word != ".")


def _from(first: Written, last: Written) -> Span:
    return Span(first.start, last.end)


def _joined(found: Sequence[tuple[Token, Span]]) -> SparkText:
    return SparkText(tuple(token for token, _span in found), tuple(span for _token, span in found))
