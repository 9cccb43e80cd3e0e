"""Approximate distinct counts: exact while few, within the stated error beyond."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.kernel.synopses.distinct import Distinct, precision_for
from punctual.kernel.synopses.hashing import hashes_of
from tests.kernel.synopses import answer, lift
from tests.oracles import aggregates as oracle

FUNCTION = "approx_count_distinct"


@pytest.mark.parametrize(("rsd", "precision"), [(0.05, 9), (0.39, 4), (0.9, 4), (0.01, 14), (0.02, 12)])
def test_precision_is_sparks(rsd: float, precision: int) -> None:
    assert precision_for(rsd) == precision
    # What Spark computes, HyperLogLogPlusPlusHelper: ceil(2 log2(1.106 / rsd)).
    assert precision == max(4, math.ceil(2 * math.log(1.106 / rsd) / math.log(2)))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 2, None], pa.int8()),
        pa.array([0.0, -0.0, math.nan, math.nan, 1.5]),
        pa.array([True, False, True]),
        pa.array(["", "a", "b", "abcdefgh", "abcdefghi", "a", None]),
        pa.array([b"", b"\x00", b"\x00\x00", b"a"]),
        pa.array([Decimal(10**30), Decimal(10**30 + 1), Decimal(10**30)]),
        pa.array([Decimal("1.5"), Decimal("2.5")]),
        pa.array([], pa.large_string()),
        pa.array(["x", "y"], pa.large_string()),
    ],
    ids=lambda a: str(a.type),
)
def test_few_values_are_counted_exactly(values: pa.Array) -> None:
    synopsis = Distinct(9)
    got, error = synopsis.finish(FUNCTION, (), lift(synopsis, values), pa.int64())
    assert got.to_pylist() == [len(oracle.distinct([v for v in values.to_pylist() if v is not None]))]
    assert error is not None
    assert error.to_pylist() == [None]
    assert answer(synopsis, FUNCTION, values.slice(1)) == len(
        oracle.distinct([v for v in values.to_pylist()[1:] if v is not None])
    )


@pytest.mark.parametrize("precision", [4, 9, 12])
def test_exact_up_to_an_eighth_of_the_registers(precision: int) -> None:
    limit = 2**precision // 8
    synopsis = Distinct(precision)
    for count in (limit, limit + 1):
        state = lift(synopsis, pa.array(range(count)))
        assert (len(state["registers"][0].as_py()) > 0) == (count > limit)
    assert answer(synopsis, FUNCTION, pa.array(range(limit))) == limit


def test_a_full_cell_leaves_its_neighbours_alone() -> None:
    synopsis = Distinct(5)
    sizes = [3, 40, 4, 0, 5, 2, 4]
    values = np.random.default_rng(2).integers(0, 10**9, sum(sizes))
    cell = np.repeat(np.arange(len(sizes)), sizes)
    hashes = lift(synopsis, pa.array(values), cell, len(sizes))["hashes"].to_pylist()
    for c, size in enumerate(sizes):
        expected = np.sort(hashes_of(pa.array(values[cell == c]))).tolist() if size <= 4 else []
        assert hashes[c] == expected


@pytest.mark.parametrize("precision", [6, 9, 12])
@pytest.mark.parametrize("fill", [0.2, 1.0, 3.0, 20.0])
def test_errors_are_as_stated(precision: int, fill: float) -> None:
    """Over up to 200 sets: no bias beyond three standard errors of their mean, and the spread that is stated."""
    count = int(2**precision * fill)
    sets = min(200, 800_000 // count)
    values = np.random.default_rng(11).integers(-(2**62), 2**62, sets * count)
    synopsis = Distinct(precision)
    state = lift(synopsis, pa.array(values), np.repeat(np.arange(sets), count), sets)
    got, error = synopsis.finish(FUNCTION, (), state, None)
    assert error is not None
    relative = got.to_numpy() / count - 1.0
    stated = 1.04 / math.sqrt(2**precision)
    assert abs(relative.mean()) < 3 * stated / math.sqrt(sets) + 0.5 / count
    assert relative.std() < 1.25 * stated
    covered = np.abs(got.to_numpy() - count) <= 3 * error.to_numpy()
    assert covered.mean() >= 0.98


def test_consecutive_integers_and_similar_texts_hash_well() -> None:
    """Inputs with little entropy: the estimate stays within four standard errors."""
    synopsis = Distinct(12)
    for values in (pa.array(range(50_000)), pa.array([f"sensor-{k:07d}" for k in range(50_000)])):
        assert abs(answer(synopsis, FUNCTION, values) / 50_000 - 1) < 4 * 1.04 / 64


def test_hashes_are_fixed() -> None:
    """States on disk hold hashes: these must never change. SplitMix64 of seed 0 starts with the first of them."""
    assert hashes_of(pa.array([0]))[0].view(np.uint64) == 0xE220A8397B1DCDAF
    narrow: list[Any] = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
    assert len({int(hashes_of(pa.array([-7], kind))[0]) for kind in narrow}) == 1
    assert hashes_of(pa.array(["ab"]))[0] == hashes_of(pa.array(["ab"], pa.large_string()))[0]
    assert np.unique(hashes_of(pa.array(["a", "a\x00", "", "\x00", "\x00" * 8, "\x00" * 9]))).size == 6
