"""Columns of rows as arrays that bundles are made of: numbers, whole numbers, truths, and strings by their codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.draw.bundle_values import Bundle, Kind
from punctual.kinds.worlds.texts import TextCodes


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """A value for each row; ``known`` says where there is one, None: everywhere."""

    values: NDArray[Any]
    known: Bools | None
    kind: Kind

    def there(self) -> Bools:
        """Where there is a value, for each row."""
        return np.ones(self.values.size, np.bool_) if self.known is None else self.known

    def without(self, missing: Bools) -> Plain:
        """The same where some values are NULL."""
        if not missing.any():
            return self
        return Plain(np.where(missing, np.zeros(1, self.values.dtype), self.values), self.there() & ~missing, self.kind)

    def bundle(self, rows: I64 | None = None) -> Bundle:
        """As a bundle of one round, of some of the rows."""
        values = self.values if rows is None else self.values[rows]
        known = self.known if self.known is None or rows is None else self.known[rows]
        return Bundle(values[:, None], None if known is None else known[:, None], self.kind)


def kind_of_type(data_type: pa.DataType) -> Kind | None:
    """What values of a type are in worlds; None where they are nothing that can be reckoned with.

    A DECIMAL that Spark has computed meets doubles there, and becomes one, as it would in Spark.
    """
    if pa.types.is_integer(data_type):
        return "whole"
    if pa.types.is_floating(data_type) or pa.types.is_decimal(data_type):
        return "number"
    if pa.types.is_boolean(data_type):
        return "truth"
    return "text" if pa.types.is_string(data_type) or pa.types.is_large_string(data_type) else None


def plain_column(column: pa.Array, codes: TextCodes) -> Plain:
    """A column as an array."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = kind_of_type(column.type)
    if kind is None:
        raise InternalError(f"a column of type {column.type} in worlds")
    if kind == "text":
        values, there = codes.of(column)
        return Plain(values, None if there.all() else there, kind)
    known: Bools | None = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    as_type = {"whole": pa.int64(), "number": pa.float64(), "truth": pa.bool_()}[kind]
    filled = column.cast(as_type).fill_null(False if kind == "truth" else 0)
    return Plain(filled.to_numpy(zero_copy_only=False), known, kind)
