"""A 64-bit hash of a value, the same on every machine and for every batch.

Numbers are hashed by their key (``order.py``): integers of any width alike, one NaN, one zero. Wide decimals, strings
and binaries are hashed by their bytes, eight at a time. The last step is the finaliser of SplitMix64, whose every
output bit depends on every input bit, since HyperLogLog reads both ends. It is no defence against chosen input.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.order import is_number, numbers
from punctual.kernel.arrays.row_hashes import U64, mixed
from punctual.kernel.arrays.state import I64
from punctual.kernel.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hashes_of(array: pa.Array) -> I64:
    """Hashes of an array without NULLs.

    Examples
    --------
    >>> narrow, wide = hashes_of(pa.array([7], pa.int8())), hashes_of(pa.array([7], pa.int64()))
    >>> bool(narrow[0] == wide[0])
    True
    """
    kind = array.type
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if is_number(kind):
        return hash_numbers(numbers(array).view(np.uint64)).view(np.int64)
    if pa.types.is_decimal128(kind):
        array = array.view(pa.binary(16))
    elif not (pa.types.is_string(kind) or pa.types.is_binary(kind) or _is_large(kind)):
        raise InternalError(f"no hash of {kind}")
    array = array.cast(pa.large_binary())
    _, starts, data = array.buffers()
    offsets = np.frombuffer(starts, np.int64)[array.offset : array.offset + len(array) + 1]
    octets = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return hash_bytes(offsets, octets).view(np.int64)


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


@compiled
def hash_numbers(words: U64) -> U64:
    """Hashes of 64-bit numbers."""
    out = np.empty(words.size, np.uint64)
    for i in range(words.size):
        out[i] = mixed(words[i] + _GOLDEN)
    return out


@compiled
def hash_bytes(offsets: I64, octets: NDArray[np.uint8]) -> U64:
    """Hashes of byte strings ``octets[offsets[i]:offsets[i + 1]]``."""
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        total = np.uint64(end - start) * _GOLDEN
        for at in range(start, end, 8):
            word = np.uint64(0)
            for k in range(at, min(at + 8, end)):
                word |= np.uint64(octets[k]) << np.uint64(8 * (k - at))
            total = mixed(total ^ mixed(word + _GOLDEN)) + _GOLDEN
        out[i] = mixed(total)
    return out
