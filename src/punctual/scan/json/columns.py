"""Declared columns from the places of their values in lines of JSON, as Arrow.

A column is made in two steps: at once what decides whether rows fit, and the array when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.text import json_strings, json_values
from punctual.scan.block import arrow_type

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a walk over lines found: kinds and places of values by line and column, and which lines it doubts."""

    data: Bytes
    kinds: Bytes
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    doubts: Bytes

    @property
    def rows(self) -> int:
        return int(self.doubts.size)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column that is checked; :meth:`array` makes it."""

    type: pa.DataType
    array: Callable[[], pa.Array]


def column_for(kind: str, found: Found, place: int) -> Column:
    """The column in a place; doubts the lines whose value is not surely of its type."""
    of = arrow_type(kind)
    if kind == "STRING":
        json_strings.doubt_strings(found.data, found.kinds, found.starts, found.lengths, place, found.doubts)
        return Column(of, lambda: strings(found, place, found.doubts))
    if kind == "BINARY":
        json_strings.doubt_base64(found.data, found.kinds, found.starts, found.lengths, place, found.doubts)
        return Column(of, lambda: _binary(found, place))
    valid = np.empty(found.rows, np.uint8)
    values = _values(kind, of, found, place, valid)
    return Column(of, lambda: _array(of, values, valid))


def _array(of: pa.DataType, values: NDArray[Any], valid: Bytes) -> pa.Array:
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    content = np.packbits(values, bitorder="little") if pa.types.is_boolean(of) else values
    return pa.Array.from_buffers(of, valid.size, [bits, pa.py_buffer(content)])


def _values(kind: str, of: pa.DataType, found: Found, place: int, valid: Bytes) -> NDArray[Any]:
    """Values of a type with a fixed width, as Arrow lays them out (truth as bytes)."""
    data, kinds, starts, lengths, doubts = found.data, found.kinds, found.starts, found.lengths, found.doubts
    rows = found.rows
    if kind == "BOOLEAN":
        truth = np.empty(rows, np.uint8)
        json_values.take_booleans(kinds, place, truth, valid, doubts)
        return truth
    if kind == "DOUBLE":
        return _doubles(found, place, valid)
    if kind == "FLOAT":
        floats = np.empty(rows, np.float32)
        json_values.narrow(_doubles(found, place, valid), valid, floats, doubts)
        return floats
    if kind == "DATE":
        days = np.empty(rows, np.int32)
        json_values.take_dates(data, kinds, starts, lengths, place, days, valid, doubts)
        return days
    if pa.types.is_decimal(of):
        halves = np.empty((rows, 2), np.uint64)
        json_values.take_decimals(data, kinds, starts, lengths, place, of.precision, of.scale, halves, valid, doubts)
        return halves
    values = np.empty(rows, np.int64)
    if pa.types.is_timestamp(of):
        json_values.take_times(data, kinds, starts, lengths, place, kind == "TIMESTAMP", values, valid, doubts)
        return values
    held = np.dtype(of.to_pandas_dtype())
    least, most = np.iinfo(held).min, np.iinfo(held).max
    json_values.take_integers(data, kinds, starts, lengths, place, least, most, values, valid, doubts)
    return values.astype(held, copy=False)


def _doubles(found: Found, place: int, valid: Bytes) -> NDArray[np.float64]:
    values, hard = np.empty(found.rows, np.float64), np.zeros(found.rows, np.uint8)
    left = json_values.take_doubles(
        found.data, found.kinds, found.starts, found.lengths, place, values, valid, hard, found.doubts
    )
    if left:
        # Arrow finds the nearest double of any text.
        texts = strings(found, place, 1 - hard).filter(pa.array(hard.astype(bool)))
        values[hard.astype(bool)] = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    return values


def strings(found: Found, place: int, skipped: Bytes) -> pa.Array:
    """The values of a column as strings; NULL for skipped rows."""
    offsets, valid = np.empty(found.rows + 1, np.int32), np.empty(found.rows, np.uint8)
    places = found.data, found.kinds, found.starts, found.lengths, place
    json_strings.measure_strings(*places, skipped, offsets, valid)
    out = np.empty(int(offsets[-1]), np.uint8)
    json_strings.copy_strings(*places, valid, offsets, out)
    return _sized(pa.string(), offsets, valid, out)


def _binary(found: Found, place: int) -> pa.Array:
    offsets, valid = np.empty(found.rows + 1, np.int32), np.empty(found.rows, np.uint8)
    json_strings.measure_base64(
        found.data, found.kinds, found.starts, found.lengths, place, found.doubts, offsets, valid
    )
    out = np.empty(int(offsets[-1]), np.uint8)
    json_strings.copy_base64(found.data, found.starts, place, valid, offsets, out)
    return _sized(pa.binary(), offsets, valid, out)


def _sized(of: pa.DataType, offsets: NDArray[np.int32], valid: Bytes, out: Bytes) -> pa.Array:
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(of, valid.size, [bits, pa.py_buffer(offsets), pa.py_buffer(out)])
