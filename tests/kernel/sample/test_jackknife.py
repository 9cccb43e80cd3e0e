"""Replicates against samples from which rows were taken, and the jackknife against its formula."""

from __future__ import annotations

import numpy as np
import pytest

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.sample.entries import Entries
from punctual.kernel.sample.estimates import estimated, interval, values_freedom
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


def test_replicates_of_a_simple_sample_are_nearly_those_of_the_rest(simple: tuple[F64, I64, I64]) -> None:
    """Of the group that is left out, and of what the others gain by it, the square root of 1 - share."""
    x, row, marks = simple
    found = {f: replicates(f, Entries(3, row, (marks,)), moments_of(x)) for f in ("count", "sum", "avg")}
    told = strata(marks)
    for g in range(GROUPS):
        weight = np.ones(x.size)
        for window in (0, 1):
            own = (told.window == window) & ~told.certain
            left = own & (told.group != g)
            out = np.sqrt(1 - own.sum() / told.population[own][0])
            without = np.where(left, told.population[own][0] / left.sum(), 0.0)
            weight[own] = ((1 - out) * told.weight + out * without)[own]
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
    outs = np.sqrt(0.8), np.sqrt(1 - kept.sum() / 500)
    for g in range(GROUPS):
        without = np.where(first.group == g, 0.0, 5.0 * 32 / 31)
        weight = ((1 - outs[0]) * 5.0 + outs[0] * without) * second.weight
        assert found[:, g] == pytest.approx(np.bincount(row, weight * x, 4))
        left = second.group != g
        without = np.where(left, 500 / left.sum(), 0.0)
        weight = 5.0 * ((1 - outs[1]) * second.weight + outs[1] * without)
        assert found[:, GROUPS + g] == pytest.approx(np.bincount(row, weight * x, 4))


def shed(random: np.random.Generator, x: F64, share: float) -> tuple[F64, I64]:
    """The values and marks of those rows that a share keeps."""
    places = random.random(x.size)
    return x[places < share], share_marks(places[places < share], share)


def test_batches_that_were_shed_differently_go_by_their_own_shares() -> None:
    """The variance of a sum over a tenth of one batch, four fifths of another and all of a third, over many samples."""
    random, squares = np.random.default_rng(23), []
    batches = [(random.gamma(2.0, 1.0, 500), share) for share in (0.1, 0.8, 1.0)]
    for _ in range(300):
        drawn = [shed(random, x, share) for x, share in batches]
        x, marks = (np.concatenate(parts) for parts in zip(*drawn))
        entries = Entries(1, np.zeros(x.size, np.int64), (marks,))
        found = replicates("sum", entries, moments_of(x)) - estimated("sum", entries, moments_of(x))[:, None]
        squares.append((found**2).sum() * 31 / 32)
    truth = sum((1 - share) / share * (x**2).sum() for x, share in batches)
    assert np.mean(squares) == pytest.approx(truth, rel=0.05)


def test_an_answer_does_not_depend_on_those_that_are_answered_with_it() -> None:
    """The same bytes alone and beside rows of other shares, simple samples and exact rows."""
    random = np.random.default_rng(24)
    x = [random.gamma(2.0, 1.0, 300) for _row in range(4)]
    drawn = [shed(random, x[0], 0.5), shed(random, x[1], 0.05), shed(random, x[2], 1.0)]
    kept, marks = row_marks(random.random(300), 0.2, x[3] > 6.0)
    drawn.append((x[3][kept], marks))

    def intervals(rows: list[int]) -> bytes:
        values, marks = (np.concatenate([drawn[row][part] for row in rows]) for part in (0, 1))
        row = np.repeat(np.arange(len(rows)), [drawn[row][0].size for row in rows])
        entries, one, other = Entries(len(rows), row, (marks,)), moments_of(values), moments_of(np.sqrt(values))
        whole = estimated("sum", entries, one) / estimated("sum", entries, other)
        parts = replicates("sum", entries, one) / replicates("sum", entries, other)
        found = jackknife(whole, parts, support(entries, one.count), values_freedom(entries, [one, other]))
        assert found.known.all()
        return np.stack([found.low, found.high])[:, :1].tobytes()

    for first in range(4):
        others = [row for row in range(4) if row != first]
        assert intervals([first]) == intervals([first, *others]) == intervals([first, *others[::-1]])


def test_a_row_in_one_group_has_no_interval(simple: tuple[F64, I64, I64]) -> None:
    x, _row, marks = simple
    lone = np.flatnonzero(strata(marks).group == 3)[:1]
    entries, moments = Entries(1, np.zeros(1, np.int64), (marks[lone],)), moments_of(x[lone])
    parts = replicates("sum", entries, moments)
    assert parts[0, 3] < parts[0, 4]
    assert not jackknife(estimated("sum", entries, moments), parts, support(entries, moments.count)).known.any()


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
    parts = np.random.default_rng(3).normal(1.0, 0.1, (4, GROUPS))
    assert jackknife(np.ones(4), parts, found).known.tolist() == [True, True, False, True]


def test_the_jackknife_of_a_sum_is_close_to_its_formula() -> None:
    """Over many samples both have the same variance on average."""
    random, both = np.random.default_rng(9), []
    x = random.normal(3.0, 1.0, 1_000)
    for _ in range(200):
        kept, marks = row_marks(random.random(1_000), 0.32, np.zeros(1_000, np.bool_))
        entries, moments = Entries(1, np.zeros(kept.sum(), np.int64), (marks,)), moments_of(x[kept])
        whole = estimated("sum", entries, moments)
        by_groups = jackknife(whole, replicates("sum", entries, moments), support(entries, moments.count))
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
    one = jackknife(whole, parts, half)
    squares = [((parts[0, at : at + GROUPS] - 50.0) ** 2).sum() for at in (0, GROUPS)]
    assert (one.high - 50.0)[0] == pytest.approx(2.03951 * np.sqrt(squares[0] * 31 / 32), rel=1e-4)
    two = jackknife(whole, parts, both)
    assert (two.high - 50.0)[0] == pytest.approx(2.03951 * np.sqrt(sum(squares) * 31 / 32), rel=1e-4)
    assert (two.low + two.high)[0] == pytest.approx(100.0)


def test_one_group_that_decides_all_leaves_no_interval() -> None:
    whole, parts = np.full(1, 50.0), np.full((1, GROUPS), 50.01)
    yes = np.array([[True]])
    rests_on = Support(np.array([[32]]), yes, yes)
    even = parts + np.random.default_rng(1).normal(0.0, 1.0, parts.shape)
    assert jackknife(whole, even, rests_on).known.all()
    parts[0, 5] = 40.0
    assert not jackknife(whole, parts, rests_on).known.any()
    with_certain_part = Support(rests_on.groups, yes, ~yes)
    assert jackknife(whole, parts, with_certain_part).known.all()


def test_values_say_how_many_degrees_of_freedom_there_are() -> None:
    """Then groups are not asked: neither do they widen intervals, nor do they refuse them."""
    parts = np.full((4, GROUPS), 50.01)
    parts[:, 5] = 40.0
    rests_on = Support(np.array([[32], [32], [9], [32]]), np.ones((4, 1), np.bool_), np.ones((4, 1), np.bool_))
    found = jackknife(np.full(4, 50.0), parts, rests_on, np.array([2.0, 500.0, 20.0, np.nan]))
    assert found.known.tolist() == [True, True, True, False]
    error = np.sqrt(((parts[0] - 50.0) ** 2).sum() * 31 / 32)
    assert (found.high - 50.0)[:3] / error == pytest.approx([4.30265, 2.03951, 2.30600], rel=1e-5)


def test_where_nothing_differs_nothing_is_known() -> None:
    """A part of the rows of which the sample has none: nobody knows that there are none."""
    sampled, exact = np.array([[True], [True], [False]]), np.zeros((3, 1), np.bool_)
    found = jackknife(np.array([0.0, 7.0, 7.0]), np.array([[0.0], [7.0], [7.0]]) * np.ones(GROUPS),
                      Support(np.full((3, 1), 32), sampled, exact))  # fmt: skip
    assert found.known.tolist() == [False, False, True]
    assert (found.low[2], found.high[2]) == (7.0, 7.0)


def test_what_is_no_number_has_no_interval() -> None:
    rests_on = Support(np.full((3, 1), 32), np.ones((3, 1), np.bool_), np.ones((3, 1), np.bool_))
    parts = np.random.default_rng(2).normal(5.0, 1.0, (3, GROUPS))
    parts[1, 4], parts[2, 7] = np.nan, np.inf
    found = jackknife(np.array([5.0, 5.0, 5.0]), parts, rests_on)
    assert found.known.tolist() == [True, False, False]
    assert np.isnan(found.low[1:]).all()
