"""What marks say, and which rows are kept for certain."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from punctual.errors import InternalError
from punctual.kernel.sample import marks as module
from punctual.kernel.sample.certain import certain_rows
from punctual.kernel.sample.marks import CERTAIN, GROUPS, LEAST, group_size, rounded, row_marks, share_marks, strata


def uncertain(size: int) -> np.ndarray:
    return np.zeros(size, np.bool_)


def test_every_field_survives() -> None:
    largest = 2**26 - 1
    for group, window, poisson, a, b in product((0, 31, 32), (0, 31), (False, True), (1, largest), (1, largest)):
        told = strata(module._packed(np.array([group]), window, poisson, a, b))
        fields = (told.group[0], told.window[0], told.poisson[0], told.sampled[0], told.population[0])
        assert fields == (group, window, poisson, a, b)
        assert told.weight[0] == (1.0 if group == CERTAIN else b / a)
    with pytest.raises(InternalError, match="window"):
        share_marks(np.zeros(1), 0.5, window=32)


def test_shares_are_multiples_of_a_ten_thousandth() -> None:
    assert [rounded(share) for share in (0.0, 0.00004, 0.33333, 0.99999, 1.0)] == [0.0001, 0.0001, 0.3333, 1.0, 1.0]
    with pytest.raises(InternalError, match="share"):
        rounded(1.1)
    for k in range(1, 10_001, 7):
        assert rounded(k / 10_000) == k / 10_000


def test_row_marks_count_rows_and_sample() -> None:
    random = np.random.default_rng(2)
    places, certain = random.random(1_000), random.random(1_000) < 0.1
    kept, marks = row_marks(places, 0.3, certain, window=7)
    assert (kept == (certain | (places < 0.3))).all()
    told = strata(marks)
    assert (told.certain == certain[kept]).all()
    assert set(told.population.tolist()) == {int((~certain).sum())}
    assert set(told.sampled.tolist()) == {int((~certain & (places < 0.3)).sum())}
    assert set(told.window.tolist()) == {7}
    assert not told.poisson.any()
    assert told.weight.sum() == pytest.approx(1_000)


@pytest.mark.parametrize("size", [0, 1, 5, 33, 200, 1_000])
def test_nothing_is_missing_when_all_rows_are_kept(size: int) -> None:
    places = np.random.default_rng(1).random(size)
    for kept, marks in (
        row_marks(places, 1.0, uncertain(size)),
        row_marks(places, 0.5, ~uncertain(size)),
        row_marks(places / 2, 0.5, uncertain(size)),
    ):
        assert kept.all()
        assert (strata(marks).weight == 1.0).all()
        assert not strata(marks).thinned.any()
    assert not strata(share_marks(places, 1.0)).thinned.any()


def test_a_window_keeps_two_rows_at_least() -> None:
    places = np.array([0.9, 0.5, 0.7, 0.6])
    kept, marks = row_marks(places, 0.01, np.array([True, False, False, False]))
    assert kept.tolist() == [True, True, False, True]
    assert strata(marks).weight.tolist() == [1.0, 1.5, 1.5]
    assert LEAST == 2


def test_a_certain_row_says_that_others_are_missing() -> None:
    kept, marks = row_marks(np.array([0.1, 0.2, 0.9, 0.95]), 0.5, np.array([False, False, False, True]))
    assert kept.tolist() == [True, True, False, True]
    assert strata(marks).thinned.all()


@pytest.mark.parametrize("size", [2, 3, 31, 32, 33, 100, 4_099])
def test_groups_of_a_simple_sample_have_known_sizes(size: int) -> None:
    places = np.random.default_rng(size).random(size * 2)
    share = float(np.sort(places)[size])
    _kept, marks = row_marks(places, share, uncertain(places.size))
    told = strata(marks)
    counts = np.bincount(told.group, minlength=GROUPS)
    every = np.arange(GROUPS)
    assert (counts == group_size(np.full(GROUPS, size), every)).all()
    assert counts.max() - counts.min() <= 1
    ordered = told.group[np.argsort(places[places < share])]
    assert (np.diff(ordered) >= 0).all()


def test_groups_of_keys_are_stretches_of_their_places() -> None:
    places = np.random.default_rng(5).random(10_000) * 0.2
    told = strata(share_marks(places, 0.2))
    assert (told.group == np.floor(places / 0.2 * 32)).all()
    assert told.poisson.all()
    assert (told.weight == 5.0).all()


def test_windows_too_large_for_the_bits_tell_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 127)
    places = np.random.default_rng(3).random(1_000)
    _kept, marks = row_marks(places, 0.25, uncertain(1_000))
    told = strata(marks)
    assert told.poisson.all()
    assert told.weight[0] == pytest.approx(1_000 / (places < 0.25).sum(), rel=0.02)


def test_the_largest_rows_are_certain() -> None:
    x = np.random.default_rng(4).normal(size=1_000)
    x[::7] = np.nan
    certain, (threshold,) = certain_rows([x])
    there = np.sort(np.abs(x[~np.isnan(x)]))
    assert certain.sum() == np.ceil(0.05 * there.size)
    assert threshold == there[-certain.sum()]
    assert (certain == (np.abs(np.nan_to_num(x)) >= threshold)).all()


def test_small_windows_and_several_columns() -> None:
    a, b = np.arange(100.0), np.arange(100.0)[::-1].copy()
    certain, thresholds = certain_rows([a, b])
    assert np.flatnonzero(certain).tolist() == [*range(8), *range(92, 100)]
    assert thresholds == [92.0, 92.0]
    few, _ = certain_rows([np.array([1.0, np.nan, -3.0])])
    assert few.tolist() == [True, False, True]
    missing, (threshold,) = certain_rows([np.full(4, np.nan)])
    assert not missing.any()
    assert threshold == np.inf


def test_ties_are_certain_unless_there_are_many() -> None:
    tied = np.array([*[1.0] * 90, *[5.0] * 3, *[7.0] * 7])
    assert certain_rows([tied])[0].sum() == 10
    flags = np.repeat([0.0, 1.0], 500)
    assert certain_rows([flags])[0].sum() == 0
    rare = np.repeat([0.0, 1.0], [980, 20])
    assert (certain_rows([rare])[0] == (rare > 0)).all()
    infinite = np.array([*[1.0] * 99, np.inf])
    assert np.flatnonzero(certain_rows([infinite])[0]).tolist() == [99]
