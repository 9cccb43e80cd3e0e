"""What worlds say: means, probabilities, intervals and histograms, and how often their errors hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, Bools
from punctual.kernel.draw import (
    Normal,
    draw_numbers,
    expected,
    histograms,
    interval,
    likeliest,
    of_counts,
    probability,
    rounds_for,
    source,
)
from tests.kernel.draw.plain import identities


def test_a_mean_is_over_the_worlds_in_which_it_is_there() -> None:
    random = np.random.default_rng(1)
    values, there = random.normal(1e9, 1.0, (20, 50)), random.random((20, 50)) < 0.6
    found = expected(values, there)
    for i in range(20):
        own = values[i, there[i]]
        assert found.worlds[i] == own.size
        assert found.mean[i] == pytest.approx(math.fsum(own) / own.size, rel=1e-15)
        assert found.sd[i] == pytest.approx(own.std(ddof=1), rel=1e-9)
        assert (found.high - found.low)[i] / 2 == pytest.approx(found.sd[i] / math.sqrt(own.size) * 2.05, rel=0.06)
    assert expected(values).mean.tolist() == expected(values, np.ones_like(there)).mean.tolist()


def test_a_mean_does_not_lose_small_values_beside_large_ones() -> None:
    assert expected(np.array([[1e16, 1.0, 1.0, -1e16], [1.0, 1e16, -1e16, 1.0]])).mean.tolist() == [0.5, 0.5]


def test_means_of_nothing_and_of_one() -> None:
    found = expected(
        np.array([[5.0, 6.0], [7.0, 8.0], [np.inf, 1.0]]), np.array([[False, False], [True, False], [True] * 2])
    )
    assert np.isnan(found.mean).tolist() == [True, False, False]
    assert found.mean[1:].tolist() == [7.0, math.inf]
    assert np.isnan([found.low, found.high]).all()
    assert found.worlds.tolist() == [0, 1, 2]


@pytest.mark.parametrize("rounds", [2, 10, 40, 200])
def test_intervals_cover_the_expectation(rounds: int) -> None:
    worlds = draw_numbers(
        source(9, "a", "x"), identities(4_000), Normal(np.full(4_000, 3.0), np.ones(4_000)), range(rounds)
    )
    found = expected(worlds)
    covered = ((found.low <= 3.0) & (found.high >= 3.0)).mean()
    assert covered == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 4_000))


def test_intervals_of_skewed_results_cover_and_miss_on_both_sides() -> None:
    """Of exponential values Student's interval holds 0.91 with 20 rounds, and what it misses is nearly all above it."""
    found = expected(np.random.default_rng(2).exponential(1.0, (20_000, 20)))
    above, below = (found.high < 1.0).mean(), (found.low > 1.0).mean()
    assert 1.0 - above - below == pytest.approx(0.95, abs=0.01)
    assert 0.5 < above / below < 4.0
    mirrored = expected(-np.random.default_rng(2).exponential(1.0, (20_000, 20)))
    np.testing.assert_allclose(mirrored.low, -found.high, rtol=1e-12)


def test_an_interval_undoes_the_skewness_by_halls_transformation() -> None:
    random = np.random.default_rng(4)
    values = random.lognormal(0.0, 1.0, (30, 15))
    found = expected(values)
    for i, own in enumerate(values):
        away = own - own.mean()
        a = (away**3).mean() / (away**2).mean() ** 1.5 / math.sqrt(15)
        for end, reach in ((found.low[i], 2.144787), (found.high[i], -2.144787)):
            t = (own.mean() - end) / (own.std(ddof=1) / math.sqrt(15))
            assert t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6 == pytest.approx(reach, rel=1e-5)


def test_rounds_that_are_needed() -> None:
    assert rounds_for(10.0, 1.0) == math.ceil((1.959964 * 10) ** 2)
    assert rounds_for(10.0, 0.5) == pytest.approx(4 * rounds_for(10.0, 1.0), rel=0.01)
    for bad in ((1.0, 0.0, 0.95), (1.0, 1.0, 1.0), (-1.0, 1.0, 0.95), (math.nan, 1.0, 0.95)):
        with pytest.raises(InternalError):
            rounds_for(*bad)


def test_a_condition_and_its_opposite_add_up_to_one() -> None:
    worlds = np.concatenate([np.full(n + 1, n) for n in range(1, 400)])
    held = np.concatenate([np.arange(n + 1) for n in range(1, 400)])
    one, other = of_counts(held, worlds), of_counts(worlds - held, worlds)
    assert (one.share + other.share == 1.0).all()
    assert np.abs(one.low + other.high - 1.0).max() < 1e-15
    random = np.random.default_rng(2)
    holds, there = random.random((30, 57)) < 0.4, random.random((30, 57)) < 0.8
    assert (probability(holds, there).share + probability(~holds, there).share == 1.0).all()


def wilson(held: int, n: int) -> tuple[float, float]:
    """Where a share would be so far from what was found that it would be a surprise: the ends, by bisection."""

    def end(inside: float, outside: float) -> float:
        for _ in range(200):
            middle = (inside + outside) / 2
            surprise = abs(held / n - middle) > 1.959963984540054 * math.sqrt(middle * (1 - middle) / n)
            inside, outside = (inside, middle) if surprise else (middle, outside)
        return inside

    return (0.0 if held == 0 else end(held / n, 0.0)), (1.0 if held == n else end(held / n, 1.0))


@pytest.mark.parametrize(("held", "n"), [(0, 1), (1, 1), (3, 10), (0, 40), (40, 40), (999, 1_000), (500, 1_000)])
def test_intervals_of_probabilities_are_wilsons(held: int, n: int) -> None:
    found = of_counts(np.array([held]), np.array([n]))
    low, high = wilson(held, n)
    assert found.low[0] == pytest.approx(low, abs=1e-12)
    assert found.high[0] == pytest.approx(high, abs=1e-12)
    assert 0.0 <= found.low[0] <= found.share[0] <= found.high[0] <= 1.0


def test_a_probability_of_no_worlds() -> None:
    found = probability(np.array([[True, False]]), np.array([[False, False]]))
    assert np.isnan([found.share[0], found.low[0], found.high[0]]).all()


CASES = [(39, 0.95, 1), (38, 0.95, 1), (78, 0.95, 1), (79, 0.95, 2), (1_000, 0.95, 25), (99, 0.9, 5), (1, 0.95, 1)]


@pytest.mark.parametrize(("worlds", "level", "k"), CASES)
def test_an_interval_is_of_order_statistics(worlds: int, level: float, k: int) -> None:
    values = np.random.default_rng(3).permutation(np.arange(1.0, worlds + 1.0)).reshape(1, worlds)
    found = interval(values, level)
    assert (found.low[0], found.high[0]) == (k, worlds + 1 - k)
    assert found.level[0] == (worlds + 1 - 2 * k) / (worlds + 1)
    assert (found.level[0] >= level - 1e-12) == (worlds >= 2 / (1 - level) - 1 - 1e-9)


def test_an_interval_skips_worlds_without_a_value() -> None:
    random = np.random.default_rng(4)
    values, there = random.normal(0.0, 1.0, (12, 300)), random.random((12, 300)) < np.linspace(0.0, 1.0, 12)[:, None]
    found = interval(values, 0.9, there)
    for i in range(12):
        own = interval(values[i, there[i]].reshape(1, -1), 0.9)
        for part, alone in zip((found.low, found.high, found.level), (own.low, own.high, own.level)):
            assert part[i] == alone[0] or (np.isnan(part[i]) and np.isnan(alone[0]))
    odd = interval(np.array([[np.nan, 1.0, np.inf, 2.0]]), 0.5)
    assert odd.low[0] == 1.0
    assert np.isnan(odd.high[0])


@pytest.mark.parametrize("rounds", [39, 100, 400])
def test_an_interval_covers_another_world(rounds: int) -> None:
    rows = identities(6_000)
    worlds = draw_numbers(source(4, "a", "x"), rows, Normal(np.zeros(6_000), np.ones(6_000)), range(rounds + 1))
    found = interval(worlds[:, :rounds], 0.95)
    covered = ((found.low <= worlds[:, rounds]) & (worlds[:, rounds] <= found.high)).mean()
    assert covered == pytest.approx(found.level[0], abs=4 * math.sqrt(0.05 / 6_000))
    assert 0.95 - 1e-12 <= found.level[0] < 0.97


def histogram(values: F64, bins: int, there: Bools | None = None) -> tuple[F64, F64]:
    """The edges and probabilities of one result."""
    counted = np.ones(values.shape, np.bool_) if there is None else there
    found = histograms(values[None, :], bins, counted[None, :])
    (own,) = found.bins.tolist()
    assert not found.probability[0, own:].any()
    return found.edges[0, : own + 1 if own else 0], found.probability[0, :own]


def test_a_histogram_has_bins_of_equal_width() -> None:
    values = np.random.default_rng(5).normal(50.0, 9.0, 1_000)
    edges, shares = histogram(values, 20)
    counts, expected_edges = np.histogram(values, 20)
    assert edges == pytest.approx(expected_edges)
    assert shares.tolist() == (counts / 1_000).tolist()
    assert shares.sum() == pytest.approx(1.0, abs=1e-15)


@given(st.lists(st.lists(st.floats() | st.integers(-3, 3), min_size=7, max_size=7), min_size=1, max_size=4),
       st.integers(1, 40), st.randoms())  # fmt: skip
def test_a_value_is_in_the_last_bin_that_begins_at_or_before_it(rows: Any, bins: int, draw: Any) -> None:
    values = np.array(rows, np.float64)
    there = np.array([[draw.random() < 0.8 for _value in row] for row in rows])
    found = histograms(values, bins, there)
    for row, some, edges, shares, own in zip(values, there, found.edges, found.probability, found.bins.tolist()):
        finite = row[some & np.isfinite(row)] + 0.0
        assert own == (0 if not finite.size else 1 if finite.min() == finite.max() else bins)
        if finite.size:
            assert (edges[0], edges[own]) == (finite.min(), finite.max())
            place = np.minimum(np.searchsorted(edges[: own + 1], finite, "right") - 1, own - 1)
            assert shares[:own].tolist() == (np.bincount(place, minlength=own) / some.sum()).tolist()


@pytest.mark.parametrize(
    ("values", "bins", "edges", "shares"),
    [
        ([], 3, [], []),
        ([4.0, 4.0], 3, [4.0, 4.0], [1.0]),
        ([0.0, -0.0, math.nan, math.inf], 2, [0.0, 0.0], [0.5]),
        ([0.0, 1.0, 2.0, 3.0, 4.0], 4, [0.0, 1.0, 2.0, 3.0, 4.0], [0.2, 0.2, 0.2, 0.4]),
        ([-1.7e308, 1.7e308], 2, [-1.7e308, 0.0, 1.7e308], [0.5, 0.5]),
        ([0.0, 1.0, math.inf, math.nan], 2, [0.0, 0.5, 1.0], [0.25, 0.25]),
        # Three doubles lie between them, so edges repeat, and rounded on their own some would be below the one before.
        ([0.0022898716058976643, 0.0022898716058976656], 31, None, None),
    ],
)
def test_edges_of_histograms(values: list[float], bins: int, edges: Any, shares: Any) -> None:
    found, probability = histogram(np.array(values), bins)
    assert (np.diff(found) >= 0.0).all()
    if edges is None:
        assert probability.sum() == 1.0
    else:
        assert (found.tolist(), probability.tolist()) == (edges, shares)


def test_histograms_skip_worlds_without_a_value() -> None:
    values, there = np.array([1.0, 99.0, 3.0, 2.0]), np.array([True, False, True, True])
    edges, shares = histogram(values, 2, there)
    assert (edges.tolist(), shares.round(3).tolist()) == ([1.0, 2.0, 3.0], [0.333, 0.667])
    with pytest.raises(InternalError):
        histogram(values, 0)


def test_the_likeliest_values() -> None:
    places = np.array([5, 5, 5, 1, 9, 9, 1, 3])
    assert [part.tolist() for part in likeliest(places, 3)] == [[5, 1, 9], [0.375, 0.25, 0.25]]
    assert [part.tolist() for part in likeliest(places, 9, places != 5)] == [[1, 9, 3], [0.4, 0.4, 0.2]]
    assert likeliest(places[:0], 2)[0].size == 0
    with pytest.raises(InternalError):
        likeliest(places, 0)
    with pytest.raises(InternalError):
        interval(np.zeros((1, 1)), 1.0)
