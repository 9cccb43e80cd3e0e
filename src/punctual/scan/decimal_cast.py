"""Decimals to and from other numbers, to the digit as Spark's ``try_cast``: NULL where a value does not fit."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MOST_DIGITS = 76
_EXACT_DIGITS, _EXACT_SCALE = 15, 22
"""So many digits, and such powers of ten, are whole numbers of doubles: their quotient is rounded once."""


def int_to_decimal(values: pa.Array, target: pa.DataType) -> pa.Array:
    return _within(pc.cast(values, pa.decimal256(_MOST_DIGITS, target.scale)), target)


def decimal_to_decimal(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Half a unit is rounded away from zero.

    >>> decimal_to_decimal(pa.array([Decimal("1.25"), Decimal("-9.95")]), pa.decimal128(2, 1)).to_pylist()
    [Decimal('1.3'), None]
    """
    wide = pc.cast(values, pa.decimal256(_MOST_DIGITS, values.type.scale))
    if target.scale < values.type.scale:
        wide = pc.round(wide, target.scale, "half_towards_infinity")
    return _within(pc.cast(wide, pa.decimal256(_MOST_DIGITS, target.scale)), target)


def decimal_to_int(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Cut towards zero."""
    limits = np.iinfo(target.to_pandas_dtype())
    wide = pc.cast(values, pa.decimal256(_MOST_DIGITS, values.type.scale))
    whole = pc.cast(pc.round(wide, 0, "towards_zero"), pa.decimal256(_MOST_DIGITS, 0))
    least, most = (pc.cast(pa.scalar(int(limit)), whole.type) for limit in (limits.min, limits.max))
    fits = pc.and_(pc.greater_equal(whole, least), pc.less_equal(whole, most))
    return pc.cast(pc.if_else(fits, whole, pa.scalar(None, whole.type)), target)


def decimal_to_float(values: pa.Array, target: pa.DataType) -> pa.Array:
    """The nearest float or double."""
    scale = values.type.scale
    if target == pa.float64() and values.type.precision <= _EXACT_DIGITS and 0 <= scale <= _EXACT_SCALE:
        return pc.divide(pc.cast(_unscaled(values), target), 10.0**scale)
    # Arrow's own cast rounds twice; reading the digits does not.
    return pc.cast(pc.cast(values, pa.string()), target)


def _unscaled(values: pa.Array) -> pa.Array:
    """The digits of decimals that have few: a decimal is two words, and the low one has all of them."""
    _valid, data = values.buffers()
    words = np.frombuffer(data, np.int64)[2 * values.offset : 2 * (values.offset + len(values)) : 2]
    return pa.array(np.ascontiguousarray(words), mask=values.is_null().to_numpy(zero_copy_only=False))


def _within(wide: pa.Array, target: pa.DataType) -> pa.Array:
    limit = pa.scalar(Decimal(10) ** (target.precision - target.scale), pa.decimal256(_MOST_DIGITS, target.scale))
    fits = pc.less(pc.abs(wide), limit)
    return pc.cast(pc.if_else(fits, wide, pa.scalar(None, wide.type)), target)
