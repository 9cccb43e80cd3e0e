"""A 64-bit hash of every row: a function of its values alone, not of the batch, the encoding, nor an integer's width.

NULL is a value of its own, all NaNs are one value, and 0.0 equals -0.0. Shards on disk rely on these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.compiled import compiled

U64 = NDArray[np.uint64]
U8 = NDArray[np.uint8]

_SEED = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(columns: Sequence[pa.Array], rows: int) -> U64:
    """The hash of each of the rows; columns are not nested.

    >>> narrow, wide = (row_hashes([pa.array([7], kind)], 1) for kind in (pa.int8(), pa.int64()))
    >>> bool(narrow[0] == wide[0])
    True
    """
    hashes = np.full(rows, _SEED)
    for column in columns:
        plain = normalised(column)
        valid = plain.is_valid().to_numpy(zero_copy_only=False)
        if _is_bytes(plain.type):
            text = plain.cast(pa.large_binary())
            _, offsets, data = text.buffers()
            starts = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
            content = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
            _hash_bytes(hashes, valid, starts[:-1], starts[1:], content)
        else:
            for word in _words(plain):
                _hash_words(hashes, valid, word)
    return hashes


def stretch_hashes(data: U8, starts: I64, ends: I64) -> U64:
    """The hash of each stretch of bytes: that of a row whose one column is this text.

    >>> both = stretch_hashes(np.frombuffer(b"a,bc", np.uint8), np.array([0, 2]), np.array([1, 4]))
    >>> bool((both == row_hashes([pa.array(["a", "bc"])], 2)).all())
    True
    """
    hashes = np.full(starts.size, _SEED)
    _hash_bytes(hashes, np.ones(starts.size, np.bool_), starts, ends, data)
    return hashes


def normalised(column: pa.Array) -> pa.Array:
    """The column with one encoding for equal values: no dictionary, one NaN, no -0.0."""
    column = one_array(column)
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        plain = np.where(np.isnan(values), values.dtype.type(np.nan), values) + values.dtype.type(0)
        return pa.array(plain, column.type, mask=missing)
    return column


def one_array(column: pa.Array) -> pa.Array:
    """The column as one array without a dictionary."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    )  # fmt: skip


def _words(column: pa.Array) -> list[U64]:
    """The values of fixed width as one or more 64-bit words."""
    kind = column.type
    if pa.types.is_null(kind):
        return [np.zeros(len(column), dtype=np.uint64)]
    if pa.types.is_decimal(kind):
        wide = column.cast(pa.decimal128(38, kind.scale)).fill_null(0)
        limbs = np.frombuffer(wide.buffers()[1], np.uint64)[2 * wide.offset : 2 * (wide.offset + len(wide))]
        return [np.ascontiguousarray(limbs[0::2]), np.ascontiguousarray(limbs[1::2])]
    if pa.types.is_floating(kind):
        floats = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return [floats.view(np.uint64)]
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind):
        column = column.view(pa.int64())
    elif not pa.types.is_integer(kind) and not pa.types.is_boolean(kind):
        raise InternalError(f"a column of type {kind} has no hash")
    integers = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return [integers.view(np.uint64)]


@compiled
def mixed(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _hash_words(hashes: U64, valid: Bools, words: U64) -> None:
    for i in range(hashes.size):
        word = mixed(words[i] + np.uint64(1)) if valid[i] else np.uint64(0)
        hashes[i] = mixed((hashes[i] ^ word) * np.uint64(0x9E3779B97F4A7C15))


@compiled
def _hash_bytes(hashes: U64, valid: Bools, starts: I64, ends: I64, content: U8) -> None:
    for i in range(hashes.size):
        word = np.uint64(0)
        if valid[i]:
            word = np.uint64(ends[i] - starts[i] + 1)
            for j in range(starts[i], ends[i]):
                word = (word ^ np.uint64(content[j])) * np.uint64(0x100000001B3)
            word = mixed(word)
        hashes[i] = mixed((hashes[i] ^ word) * np.uint64(0x9E3779B97F4A7C15))
