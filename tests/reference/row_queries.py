"""Row queries of the reference: the user's own text by DuckDB, each window a SELECT over all rows fed so far.

Windows are found by a regular expression, apart from the package's own parser. Rows are ordered by ORDER BY and then by
all columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.reference.duck import duck_text
from tests.reference.statements import CADENCE, DEADLINE, SPAN, duration_us

ITEM = re.compile(
    rf"\b(\w+)\s*\[\s*(?:(NOW)|(?:RANGE|SIZE)\s+{SPAN}(?:\s+(?:SLIDE|ADVANCE)\s+{SPAN})?)\s*\](\s+\w+)?", re.IGNORECASE
)
ENDS = re.compile(r"\b(ORDER\s+BY|LIMIT|OFFSET)\b(?![^(]*\))", re.IGNORECASE)
NO_ALIAS = frozenset((
    "on", "where", "join", "inner", "left", "right", "full", "cross", "natural", "semi", "anti", "group", "order",
    "having", "limit", "union", "except", "intersect", "minus", "using", "period", "frequency", "deadline", "lateral",
    "pivot", "offset", "window",
))
BEGIN, END = 7_100_000_000_000_000_000, 7_200_000_000_000_000_000
"""Numbers that stand in the text for where a window begins, by its number, and where all of them end."""


@dataclass(frozen=True, slots=True)
class Window:
    stream: str
    range_us: int


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Text for DuckDB with numbers in place of instants, its windows, and its step."""

    name: str
    text: str
    windows: tuple[Window, ...]
    step_us: int

    @property
    def range_us(self) -> int:
        return max(window.range_us for window in self.windows)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(window.stream for window in self.windows))

    def at(self, instant: int) -> str:
        """The text that answers at an instant."""
        text = self.text.replace(str(END), str(instant))
        for number, window in enumerate(self.windows):
            text = text.replace(str(BEGIN + number), str(instant - window.range_us))
        return text


def read_row_query(
    name: str, text: str, window_of: Callable[[str, int, int], str], columns: Callable[[str], int]
) -> RowQuery:
    """A row query; ``window_of`` gives a SELECT of a stream's rows between two times, ``columns`` counts columns."""
    cadence = CADENCE.search(text)
    slides = [(m[5], m[6]) for m in ITEM.finditer(text) if m[5] is not None]
    step = duration_us(*((cadence[1], cadence[2]) if cadence else slides[0]))
    windows: list[Window] = []

    def window(match: re.Match[str]) -> str:
        number = len(windows)
        windows.append(Window(match[1], step if match[2] else duration_us(match[3], match[4])))
        word = (match[7] or "").strip().lower()
        alias = (match[7] or "") if word and word not in NO_ALIAS else f" AS {match[1]}{match[7] or ''}"
        return f"({window_of(match[1], BEGIN + number, END)}){alias}"

    bare = DEADLINE.sub("", CADENCE.sub("", ITEM.sub(window, text))).strip().rstrip(";")
    bare = re.sub(r"\bnow\(\)", f"timestamp_micros({END})", bare, flags=re.IGNORECASE)
    found = ENDS.search(bare)
    head, rest = (bare[: found.start()], bare[found.start() :]) if found else (bare, "")
    every = ", ".join(f"{number} ASC NULLS FIRST" for number in range(1, columns(duck_text(head)) + 1))
    if rest.upper().startswith("ORDER"):
        tail = re.search(r"\b(LIMIT|OFFSET)\b", rest, re.IGNORECASE)
        cut = tail.start() if tail else len(rest)
        rest = f"{rest[:cut].rstrip()}, {every} {rest[cut:]}"
    else:
        rest = f"ORDER BY {every} {rest}"
    return RowQuery(name, duck_text(f"{head} {rest}"), tuple(windows), step)
