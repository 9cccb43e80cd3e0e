"""Bundles of every distribution: their moments and laws, their pieces, and their edges."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.draw import (
    Among,
    Between,
    Normal,
    Source,
    Uniform,
    Weighted,
    draw_numbers,
    draw_places,
    moments,
    source,
    three_moments,
    uniforms,
    values_at,
)
from tests.kernel.draw.plain import SURPRISE, distance, identities, normal_law

SPEEDS = source(11, "speed", "kmh")
N = 60


def distributions(n: int = N) -> dict[str, Any]:
    random = np.random.default_rng(4)
    offsets = np.append(0, np.cumsum(random.integers(1, 70, n)))
    weights = random.random(int(offsets[-1])) * (random.random(int(offsets[-1])) < 0.7) + 1e-9
    sizes = random.integers(1, 12, n)
    return {
        "normal": Normal(random.normal(50.0, 20.0, n), random.random(n) * 5.0),
        "uniform": Uniform(-random.random(n), random.random(n) * 9.0),
        "weighted": Weighted.of_lists(offsets, weights),
        "among": Among(random.integers(0, 20, n), sizes, random.integers(0, 500, 40)),
        "between": Between(random.integers(0, 500, n), random.integers(0, 500, n), random.random(n)),
    }


def drawn(drawn_from: Source, rows: Any, distribution: Any, rounds: range) -> Any:
    number = isinstance(distribution, Normal | Uniform)
    return (draw_numbers if number else draw_places)(drawn_from, rows, distribution, rounds)


@pytest.mark.parametrize("name", list(distributions()))
def test_pieces_orders_and_threads_give_the_same_bytes(name: str) -> None:
    rows, distribution = identities(N), distributions()[name]
    whole = drawn(SPEEDS, rows, distribution, range(77))
    pieces = [drawn(SPEEDS, rows, distribution, range(a, b)) for a, b in ((0, 1), (1, 30), (30, 31), (31, 77))]
    assert np.concatenate(pieces, axis=1).tobytes() == whole.tobytes()
    order = np.random.default_rng(1).permutation(N)

    def piece(some: Any) -> tuple[Any, Any, Any]:
        part = distribution.take(some)
        return some, part, drawn(SPEEDS, rows[some], part, range(77))

    with ThreadPoolExecutor(3) as threads:
        for some, part, values in threads.map(piece, np.array_split(order, 7)):
            if name == "weighted":  # places count in the lists of the rows that were taken
                values = values - part.offsets[:-1, None] + distribution.offsets[some][:, None]
            assert values.tobytes() == whole[some].tobytes()


@pytest.mark.parametrize("name", list(distributions()))
def test_means_and_variances(name: str) -> None:
    distribution, rounds = distributions()[name], 4_000
    values = np.random.default_rng(8).normal(0.0, 3.0, 5_000)
    found = drawn(SPEEDS, identities(N), distribution, range(rounds))
    if found.dtype == np.int64:
        found = values_at(found, values)
    mean, variance, third = three_moments(distribution, values)
    for one, other in zip(moments(distribution, values), (mean, variance), strict=True):
        np.testing.assert_array_equal(one, other)
    open_ones = variance > 0.0
    errors = ((found.mean(axis=1) - mean) / np.sqrt(np.where(open_ones, variance, 1.0) / rounds))[open_ones]
    assert errors.size > N // 2
    assert np.abs(errors).max() < 4.0
    assert (errors**2).mean() == pytest.approx(1.0, abs=4 * np.sqrt(2 / N))
    assert found.var(axis=1).sum() == pytest.approx(variance.sum(), rel=0.05)
    cubes = (found - mean[:, None])[open_ones] ** 3
    off = (cubes.mean(axis=1) - third[open_ones]) / np.maximum(cubes.std(axis=1) / np.sqrt(rounds), 1e-12)
    assert (np.abs(off) < 3.0).mean() > 0.97


def test_laws_of_numbers() -> None:
    rows = identities(40)
    normal = draw_numbers(SPEEDS, rows, Normal(np.full(40, 7.0), np.full(40, 2.0)), range(1_000))
    assert distance((normal - 7.0) / 2.0, normal_law) < SURPRISE
    uniform = draw_numbers(SPEEDS, rows, Uniform(np.full(40, -1.0), np.full(40, 3.0)), range(1_000))
    assert distance(uniform, lambda x: (x + 1.0) / 4.0) < SURPRISE


@settings(derandomize=True, deadline=None, max_examples=80, database=None)
@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.0, 0.1, 1.0, 3.0, 1e-300, 1e300]), max_size=40), min_size=1, max_size=6)
)
def test_a_weighted_place_is_the_first_whose_share_is_beyond_the_number(lists: list[list[float]]) -> None:
    offsets = np.append(0, np.cumsum([len(weights) for weights in lists]))
    flat = np.array([weight for weights in lists for weight in weights])
    rows = identities(len(lists))
    found = draw_places(SPEEDS, rows, Weighted.of_lists(offsets, flat), range(50))
    numbers = uniforms(SPEEDS, rows, range(50))
    for i, weights in enumerate(lists):
        possible = [place for place, weight in enumerate(weights) if weight > 0.0]
        total = 0.0
        for weight in weights:
            total += weight
        for place, number in zip(found[i].tolist(), numbers[i].tolist()):
            if not possible:
                assert place == (-1 if not weights else offsets[i])
                continue
            running, expected = 0.0, possible[-1]
            for at, weight in enumerate(weights):
                running += weight
                if running > number * total:
                    expected = at
                    break
            assert place == offsets[i] + expected


def test_weights_are_met() -> None:
    weights = np.array([1.0, 0.0, 2.0, 5.0])
    found = draw_places(
        SPEEDS, identities(100), Weighted.of_lists(np.arange(101) * 4, np.tile(weights, 100)), range(200)
    )
    counts = np.bincount((found % 4).ravel(), minlength=4)
    expected = found.size * weights / weights.sum()
    assert counts[1] == 0
    assert np.abs(counts - expected)[[0, 2, 3]].max() < 4 * np.sqrt(expected.max())


def test_one_of_several_is_as_likely_as_the_others() -> None:
    found = draw_places(SPEEDS, identities(100), Among(np.full(100, 2), np.full(100, 5), np.arange(9)), range(500))
    counts = np.bincount(found.ravel(), minlength=9)
    assert counts[:2].sum() == counts[7:].sum() == 0
    assert np.abs(counts[2:7] - found.size / 5).max() < 4 * np.sqrt(found.size / 5)


def test_nothing_to_choose_from() -> None:
    rows = identities(2)
    none = draw_places(SPEEDS, rows, Among(np.zeros(2, np.int64), np.array([0, 1]), np.array([3])), range(2))
    assert none.tolist() == [[-1, -1], [3, 3]]
    assert np.isnan(values_at(none, np.arange(4.0))).tolist() == [[True, True], [False, False]]
    lists = Weighted.of_lists(np.array([0, 0, 1]), np.array([2.0]))
    assert draw_places(SPEEDS, rows, lists, range(2)).tolist() == [[-1, -1], [0, 0]]


def test_a_neighbour_that_is_certain() -> None:
    either = Between(np.array([4, 4]), np.array([9, 9]), np.array([1.0, 0.0]))
    assert draw_places(SPEEDS, identities(2), either, range(300)).min(axis=1).tolist() == [4, 9]
    assert draw_places(SPEEDS, identities(2), either, range(300)).max(axis=1).tolist() == [4, 9]


def test_a_deviation_of_zero_and_no_rows_or_rounds() -> None:
    rows = identities(3)
    flat = Normal(np.array([1.5, -2.0, 0.1]), np.zeros(3))
    assert (draw_numbers(SPEEDS, rows, flat, range(5, 9)) == flat.mean[:, None]).all()
    assert draw_numbers(SPEEDS, rows, flat, range(5, 5)).shape == (3, 0)
    assert draw_numbers(SPEEDS, rows[:0], flat.take(np.zeros(0, np.int64)), range(4)).shape == (0, 4)


def test_parameters_that_mean_nothing() -> None:
    odd = np.array([1.0, np.nan, np.inf, 1.0, 1.0])
    assert Normal(odd, np.array([0.0, 1.0, 1.0, -1.0, np.nan])).faulty().tolist() == [False, True, True, True, True]
    assert Uniform(odd, np.array([1.0, 2.0, 2.0, 0.5, np.inf])).faulty().tolist() == [False, True, True, True, True]
    weights = np.array([0.0, 1.0, np.nan, 1.0, np.inf])
    assert Weighted.faulty(np.array([0, 2, 3, 5, 5]), weights).tolist() == [False, True, True, True]
