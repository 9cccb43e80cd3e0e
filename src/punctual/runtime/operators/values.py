"""What the direct way computes of an enriched row: columns, and the little that is made of columns without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

Arrays = Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True)
class Plain:
    """A column as it is."""

    column: str

    @property
    def names(self) -> frozenset[str]:
        """The columns that it reads."""
        return frozenset((self.column,))

    def made(self, columns: Arrays, rows: int) -> pa.Array:
        """The value of every row."""
        return columns[self.column]


@dataclass(frozen=True, slots=True)
class Converted:
    """A column as another type, where every value has one and only one form in it: a wider number, digits as text."""

    column: str
    type: pa.DataType

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.column,))

    def made(self, columns: Arrays, rows: int) -> pa.Array:
        return columns[self.column].cast(self.type)


@dataclass(frozen=True, slots=True)
class Power:
    """A number as DOUBLE, so many times multiplied with itself: once is the number."""

    column: str
    times: int

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.column,))

    def made(self, columns: Arrays, rows: int) -> pa.Array:
        value = columns[self.column].cast(pa.float64(), safe=False)  # as Java does, to the nearest
        return reduce(pc.multiply, [value] * self.times)


@dataclass(frozen=True, slots=True)
class Nothing:
    """NULL of a type."""

    type: pa.DataType

    @property
    def names(self) -> frozenset[str]:
        return frozenset()

    def made(self, columns: Arrays, rows: int) -> pa.Array:
        return pa.nulls(rows, self.type)


@dataclass(frozen=True, slots=True)
class Together:
    """Several values as one struct."""

    fields: tuple[tuple[str, Value], ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(value.names for _name, value in self.fields))

    def made(self, columns: Arrays, rows: int) -> pa.Array:
        arrays = [value.made(columns, rows) for _name, value in self.fields]
        return pa.StructArray.from_arrays(arrays, names=[name for name, _value in self.fields])


@dataclass(frozen=True, slots=True)
class Every:
    """Whether all of some columns are true; NULL where one is NULL, which counts for nothing."""

    columns: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.columns)

    def made(self, columns: Arrays, rows: int) -> pa.Array:
        return reduce(pc.and_, (columns[name] for name in self.columns))


Value = Plain | Converted | Power | Nothing | Together | Every
