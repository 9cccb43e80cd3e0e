"""Replicates against samples from which rows were taken, and the jackknife against its formula."""

from __future__ import annotations

import numpy as np
import pytest

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.sample.entries import Entries
from punctual.kernel.sample.estimates import estimated, interval
from punctual.kernel.sample.jackknife import Support, jackknife, replicates, support
from punctual.kernel.sample.marks import CERTAIN, GROUPS, row_marks, share_marks, strata
from tests.kernel.sample.simulation import moments_of


@pytest.fixture(scope="module")
def simple() -> tuple[F64, I64, I64]:
    """Values, output rows and marks of a simple sample with a certain part, of two windows."""
    random = np.random.default_rng(6)
    parts = []
    for window, size in enumerate((300, 61)):
        x = random.normal(4.0, 1.0, size)
        kept, marks = row_marks(random.random(size), 0.35, x > 5.5, window=window)
        parts.append((x[kept], random.integers(0, 3, kept.sum()), marks))
    x, row, marks = (np.concatenate(part) for part in zip(*parts))
    return x, row, marks


def test_replicates_of_a_simple_sample_are_those_of_the_rest(simple: tuple[F64, I64, I64]) -> None:
    x, row, marks = simple
    found = {f: replicates(f, Entries(3, row, (marks,)), moments_of(x)) for f in ("count", "sum", "avg")}
    told = strata(marks)
    for g in range(GROUPS):
        weight = np.ones(x.size)
        for window in (0, 1):
            own = (told.window == window) & ~told.certain
            left = own & (told.group != g)
            weight[own & ~left] = 0.0
            weight[left] = told.population[own][0] / left.sum()
        count, total = np.bincount(row, weight, 3), np.bincount(row, weight * x, 3)
        assert found["count"][:, g] == pytest.approx(count)
        assert found["sum"][:, g] == pytest.approx(total)
        assert found["avg"][:, g] == pytest.approx(total / count)


def test_replicates_of_keys_and_of_two_inputs() -> None:
    random = np.random.default_rng(7)
    x, row = random.normal(4.0, 1.0, 500), random.integers(0, 4, 500)
    places, (kept, marks) = random.random(500) * 0.2, row_marks(random.random(500), 0.5, np.zeros(500, np.bool_))
    x, row, one = x[kept], row[kept], share_marks(places[kept], 0.2)
    found = replicates("sum", Entries(4, row, (one, marks)), moments_of(x))
    assert found.shape == (4, 2 * GROUPS)
    first, second = strata(one), strata(marks)
    for g in range(GROUPS):
        weight = np.where(first.group == g, 0.0, 5.0 * 32 / 31) * second.weight
        assert found[:, g] == pytest.approx(np.bincount(row, weight * x, 4))
        left = second.group != g
        weight = 5.0 * np.where(left, 500 / left.sum(), 0.0)
        assert found[:, GROUPS + g] == pytest.approx(np.bincount(row, weight * x, 4))


def test_a_row_that_loses_everything_has_no_average(simple: tuple[F64, I64, I64]) -> None:
    x, _row, marks = simple
    group = strata(marks).group
    lone = np.flatnonzero(group == 3)[:1]
    entries = Entries(1, np.zeros(1, np.int64), (marks[lone],))
    assert replicates("sum", entries, moments_of(x[lone]))[0, 3] == pytest.approx(0.0)
    assert np.isnan(replicates("avg", entries, moments_of(x[lone]))[0, 3])


def test_groups_that_a_row_rests_on(simple: tuple[F64, I64, I64]) -> None:
    x, row, marks = simple
    x = np.where(row == 2, np.nan, x)
    exact = row_marks(np.zeros(1), 1.0, np.ones(1, np.bool_))[1]
    entries = Entries(4, np.append(row, 3), (np.append(marks, exact),))
    found = support(entries, moments_of(np.append(x, 1.0)).count)
    group = strata(marks).group
    expected = [np.unique(group[(row == r) & (group != CERTAIN)]).size for r in (0, 1)]
    assert found.groups[:, 0].tolist() == [*expected, 0, 0]
    assert found.thinned[:, 0].tolist() == [True, True, True, False]
    assert not found.poisson.any()
    keys = Entries(2, np.array([0, 1]), (np.append(share_marks(np.array([0.1]), 0.3), exact),))
    assert support(keys, np.ones(2)).poisson[:, 0].tolist() == [True, False]
    assert jackknife(np.ones(4), np.ones((4, GROUPS)), found, [0.3]).known.tolist() == [True, True, False, True]


def test_the_jackknife_of_a_sum_is_close_to_its_formula() -> None:
    """Over many samples both have the same variance on average."""
    random, both = np.random.default_rng(9), []
    x = random.normal(3.0, 1.0, 1_000)
    for _ in range(200):
        kept, marks = row_marks(random.random(1_000), 0.32, np.zeros(1_000, np.bool_))
        entries, moments = Entries(1, np.zeros(kept.sum(), np.int64), (marks,)), moments_of(x[kept])
        whole = estimated("sum", entries, moments)
        by_groups = jackknife(whole, replicates("sum", entries, moments), support(entries, moments.count), [0.32])
        by_formula = interval("sum", entries, moments)
        both.append([by_groups.high[0] - whole[0], by_formula.high[0] - whole[0]])
    groups, formula = np.square(np.array(both)).mean(axis=0)
    # Student's quantile of 31 degrees of freedom, or somewhat fewer, is 4 to 6 % above that of 300.
    assert 1.02 < np.sqrt(groups / formula) < 1.08


def test_variances_of_inputs_add_and_exact_inputs_have_none() -> None:
    random = np.random.default_rng(10)
    apart = [random.normal(0.0, 0.3, GROUPS // 2) for _input in range(2)]
    # As many above as below: no skewness, and Student's quantile is that of 31 degrees of freedom.
    whole, parts = np.full(1, 50.0), 50.0 + np.concatenate([part for one in apart for part in (one, -one)])[None, :]
    half = Support(np.array([[32, 0]]), np.array([[True, False]]), np.array([[True, False]]))
    both = Support(np.array([[32, 32]]), np.array([[True, True]]), np.array([[True, True]]))
    one = jackknife(whole, parts, half, [0.36, 1.0])
    squares = [((parts[0, at : at + GROUPS] - 50.0) ** 2).sum() for at in (0, GROUPS)]
    assert (one.high - 50.0)[0] == pytest.approx(2.03951 * np.sqrt(0.64 * squares[0] * 31 / 32), rel=1e-4)
    two = jackknife(whole, parts, both, [0.36, 0.75])
    assert (two.high - 50.0)[0] == pytest.approx(
        2.03951 * np.sqrt((0.64 * squares[0] + 0.25 * squares[1]) * 31 / 32), rel=1e-4
    )
    assert (two.low + two.high)[0] == pytest.approx(100.0)


def test_one_group_that_decides_all_leaves_no_interval() -> None:
    whole, parts = np.full(1, 50.0), np.full((1, GROUPS), 50.01)
    yes = np.array([[True]])
    rests_on = Support(np.array([[32]]), yes, yes)
    even = parts + np.random.default_rng(1).normal(0.0, 1.0, parts.shape)
    assert jackknife(whole, even, rests_on, [0.3]).known.all()
    parts[0, 5] = 40.0
    assert not jackknife(whole, parts, rests_on, [0.3]).known.any()
    with_certain_part = Support(rests_on.groups, yes, ~yes)
    assert jackknife(whole, parts, with_certain_part, [0.3]).known.all()


def test_what_is_no_number_has_no_interval() -> None:
    rests_on = Support(np.full((3, 1), 32), np.ones((3, 1), np.bool_), np.ones((3, 1), np.bool_))
    parts = np.random.default_rng(2).normal(5.0, 1.0, (3, GROUPS))
    parts[1, 4], parts[2, 7] = np.nan, np.inf
    found = jackknife(np.array([5.0, 5.0, 5.0]), parts, rests_on, [0.3])
    assert found.known.tolist() == [True, False, False]
    assert np.isnan(found.low[1:]).all()
