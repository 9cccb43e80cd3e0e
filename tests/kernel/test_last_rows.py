"""The last rows of each key, against a walk over sorted rows."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.kernel.arrays.last_rows import last_rows


def place(value: Any) -> tuple[Any, ...]:
    """NULL, then numbers and texts in their order, NaN last."""
    if value is None:
        return (0,)
    return (2,) if isinstance(value, float) and math.isnan(value) else (1, value)


def sign(value: Any) -> float:
    """What tells -0.0 and 0.0 apart, where nothing else does."""
    return math.copysign(1, value) if isinstance(value, float) and value == 0 else 0


def same(value: Any) -> Any:
    """What keys are grouped by."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def brute_force(
    times: Sequence[int], most: int, keys: Sequence[Sequence[Any]], ties: Sequence[Sequence[Any]] | None
) -> list[bool]:
    found = [False] * len(times)
    by_key: dict[tuple[Any, ...], list[int]] = {}
    for row in range(len(times)):
        by_key.setdefault(tuple(same(key[row]) for key in keys), []).append(row)
    for rows in by_key.values():
        if ties is None:
            floor = sorted(times[row] for row in rows)[-most:][0]
            chosen = [row for row in rows if times[row] >= floor]
        else:
            values = list(zip(times, *ties))
            chosen = sorted(rows, key=lambda row: ([*map(place, values[row])], [*map(sign, values[row])]))[-most:]
        for row in chosen:
            found[row] = True
    return found


FLOATS = [None, 0.0, -0.0, float("nan"), 1.5, float("inf"), -3.0]
TEXTS = [None, "a", "b", "B", "é", ""]


@pytest.mark.parametrize("seed", range(120))
def test_last_rows(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.choice((0, 1, 2, 7, 40, 90))
    times = [rng.randint(0, rng.choice((2, 10, 200))) for _row in range(size)]
    texts = [rng.choice(TEXTS) for _row in range(size)]
    floats = [rng.choice(FLOATS) for _row in range(size)]
    numbers = [rng.choice((None, 1, 2, 3)) for _row in range(size)]
    most = rng.choice((1, 2, 3, 10, 50, 10**15))
    keys, key_arrays = zip(*(
        (floats, pa.array(floats, pa.float64())), (texts, pa.array(texts, pa.string()).dictionary_encode()),
    )) if seed % 4 == 0 else ((numbers,), (pa.array(numbers, pa.int32()),)) if seed % 4 == 1 else ((), ())
    ties = None if seed % 3 == 0 else [floats, texts, numbers]
    tie_arrays = None if ties is None else [
        pa.chunked_array([pa.array(floats, pa.float64())]), pa.array(texts), pa.array(numbers, pa.int64())
    ]
    found = last_rows(np.array(times, np.int64), most, key_arrays, tie_arrays)
    expected = brute_force(times, most, keys, ties)
    if ties is None:
        assert found.tolist() == expected
        return
    # Rows that are equal in everything cannot be told apart: which of them is taken does not matter.
    values = [repr(row) for row in zip(times, floats, texts, numbers)]
    assert sorted(v for v, f in zip(values, found) if f) == sorted(v for v, e in zip(values, expected) if e)


@pytest.mark.parametrize("key", [
    pa.nulls(4), pa.array([True, None, True, False]), pa.array([b"x", b"", b"x", None]),
    pa.array([1, 2, 1, None], pa.decimal128(30, 2)), pa.array([5, 6, 5, None], pa.timestamp("us", tz="UTC")),
    pa.array([1, 2, 1, None], pa.date32()), pa.array([-0.0, 1.5, 0.0, None], pa.float32()),
    pa.chunked_array([pa.array(["a", "b"]), pa.array(["a", None])]),
], ids=lambda key: str(key.type))
def test_keys_of_every_type(key: pa.Array) -> None:
    times = np.arange(4)
    alone = [False, False, False, True] if pa.types.is_null(key.type) else [True] * 4
    alone[0] = False  # the third row has the same key and is later
    assert last_rows(times, 1, [key]).tolist() == alone
    assert last_rows(times, 1, [key, pa.array([1, 2, 3, 4])]).all()


def test_many_keys_at_once() -> None:
    size = 200_000
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 1000, size)
    times = rng.permutation(size)
    found = last_rows(times, 3, [pa.array(keys)])
    assert found.sum() == 3000
    for key in range(0, 1000, 97):
        assert sorted(times[found & (keys == key)]) == sorted(times[keys == key])[-3:]
