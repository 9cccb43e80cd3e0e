"""Intervals of small counts, and quantiles, against sums of exact fractions and printed tables."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from punctual.kernel.sample.exact_counts import of_poisson_sample, of_simple_sample
from punctual.kernel.sample.quantiles import student_t

TAIL = Fraction(25, 1000)


def drawn(rows: int, n: int, total: int) -> list[Fraction]:
    """The probability of each number of these rows among n of all."""
    return [Fraction(comb(rows, k) * comb(total - rows, n - k), comb(total, n)) for k in range(n + 1)]


@pytest.mark.parametrize("total", [1, 5, 12, 23])
def test_hypergeometric_intervals_are_those_of_exact_fractions(total: int) -> None:
    for n in range(1, total + 1):
        found, expected = np.arange(n + 1), []
        chances = {rows: drawn(rows, n, total) for rows in range(total + 1)}
        for m in found.tolist():
            halves = {rows: sum(chance[:m]) + chance[m] / 2 for rows, chance in chances.items()}
            fits = [rows for rows, below in halves.items() if TAIL < below <= 1 - TAIL]
            expected.append((fits[0], fits[-1]))
        low, high = of_simple_sample(found, np.full(n + 1, n), np.full(n + 1, total))
        assert list(zip(low.tolist(), high.tolist())) == expected


@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(3, 10), Fraction(9, 10)])
def test_binomial_intervals_are_those_of_exact_fractions(share: Fraction) -> None:
    found = np.array([0, 1, 2, 7, 29])
    low, high = of_poisson_sample(found, np.full(found.size, float(share)))
    for m, least, most in zip(found.tolist(), low.tolist(), high.tolist()):

        def below(rows: int, m: int) -> Fraction:
            """Fewer than m of so many rows in the sample, and half of the cases of just m."""
            chances = [comb(rows, k) * share**k * (1 - share) ** (rows - k) for k in range(m + 1)]
            return sum(chances[:m], chances[m] / 2)

        assert below(int(most), m) > TAIL >= below(int(most) + 1, m)
        assert below(int(least), m) <= 1 - TAIL
        assert least == m or below(int(least) - 1, m) > 1 - TAIL


def test_large_windows_agree_with_the_binomial_one() -> None:
    low, high = of_simple_sample(np.array([12]), np.array([10**5]), np.array([10**7]))
    other_low, other_high = of_poisson_sample(np.array([12]), np.array([0.01]))
    assert low[0] == pytest.approx(other_low[0], rel=0.01)
    assert high[0] == pytest.approx(other_high[0], rel=0.01)


def test_quantiles_are_those_of_printed_tables() -> None:
    printed = {
        1: 12.70620, 2: 4.30265, 3: 3.18245, 4: 2.77645, 5: 2.57058, 6: 2.44691, 9: 2.26216, 10: 2.22814, 15: 2.13145,
        20: 2.08596, 29: 2.04523, 30: 2.04227, 31: 2.03951, 60: 2.00030, 100: 1.98397, 120: 1.97993, 10**7: 1.95996,
    }  # fmt: skip
    found = student_t(np.array(list(printed)))
    assert np.abs(found - np.array(list(printed.values()))).max() < 6e-6


def test_the_two_ways_to_a_quantile_meet() -> None:
    before, last, first, after = student_t(np.array([99, 100, 101, 102]))
    assert (last - first) / (before - last) == pytest.approx((first - after) / (last - first), rel=2e-3)
    assert np.isnan(student_t(np.array([0, -3]))).all()
