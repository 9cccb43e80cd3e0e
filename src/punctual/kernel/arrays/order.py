"""Spark's order of values as the order of int64 numbers, so that one compiled fold serves every type.

Model
-----
A *key* is an int64 such that ``a < b`` exactly when key(a) < key(b). Booleans, integers, dates, times and decimals of
at most 18 digits are their own keys. Doubles are ordered by their bits: NaN is the greatest value and equal to itself,
and -0.0 is 0.0. Strings, binaries and wide decimals have the number of their value in a sorted dictionary of the array
at hand as key (strings by their UTF-8 bytes), so their keys can be compared within one array only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled

_SIGN_LESS = np.int64(0x7FFFFFFFFFFFFFFF)
_NAN_BITS = np.int64(0x7FF8000000000000)


@dataclass(frozen=True, slots=True)
class Keyed:
    """Keys of an array without NULLs, and the way back to values."""

    keys: I64
    type: pa.DataType
    dictionary: pa.Array | None

    def values(self, keys: I64) -> pa.Array:
        """The values of keys, in the array's type."""
        if self.dictionary is not None:
            return self.dictionary.take(pa.array(keys))
        return values_of(keys, self.type)


def keyed(array: pa.Array) -> Keyed:
    """Keys of the values of an array without NULLs.

    Examples
    --------
    >>> names = keyed(pa.array(["b", "a", "b"]))
    >>> names.keys.tolist(), names.values(np.array([0])).to_pylist()
    ([1, 0, 1], ['a'])
    """
    if is_number(array.type):
        return Keyed(numbers(array), array.type, None)
    encoded = array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    return Keyed(ranks[encoded.indices.to_numpy()], array.type, encoded.dictionary.take(pa.array(order)))


def is_number(kind: pa.DataType) -> bool:
    """Whether a value of the type is an int64 by itself."""
    if pa.types.is_decimal(kind):
        return bool(pa.types.is_decimal128(kind) and kind.precision <= 18)
    tests = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_temporal)
    return any(test(kind) for test in tests)


def numbers(array: pa.Array) -> I64:
    """Keys of an array without NULLs whose type :func:`is_number`."""
    kind = array.type
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if pa.types.is_floating(kind):
        return float_keys(array.cast(pa.float64()).to_numpy())
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
        return np.ascontiguousarray(words[array.offset : array.offset + len(array), 0])
    elif pa.types.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    keys: I64 = array.to_numpy().astype(np.int64)
    return keys


def values_of(keys: I64, kind: pa.DataType) -> pa.Array:
    """The values of keys that :func:`numbers` gave."""
    if pa.types.is_floating(kind):
        bits = np.where(keys < 0, keys ^ _SIGN_LESS, keys)
        return pa.array(bits.view(np.float64)).cast(kind)
    if pa.types.is_decimal(kind):
        words = np.stack([keys, keys >> 63], axis=1)
        return pa.Array.from_buffers(kind, keys.size, [None, pa.py_buffer(np.ascontiguousarray(words))])
    if pa.types.is_boolean(kind):
        return pa.array(keys != 0)
    if pa.types.is_temporal(kind):
        return pa.array(keys).cast(pa.int32()).view(kind) if kind.bit_width == 32 else pa.array(keys).view(kind)
    return pa.array(keys).cast(kind)


def float_keys(values: F64) -> I64:
    """Bits of doubles, reordered so that they sort as the doubles do; one NaN, one zero."""
    values = np.ascontiguousarray(values)
    return _float_keys(values, values.view(np.int64))


@compiled
def _float_keys(values: F64, bits: I64) -> I64:
    keys = np.empty(values.size, np.int64)
    for i in range(values.size):
        if values[i] == 0.0:
            keys[i] = 0
        elif values[i] != values[i]:
            keys[i] = _NAN_BITS
        else:
            keys[i] = bits[i] ^ _SIGN_LESS if bits[i] < 0 else bits[i]
    return keys


def ranks(array: pa.Array) -> I64:
    """Dense ranks from 0 of any array's values, NULL before all others.

    Lists, structs and maps have no order in Arrow: they are ranked by their text.
    """
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    out = np.zeros(len(array), np.int64)
    if not valid.any():
        return out
    present = array.drop_null()
    if pa.types.is_nested(array.type):
        present = pa.array([str(value) for value in present.to_pylist()])
    _, dense = np.unique(keyed(present).keys, return_inverse=True)
    out[valid] = dense + int(not valid.all())
    return out
