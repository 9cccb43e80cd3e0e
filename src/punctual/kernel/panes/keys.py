"""Group keys: Arrow columns of any type as dense codes, as ranks in Spark's order, and as shards.

Model
-----
A key is a row of Arrow columns. NULL is a value of its own, all NaNs are one value, and 0.0 equals -0.0. Codes are
dense and numbered by first appearance, so a dictionary grows by appending. Shards are a function of the key's values
alone: not of the batch, of the encoding, nor of an integer's width.

Why it is fast enough
---------------------
Arrow's hash tables encode each column; the codes of several columns are joined by mixed radix and made dense
again, by direct addressing while the product is small and by an open hash table of int64 beyond. Only distinct keys are
ever ordered or hashed into shards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.arrays.row_hashes import mixed, normalised, row_hashes
from punctual.kernel.compiled import compiled
from punctual.kernel.panes.spec import I64

I32 = NDArray[np.int32]

DIRECT_CODES = 1 << 16
"""Code spaces up to this (or four times the rows) are addressed directly."""


def encode(columns: Sequence[pa.Array], rows: int) -> tuple[I64, list[pa.Array]]:
    """Dense codes of the rows' keys by first appearance, and the distinct keys in the order of their codes.

    >>> codes, keys = encode([pa.array(["b", None, "b", "a"])], 4)
    >>> codes.tolist(), keys[0].to_pylist()
    ([0, 1, 0, 2], ['b', None, 'a'])
    """
    if not columns:
        return np.zeros(rows, dtype=np.int64), []
    plain = [normalised(column) for column in columns]
    codes = np.zeros(rows, dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    space = 1
    for column in plain:
        encoded = column.dictionary_encode(null_encoding="encode")
        size = max(1, len(encoded.dictionary))
        one = encoded.indices.to_numpy(zero_copy_only=False)
        codes, first = dense(codes * size + one, space * size)
        space = max(1, first.size)
    return codes, [column.take(pa.array(first)) for column in plain]


def order(keys: Sequence[pa.Array]) -> I64:
    """The rank of each key in Spark's ascending order: NULL first, NaN last, strings by their UTF-8 bytes.

    >>> order([pa.array([2.0, float("nan"), None, -1.0])]).tolist()
    [2, 3, 0, 1]
    """
    table = pa.table({str(i): _sortable(key) for i, key in enumerate(keys)})
    ascending = [(name, "ascending", "at_start") for name in table.column_names]
    sorted_rows = pc.sort_indices(table, sort_keys=ascending).to_numpy()
    rank = np.empty(sorted_rows.size, dtype=np.int64)
    rank[sorted_rows] = np.arange(sorted_rows.size)
    return rank


def shard_of(keys: Sequence[pa.Array], shards: int) -> I32:
    """The shard of each key, by a hash of its values; without keys the one shard is 0 (an empty array: no key rows).

    >>> bool((shard_of([pa.array([7], pa.int8())], 64) == shard_of([pa.array([7], pa.int64())], 64)).all())
    True
    """
    if not keys:
        return np.zeros(1, dtype=np.int32)
    return (row_hashes(keys, len(keys[0])) % np.uint64(shards)).astype(np.int32)


def dense(codes: I64, space: int) -> tuple[I64, I64]:
    """Codes below ``space`` made dense by first appearance, and the first row of each.

    >>> renumbered, first = dense(np.array([7, 3, 7]), 8)
    >>> renumbered.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    if space <= max(DIRECT_CODES, 4 * codes.size):
        return _dense_direct(codes, space)
    return _dense_hashed(codes)


def dense_values(values: I64) -> tuple[I64, I64]:
    """Any integers as dense codes in ascending order, and the distinct integers, sorted."""
    codes, first = _dense_hashed(np.ascontiguousarray(values, dtype=np.int64))
    found = values[first]
    if np.all(found[1:] > found[:-1]):
        return codes, found
    ascending = np.argsort(found)
    rank = np.empty(ascending.size, dtype=np.int64)
    rank[ascending] = np.arange(ascending.size)
    return rank[codes], found[ascending]


def _sortable(key: pa.Array) -> pa.Array:
    key = normalised(key)
    if pa.types.is_floating(key.type):
        # Order-preserving integers put NaN last; Arrow would put it next to NULL.
        bits = key.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False).view(np.int64)
        return pa.array(np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits), mask=~_valid(key))
    if pa.types.is_boolean(key.type):
        return key.cast(pa.int8())
    return key


def _valid(key: pa.Array) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = key.is_valid().to_numpy(zero_copy_only=False)
    return valid


@compiled
def _dense_direct(codes: I64, space: int) -> tuple[I64, I64]:
    number = np.full(space, np.int64(-1))
    first = np.empty(min(space, codes.size), np.int64)
    out = np.empty(codes.size, np.int64)
    found = 0
    before, at = np.int64(-1), np.int64(-1)  # no code is negative
    for i in range(codes.size):
        code = codes[i]
        if code != before:
            before, at = code, number[code]
            if at < 0:
                at = np.int64(found)
                number[code] = at
                first[at] = i
                found += 1
        out[i] = at
    return out, first[:found].copy()


@compiled
def _dense_hashed(codes: I64) -> tuple[I64, I64]:
    """Open addressing with linear probing; the table doubles, so it fits the distinct codes and not the rows."""
    capacity = 1024
    keys = np.empty(capacity, np.int64)
    number = np.full(capacity, np.int64(-1))
    first = np.empty(capacity, np.int64)
    out = np.empty(codes.size, np.int64)
    found = 0
    for i in range(codes.size):
        code = codes[i]
        if i > 0 and code == codes[i - 1]:  # rows come mostly in the order of their times
            out[i] = out[i - 1]
            continue
        slot = mixed(np.uint64(code)) & np.uint64(capacity - 1)
        while number[slot] >= 0 and keys[slot] != code:
            slot = (slot + np.uint64(1)) & np.uint64(capacity - 1)
        if number[slot] < 0:
            number[slot] = found
            keys[slot] = code
            first[found] = i
            found += 1
            out[i] = found - 1
            if 2 * found >= capacity:
                capacity *= 2
                keys = np.empty(capacity, np.int64)
                number = np.full(capacity, np.int64(-1))
                longer = np.empty(capacity, np.int64)
                longer[:found] = first[:found]
                first = longer
                for j in range(found):
                    again = codes[first[j]]
                    slot = mixed(np.uint64(again)) & np.uint64(capacity - 1)
                    while number[slot] >= 0:
                        slot = (slot + np.uint64(1)) & np.uint64(capacity - 1)
                    number[slot] = j
                    keys[slot] = again
        else:
            out[i] = number[slot]
    return out, first[:found].copy()
