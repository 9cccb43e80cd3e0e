"""Percentiles and DISTINCT aggregates against sorted lists and sets; the error of buckets against its bound."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.synopses import buckets
from punctual.kernel.synopses.values import Values
from tests.kernel.synopses import answer, lift
from tests.oracles import aggregates as oracle

some = settings(derandomize=True, deadline=None, max_examples=100, database=None)
DOUBLES = st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 2.0**-1022, 1.7976931348623157e308])


def check_close(got: Any, exact: Any) -> None:
    """Within the bound of a bucket."""
    if isinstance(exact, float) and not math.isfinite(exact):
        assert repr(got) == repr(exact)
    else:
        slack = max(abs(Fraction(exact)) / 256, Fraction(1, 2**1030) if isinstance(exact, float) else 0)
        assert abs(Fraction(got) - Fraction(exact)) <= slack


@some
@given(st.lists(DOUBLES, min_size=1, max_size=10))
def test_doubles_are_near_the_middle_of_their_bucket(values: list[float]) -> None:
    array = np.array(values)
    numbers = buckets.of_doubles(array)
    assert numbers.dtype == np.int64
    assert np.abs(numbers).max() < 2**31
    for value, middle in zip(values, buckets.middles(numbers).tolist()):
        check_close(middle, value)
    mirrored = buckets.of_doubles(-array[~np.isnan(array)])
    assert mirrored.tolist() == (-numbers[~np.isnan(array)]).tolist()
    order = np.argsort(array)  # NaN last
    assert (np.diff(numbers[order]) >= 0).all()


@some
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-600, 600), min_size=1, max_size=10))
def test_integers_are_near_the_middle_of_their_bucket(values: list[int]) -> None:
    array = np.array(sorted(values), np.int64)
    numbers = buckets.of_integers(array)
    middles = buckets.integer_middles(numbers, -(2**63), 2**63 - 1)
    for value, middle in zip(array.tolist(), middles.tolist()):
        check_close(middle, value)
        if abs(value) < 256:
            assert middle == value
    assert (np.diff(numbers) >= 0).all()
    assert buckets.of_integers(middles).tolist() == numbers.tolist()


SHARES = (0.0, 0.1, 0.5, 0.75, 0.999, 1.0)
UTC = datetime.UTC
POOLS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), list(range(-128, 128, 5))),
    (pa.int64(), [-(2**63), 2**63 - 1, 0, 12345678901234567, *range(990, 1200, 7)]),
    (pa.float32(), [float(np.float32(1.1**k)) for k in range(40)]),
    (pa.float64(), [math.nan, math.inf, -math.inf, 0.0, 5e-324, *(-(1.3**k) for k in range(-9, 20))]),
    (pa.decimal128(7, 2), [Decimal(k * k * 997 % 9999999).scaleb(-2) for k in range(50)]),
    (pa.decimal128(38, 4), [Decimal(10**37 // (k + 1)).scaleb(-4, oracle.WIDE) for k in range(50)]),
    (pa.date32(), [datetime.date(1900 + 5 * k, 1, 1) for k in range(40)]),
    (pa.timestamp("us", "UTC"), [datetime.datetime(1950 + k, 5, 5, tzinfo=UTC) for k in range(99)]),
]


def draw(kind: pa.DataType, pool: list[Any], rows: int) -> list[Any]:
    picks = np.random.default_rng(6).integers(0, len(pool) + 1, rows)
    return pa.array([None if p == len(pool) else pool[p] for p in picks], kind).to_pylist()


def number(value: Any) -> Any:
    """Dates and times as their distance from 1970, in days and microseconds."""
    if isinstance(value, datetime.datetime):
        return (value - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    return value


@pytest.mark.parametrize(("kind", "pool"), POOLS, ids=[str(kind) for kind, _ in POOLS])
def test_percentiles_exact_and_bucketed(kind: pa.DataType, pool: list[Any]) -> None:
    values = draw(kind, pool, 200)
    cell = np.random.default_rng(7).integers(0, 4, 200)
    by_cell = [[v for v, c in zip(values, cell) if c == k and v is not None] for k in range(5)]
    array = pa.array(values, kind)
    exact, coarse = Values(cap=1024), Values(cap=4)
    states = lift(exact, array, cell, 5), lift(coarse, array, cell, 5)
    assert all(len(lists) == 0 for lists in states[0]["buckets"].to_pylist())
    assert all(len(lists) == 0 for lists in states[1]["exact"].to_pylist())
    for share in SHARES:
        expected = [oracle.percentile(v, share) for v in by_cell]
        got, error = exact.finish("approx_percentile", (share,), states[0], kind)
        assert repr(got.to_pylist()) == repr(expected)
        assert got.type == kind
        assert error is not None
        assert error.null_count == 5
        near, error = coarse.finish("approx_percentile", (share, 100), states[1], kind)
        assert error is not None
        for got_one, width, want in zip(near.to_pylist(), error.to_pylist(), expected):
            if want is None:
                assert got_one is None
                continue
            check_close(number(got_one), number(want))
            if width is None:
                assert repr(got_one) == repr(want)
            else:
                assert width == pytest.approx(float(abs(number(got_one))) / 256, rel=0.01)
    listed, error = exact.finish("approx_percentile", (SHARES,), states[0], None)
    assert listed.type == pa.list_(kind)
    expected_lists = [[oracle.percentile(v, share) for share in SHARES] if v else None for v in by_cell]
    assert repr(listed.to_pylist()) == repr(expected_lists)


def test_several_shares_in_buckets_have_one_error() -> None:
    state = lift(Values(cap=4), pa.array(range(1, 1001)))
    listed, error = Values(cap=4).finish("approx_percentile", ((0.1, 0.9),), state, pa.list_(pa.int64()))
    assert error is not None
    low, high = listed[0].as_py()
    assert abs(low - 100) <= 100 / 256
    assert abs(high - 900) <= 900 / 256
    assert error[0].as_py() == pytest.approx(high / 256, rel=0.01)


def test_the_cap_is_one_of_distinct_values() -> None:
    for distinct, bucketed in ((3, False), (4, True)):
        state = lift(Values(cap=3), pa.array(list(range(distinct)) * 5))
        assert (len(state["buckets"][0]) > 0) == bucketed


DISTINCT: list[tuple[pa.DataType, list[Any], pa.DataType]] = [
    (pa.int64(), [2**62, 2**62, 7, None, 7, -1], pa.int64()),
    (pa.int64(), [2**63 - 1, 1, 1], pa.int64()),
    (pa.float64(), [1e300, 1.0, -1e300, 1.0, 0.1, -0.0, 0.0, None], pa.float64()),
    (pa.float64(), [math.nan, math.nan, 2.0], pa.float64()),
    (pa.decimal128(5, 2), [Decimal("1.25"), Decimal("1.25"), Decimal("0.10")], pa.decimal128(15, 2)),
    (pa.int32(), [], pa.int64()),
]


@pytest.mark.parametrize(("kind", "values", "sum_type"), DISTINCT)
def test_aggregates_of_distinct_values(kind: pa.DataType, values: list[Any], sum_type: pa.DataType) -> None:
    array, different = pa.array(values, kind), oracle.distinct([v for v in values if v is not None])
    assert answer(Values(None), "count", array) == len(different)
    assert repr(answer(Values(None), "sum", array, sum_type)) == repr(oracle.total(different))
    if kind != pa.decimal128(5, 2):
        assert repr(answer(Values(None), "avg", array)) == repr(oracle.mean(different))


def test_distinct_counts_of_texts_and_booleans() -> None:
    assert answer(Values(None), "count", pa.array(["a", "b", "a", None, "é"])) == 3
    assert answer(Values(None), "count", pa.array([True, None, True])) == 1


def test_distinct_aggregates_refuse_a_cap() -> None:
    with pytest.raises(InternalError):
        answer(Values(3), "count", pa.array([1]))
