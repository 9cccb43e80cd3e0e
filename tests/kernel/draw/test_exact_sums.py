"""Sums over bundles are the nearest double to the exact sum, whatever order rows come in and however they are split."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.draw import exact_sums
from punctual.kernel.draw.exact_sums import added, bundle_sums, nearest_means, nearest_sums
from punctual.kernel.synopses.limbs import UNIT, Loose, carried, means, rounded

some = settings(derandomize=True, deadline=None, max_examples=150, database=None)
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from(
    [0.1, -0.1, 1.0, 2.0**53, 2.0**-60, 0.0, -0.0, 3.0, 2.0**-53, -(2.0**-53), 1e17, -1e17]
)
ANY = NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([5e-324, 1e308, -1e308])


def nearest_double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def total(values: Any) -> Fraction:
    return sum((Fraction(float(value)) for value in values), Fraction(0))


@some
@given(st.lists(st.lists(ANY, min_size=5, max_size=5), min_size=1, max_size=8), st.integers(0, 2**40 - 1))
def test_sums_and_means_are_rounded_once(rows: list[list[float]], mask: int) -> None:
    check(rows, mask)


@some
@given(st.lists(st.lists(NUMBERS, min_size=6, max_size=6), min_size=1, max_size=8), st.integers(0, 2**48 - 1))
def test_ordinary_sums_and_means_are_rounded_once(rows: list[list[float]], mask: int) -> None:
    check(rows, mask)


def check(rows: list[list[float]], mask: int) -> None:
    values = np.array(rows)
    n, rounds = values.shape
    present = np.array([(mask >> k) & 1 == 1 for k in range(n * rounds)]).reshape(n, rounds)
    group = np.arange(n) % 2
    sums, whole = bundle_sums(group, 2, values, present)
    assert whole
    count = np.array([[(present & (group == g)[:, None])[:, j].sum() for j in range(rounds)] for g in (0, 1)])
    found, middle = nearest_sums(sums).reshape(2, rounds), nearest_means(sums, count.ravel()).reshape(2, rounds)
    for g in (0, 1):
        for j in range(rounds):
            exact = total(values[(group == g) & present[:, j], j])
            assert found[g, j] == nearest_double(exact)
            assert middle[g, j] == nearest_double(exact / max(int(count[g, j]), 1))


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e150, 1e-150])
def test_many_rows_of_many_magnitudes(scale: float) -> None:
    random = np.random.default_rng(2)
    values = random.normal(0.0, scale, (300, 40)) * 10.0 ** random.integers(-6, 6, (300, 1))
    group = random.integers(0, 7, 300)
    found = nearest_sums(bundle_sums(group, 7, values)[0]).reshape(7, 40)
    assert found.tolist() == [[math.fsum(values[group == g, j]) for j in range(40)] for g in range(7)]


def test_a_group_of_more_rows_than_are_held() -> None:
    values = np.random.default_rng(3).normal(1e9, 1.0, (exact_sums.AT_ONCE * 2 + 5, 4))
    found = nearest_sums(bundle_sums(np.zeros(len(values), np.int64), 1, values)[0])
    assert found.tolist() == [math.fsum(values[:, j]) for j in range(4)]


@pytest.mark.parametrize("bits", range(36, 54))
def test_largest_multiples_fit(bits: int) -> None:
    """Odd numbers of every length: none may lose its last bit, wherever it is cut."""
    values = np.full((exact_sums.AT_ONCE + 1, 4), 2.0**bits - 1.0)
    sums = bundle_sums(np.zeros(len(values), np.int64), 1, values)[0]
    (exact, *_others) = carried(sums).loose().digits.tolist()
    assert sum(digit << (32 * place) for place, digit in enumerate(exact)) == (2**bits - 1) * len(values) * scale(sums)


def scale(sums: Loose) -> int:
    """One, in units of the lowest limb that is not empty."""
    return 2 ** (32 * (UNIT - carried(sums).loose().low))


def test_rows_in_any_order_and_pieces_give_the_same_bytes() -> None:
    random = np.random.default_rng(4)
    values, group = random.normal(0.0, 1.0, (200, 16)), random.integers(0, 5, 200)
    whole = carried(bundle_sums(group, 5, values)[0])
    order = random.permutation(200)
    pieces = [bundle_sums(group[some], 5, values[some])[0] for some in np.array_split(order, 6)]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = added(merged, piece)
    for other in (carried(bundle_sums(group[order], 5, values[order])[0]), carried(merged)):
        assert (other.low == whole.low).all()
        assert other.offsets.tobytes() == whole.offsets.tobytes()
        assert other.digits.tobytes() == whole.digits.tobytes()


def digits_of(number: int, width: int) -> list[int]:
    return [*((number >> (32 * place)) & 0xFFFFFFFF for place in range(width - 1)), number >> (32 * (width - 1))]


@some
@given(st.integers(2**52, 2**53 - 1), st.integers(0, 90), st.integers(-2, 2), st.integers(1, 40), st.booleans())
def test_halfway_a_crumb_decides(mantissa: int, shift: int, crumb: int, n: int, negative: bool) -> None:
    """Halfway between two doubles, or a crumb beside it that no double can hold."""
    exact = (((2 * mantissa + 1) << shift) * n + crumb) * (-1 if negative else 1)
    sums = Loose(UNIT - 2, np.array([digits_of(exact, 6)]))
    assert nearest_sums(sums).tolist() == [float(Fraction(exact, 2**64))]
    assert nearest_means(sums, np.array([n])).tolist() == [float(Fraction(exact, n * 2**64))]


def test_rounding_by_doubles_is_rounding_by_integers() -> None:
    random = np.random.default_rng(5)
    digits = random.integers(-(2**33), 2**33, (20_000, 4))
    digits[::2, 1:] = 0
    digits[::3, 0] = random.choice([0, 1, -1, 2**31], digits[::3].shape[0])
    for low in (31, 34, 20):
        sums = Loose(low, digits)
        n = random.integers(1, 50, len(digits))
        assert nearest_sums(sums).tobytes() == (rounded(carried(sums)) + 0.0).tobytes()
        assert nearest_means(sums, n).tobytes() == (means(carried(sums), n) + 0.0).tobytes()


def test_hardly_a_sum_is_rounded_the_slow_way(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(6).normal(20.0, 3.0, (50, 2_000))
    sums, slow = bundle_sums(np.zeros(50, np.int64), 1, values)[0], list[int]()
    monkeypatch.setattr(exact_sums, "carried", lambda rest: slow.append(len(rest.digits)) or carried(rest))
    nearest_sums(sums)
    nearest_means(sums, np.full(2_000, 50))
    assert sum(slow) < 20


def test_values_that_are_not_finite_are_left_out() -> None:
    values = np.array([[1.0, np.nan, 3.0, np.inf], [4.0, 5.0, -np.inf, 7.0]])
    group = np.zeros(2, np.int64)
    sums, whole = bundle_sums(group, 1, values)
    assert not whole
    assert nearest_sums(sums).tolist() == [5.0, 5.0, 3.0, 7.0]
    present = np.array([[True, False, True, False], [False, True, False, True]])
    sums, whole = bundle_sums(group, 1, values, present)
    assert whole
    assert nearest_sums(sums).tolist() == [1.0, 5.0, 3.0, 7.0]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (2, 1)])
def test_nothing_to_add(shape: tuple[int, int]) -> None:
    sums, whole = bundle_sums(np.zeros(shape[0], np.int64), 2, np.zeros(shape))
    assert whole
    assert nearest_sums(sums).tolist() == [0.0] * (2 * shape[1])
