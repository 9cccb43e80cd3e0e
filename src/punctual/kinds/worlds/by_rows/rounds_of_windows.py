"""Windows that cannot name the round of the query: in subqueries of WHERE, and in outer joins.

Spark lets a lateral subquery name the round, but neither a subquery inside of it nor the side of a join that may be
missing. Such a window names the round of the first window of its FROM instead, which is the same: in its condition, or
in the one that it is joined by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from punctual.errors import Span
from punctual.kinds.worlds.by_rows.select_parts import SelectPart
from punctual.own_names import ROUND
from punctual.plan.sql_text import quoted
from punctual.sql.parse_rows import RowsSyntax
from punctual.sql.syntax.expression import OPENING, matching

ONE_SIDED = frozenset(("LEFT", "SEMI", "ANTI"))
OTHER_SIDE = ("RIGHT", "FULL", "NATURAL")
"""Joins whose rows may lack the first window, or that join by all columns that both sides have."""
MAY_LACK = ONE_SIDED | {"RIGHT", "FULL"}
"""Joins of which a side may be missing."""
JOIN_WORDS = frozenset((*ONE_SIDED, *OTHER_SIDE, "OUTER", "INNER", "CROSS", "LATERAL"))
ENDS_CONDITION = frozenset((*JOIN_WORDS, "JOIN", ",", "UNION"))


@dataclass(slots=True)
class RoundsOfWindows:
    """By the place of a window in the program: the round that its rows are of, where that is not the query's own; None
    where a join says it. ``shown`` are the windows that show their round, ``added`` is what is added after the token at
    a place. ``subqueries`` and ``joins`` are the places of those that have no round to be of.
    """

    of: dict[int, str | None] = field(default_factory=dict)
    shown: set[int] = field(default_factory=set)
    added: dict[int, str] = field(default_factory=dict)
    subqueries: list[Span] = field(default_factory=list)
    joins: list[Span] = field(default_factory=list)


def rounds_of_windows(rows: RowsSyntax, parts: Sequence[SelectPart], drawn: Collection[int]) -> RoundsOfWindows:
    """The rounds of all windows, of which these numbers differ between worlds."""
    found = RoundsOfWindows()
    for part in parts:
        inside = [number for number in drawn if _innermost(rows.windows[number].index, parts, part)]
        if part.of_relation or not inside:
            continue
        window = _window_around(rows, parts, part, drawn)
        if window is None:
            found.subqueries.append(rows.tokens[part.select].span)
            continue
        found.shown.add(_place(rows, window))
        for number in inside:
            found.of[_place(rows, number)] = _round(rows, window)
    for number in drawn:
        _join(rows, parts, number, drawn, found)
    return found


def _innermost(index: int, parts: Sequence[SelectPart], part: SelectPart) -> bool:
    """Whether a token stands in a subquery of an expression, and in none further in."""
    around = [one for one in parts if not one.of_relation and one.select < index < one.end]
    return bool(around) and around[-1] is part


def _window_around(
    rows: RowsSyntax, parts: Sequence[SelectPart], part: SelectPart, drawn: Collection[int]
) -> int | None:
    """The number of the window whose round a subquery of a condition is of; None where there is none."""
    outer = [one for one in parts if one is not part and one.select < part.select < one.end]
    if not outer:
        return None
    around = max(outer, key=lambda one: one.depth)
    where, stop = around.clauses.get("WHERE", (0, 0))
    return _first_window(rows, around, drawn) if where < part.select < stop else None


def _first_window(rows: RowsSyntax, part: SelectPart, drawn: Collection[int]) -> int | None:
    """The number of the window that FROM begins with, which every row has; None where there is no such window."""
    first, end = part.clauses.get("FROM", (0, 0))
    if any(token.word in OTHER_SIDE for token in rows.tokens[first:end]):
        return None
    if any(rows.tokens[last - 1].word == "*" for _first, last in part.items):
        return None  # it would select the round
    return next((number for number in drawn if rows.windows[number].index == first), None)


def _join(
    rows: RowsSyntax, parts: Sequence[SelectPart], number: int, drawn: Collection[int], found: RoundsOfWindows
) -> None:
    """A window on the side of a join that may be missing."""
    window = rows.windows[number]
    around = [one for one in parts if one.select < window.index < one.end]
    for index, words in _joins_around(rows, parts, window.index):
        if not words & MAY_LACK:
            continue
        part = max(around, key=lambda one: one.depth)
        first = _first_window(rows, part, drawn)
        condition = _condition(rows, window.index, part)
        if index != window.index or first is None or condition is None:
            found.joins.append(window.name.span)
            return
        found.of[_place(rows, number)] = None
        found.shown |= {_place(rows, number), _place(rows, first)}
        on, last = condition
        found.added[rows.tokens[on].start] = f"{_round(rows, number)} = {_round(rows, first)} AND ("
        found.added[rows.tokens[last].start] = ")"


def _joins_around(
    rows: RowsSyntax, parts: Sequence[SelectPart], index: int
) -> Iterator[tuple[int, frozenset[str]]]:
    """What is joined at an index, and at the brackets around it that are relations: with the words before each JOIN.

    A side that may be missing is the one after LEFT JOIN, and both of RIGHT and FULL JOIN.
    """
    tokens = rows.tokens
    opened = [at for at in range(index) if tokens[at].word == "(" and matching(tokens, at) > index]
    for at in (*opened, index):
        words, before = set(), at - 1
        while before >= 0 and (tokens[before].word in JOIN_WORDS or tokens[before].word == "JOIN"):
            words.add(tokens[before].word)
            before -= 1
        part = max((one for one in parts if one.select < at < one.end), key=lambda one: one.depth, default=None)
        first, end = (0, 0) if part is None else part.clauses.get("FROM", (0, 0))
        if first <= at < end:
            inside = frozenset(token.word for token in tokens[first:end]) & {"RIGHT", "FULL"}
            yield at, frozenset(words) | inside


def _condition(rows: RowsSyntax, index: int, part: SelectPart) -> tuple[int, int] | None:
    """The index of ON after a window, and that of the last token of its condition; None where there is no ON."""
    _first, end = part.clauses["FROM"]
    at = index + 1
    while at < end and rows.tokens[at].word != "ON":
        if _ends_condition(rows, at):
            return None
        at += 1
    if at >= end:
        return None
    last = at + 1
    while last < end and not _ends_condition(rows, last):
        last = matching(rows.tokens, last) + 1 if rows.tokens[last].word in OPENING else last + 1
    return at, last - 1


def _ends_condition(rows: RowsSyntax, at: int) -> bool:
    """Whether another join begins here; ``left(k, 1)`` is a function."""
    word, after = rows.tokens[at].word, rows.tokens[at + 1].word if at + 1 < len(rows.tokens) else ""
    return word in ENDS_CONDITION and not (word in ("LEFT", "RIGHT") and after == "(")


def _round(rows: RowsSyntax, number: int) -> str:
    """The round of a window that shows it, by what the text calls it: its alias, or the name of its stream."""
    window = rows.windows[number]
    after = rows.tokens[window.index + 1 : window.index + 3] if window.has_alias else ()
    label = next((token.value for token in after if token.word != "AS"), window.name.text)
    return f"{quoted(label)}.{quoted(ROUND)}"


def _place(rows: RowsSyntax, number: int) -> int:
    return rows.windows[number].name.span.start
