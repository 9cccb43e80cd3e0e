"""What a scan gives: rows that were read together, column by column, and what does not fit.

A *block* is a stretch of one file (or of generated rows). Its columns are made when they are asked for, so what nobody
reads costs nothing; which rows fit never depends on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Columns = Sequence[tuple[str, str]]
"""Declared columns that are not derived: name and type as Spark's DDL, such as ``DECIMAL(10,2)``."""


@dataclass(frozen=True, slots=True, eq=False)
class Faults:
    """Rows of a block that do not fit: where they stand, in order, why they do not fit, and how they read.

    ``reasons`` and ``texts`` are arrays of strings as long as ``rows``.
    """

    rows: NDArray[np.int64]
    reasons: pa.Array
    texts: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class Sifted:
    """What a share left of the rows that were there: the places of those that are read, and how many are not.

    A place is in [0, 1), below the share (:mod:`punctual.kernel.sample`).
    """

    places: NDArray[np.float64]
    shed: int


class Block(Protocol):
    """Rows that were read together."""

    @property
    def rows(self) -> int:
        """How many, with those that do not fit."""
        ...

    @property
    def faults(self) -> Faults | None:
        """Those that do not fit; None where all do."""
        ...

    @property
    def sifted(self) -> Sifted | None:
        """What was shed before it; None where every row is read."""
        ...

    def column(self, name: str) -> pa.Array:
        """A declared column as its declared type (:func:`arrow_type`): one array, no dictionary.

        A row that does not fit has what could be read of it, and NULL for the rest.
        """
        ...


_PLAIN = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": pa.string(), "BINARY": pa.binary(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"), "TIMESTAMP_NTZ": pa.timestamp("us"),
}  # fmt: skip


def arrow_type(kind: str) -> pa.DataType | None:
    """The Arrow type of a declared type; None for nested ones, which Spark reads.

    >>> arrow_type("DECIMAL(10,2)"), arrow_type("ARRAY<INT>")
    (Decimal128Type(decimal128(10, 2)), None)
    """
    if kind.startswith("DECIMAL("):
        precision, scale = kind[len("DECIMAL(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return _PLAIN.get(kind)
