"""Kernels of possible worlds mean the same interpreted as compiled, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from punctual.kernel.draw import (
    Normal,
    Uniform,
    Weighted,
    count_laws,
    draw_numbers,
    draw_places,
    empirical,
    existing,
    expected,
    finished,
    fold,
    interpolated,
    merged,
    nearest,
    normal_above,
    source,
    stretches,
    three_moments,
)
from punctual.kernel.draw.folds import Function
from tests.kernel.draw.plain import identities
from tests.kernel.test_compiled import kernels

FUNCTIONS: tuple[Function, ...] = ("count", "sum", "avg", "min", "max")


def outcome() -> list[Any]:
    random = np.random.default_rng(1)
    n = 12
    rows, drawn_from, rounds = identities(n), source(1, "a", "x"), range(3, 12)
    number, group, observed = np.arange(n), random.integers(0, 3, n), np.arange(n) < 8
    asked, middle, wide = number[8:], random.normal(0.0, 30.0, n), random.random(n)
    found: list[Any] = []
    choices: list[Any] = [
        empirical(group, observed, number, asked)[0],
        interpolated(group, number, observed, number, asked, 6)[0],
        nearest(np.column_stack([middle, wide]), number, observed, number, asked, 3)[0],
        Weighted.of_lists(np.array([0, 3, 3, 40, 44]), random.random(44)),
    ]
    for choice in choices:
        places = draw_places(drawn_from, rows[:4], choice, rounds)
        found += [places, *three_moments(choice, random.normal(0.0, 1.0, 50))]
    present = existing(drawn_from, stretches(rows, wide / 4, rows // np.uint64(3)), rounds)
    found += [draw_numbers(drawn_from, rows, Uniform(middle, middle + wide), rounds), present]
    values = draw_numbers(drawn_from, rows, Normal(middle, wide), rounds)
    values[1, 2] = np.inf
    folded = merged(fold(FUNCTIONS, group, 3, values, present), fold(FUNCTIONS, group, 3, values))
    for function in FUNCTIONS:
        found += finished(function, folded)
    with np.errstate(invalid="ignore"):
        one = expected(values, present)
        found += [one.mean, one.low, one.high]
    found += [normal_above(middle, wide, 1.0), *(law.probability for law in count_laws(group, 3, wide))]
    return found


def test_interpreted_kernels_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = outcome()
    for module, name, kernel in list(kernels()):
        monkeypatch.setattr(module, name, kernel.py_func)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = outcome()
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(one, other)
