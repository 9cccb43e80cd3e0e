"""Estimates and their variances against all samples there are, and against plain formulas over the rows."""

from __future__ import annotations

from itertools import combinations, product
from typing import Literal

import numpy as np
import pytest

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.sample.entries import Entries, Moments
from punctual.kernel.sample.estimates import estimated, interval, values_freedom
from punctual.kernel.sample.exact_counts import of_poisson_sample, of_simple_sample
from punctual.kernel.sample.marks import row_marks, share_marks
from punctual.kernel.sample.quantiles import student_t
from tests.kernel.sample.simulation import moments_of

VALUES = np.array([3.0, -1.0, 4.0, 1.5, 9.0, 2.5, 6.0])
GROUP = np.array([0, 1, 0, 1, 0, 0, 1])
FUNCTIONS: tuple[Literal["count", "sum", "avg"], ...] = ("count", "sum", "avg")


def simple(chosen: tuple[int, ...], size: int, certain: tuple[int, ...] = ()) -> tuple[I64, I64]:
    """The rows and marks of a simple sample that has these rows of so many."""
    places = np.full(size, 0.9)
    places[list(chosen)] = np.linspace(0.1, 0.4, len(chosen))
    sure = np.zeros(size, np.bool_)
    sure[list(certain)] = True
    kept, marks = row_marks(places, 0.5, sure)
    return np.flatnonzero(kept), marks


def without_cubes(x: F64) -> Moments:
    of = moments_of(x)
    return Moments(of.count, of.sum, of.squares)


def test_all_simple_samples_have_the_truth_for_their_mean() -> None:
    found = []
    for chosen in combinations(range(7), 4):
        rows, marks = simple(chosen, 7)
        entries = Entries(2, GROUP[rows], (marks,))
        found.append([estimated(f, entries, moments_of(VALUES[rows])) for f in ("count", "sum")])
    count, total = np.nan_to_num(np.array(found)).mean(axis=0)
    assert count == pytest.approx(np.bincount(GROUP))
    assert total == pytest.approx(np.bincount(GROUP, VALUES))


def test_all_simple_samples_have_their_variance_for_the_mean_of_estimated_ones() -> None:
    values, variances = [], []
    for chosen in combinations(range(6), 4):  # row 6 is certain
        rows, marks = simple(chosen, 7, certain=(6,))
        entries = Entries(1, np.zeros(rows.size, np.int64), (marks,))
        found = interval("sum", entries, without_cubes(VALUES[rows]))
        values.append(estimated("sum", entries, moments_of(VALUES[rows]))[0])
        variances.append(((found.high[0] - found.low[0]) / 2 / student_t(np.array([3]))[0]) ** 2)
    assert np.mean(values) == pytest.approx(VALUES.sum())
    assert np.mean(variances) == pytest.approx(np.var(values))


def test_all_poisson_samples_have_the_truth_for_their_mean() -> None:
    share, mean, likely = 0.25, np.zeros((2, 2)), 0.0
    for chosen in product((False, True), repeat=7):
        rows = np.flatnonzero(chosen)
        chance = share**rows.size * (1 - share) ** (7 - rows.size)
        entries = Entries(2, GROUP[rows], (share_marks(np.full(rows.size, 0.1), share),))
        found = [estimated(f, entries, moments_of(VALUES[rows])) for f in ("count", "sum")]
        mean += chance * np.nan_to_num(np.array(found))
        likely += chance
    assert likely == pytest.approx(1.0)
    assert mean == pytest.approx(np.array([np.bincount(GROUP), np.bincount(GROUP, VALUES)]))


@pytest.fixture(scope="module")
def window() -> tuple[F64, I64, F64]:
    random = np.random.default_rng(8)
    return random.normal(5.0, 2.0, 2_400), random.integers(0, 3, 2_400), random.random(2_400)


def test_intervals_of_a_simple_sample_are_those_of_the_formula(window: tuple[F64, I64, F64]) -> None:
    x, group, places = window
    certain = x > 9.0
    kept, marks = row_marks(places, 0.4, certain)
    entries = Entries(3, group[kept], (marks,))
    drawn = kept & ~certain
    population, n = int((~certain).sum()), int(drawn.sum())
    weight = population / n
    for g in range(3):
        own = group == g
        inside, sure = own[drawn], own & certain
        m = int(inside.sum())
        freedom = np.array([m - 1])
        counted = weight * m + sure.sum()
        summed = weight * x[drawn & own].sum() + x[sure].sum()
        mean = summed / counted
        each = {
            "count": (counted, inside.astype(float)),
            "sum": (summed, np.where(inside, x[drawn], 0.0)),
            "avg": (mean, np.where(inside, x[drawn] - mean, 0.0) / counted),
        }
        for function in FUNCTIONS:
            value, y = each[function]
            spread = student_t(freedom)[0] * np.sqrt(population**2 * (1 - n / population) / n * np.var(y, ddof=1))
            found = interval(function, entries, without_cubes(x[kept]))
            assert estimated(function, entries, moments_of(x[kept]))[g] == pytest.approx(value)
            assert (found.low[g], found.high[g]) == (pytest.approx(value - spread), pytest.approx(value + spread))


def test_intervals_of_a_poisson_sample_are_those_of_the_formula(window: tuple[F64, I64, F64]) -> None:
    x, group, places = window
    share = np.where(np.arange(2_400) < 800, 0.5, 0.8)  # two batches of a window
    kept = places < share
    marks = np.concatenate([share_marks(places[:800][kept[:800]], 0.5), share_marks(places[800:][kept[800:]], 0.8)])
    entries = Entries(3, group[kept], (marks,))
    for g in range(3):
        own = kept & (group == g)
        weight = 1 / share[own]
        mean = (weight * x[own]).sum() / weight.sum()
        each = {
            "count": (weight.sum(), np.ones(own.sum())),
            "sum": ((weight * x[own]).sum(), x[own]),
            "avg": (mean, (x[own] - mean) / weight.sum()),
        }
        for function in FUNCTIONS:
            value, y = each[function]
            spread = student_t(np.array([own.sum() - 1]))[0] * np.sqrt(((1 - 1 / weight) * weight**2 * y**2).sum())
            found = interval(function, entries, moments_of(x[kept]))
            assert (found.low[g], found.high[g]) == (pytest.approx(value - spread), pytest.approx(value + spread))


def test_rows_of_one_mark_may_come_together(window: tuple[F64, I64, F64]) -> None:
    x, group, places = window
    kept, marks = row_marks(places, 0.4, x > 9.0)
    one = Entries(3, group[kept], (marks,)), moments_of(x[kept])
    pairs, where = np.unique(np.column_stack([group[kept], marks]), axis=0, return_inverse=True)
    assert len(pairs) < marks.size / 3
    many = Moments(*(np.bincount(where.ravel(), of) for of in (one[1].count, one[1].sum, one[1].squares, one[1].cubes)))
    other = Entries(3, pairs[:, 0].copy(), (pairs[:, 1].copy(),)), many
    for function in FUNCTIONS:
        assert estimated(function, *one) == pytest.approx(estimated(function, *other))
        assert interval(function, *one).low == pytest.approx(interval(function, *other).low)


def test_a_count_of_every_row_is_known_if_it_is_said(window: tuple[F64, I64, F64]) -> None:
    x, _group, places = window
    kept, marks = row_marks(places, 0.4, x > 9.0)
    entries, moments = Entries(1, np.zeros(marks.size, np.int64), (marks,)), moments_of(x[kept])
    sure = interval("count", entries, moments, all_rows=True)
    assert sure.low[0] == pytest.approx(2_400)
    assert sure.high[0] == pytest.approx(2_400)
    # A group that happens to have every sampled row may lack some that are not sampled.
    guessed = interval("count", entries, moments)
    assert kept.sum() < guessed.low[0] < 2_400 <= guessed.high[0] + 1e-9


def test_weights_of_several_inputs_multiply() -> None:
    one, other = share_marks(np.array([0.1, 0.2]), 0.5), share_marks(np.array([0.1, 0.2]), 0.25)
    entries = Entries(1, np.zeros(2, np.int64), (one, other))
    assert estimated("sum", entries, moments_of(np.array([1.0, 2.0]))).tolist() == [24.0]
    with pytest.raises(InternalError, match="jackknife"):
        interval("sum", entries, moments_of(np.array([1.0, 2.0])))


def test_nothing_sampled_away_is_exact() -> None:
    _kept, marks = row_marks(np.random.default_rng(1).random(5), 1.0, np.zeros(5, np.bool_))
    x = np.array([1.0, np.nan, 2.0, np.inf, 4.0])
    entries = Entries(3, np.array([0, 0, 0, 1, 1]), (marks,))
    for function, expected in (("count", [2, 2, 0]), ("sum", [3, np.inf, np.nan]), ("avg", [1.5, np.inf, np.nan])):
        value, found = estimated(function, entries, moments_of(x)), interval(function, entries, moments_of(x))
        assert value.tolist() == pytest.approx(expected, nan_ok=True)
        assert found.low.tolist() == pytest.approx(expected, nan_ok=True)
        assert found.high.tolist() == pytest.approx(expected, nan_ok=True)
        assert found.known.all()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_fewer_than_two_sampled_rows_have_no_interval(function: Literal["count", "sum", "avg"]) -> None:
    rows, marks = simple((0, 1, 2, 3), 9, certain=(8,))
    # Row 0 has nothing, row 1 a sampled one, row 2 a certain one, row 3 two of NULL, row 4 two.
    entries = Entries(5, np.array([1, 3, 3, 4, 2]), (marks,))
    entries = Entries(5, np.append(entries.row, 4), (np.append(marks, marks[0]),))
    x = np.array([1.0, np.nan, np.nan, 2.0, 7.0, 3.0])
    found = interval(function, entries, moments_of(x))
    assert rows.size == 5
    assert found.known.tolist() == [True, False, False, False, True]
    assert np.isnan(found.low[1:4]).all()
    assert np.isnan(found.high[1:4]).all()
    assert found.low[4] <= estimated(function, entries, moments_of(x))[4] <= found.high[4]


def test_an_entry_of_nothing_says_that_rows_may_be_missing() -> None:
    sure, drawn = row_marks(np.zeros(1), 1.0, np.ones(1, np.bool_))[1], share_marks(np.array([0.1]), 0.5)
    alone = Entries(1, np.zeros(1, np.int64), (sure,)), moments_of(np.array([3.0]))
    both = Entries(1, np.zeros(2, np.int64), (np.append(sure, drawn),)), moments_of(np.array([3.0, np.nan]))
    assert interval("sum", *alone).known.tolist() == [True]
    assert interval("sum", *both).known.tolist() == [False]
    assert estimated("sum", *both).tolist() == [3.0]


@pytest.mark.parametrize("strange", [np.inf, -np.inf, 1e200])
def test_values_without_a_variance_have_no_interval(strange: float) -> None:
    rows, marks = simple(tuple(range(40)), 100)
    x = np.full(rows.size, 2.0)
    x[3] = strange
    entries = Entries(1, np.zeros(rows.size, np.int64), (marks,))
    with np.errstate(over="ignore"):
        moments = moments_of(x)
    assert interval("sum", entries, moments).known.tolist() == [False]
    assert interval("avg", entries, moments).known.tolist() == [False]
    assert interval("count", entries, moments).known.tolist() == [True]
    assert estimated("sum", entries, moments)[0] == pytest.approx(strange if np.isinf(strange) else 2.5e200)


def test_a_nan_among_the_values_is_the_answer_and_has_no_interval() -> None:
    _rows, marks = simple((0, 1, 2), 9)
    nan = np.array([np.nan, 1.0, 1.0])
    moments = Moments(np.ones(3), nan, nan, nan)
    entries = Entries(1, np.zeros(3, np.int64), (marks,))
    assert np.isnan(estimated("sum", entries, moments)).all()
    assert not interval("sum", entries, moments).known.any()


@pytest.mark.parametrize("design", ["simple", "by a share"])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -7.3, 1e12 / 3])
def test_an_average_of_rows_that_do_not_differ_has_no_interval(value: float, design: str) -> None:
    """They do not say what the others have. A sum of them has one where nobody knows how many there are."""
    rows, marks = simple(tuple(range(0, 400, 2)), 600)
    if design == "by a share":
        marks = share_marks(np.linspace(0.0, 0.29, rows.size), 0.3)
    row = np.arange(rows.size) % 2
    row[0] = 1
    of = moments_of(np.full(rows.size, value))
    assert not interval("avg", Entries(2, row, (marks,)), of).known.any()
    if value:
        assert interval("sum", Entries(2, row, (marks,)), of).known.tolist() == [True, True]
        everything = interval("sum", Entries(1, np.zeros(rows.size, np.int64), (marks,)), of)
        assert everything.known.tolist() == [design == "by a share"]
    else:
        assert not interval("sum", Entries(2, row, (marks,)), of).known.any()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_far_from_zero_rounding_is_neither_a_spread_nor_skewness(share: float) -> None:
    """Values have the same interval around 0 and a million above; none where their spread is lost to rounding."""
    random = np.random.default_rng(12)
    for _several in range(20):
        places = np.sort(random.random(400)) * share
        entries, x = Entries(1, np.zeros(400, np.int64), (share_marks(places, share),)), random.normal(0.0, 1.0, 400)
        for above in (0.0, 1e6):
            assert interval("sum", entries, moments_of(above + x)).known.all()
        near, far = (interval("avg", entries, moments_of(above + x)) for above in (0.0, 1e6))
        assert far.high - far.low == pytest.approx(near.high - near.low, rel=1e-2)
        assert not interval("avg", entries, moments_of(1e9 + 1e-3 * x)).known.any()


def test_small_counts_have_the_interval_of_the_exact_distribution() -> None:
    rows, marks = simple(tuple(range(50)), 200, certain=(199,))
    group = np.repeat([0, 1], [7, 44])  # the certain row is the last
    found = interval("count", Entries(2, group, (marks,)), moments_of(np.ones(rows.size)))
    low, high = of_simple_sample(np.array([7, 43]), np.array([50, 50]), np.array([199, 199]))
    assert found.low.tolist() == (low + np.array([0, 1])).tolist()
    assert found.high.tolist() == (high + np.array([0, 1])).tolist()
    shed = Entries(1, np.zeros(7, np.int64), (share_marks(np.full(7, 0.1), 0.2),))
    found = interval("count", shed, moments_of(np.ones(7)))
    low, high = of_poisson_sample(np.array([7]), np.array([0.2]))
    assert (found.low.tolist(), found.high.tolist()) == (low.tolist(), high.tolist())


def test_small_counts_over_several_windows_are_those_of_one_with_their_share() -> None:
    one, other = (row_marks(np.linspace(0.0, 1.0, 200), 0.25, np.zeros(200, np.bool_), window=w)[1] for w in (0, 1))
    entries = Entries(1, np.zeros(10, np.int64), (np.concatenate([one[:6], other[:4]]),))
    found = interval("count", entries, moments_of(np.ones(10)))
    low, high = of_simple_sample(np.array([10]), np.array([100]), np.array([400]))
    assert (found.low.tolist(), found.high.tolist()) == (low.tolist(), high.tolist())
    shed = np.concatenate([share_marks(np.full(6, 0.1), 0.5), share_marks(np.full(4, 0.1), 0.25)])
    found = interval("count", Entries(1, np.zeros(10, np.int64), (shed,)), moments_of(np.ones(10)))
    low, high = of_poisson_sample(np.array([10]), np.array([10 / 28]))
    assert (found.low.tolist(), found.high.tolist()) == (low.tolist(), high.tolist())


def test_poisson_sums_need_cubes_and_mild_values() -> None:
    random = np.random.default_rng(4)
    marks = share_marks(random.random(100) * 0.3, 0.3)
    entries = Entries(1, np.zeros(100, np.int64), (marks,))
    mild, wild = random.normal(5.0, 1.0, 100), random.pareto(1.2, 100)
    for function in ("sum", "avg"):
        assert interval(function, entries, moments_of(mild)).known.all()
        assert not interval(function, entries, without_cubes(mild)).known.any()
        assert not interval(function, entries, moments_of(wild)).known.any()
    assert interval("count", entries, without_cubes(wild)).known.all()


def test_a_poisson_sum_needs_as_many_rows_as_its_skewness_may_ask_for() -> None:
    """A standard error of the skewness counts, and from 2.5 on it may be anything: Cochran's rule is not enough."""

    def known(values: F64) -> list[bool]:
        drawn = Entries(1, np.zeros(values.size, np.int64), (share_marks(np.linspace(0.0, 0.29, values.size), 0.3),))
        assert interval("count", drawn, moments_of(values)).known.all()
        return [bool(interval(function, drawn, moments_of(values)).known.all()) for function in ("sum", "avg")]

    def skewed(rows: int, part: float) -> F64:
        return np.where(np.arange(rows) < part * rows, 1.0, 0.0)

    # Of one value only a sum varies, by how many rows there are; twelve rows have a standard error of 0.7.
    assert known(np.full(12, 2.0)) == [False, False]
    assert known(np.full(13, 2.0)) == [True, False]
    # A skewness of 1.5 asks for 57 rows by Cochran's rule, with its standard error for 85.
    assert known(skewed(70, 0.2)) == [False, False]
    assert known(skewed(90, 0.2)) == [True, True]
    # Of 2.3 it asks for 161 rows; of 2.7 no number of rows is enough.
    assert known(skewed(1_000, 0.12)) == [True, True]
    assert known(skewed(1_000, 0.1)) == [False, False]


def test_nothing_at_all() -> None:
    empty = Entries(2, np.zeros(0, np.int64), (np.zeros(0, np.int64),))
    for function in FUNCTIONS:
        value, found = (
            estimated(function, empty, moments_of(np.zeros(0))),
            interval(function, empty, moments_of(np.zeros(0))),
        )
        assert value.tolist() == pytest.approx([0, 0] if function == "count" else [np.nan] * 2, nan_ok=True)
        assert found.known.all()


def test_degrees_of_freedom_by_the_skewness_of_values() -> None:
    """Against plain formulas over the rows, of two calls, in rows of other sizes and of two shares."""
    random = np.random.default_rng(27)
    row, x, y = random.integers(0, 3, 300), random.gamma(4.0, 1.0, 300), random.lognormal(0.0, 1.0, 300)
    share = np.where(random.random(300) < 0.5, 0.2, 0.7)
    marks = np.where(
        share == 0.2, share_marks(random.random(300) * 0.2, 0.2), share_marks(random.random(300) * 0.7, 0.7)
    )
    x[::7] = np.nan
    found = values_freedom(Entries(3, row, (marks,)), [moments_of(x), moments_of(y)])
    for number in range(3):
        least = []
        for values in (x, y):
            own = (row == number) & ~np.isnan(values)
            weight = 1 / share[own]
            apart = values[own] - np.average(values[own], weights=weight)
            skewness = ((weight * apart) ** 3).sum() ** 2 / ((weight * apart) ** 2).sum() ** 3
            least.append(own.sum() / (1 + 2 * own.sum() * skewness))
        assert found[number] == np.floor(min(least)) >= 2


def test_there_are_two_degrees_of_freedom_and_unskewed_values_have_as_many_as_rows() -> None:
    marks = share_marks(np.linspace(0.0, 0.29, 50), 0.3)
    entries = Entries(1, np.zeros(50, np.int64), (marks,))

    def freedom(*several: F64) -> list[float]:
        return values_freedom(entries, [moments_of(x) for x in several]).tolist()

    even = np.tile([1.0, 3.0], 25)
    lone = np.where(np.arange(50) == 7, 1e6, 1.0)
    assert freedom(even) == freedom(np.ones(50)) == freedom(np.zeros(50), even) == [50.0]
    assert freedom(lone) == freedom(even, lone) == [2.0]
    # Rounding is no skewness.
    assert freedom(np.full(50, 0.1) * 3) == freedom(1e8 + even) == [50.0]
    assert values_freedom(entries, [without_cubes(even)]).tolist() == [2.0]


def test_only_what_was_kept_by_a_share_has_its_freedom_from_values() -> None:
    kept, marks = row_marks(np.linspace(0.0, 1.0, 40), 0.5, np.zeros(40, np.bool_))
    all_of_it = share_marks(np.zeros(5), 1.0)
    entries = Entries(2, np.repeat([0, 1], [kept.sum(), 5]), (np.concatenate([marks, all_of_it]),))
    assert np.isnan(values_freedom(entries, [moments_of(np.arange(kept.sum() + 5.0))])).all()
