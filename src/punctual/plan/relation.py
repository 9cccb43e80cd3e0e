"""Streams and static tables: names, columns, and what their columns mean."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.expression import Expression
from punctual.plan.source import FileSource, Source


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column. ``type`` is Spark's DDL in upper case, such as ``DECIMAL(10,2)``.

    ``derived`` is an expression over the declared columns that are not derived.
    """

    name: str
    type: str
    derived: Expression | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of rows with an event time."""

    name: str
    columns: tuple[Column, ...]
    event_time: str
    watermark_us: Micros
    source: Source
    keys: tuple[str, ...] = ()
    probability: str | None = None
    rule: str | None = None

    def column(self, name: str) -> Column | None:
        """The column of that name, by Spark's rule: case does not matter."""
        return find_column(self.columns, name)


@dataclass(frozen=True, slots=True)
class Table:
    """A static relation, read whole."""

    name: str
    columns: tuple[Column, ...]
    source: FileSource

    def column(self, name: str) -> Column | None:
        return find_column(self.columns, name)


@dataclass(frozen=True, slots=True)
class Declared:
    """A stream or table with the places of its columns in the program."""

    relation: Stream | Table
    spans: tuple[Span | None, ...] = ()
    span: Span | None = None


def find_column(columns: tuple[Column, ...], name: str) -> Column | None:
    """The column of that name; case does not matter."""
    wanted = name.lower()
    return next((c for c in columns if c.name.lower() == wanted), None)
