"""Sums, averages and variances against exact fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.synopses.limbs import UNIT, Loose, carried, means, rounded, sum_doubles
from punctual.kernel.synopses.moments import Moments
from punctual.kernel.synopses.sums import Sum
from tests.kernel.synopses import answer, lift, whole
from tests.oracles import aggregates as oracle

some = settings(derandomize=True, deadline=None, max_examples=100, database=None)
ODD = [math.nan, math.inf, -math.inf]
FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.1, -0.1, 1e300, -1e300, 1.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**53, 2.0**-1022]
)


def same(a: Any, b: Any) -> bool:
    return (a is None and b is None) or a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b))


@some
@given(st.lists(FINITE | st.sampled_from(ODD), max_size=12))
def test_sum_of_doubles_is_the_nearest_to_the_exact_one(values: list[float]) -> None:
    assert same(answer(Sum(), "sum", pa.array(values, pa.float64())), oracle.total(values))
    assert same(answer(Sum(), "avg", pa.array(values, pa.float64())), oracle.mean(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1e16, 28.0, 29.0], 3333333333333352.5),
        ([1.7976931348623157e308] * 2, 1.7976931348623157e308),
        ([5e-324, 0.0, 0.0], 0.0),
        ([5e-324, 5e-324, 0.0], 5e-324),
        # Halfway to the smallest double: to even; a double that is halved below the normal ones is rounded once.
        ([5e-324, 0.0], 0.0),
        ([2.0**-1022 + 5e-324, 0.0], 2.0**-1023),
        ([3 * 5e-324, 0.0], 1e-323),
    ],
)
def test_an_average_is_rounded_once(values: list[float], expected: float) -> None:
    assert answer(Sum(), "avg", pa.array(values)) == expected == oracle.mean(values)


SMALL_BITS = st.integers(0, 60)
NUMBERS = st.integers(1, 2**200) | st.builds(lambda a, b: ((2**53 + 1) << a) + b, SMALL_BITS, st.integers(-1, 1))
DIVISORS = st.integers(1, 2**47 - 1) | st.sampled_from([1, 2, 3, 2**31 - 1, 2**31, 2**31 + 1, 2**46 + 1, 2**47 - 1])


@settings(some, max_examples=2_000)
@given(NUMBERS, DIVISORS, st.booleans(), st.booleans(), st.sampled_from([0, 1, 20, UNIT - 1, UNIT, UNIT + 20]))
def test_a_mean_is_the_nearest_double_whatever_divides(
    number: int, divisor: int, times: bool, negative: bool, low: int
) -> None:
    exact = (-number if negative else number) * (divisor if times else 1)
    digits = [(exact >> (32 * k)) & 0xFFFFFFFF for k in range(9)]
    found = means(carried(Loose(low, np.array([[*digits, exact >> (32 * 9)]]))), np.array([divisor]))
    assert found.tolist() == [float(Fraction(exact, divisor) * Fraction(2) ** (32 * (low - UNIT)))]


def test_averages_and_variances_of_many_rows_are_rounded_once() -> None:
    numbers = np.random.default_rng(2)
    cell, values = numbers.integers(0, 40, 4_000), numbers.normal(1e6, 1e3, 4_000)
    parts = [values[cell == c].tolist() for c in range(40)]
    sums, moments = lift(Sum(), pa.array(values), cell, 40), lift(Moments(), pa.array(values), cell, 40)
    assert Sum().finish("avg", (), sums, None)[0].to_pylist() == [oracle.mean(part) for part in parts]
    for function, lost in (("var_samp", 1), ("var_pop", 0)):
        expected = [oracle.nearest(oracle.variance(part, lost)) for part in parts]  # type: ignore[arg-type]
        assert Moments().finish(function, (), moments, None)[0].to_pylist() == expected


@some
@given(st.lists(FINITE, max_size=40))
def test_finite_sums_agree_with_fsum(values: list[float]) -> None:
    try:
        expected = math.fsum(values)
    except OverflowError:
        return
    assert answer(Sum(), "sum", pa.array([*values, 0.0])) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1e300, 1.0, -1e300], 1.0),
        ([1e300, 1.0, 1e-300, -1e300, -1.0], 1e-300),
        ([1.7976931348623157e308] * 2 + [-1.7976931348623157e308], 1.7976931348623157e308),
        ([1.7976931348623157e308] * 2, math.inf),
        ([5e-324] * 3, 1.5e-323),
        # Halfway between two doubles, to even; a crumb beyond, however far below, decides.
        ([1.0, 2.0**-53], 1.0),
        ([1.0, 2.0**-53, 2.0**-64], 1.0 + 2.0**-52),
        ([1.0, 2.0**-53, 2.0**-1000], 1.0 + 2.0**-52),
        ([-1.0, -(2.0**-53), 2.0**-1000], -1.0),
        ([math.inf, 1e308, 1e308], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([-0.0], 0.0),
        ([None, None], None),
        ([], None),
    ],
)
def test_cancellation_infinities_and_emptiness(values: list[float | None], expected: float | None) -> None:
    assert same(answer(Sum(), "sum", pa.array(values, pa.float64())), expected)


@some
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=8))
def test_integers_are_exact_and_overflow_to_null(values: list[int]) -> None:
    array = pa.array(values, pa.int64())
    assert answer(Sum(), "sum", array, pa.int64()) == oracle.total(values)
    assert answer(Sum(), "avg", array, pa.float64()) == oracle.mean(values)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.float32()])
def test_narrow_types_are_widened(kind: pa.DataType) -> None:
    values = [100, 100, -3, None, 127]
    assert answer(Sum(), "sum", pa.array(values, kind)) == 324
    thirds = pa.array([0.1, 0.2], pa.float32())
    assert answer(Sum(), "sum", thirds) == sum(Fraction(v) for v in thirds.to_pylist())


@some
@given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-99, 99), max_size=9), st.integers(0, 6))
def test_decimals_are_exact_and_round_half_up(unscaled: list[int], scale: int) -> None:
    values = [Decimal(u).scaleb(-scale, oracle.WIDE) for u in unscaled]
    array = pa.array(values, pa.decimal128(38, scale))
    expected = oracle.total(values)
    if expected is not None and expected.copy_abs() >= Decimal(10) ** (38 - scale):
        expected = None
    assert answer(Sum(), "sum", array, pa.decimal128(38, scale)) == expected
    expected = oracle.mean(values, scale + 4)
    if expected is not None and expected.copy_abs() >= Decimal(10) ** (38 - scale - 4):
        expected = None
    assert answer(Sum(), "avg", array, pa.decimal128(38, scale + 4)) == expected


@pytest.mark.parametrize(("precision", "fits"), [(6, True), (5, True), (4, False)])
def test_a_decimal_beyond_the_results_precision_is_null(precision: int, fits: bool) -> None:
    array = pa.array([Decimal("99.99"), Decimal("0.01")], pa.decimal128(4, 2))
    assert answer(Sum(), "sum", array, pa.decimal128(precision, 2)) == (Decimal("100.00") if fits else None)


def test_half_up_goes_away_from_zero() -> None:
    kind = pa.decimal128(10, 0)
    for values, expected in (([1, 2], "1.5"), ([0, 0, 0, 0, 0, 0, 0, 1], "0.1"), ([-1, 0, 0, 0], "-0.3")):
        got = answer(Sum(), "avg", pa.array([Decimal(v) for v in values], kind), pa.decimal128(11, 1))
        assert got == Decimal(expected)


@pytest.mark.parametrize("function", ["sum", "avg"])
def test_results_as_doubles(function: str) -> None:
    ints, decimals = pa.array([1, 2, 4]), pa.array([Decimal("1.25"), Decimal("2.50")])
    assert answer(Sum(), function, ints, pa.float64()) == (7.0 if function == "sum" else 7 / 3)
    assert answer(Sum(), function, decimals, pa.float64()) == (3.75 if function == "sum" else 1.875)


def test_a_scale_survives_cells_that_were_merged_out_of_nothing() -> None:
    state = lift(Sum(), pa.array([Decimal("1.25")]))
    none = {name: column.slice(0, 0) for name, column in state.items()}
    neutral = Sum().combine(none, np.array([0]), np.array([0]))
    both = whole(Sum(), {name: pa.concat_arrays([neutral[name], state[name]]) for name in state})
    assert Sum().finish("sum", (), both, pa.decimal128(13, 2))[0].to_pylist() == [Decimal("1.25")]


def test_many_rows_in_many_cells() -> None:
    numbers = np.random.default_rng(1)
    cell, values = numbers.integers(0, 50, 20_000), numbers.normal(1e6, 1e-3, 20_000)
    got = Sum().finish("sum", (), lift(Sum(), pa.array(values), cell, 50), None)[0].to_pylist()
    assert got == [math.fsum(values[cell == c]) for c in range(50)]


def test_equal_sums_are_equal_digits_whatever_the_way() -> None:
    values = np.array([1e300, 3.0, -1e300, 2.0**-1074, -3.0])
    alone = carried(sum_doubles(np.zeros(1, np.int64), 1, np.array([2.0**-1074]).view(np.int64)))
    summed = carried(sum_doubles(np.zeros(5, np.int64), 1, values.view(np.int64)))
    assert (summed.low[0], summed.digits.tolist()) == (alone.low[0], alone.digits.tolist())
    assert rounded(summed).tolist() == [2.0**-1074]


@some
@given(st.lists(FINITE | st.sampled_from(ODD), max_size=9))
def test_a_variance_is_the_nearest_to_the_exact_one(values: list[float]) -> None:
    array = pa.array(values, pa.float64())
    for function, lost in (("var_samp", 1), ("var_pop", 0)):
        exact = oracle.variance(values, lost)
        got = answer(Moments(), function, array)
        deviation = answer(Moments(), function.replace("var", "stddev"), array)
        if exact is None:
            assert got is None
            assert deviation is None
        elif isinstance(exact, float):
            assert math.isnan(got)
            assert math.isnan(deviation)
        else:
            assert got == oracle.nearest(exact)
            if math.isfinite(got) and got > 1e-300:
                assert deviation == pytest.approx(oracle.root(exact), rel=1e-15)


@pytest.mark.parametrize(
    ("values", "var_samp", "var_pop"),
    [
        ([], None, None),
        ([None], None, None),
        ([7.5], None, 0.0),
        ([0.1, 0.1, 0.1], 0.0, 0.0),
        ([1e9 + 0.25, 1e9 + 0.75], 0.125, 0.0625),
        ([1e200, -1e200], math.inf, math.inf),
        ([1e150 * 3, 1e150], 2e300, 1e300),
        ([1e160, 1e160, 1e160], 0.0, 0.0),
        ([math.inf, 1.0], math.nan, math.nan),
        ([math.nan], None, math.nan),
    ],
)
def test_edges_of_variances(values: list[float | None], var_samp: float | None, var_pop: float | None) -> None:
    array = pa.array(values, pa.float64())
    for function, expected in (("var_samp", var_samp), ("var_pop", var_pop)):
        got = answer(Moments(), function, array)
        assert same(got, expected) or got == pytest.approx(expected, rel=1e-15)


def test_variances_of_other_types() -> None:
    big = [2**63 - 1, 2**63 - 1025, -(2**63)]
    expected = oracle.nearest(oracle.variance(big, 1))  # type: ignore[arg-type]
    assert answer(Moments(), "var_samp", pa.array(big)) == pytest.approx(expected, rel=1e-15)
    assert answer(Moments(), "var_pop", pa.array([Decimal("1.50"), Decimal("2.50")])) == 0.25
