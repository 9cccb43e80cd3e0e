"""Row queries of the reference: the user's own text by DuckDB, each window a SELECT over all rows fed so far.

Windows are found by regular expressions, apart from the package's own parser. Rows are ordered by ORDER BY and then by
all columns. A subquery with a window is a table: its own text is run at every instant of the window, one after the
other, and what it gives is put into the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.reference.duck import duck_text
from tests.reference.statements import CADENCE, DEADLINE, SPAN, duration_us

ITEM = re.compile(
    rf"\b(\w+)\s*\[\s*(?:(NOW)|(?:RANGE|SIZE)\s+{SPAN}(?:\s+(?:SLIDE|ADVANCE)\s+{SPAN})?"
    r"|(?:PARTITION\s+BY\s+(?P<keys>[^\]]*?)\s+)?ROWS\s+(?P<rows>\d+))\s*\](?P<alias>\s+\w+)?",
    re.IGNORECASE,
)
_WINDOW = r"\[\s*(?:NOW|(?:RANGE|SIZE|ROWS|PARTITION)\s+[^\]]*)\]"
_ALIAS = r"(?:\s+AS\s+(\w+))?"
UNITED = re.compile(rf"\b\w+\s*{_WINDOW}{_ALIAS}(?:\s+UNION\s+ALL\s+\w+\s*{_WINDOW}{_ALIAS})+", re.IGNORECASE)
PART = re.compile(rf"\b(\w+)(\s*{_WINDOW}){_ALIAS}", re.IGNORECASE)
SUBQUERY = re.compile(
    rf"\)\s*\[\s*(?:(NOW)|(?:RANGE|SIZE)\s+{SPAN}(?:\s+(?:SLIDE|ADVANCE)\s+{SPAN})?)\s*\]", re.IGNORECASE
)
ENDS = re.compile(r"\b(ORDER\s+BY|LIMIT|OFFSET)\b", re.IGNORECASE)
NO_ALIAS = frozenset((
    "on", "where", "join", "inner", "left", "right", "full", "cross", "natural", "semi", "anti", "group", "order",
    "having", "limit", "union", "except", "intersect", "minus", "using", "period", "frequency", "deadline", "lateral",
    "pivot", "offset", "window",
))
BEGIN, END = 7_100_000_000_000_000_000, 7_200_000_000_000_000_000
"""Numbers that stand in the text for where a window begins, by its number, and where all of them end."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window of a stream: by time, or its last ``rows``, of each value of the ``keys`` where there are some."""

    stream: str
    range_us: int | None
    rows: int | None = None
    keys: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Text for DuckDB with numbers in place of instants, over windows and the tables of subqueries with windows."""

    text: str
    windows: tuple[Window, ...]
    subqueries: tuple[str, ...]

    def at(self, instant: int) -> str:
        """The text that answers at an instant."""
        text = self.text.replace(str(END), str(instant))
        for number, window in enumerate(self.windows):
            text = text.replace(str(BEGIN + number), str(instant - (window.range_us or 0)))
        return text


@dataclass(frozen=True, slots=True)
class RowQuery:
    """The text of the query itself, those of its subqueries with windows, each with its length, and its step."""

    name: str
    main: Part
    subqueries: dict[str, tuple[Part, int]]
    step_us: int

    @property
    def range_us(self) -> int:
        """How far back late rows count: as far as windows by time, or the step where all windows are by rows."""
        reach = [window.range_us + back for window, back in self.windows if window.range_us is not None]
        return max(reach or [self.step_us + back for _window, back in self.windows])

    @property
    def begins(self) -> bool:
        """Whether some window is by time."""
        return any(window.range_us is not None for window, _back in self.windows)

    @property
    def windows(self) -> list[tuple[Window, int]]:
        """All windows, each with how long before the instant the oldest of its kind ends."""
        return list(self._windows(self.main, 0))

    def _windows(self, part: Part, back: int) -> Iterator[tuple[Window, int]]:
        yield from ((window, back) for window in part.windows)
        for name in part.subqueries:
            inner, length = self.subqueries[name]
            yield from self._windows(inner, back + (length - 1) // self.step_us * self.step_us)

    @property
    def streams(self) -> tuple[str, ...]:
        parts = [self.main, *(part for part, _length in self.subqueries.values())]
        return tuple(dict.fromkeys(window.stream for part in parts for window in part.windows))

    def at(self, instant: int, least: int, run: Callable[[str], object]) -> str:
        """The text that answers at an instant; the tables that it reads are filled by ``run``."""
        return self._filled(self.main, instant, least, run)

    def _filled(self, part: Part, instant: int, least: int, run: Callable[[str], object]) -> str:
        for name in part.subqueries:
            inner, length = self.subqueries[name]
            instants = range(instant, instant - length, -self.step_us)
            for number, earlier in enumerate(one for one in instants if one >= least):
                rows = self._filled(inner, earlier, least, run)
                begin = f"CREATE OR REPLACE TEMP TABLE {name} AS" if number == 0 else f"INSERT INTO {name}"
                run(f"{begin} {rows}")
        return part.at(instant)


def read_row_query(
    name: str,
    text: str,
    window_of: Callable[[Window, int, int], str],
    describe: Callable[[str], list[str]],
    create: Callable[[str], object],
    common: Callable[[Sequence[str]], str],
) -> RowQuery:
    """A row query; ``window_of`` gives a SELECT of a window's rows between two times, ``describe`` the columns of a
    SELECT, ``common`` those of streams; ``create`` runs a statement."""
    cadence = CADENCE.search(text)
    slides = [(m[5], m[6]) for m in ITEM.finditer(text) if m[5] is not None]
    slides += [(m[4], m[5]) for m in SUBQUERY.finditer(text) if m[4] is not None]
    step = duration_us(*((cadence[1], cadence[2]) if cadence else slides[0]))
    bare = DEADLINE.sub("", CADENCE.sub("", text)).strip().rstrip(";")
    bare = re.sub(r"\bnow\(\)", f"timestamp_micros({END})", bare, flags=re.IGNORECASE)
    bare = UNITED.sub(lambda match: _united(match[0], common), bare)
    subqueries: dict[str, tuple[Part, int]] = {}
    while (found := SUBQUERY.search(bare)) is not None:
        opened = _opening(bare, found.start())
        inner = bare[opened + 1 : found.start()]
        if bare.upper().startswith("WITH"):
            inner = f"{_definitions(bare[:opened])} SELECT * FROM ({inner})"
        part = _part(inner, window_of, step)
        table = f"_sub_{name}_{len(subqueries)}"
        subqueries[table] = part, step if found[1] else duration_us(found[2], found[3])
        create(f"CREATE OR REPLACE TEMP TABLE {table} AS {part.at(0)}")
        bare = f"{bare[:opened]}(SELECT * FROM {table}){bare[found.end():]}"
    main = _part(bare, window_of, step)
    return RowQuery(name, Part(_ordered(main.text, describe), main.windows, main.subqueries), subqueries, step)


def _part(text: str, window_of: Callable[[Window, int, int], str], step: int) -> Part:
    windows: list[Window] = []

    def window(match: re.Match[str]) -> str:
        number = len(windows)
        if match["rows"] is not None:
            windows.append(Window(match[1], None, int(match["rows"]), match["keys"] or ""))
        else:
            windows.append(Window(match[1], step if match[2] else duration_us(match[3], match[4])))
        after = match["alias"] or ""
        alias = after if after and after.strip().lower() not in NO_ALIAS else f" AS {match[1]}{after}"
        return f"({window_of(windows[-1], BEGIN + number, END)}){alias}"

    replaced = ITEM.sub(window, text)
    return Part(duck_text(replaced), tuple(windows), tuple(dict.fromkeys(re.findall(r"_sub_\w+", replaced))))


def _ordered(text: str, describe: Callable[[str], list[str]]) -> str:
    """The text with rows in the order of ORDER BY, then of all columns."""
    outside = (m for m in ENDS.finditer(text) if text.count("(", 0, m.start()) == text.count(")", 0, m.start()))
    found = next(outside, None)
    head, rest = (text[: found.start()], text[found.start() :]) if found else (text, "")
    every = ", ".join(f"{number} ASC NULLS FIRST" for number in range(1, len(describe(head)) + 1))
    if rest.upper().startswith("ORDER"):
        tail = re.search(r"\b(LIMIT|OFFSET)\b", rest, re.IGNORECASE)
        cut = tail.start() if tail else len(rest)
        rest = f"{rest[:cut].rstrip()}, {every} {rest[cut:]}"
    else:
        rest = f"ORDER BY {every} {rest}"
    return f"{head} {rest}"


def _united(text: str, common: Callable[[Sequence[str]], str]) -> str:
    """Streams of one FROM item as a subquery, by the name of the first, or of the last if only that has one."""
    parts = PART.findall(text)
    columns = common([name for name, _window, _alias in parts])
    label = parts[0][2] or parts[-1][2] or parts[0][0]
    selects = " UNION ALL ".join(f"SELECT {columns} FROM {name}{window}" for name, window, _alias in parts)
    return f"({selects}) AS {label}"


def _opening(text: str, closing: int) -> int:
    """The bracket that this one closes."""
    depth = 0
    for index in range(closing, -1, -1):
        depth += (text[index] == ")") - (text[index] == "(")
        if depth == 0:
            return index
    raise AssertionError(f"a bracket of a case closes nothing: {text}")


def _definitions(text: str) -> str:
    """The whole definitions of a WITH that stand in a text that begins with it."""
    depth, end = 0, 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            end = index + 1
        if depth == 0 and text[index : index + 6].upper() == "SELECT":
            break
    return text[:end]
