"""Playing a case: its blocks become requests to whatever runs it, its expectations are checked on the way.

A case is played as a coroutine: it yields a request (a statement, a tick, an advance, ...) and goes on when that was
done. One driver serves a single case; another serves all cases of a folder in one program, step by step, because what
a request needs may be dear (a Spark job) and all cases can share it. Rows that are fed wait for the next directive
that is not a feed: then they are one batch.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.cqt import cells
from tests.cqt.case import Block, Case
from tests.reference.recompute import Answer
from tests.reference.statements import Query, RowText, Stream, Table, read_statement

DAY_US = 86_400_000_000
NOW_US = 30 * DAY_US
"""The wall clock of every case stands still here; a row may be ``max_ahead``, a day, later."""
DATA = Path(__file__).parent.parent / "cases"
"""Relative paths in a case start here."""


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    errors: tuple[str, ...] = ()
    """Codes that it must be refused with; none: it must be accepted."""


@dataclass(frozen=True, slots=True)
class Feed:
    stream: str
    rows: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Tick:
    pass


@dataclass(frozen=True, slots=True)
class Advance:
    through: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class End:
    """The streams of the case have no more rows."""

    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    pass


Request = Statement | Feed | Tick | Advance | End | Restart


class Target(Protocol):
    """What runs a case, as its expectations see it."""

    def answers(self, query: str) -> list[Answer]:
        """All answers of a query so far, oldest first."""
        ...

    def dead(self, stream: str) -> dict[str, int]:
        """Dead letters by reason."""
        ...

    def explain(self, kind: str) -> str:
        """What EXPLAIN SHARING or EXPLAIN SCHEDULE prints."""
        ...


class Mismatch(AssertionError):
    """An expectation of a case does not hold."""


@dataclass(slots=True)
class Play:
    """One run of a case. ``prefix`` sets its names apart from those of other cases in the same program."""

    case: Case
    prefix: str = ""
    accept: bool = False
    """Collect what was found in ``bodies`` instead of comparing it."""
    bodies: dict[int, list[str]] = field(default_factory=dict)
    _streams: dict[str, Stream] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _seen: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = self.case.row_queries
        for block in self.case.blocks:
            if block.words[:2] == ("statement", "ok"):
                declared = read_statement(block.text, DATA, rows)
                if isinstance(declared, Stream):
                    self._streams[declared.name] = declared
                if isinstance(declared, Stream | Table | Query | RowText):
                    self._names.add(declared.name)

    def run(self, target: Target) -> Generator[Request, None, None]:
        """The requests of the case, in order; raises :class:`Mismatch` at the first expectation that fails."""
        fed = False
        for block in self.case.blocks:
            if block.directive == "feed":
                yield Feed(self._own(block.words[1]), self._rows(block))
                fed = True
                continue
            if fed or block.directive == "tick":
                yield Tick()
                fed = False
            yield from self._request(block)
            self._check(block, target)
        if fed:
            yield Tick()
        for query, seen in self._seen.items():
            if len(target.answers(self._own(query))) > seen:
                raise Mismatch(f"{self.case.path.name}: query {query} gave answers that the case does not state")

    def _request(self, block: Block) -> Generator[Request, None, None]:
        match block.words:
            case ("statement", "ok"):
                yield Statement(self._renamed(block.text))
            case ("statement", "error", *codes):
                yield Statement(self._renamed(block.text), tuple(codes))
            case ("advance", stream, until):
                yield Advance({self._own(stream): cells.duration(until)})
            case ("end",):
                yield End(tuple(self._own(name) for name in self._streams))
            case ("restart",):
                yield Restart()
            case ("tick",) | ("answers", _) | ("dead", _) | ("explain", "sharing" | "schedule"):
                pass
            case words:
                raise Mismatch(f"{self.case.path.name}:{block.line + 1}: cannot read {' '.join(words)!r}")

    def _own(self, name: str) -> str:
        return self.prefix + name

    def _renamed(self, text: str) -> str:
        if not self.prefix:
            return text
        return re.sub(r"\b\w+\b", lambda found: self._own(found[0]) if found[0] in self._names else found[0], text)

    def _rows(self, block: Block) -> list[dict[str, Any]]:
        stream = self._streams[block.words[1]]
        header, *lines = (cells.split(line) for line in block.body)
        rows = []
        for line in lines:
            assert len(line) == len(header), f"{self.case.path.name}:{block.line + 1}: {line} does not fit the header"
            row = {name: cells.value(token, stream.type_of(name)) for name, token in zip(header, line)}
            rows.append({name: cell for name, cell in row.items() if cell is not cells.MISSING})
        return rows

    # -- expectations ------------------------------------------------------------------------------

    def _check(self, block: Block, target: Target) -> None:
        match block.words:
            case ("answers", query):
                answers = target.answers(self._own(query))
                fresh = answers[self._seen.get(query, 0) :]
                self._seen[query] = len(answers)
                found = answer_table(fresh, block)
            case ("dead", stream):
                counts = target.dead(self._own(stream))
                rows = [[cells.render(reason), str(counts[reason])] for reason in sorted(counts)]
                found = [["reason", "count"], *rows]
            case ("explain", kind):
                # a blank line would end the block
                found = [[line] for line in target.explain(kind).splitlines() if line.strip()]
            case _:
                return
        lines = cells.table(found) if block.directive != "explain" else [line for (line,) in found]
        if self.accept:
            self.bodies[block.line] = lines
            return
        expected = [cells.split(line) if block.directive != "explain" else [line] for line in block.body]
        if not _same(expected, found, self.case.tolerance):
            raise Mismatch(
                f"{self.case.path.name}:{block.line + 1}: {' '.join(block.words)}\nexpected\n"
                + "\n".join("    " + line for line in block.body)
                + "\nfound\n"
                + "\n".join("    " + line for line in lines)
            )


def answer_table(answers: Sequence[Answer], block: Block) -> list[list[str]]:
    """Answers as rows of tokens; ``complete`` and ``late_rows`` only when the header of the block has them."""
    stated = cells.split(block.body[0]) if block.body else ["at"]
    extra = [name for name in ("complete", "late_rows") if name in stated]
    if not answers:
        return [stated]
    rows = [["at", *extra, *answers[0].columns]]
    for answer in answers:
        about = {"complete": cells.render(answer.complete), "late_rows": str(answer.late_rows)}
        head = [cells.duration_text(answer.at), *(about[name] for name in extra)]
        rows += [[*head, *(cells.render(cell) for cell in row)] for row in answer.rows] or [[*head, "-"]]
    return rows


def _same(expected: list[list[str]], found: list[list[str]], tolerance: float) -> bool:
    return len(expected) == len(found) and all(
        len(a) == len(b) and all(cells.same(x, y, tolerance) for x, y in zip(a, b)) for a, b in zip(expected, found)
    )
