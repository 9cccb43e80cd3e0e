"""What the engine asks of the data plane: judge expressions, reduce rows, evaluate answers.

The engine knows this protocol alone, so the same engine runs on Spark and, in tests, in process over the same kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from punctual.clock import Micros
from punctual.errors import PunctualError
from punctual.kernel.panes.spec import UnitSpec
from punctual.plan.query import WindowQuery
from punctual.plan.relation import Declared, Stream, Table
from punctual.runtime.lower import Branch
from punctual.runtime.operators.shards import AnswerShards


@dataclass(frozen=True, slots=True)
class QueryTypes:
    """The types that Spark gives to a query's keys, aggregates, outputs and sort expressions, and to what it reads.

    ``arguments`` are those of the aggregates (None for ``count(*)``), ``conditions`` those of its row conditions.
    """

    keys: tuple[pa.DataType, ...]
    aggregates: tuple[pa.DataType, ...]
    outputs: tuple[pa.DataType, ...]
    order: tuple[pa.DataType, ...]
    arguments: tuple[pa.DataType | None, ...]
    conditions: tuple[pa.DataType, ...] = ()
    having: pa.DataType | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a program's statements were found to be."""

    queries: Mapping[str, QueryTypes]
    errors: tuple[PunctualError, ...]


@dataclass(frozen=True, slots=True)
class SliceWork:
    """One stream's part of a tick."""

    stream: str
    feed: Any
    slice: Any
    branches: tuple[Branch, ...]
    late: UnitSpec | None
    complete_through: Micros
    horizon: Micros


@dataclass(frozen=True, slots=True)
class Tick:
    """All that one job reads and reduces."""

    work: tuple[SliceWork, ...]
    tables: Mapping[str, pa.Table]
    """Static tables by lower-case name, as they stand for this batch."""
    shards: int
    incoming: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """Answer expressions over columns of equal length; ``types`` are those of the results."""

    expressions: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    columns: Mapping[str, pa.Array]

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


class Backend(Protocol):
    """The data plane."""

    def judge(
        self, relations: Sequence[Declared], queries: Sequence[WindowQuery], known: Sequence[Stream | Table]
    ) -> Judged:
        """Types of the queries, and every error that only the data plane can find. Reads no data."""
        ...

    def tick(self, tick: Tick) -> pa.Table:
        """Run the one job of a batch; rows as ``operators.reduce.OUTPUT``."""
        ...

    def shards(self, operator: AnswerShards) -> pa.Table:
        """Run one job over all shards of the store; rows as ``operators.shards.OUTPUT``."""
        ...

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        """Evaluate all questions together; one list of arrays a question."""
        ...

    def table(self, table: Table) -> pa.Table:
        """Read a static table whole."""
        ...

    def alive(self) -> bool:
        """Whether the data plane still answers."""
        ...

    def pid(self) -> int | None:
        """The process that would outlive us, if there is one."""
        ...

    def close(self) -> None:
        """End it."""
        ...
