"""Subqueries inside WHERE, over windows that differ between worlds: they are of the round of the rows around them.

Spark lets a lateral subquery name the round, but no subquery inside of it. Such a one names the round of the first
window of the SELECT that it stands in, which is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from punctual.errors import Span
from punctual.kinds.worlds.by_rows.select_parts import SelectPart
from punctual.own_names import ROUND
from punctual.plan.sql_text import quoted
from punctual.sql.parse_rows import RowsSyntax

OUTER_JOINS = ("RIGHT", "FULL", "NATURAL")
"""Joins whose rows may lack the first window, or that join by all columns that both sides have."""


@dataclass(slots=True)
class RoundsOfWindows:
    """By the place of a window in the program: which round its rows are of, where that is not the query's own; and the
    windows that show their round. ``refused`` are the places of subqueries that have none."""

    of: dict[int, str] = field(default_factory=dict)
    shown: set[int] = field(default_factory=set)
    refused: list[Span] = field(default_factory=list)


def rounds_of_windows(rows: RowsSyntax, parts: Sequence[SelectPart], drawn: Collection[int]) -> RoundsOfWindows:
    """The rounds of all windows, of which these numbers differ between worlds."""
    found = RoundsOfWindows()
    for part in parts:
        inside = [number for number in drawn if _innermost(rows.windows[number].index, parts, part)]
        if part.of_relation or not inside:
            continue
        window = _window_around(rows, parts, part, drawn)
        if window is None:
            found.refused.append(rows.tokens[part.select].span)
            continue
        found.shown.add(rows.windows[window].name.span.start)
        for number in inside:
            found.of[rows.windows[number].name.span.start] = f"{quoted(_label(rows, window))}.{quoted(ROUND)}"
    return found


def _innermost(index: int, parts: Sequence[SelectPart], part: SelectPart) -> bool:
    """Whether a token stands in a subquery of an expression, and in none further in."""
    around = [one for one in parts if not one.of_relation and one.select < index < one.end]
    return bool(around) and around[-1] is part


def _window_around(
    rows: RowsSyntax, parts: Sequence[SelectPart], part: SelectPart, drawn: Collection[int]
) -> int | None:
    """The number of the window whose round a subquery is of; None where there is none."""
    outer = [one for one in parts if one is not part and one.select < part.select < one.end]
    if not outer:
        return None
    around = max(outer, key=lambda one: one.depth)
    (first, end), (where, stop) = (around.clauses.get(word, (0, 0)) for word in ("FROM", "WHERE"))
    if not where < part.select < stop or any(token.word in OUTER_JOINS for token in rows.tokens[first:end]):
        return None
    if any(rows.tokens[last - 1].word == "*" for _first, last in around.items):
        return None
    return next((number for number in drawn if rows.windows[number].index == first), None)


def _label(rows: RowsSyntax, number: int) -> str:
    """What the text calls a window: its alias, or the name of its stream."""
    window = rows.windows[number]
    after = rows.tokens[window.index + 1 : window.index + 3] if window.has_alias else ()
    return next((token.value for token in after if token.word != "AS"), window.name.text)
