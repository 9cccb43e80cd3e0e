"""Values of one type as another, to the bit as Spark's ``try_cast``: NULL where a value does not fit.

Types are Spark's, and two more of which a Parquet file has numbers: nanoseconds and milliseconds since 1970. A pair of
types that is missing here is left to Spark: texts that must be read or written, and doubles as decimals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.scan.block import arrow_type
from punctual.scan.parquet.decimal_cast import decimal_to_decimal, decimal_to_float, decimal_to_int, int_to_decimal

NANOS, MILLIS, VOID = "NANOSECONDS", "MILLISECONDS", "VOID"
"""Kinds of columns that no program declares: numbers that are times, and nothing but NULLs."""

DAY_US = 86_400_000_000
MOST_MILLIS, MOST_DAYS = 2**63 // 1_000 - 1, 2**63 // DAY_US - 1
_INTS, _FLOATS = ("TINYINT", "SMALLINT", "INT", "BIGINT"), ("FLOAT", "DOUBLE")
_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ")

Change = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True)
class Cast:
    """How values change; ``always`` says that every value fits, so that nobody has to look."""

    change: Change
    always: bool


def exact_cast(own: str, declared: str) -> Cast | None:
    """How a column of the file becomes the declared type; None where that is left to Spark.

    >>> exact_cast("BIGINT", "TINYINT").change(pa.array([127, 128])).to_pylist()
    [127, None]
    >>> exact_cast("STRING", "INT") is None
    True
    """
    target = arrow_type(declared)
    if target is None:
        return None
    if target == arrow_type(own):
        return Cast(lambda values: values, always=True)
    if own == VOID:
        return Cast(lambda values: pa.nulls(len(values), target), always=True)
    for rules in (_of_int, _of_float, _of_decimal, _of_truth, _of_time, _of_bytes):
        cast = rules(own, declared, target)
        if cast is not None:
            return cast
    return None


def _of_int(own: str, declared: str, target: pa.DataType) -> Cast | None:
    if own not in _INTS:
        return None
    if declared in _INTS:
        if _INTS.index(declared) > _INTS.index(own):
            return Cast(lambda values: pc.cast(values, target), always=True)
        return Cast(lambda values: _narrowed(values, target), always=False)
    if declared in _FLOATS:
        return Cast(lambda values: pc.cast(values, target, safe=False), always=True)
    if pa.types.is_decimal(target):
        return Cast(lambda values: int_to_decimal(values, target), always=False)
    return _truth(declared)


def _of_float(own: str, declared: str, target: pa.DataType) -> Cast | None:
    if own not in _FLOATS:
        return None
    if declared in _INTS:
        return Cast(lambda values: float_to_int(values, target), always=False)
    if declared in _FLOATS:
        return Cast(lambda values: pc.cast(values, target, safe=False), always=True)
    return _truth(declared)


def _of_decimal(own: str, declared: str, target: pa.DataType) -> Cast | None:
    if not own.startswith("DECIMAL("):
        return None
    source = arrow_type(own)
    assert source is not None
    if pa.types.is_decimal(target):
        wider = target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        return Cast(lambda values: decimal_to_decimal(values, target), always=wider)
    if declared in _FLOATS:
        return Cast(lambda values: decimal_to_float(values, target), always=True)
    if declared == "BIGINT" or (declared in _INTS and source.precision <= 18):
        return Cast(lambda values: decimal_to_int(values, target), always=False)
    if declared in _INTS:
        # Spark asks the nearest double, whatever the decimal is.
        return Cast(lambda values: float_to_int(decimal_to_float(values, pa.float64()), target), always=False)
    return _truth(declared)


def _of_truth(own: str, declared: str, target: pa.DataType) -> Cast | None:
    if own != "BOOLEAN":
        return None
    if declared in (*_INTS, *_FLOATS):
        return Cast(lambda values: pc.cast(pc.cast(values, pa.int8()), target), always=True)
    if pa.types.is_decimal(target):
        return Cast(lambda values: int_to_decimal(pc.cast(values, pa.int8()), target), always=False)
    return None


def _truth(declared: str) -> Cast | None:
    """A number is true unless it is zero."""
    return Cast(_is_something, always=True) if declared == "BOOLEAN" else None


def _is_something(values: pa.Array) -> pa.Array:
    zero = Decimal(0) if pa.types.is_decimal(values.type) else 0
    return pc.not_equal(values, pa.scalar(zero, values.type))


def _of_time(own: str, declared: str, target: pa.DataType) -> Cast | None:
    to_micros = {
        NANOS: Cast(lambda values: _floored(values, 1_000), always=True),
        MILLIS: Cast(lambda values: _multiplied(values, 1_000, MOST_MILLIS), always=False),
        "DATE": Cast(lambda values: _multiplied(values.view(pa.int32()), DAY_US, MOST_DAYS), always=False),
        **dict.fromkeys(_TIMES, Cast(lambda values: values.view(pa.int64()), always=True)),
    }.get(own)
    if to_micros is None:
        return None
    if declared in _TIMES:
        return Cast(lambda values: to_micros.change(values).view(target), to_micros.always)
    if declared == "DATE":
        return Cast(lambda values: _days(to_micros.change(values)), to_micros.always)
    return None


def _of_bytes(own: str, declared: str, target: pa.DataType) -> Cast | None:
    # Spark does not look whether the bytes are UTF-8.
    return Cast(lambda values: values.view(target), always=True) if {own, declared} == {"STRING", "BINARY"} else None


def _narrowed(values: pa.Array, target: pa.DataType) -> pa.Array:
    limits = np.iinfo(target.to_pandas_dtype())
    least, most = (pa.scalar(int(limit), values.type) for limit in (limits.min, limits.max))
    fits = pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most))
    return _where(fits, pc.cast(values, target, safe=False))


def float_to_int(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Cut towards zero; 2^63 itself, which the nearest double of the largest number is, becomes that number.

    >>> float_to_int(pa.array([2.9, -2.9, 2.0**63, float("nan")]), pa.int64()).to_pylist()
    [2, -2, 9223372036854775807, None]
    """
    limits = np.iinfo(target.to_pandas_dtype())
    whole = pc.trunc(pc.cast(values, pa.float64()))
    fits = pc.and_(pc.greater_equal(whole, float(limits.min)), pc.less_equal(whole, float(limits.max)))
    numbers = pc.fill_null(whole, 0.0).to_numpy()
    with np.errstate(invalid="ignore"):
        cut = np.where(numbers >= 2.0**63, np.iinfo(np.int64).max, numbers.astype(np.int64))
    return _where(fits, pc.cast(pa.array(cut), target, safe=False))


def _where(fits: pa.Array, values: pa.Array) -> pa.Array:
    """The values that fit: ``fits`` is NULL where there is no value."""
    return pc.if_else(fits, values, pa.scalar(None, values.type))


def _floored(values: pa.Array, unit: int) -> pa.Array:
    """Cut towards the past."""
    return pa.array(pc.fill_null(values, 0).to_numpy() // unit, mask=_nulls(values))


def _days(micros: pa.Array) -> pa.Array:
    return pc.cast(_floored(micros, DAY_US), pa.int32()).view(pa.date32())


def _multiplied(values: pa.Array, unit: int, most: int) -> pa.Array:
    numbers = pc.fill_null(values, 0).to_numpy().astype(np.int64)
    fits = (numbers >= -most) & (numbers <= most)
    nulls = _nulls(values)
    return pa.array(numbers * unit, mask=~fits if nulls is None else nulls | ~fits)


def _nulls(values: pa.Array) -> np.ndarray | None:
    return values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
