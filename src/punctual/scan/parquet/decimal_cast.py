"""Decimals to and from other numbers, to the digit as Spark's ``try_cast``: NULL where a value does not fit."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MOST_DIGITS, _SUM_DIGITS = 76, 60
"""Digits of the widest decimals, and of those that can still be added."""
_WORD_DIGITS = 9
"""The largest power of ten that 32 bits hold."""
_EXACT_DIGITS, _EXACT_SCALE = 15, 22
"""So many digits, and such powers of ten, are whole numbers of doubles: their quotient is rounded once."""


def int_to_decimal(values: pa.Array, target: pa.DataType) -> pa.Array:
    return _within(pc.cast(values, pa.decimal256(_MOST_DIGITS, target.scale)), target)


def decimal_to_decimal(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Half a unit is rounded away from zero.

    >>> decimal_to_decimal(pa.array([Decimal("1.25"), Decimal("-9.95")]), pa.decimal128(2, 1)).to_pylist()
    [Decimal('1.3'), None]
    """
    scale = values.type.scale
    if target.scale >= scale:
        return _within(pc.cast(values, pa.decimal256(_MOST_DIGITS, target.scale)), target)
    wide = pc.cast(values, pa.decimal256(_SUM_DIGITS, scale))
    half = pa.scalar(Decimal(5).scaleb(-target.scale - 1), wide.type)
    further = pc.if_else(pc.less(wide, pa.scalar(Decimal(0), wide.type)), pc.negate(half), half)
    return _within(_cut(pc.add(wide, further), target.scale), target)


def decimal_to_int(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Cut towards zero."""
    limits = np.iinfo(target.to_pandas_dtype())
    whole = _cut(pc.cast(values, pa.decimal256(_SUM_DIGITS, values.type.scale)), 0)
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


def _cut(values: pa.Array, scale: int) -> pa.Array:
    """Decimals without the digits after some, cut towards zero.

    Arrow divides exactly by one word alone: with more, or rounding, it makes 2147483647.999 of 2147483647.9999.

    >>> _cut(pa.array([Decimal("4294.967294999999999999999999")], pa.decimal256(60, 24)), 9).to_pylist()
    [Decimal('4294.967294999')]
    """
    while values.type.scale > scale:
        nearer = max(scale, values.type.scale - _WORD_DIGITS)
        values = pc.cast(values, pa.decimal256(_MOST_DIGITS, nearer), safe=False)
    return values


def _unscaled(values: pa.Array) -> pa.Array:
    """The digits of decimals that have few: a decimal is two words, and the low one has all of them."""
    _valid, data = values.buffers()
    words = np.frombuffer(data, np.int64)[2 * values.offset : 2 * (values.offset + len(values)) : 2]
    return pa.array(np.ascontiguousarray(words), mask=values.is_null().to_numpy(zero_copy_only=False))


def _within(wide: pa.Array, target: pa.DataType) -> pa.Array:
    limit = pa.scalar(Decimal(10) ** (target.precision - target.scale), pa.decimal256(_MOST_DIGITS, target.scale))
    fits = pc.less(pc.abs(wide), limit)
    return pc.cast(pc.if_else(fits, wide, pa.scalar(None, wide.type)), target)
