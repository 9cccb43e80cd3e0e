"""Programs of random queries: the answers of the engine over any data plane, and those of DuckDB, to be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from punctual.clock import EPOCH, ManualClock
from punctual.engine.engine import Engine
from punctual.plan.row_query import RowQuery
from tests.cqt.running import MakeBackend
from tests.oracles.random_queries import PROGRAM, TABLE_TEXT, random_queries
from tests.oracles.random_rows import START, WATERMARK_S, Batch
from tests.reference.recompute import Answer, Reference

NOW_US = (START - EPOCH) // timedelta(microseconds=1)
DAY_US = 86_400_000_000


@dataclass(frozen=True)
class RandomProgram:
    """The same streams, other queries; ``folder`` has the static table."""

    folder: Path
    seed: int
    size: int

    @property
    def queries(self) -> dict[str, str]:
        return {f"q{number}": text for number, text in enumerate(random_queries(self.seed, self.size))}

    @property
    def text(self) -> str:
        stated = [f"CREATE QUERY {name} AS {text};\n" for name, text in self.queries.items()]
        return PROGRAM.format(watermark=WATERMARK_S) + "".join(stated)

    def by_duckdb(self, batches: Sequence[Batch]) -> dict[str, list[Answer]]:
        """What DuckDB answers over each query's own text."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "dims.csv").write_text(TABLE_TEXT)
        reference = Reference(self.folder, NOW_US, DAY_US, {}, {}, self.queries)
        try:
            for statement in self.text.split(";"):
                if statement.strip():
                    reference.statement(statement)
            for batch in batches:
                for stream, rows in batch.items():
                    reference.feed(stream, rows)
                reference.tick()
            reference.end()
            return {name: reference.answers(name) for name in self.queries}
        finally:
            reference.close()

    def by_engine(self, batches: Sequence[Batch], backend: MakeBackend, out: Path | None = None) -> EngineAnswers:
        """What the engine answers; also written as lines to ``out``."""
        (self.folder / "dims.csv").write_text(TABLE_TEXT)
        said: list[str] = []
        with Engine(
            out=None if out is None else str(out), base=str(self.folder), live=False, clock=ManualClock(NOW_US),
            backend=backend, report=said.append,
        ) as engine:  # fmt: skip
            engine.sql(self.text)
            engine.open()
            for batch in batches:
                for stream, rows in batch.items():
                    engine.feed(stream, rows)
                engine.tick()
            engine.end()
            answers: dict[str, list[Answer]] = {name: [] for name in self.queries}
            for block in engine.records():
                columns = tuple(block.columns())
                fields = (block.table.column(name).to_pylist() for name in ("at", "rows", "complete", "late_rows"))
                for at, rows, complete, late in zip(*fields, strict=True):
                    plain = tuple(tuple(_plain(cell) for cell in row.values()) for row in rows)
                    answers[block.query].append(Answer(at, columns, plain, complete, late))
            by_rows = {name for name, query in engine.catalog.queries.items() if isinstance(query.body, RowQuery)}
        return EngineAnswers(answers, frozenset(by_rows), said)


@dataclass(frozen=True)
class EngineAnswers:
    """The answers by query, which of the queries are row queries, and what was reported."""

    answers: dict[str, list[Answer]]
    row_queries: frozenset[str]
    said: list[str]


def difference(found: Sequence[Answer], expected: Sequence[Answer], *, ordered: bool) -> str:
    """Where two lists of answers differ first; nothing where they are the same, in values and their types."""
    if [one.at for one in found] != [one.at for one in expected]:
        return f"answered at {[one.at for one in found]}, not at {[one.at for one in expected]}"
    for one, other in zip(found, expected, strict=True):
        rows, wanted = [_key(row) for row in one.rows], [_key(row) for row in other.rows]
        if not ordered:
            rows, wanted = sorted(rows, key=repr), sorted(wanted, key=repr)
        if (one.columns, rows, one.complete, one.late_rows) != (other.columns, wanted, other.complete, other.late_rows):
            return f"at {one.at}:\nfound    {one}\nexpected {other}"
    return ""


def _plain(cell: Any) -> Any:
    return cell.astimezone(UTC) if isinstance(cell, datetime) else cell


def _key(row: Sequence[Any]) -> tuple[tuple[str, Any], ...]:
    """A row that is equal to another where all values and their types are, NaN to NaN."""
    return tuple(
        (type(cell).__name__, "NaN" if isinstance(cell, float) and math.isnan(cell) else str(cell)) for cell in row
    )
