"""The text of a query in every round: a lateral subquery of the rounds, over the rows of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from punctual.errors import Span
from punctual.kinds.worlds.by_rows.rounds_of_windows import RoundsOfWindows
from punctual.own_names import MARKED, REJECTED, ROUND, own
from punctual.plan.row_query import RowWindow, SparkText, Token, WindowPlace, Word
from punctual.plan.sql_text import quoted

ROUNDS = quoted(own("rounds"))
ANSWER = quoted(own("answer"))
REMARKS = MARKED, REJECTED


def lateral_text(
    text: Sequence[tuple[Token, Span]],
    windows: Sequence[RowWindow],
    columns: Sequence[str],
    rounds: RoundsOfWindows,
    span: Span,
) -> SparkText:
    """The rows of a text in every round: the round, both remarks (marked, rejected), then these columns.

    A window that differs between worlds is the rows of the round, or of one that ``rounds`` says. Windows without
    columns of their own have the rounds.
    """
    named = ", ".join(f"{ROUNDS}.{quoted(name)}" for name in (ROUND, *REMARKS))
    found: list[tuple[Token, Span]] = [(Word(f"SELECT {named}, {ANSWER}.* FROM"), span)]
    found += ((one, span) for one in _rounds(windows))
    found.append((Word(", LATERAL (", gap=False), span))
    for token, place in text:
        drawn = windows[token.window].drawn if isinstance(token, WindowPlace) else None
        if isinstance(token, WindowPlace) and drawn is not None:
            shown = (*drawn.names, *([ROUND] if place.start in rounds.shown else []))
            of = rounds.of.get(place.start, f"{ROUNDS}.{quoted(ROUND)}")
            found += ((one, place) for one in _of_round(token, shown, of))
        else:
            found.append((token, place))
        if place.start in rounds.added:
            found.append((Word(rounds.added[place.start]), place))
    found.append((Word(f") AS {ANSWER}({', '.join(map(quoted, columns))})"), span))
    return SparkText(tuple(token for token, _span in found), tuple(place for _token, place in found))


def _rounds(windows: Sequence[RowWindow]) -> Iterator[Token]:
    """Every round once, with the remarks on all windows."""
    numbers = [number for number, one in enumerate(windows) if one.drawn is not None and not one.drawn.names]
    names = [quoted(own(f"rounds {number}")) for number in numbers]
    sums = (" + ".join(f"{name}.{quoted(one)}" for name in names) + f" AS {quoted(one)}" for one in REMARKS)
    yield Word(f"(SELECT {names[0]}.{quoted(ROUND)}, {', '.join(sums)} FROM")
    for number, name in zip(numbers, names):
        if name != names[0]:
            yield Word("JOIN")
        yield WindowPlace(number, name)
        if name != names[0]:
            yield Word(f"ON {name}.{quoted(ROUND)} = {names[0]}.{quoted(ROUND)}")
    yield Word(f") AS {ROUNDS}")


def _of_round(place: WindowPlace, names: Sequence[str], of: str | None) -> Iterator[Token]:
    """The rows of a window in a round, or in all of them."""
    yield Word(f"(SELECT {', '.join(quoted(name) for name in names)} FROM")
    yield WindowPlace(place.window, "")
    yield Word(")" if of is None else f"WHERE {quoted(ROUND)} = {of})")
    if place.label:
        yield Word(f"AS {place.label}")
