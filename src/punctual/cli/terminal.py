"""What a running program shows: with a terminal a live table, without one plain lines.

Answers go to standard output as JSON lines when they are written nowhere else and nobody watches; everything else goes
to standard error, so that a pipe carries answers alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from punctual.catalog import Catalog
from punctual.clock import SECOND, iso
from punctual.engine.loop import BatchReport
from punctual.ports.answers import AnswerBlock
from punctual.ports.sinks.jsonl import json_lines

SHOWN_QUERIES = 20
SHOWN_ROWS = 3


@dataclass(slots=True)
class _Line:
    """A query's latest answer."""

    answers: int = 0
    misses: int = 0
    at: str = "-"
    rows: str = ""


class Screen:
    """The terminal of a run; ``quiet`` when answers are written to files."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._drawing = self._console.is_terminal
        self._quiet = quiet
        self._live: Live | None = None
        self._lines: dict[str, _Line] = {}
        self._batches = self._rows = self._answers = self._lag_us = 0
        self._load: float | None = None
        self._level: float | None = None
        self._misses = 0

    def __enter__(self) -> Screen:
        if self._drawing:
            self._live = Live(console=self._console, refresh_per_second=4, transient=False)
            self._live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, message: str) -> None:
        """Something for the person who watches."""
        self._console.print(Text(message), soft_wrap=True)

    def starting(self) -> None:
        """Spark takes its time; say so."""
        if self._live is not None:
            self._live.update(Spinner("dots", text=" starting Spark (ten to fifteen seconds)"))

    def started(self, catalog: Catalog) -> None:
        """The program runs."""
        self._lines = {query.name: _Line() for query in catalog.queries.values()}
        self._draw()

    def progress(self, report: BatchReport) -> None:
        """A batch was committed."""
        self._batches = report.batch + 1
        self._rows += report.rows
        self._lag_us, self._load, self._level = report.lag_us, report.load, report.level
        self._draw()

    def show(self, blocks: list[AnswerBlock]) -> None:
        """Answers came."""
        for block in blocks:
            line = self._lines.setdefault(block.query, _Line())
            line.answers += block.count
            self._answers += block.count
            missed = block.count - int(pc.sum(pc.fill_null(block.table.column("on_time"), True)).as_py())
            line.misses, self._misses = line.misses + missed, self._misses + missed
            if self._drawing:
                last = block.table.slice(block.count - 1)
                line.at = iso(last.column("at")[0].as_py())
                line.rows = _rows(last)
        if not self._drawing and not self._quiet:
            for _query, lines in json_lines(blocks):
                sys.stdout.buffer.write(lines)
            sys.stdout.buffer.flush()
        self._draw()

    def finished(self, failed: frozenset[str]) -> None:
        """The last word."""
        words = f"{self._rows:,} rows in {self._batches} batches, {self._answers:,} answers"
        if failed:
            words += f"; stopped: {', '.join(sorted(failed))}"
        self.say(words)

    def _draw(self) -> None:
        if self._live is None:
            return
        table = Table("query", "answers", "late", "last at", "rows", box=None, pad_edge=False)
        for name, line in list(self._lines.items())[:SHOWN_QUERIES]:
            table.add_row(Text(name), f"{line.answers:,}", f"{line.misses:,}", line.at, Text(line.rows))
        parts: list[Table | Text] = [table]
        if len(self._lines) > SHOWN_QUERIES:
            parts.append(Text(f"and {len(self._lines) - SHOWN_QUERIES} more queries", style="dim"))
        words = f"{self._rows:,} rows · {self._batches} batches · {self._answers:,} answers · {self._misses:,} late"
        level = "" if self._level is None else f" · level {self._level:.2f}"
        load = "" if self._load is None else f" · load {self._load:.0%}"
        parts.append(Text(f"{words} · lag {self._lag_us / SECOND:.1f} s{load}{level}", style="bold"))
        self._live.update(Group(*parts))


def _rows(answer: pa.Table) -> str:
    rows = answer.column("rows")[0].as_py() or []
    shown = ["  ".join(f"{name} {_value(value)}" for name, value in row.items()) for row in rows[:SHOWN_ROWS]]
    if len(rows) > SHOWN_ROWS:
        shown.append(f"and {len(rows) - SHOWN_ROWS} more")
    return "\n".join(shown) if shown else "no rows"


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
