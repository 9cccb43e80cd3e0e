"""The inverse of the normal distribution function, against the library's own, against erfc, and by its symmetry."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from punctual.kernel.draw import source, uniforms
from punctual.kernel.draw.normal_quantiles import logarithm, standard_normals
from tests.kernel.draw.plain import identities

LEAST = 2.0**-53
# Every region, both ends of each, and as far out as a draw can be.
EDGES = [0.5, 0.5 - LEAST, 0.075, 0.075 + 2.0**-52, 0.075 - 2.0**-52, 0.925, 1e-3, math.exp(-25.0), LEAST, 3 * LEAST]


def grid(values: list[float]) -> list[float]:
    """The nearest numbers that can be drawn."""
    return [max(LEAST, round(value * 2**53) / 2**53) for value in values]


def test_as_accurate_as_can_be() -> None:
    drawn = uniforms(source(5, "a", "x"), identities(200), range(200)).ravel().tolist()
    tails = [2.0**-power * part for power in range(3, 50) for part in (1.0, 1.25, 1.5, 1.875)]
    values = grid([*EDGES, *(1.0 - edge for edge in EDGES), *tails, *drawn])
    law, found = NormalDist(), standard_normals(np.array(values))
    expected = np.array([law.inv_cdf(value) for value in values])
    centre, zero = np.abs(np.array(values) - 0.5) <= 0.425, expected == 0.0
    assert (found[zero] == 0.0).all()
    errors = np.abs(found / np.where(zero, np.nan, expected) - 1.0)
    assert errors[centre & ~zero].max() < 4.5e-16
    # Outside, a logarithm that is off by one unit in its last place makes three of it.
    assert errors[~centre].max() < 1e-15


def test_the_distribution_function_brings_it_back() -> None:
    values = np.array(grid([2.0**-power * part for power in range(1, 53) for part in (1.0, 1.3, 1.7)]))
    back = [0.5 * math.erfc(-x / math.sqrt(2.0)) for x in standard_normals(values).tolist()]
    # An error of x is multiplied by up to 8 x in the tails.
    assert (np.abs(np.array(back) / values - 1.0) < 5e-14).all()


def test_opposite_numbers_are_opposite() -> None:
    values = uniforms(source(5, "a", "x"), identities(50), range(100))
    assert (standard_normals(1.0 - values) == -standard_normals(values)).all()


def test_it_rises() -> None:
    values = np.sort(uniforms(source(5, "a", "x"), identities(100), range(1_000)).ravel())
    assert (np.diff(standard_normals(values)) >= 0.0).all()


def test_our_logarithm_is_within_a_unit() -> None:
    values = np.concatenate(
        [np.random.default_rng(1).random(20_000), 2.0 ** -np.arange(1.0, 54.0), [1 - LEAST, 0.7072]]
    )
    for value in values[values > 0.0].tolist():
        exact = math.log(value)
        assert abs(logarithm(value) - exact) <= math.ulp(exact)
