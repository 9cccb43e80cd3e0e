"""Streams and static tables: names, columns, and what their columns mean."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.errors import Span
from punctual.plan.expression import Expression
from punctual.plan.source import FileSource, Source
from punctual.plan.uncertain import GivenBy, Uncertainty


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column. ``type`` is Spark's DDL in upper case, such as ``DECIMAL(10,2)``.

    ``derived`` is an expression over the declared columns that are not derived. ``uncertain`` is what stands after
    ``~``. A column whose distribution is made of others has no value of its own in the rows: it is derived, as NULL.
    """

    name: str
    type: str
    derived: Expression | None = None
    uncertain: Uncertainty | None = None

    @property
    def absent(self) -> bool:
        """Whether rows have no value of it, since its distribution is made of other columns: it is NULL."""
        return isinstance(self.uncertain, GivenBy) and self.derived is not None


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

    @property
    def given_laws(self) -> tuple[tuple[str, GivenBy], ...]:
        """The columns whose distribution each row gives, with that."""
        return tuple((one.name, one.uncertain) for one in self.columns if isinstance(one.uncertain, GivenBy))


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
