"""Closed forms against all worlds, one by one, with exact fractions; and against worlds that were drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.draw import (
    Between,
    Normal,
    count_laws,
    draw_numbers,
    existing,
    expected,
    expected_counts,
    expected_sums,
    finished,
    fold,
    interval,
    moments,
    normal_above,
    normal_interval,
    probability,
    source,
    stretches,
    sum_variances,
)
from tests.kernel.draw.plain import identities

some = settings(derandomize=True, deadline=None, max_examples=120, database=None)
# Group, sixteenths of a probability, rule (or -1), value.
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 16), st.integers(-1, 2), st.integers(-3, 9)), min_size=0, max_size=7
)


def sensible(rows: list[Any]) -> list[Any]:
    """Rows whose rules have masses of at most 1: their probabilities are divided by how many share the rule."""
    sizes = [sum(other[2] == row[2] for other in rows) if row[2] >= 0 else 1 for row in rows]
    return [(g, Fraction(p, 16 * size), rule, value) for (g, p, rule, value), size in zip(rows, sizes)]


def worlds(rows: list[Any]) -> Iterator[tuple[Fraction, list[Any]]]:
    """Every choice for every rule: its probability and the rows that exist."""
    rules: dict[Any, list[Any]] = {}
    for at, row in enumerate(rows):
        rules.setdefault(row[2] if row[2] >= 0 else ("alone", at), []).append(row)
    choices = [[*members, None] for members in rules.values()]
    masses = [[*(row[1] for row in members), 1 - sum(row[1] for row in members)] for members in rules.values()]
    for chosen, parts in zip(itertools.product(*choices), itertools.product(*masses)):
        yield math.prod(parts, start=Fraction(1)), [row for row in chosen if row is not None]


@some
@given(ROWS)
def test_all_worlds_one_by_one(drawn: list[Any]) -> None:
    rows = sensible(drawn)
    group, rule = np.array([row[0] for row in rows], np.int64), np.array([row[2] for row in rows], np.int64)
    p, value = np.array([float(row[1]) for row in rows]), np.array([float(row[3]) for row in rows])
    laws = count_laws(group, 2, p, rule)
    variances = sum_variances(group, 2, value, np.zeros(len(rows)), p, rule)
    sums, counts = expected_sums(group, 2, value, p), expected_counts(group, 2, p)
    for g in (0, 1):
        law: dict[int, Fraction] = {}
        mean, square = Fraction(0), Fraction(0)
        for mass, there in worlds(rows):
            own = [row for row in there if row[0] == g]
            law[len(own)] = law.get(len(own), Fraction(0)) + mass
            total = sum(row[3] for row in own)
            mean, square = mean + mass * total, square + mass * total * total
        assert sums[g] == pytest.approx(float(mean), abs=1e-14)
        assert variances[g] == pytest.approx(float(square - mean * mean), abs=1e-12)
        assert counts[g] == pytest.approx(float(sum(k * mass for k, mass in law.items())), abs=1e-14)
        found = {laws[g].least + c: mass for c, mass in enumerate(laws[g].probability.tolist())}
        assert sum(found.values()) == pytest.approx(1.0, abs=1e-14)
        for k in range(-1, len(rows) + 2):
            exact = law.get(k, Fraction(0))
            assert found.get(k, 0.0) == pytest.approx(float(exact), rel=1e-13, abs=1e-15)
            more = float(sum((mass for count, mass in law.items() if count > k), Fraction(0)))
            assert laws[g].above(k) == pytest.approx(more, abs=1e-14)
            assert laws[g].above(k - 0.5) == laws[g].at_least(k) == laws[g].at_least(k - 0.5)


def convolved(probabilities: Any) -> Any:
    law = np.ones(1)
    for p in probabilities:
        law = np.convolve(law, [1.0 - p, p])
    return law


def test_laws_of_many_rows() -> None:
    random = np.random.default_rng(1)
    p, group = random.random(900), random.integers(0, 3, 900)
    p[:30] = 1.0
    p[30:60] = 0.0
    for g, law in enumerate(count_laws(group, 3, p)):
        exact = convolved(p[group == g])
        found = np.zeros(exact.size)
        found[law.least : law.least + law.probability.size] = law.probability
        assert law.least == (p[group == g] == 1.0).sum()
        likely = exact > 1e-17
        assert (np.abs(found[likely] / exact[likely] - 1.0) < 1e-12).all()
        assert np.abs(found - exact).max(where=~likely, initial=0.0) < 1e-28
        low, high = law.interval(0.95)
        below = np.cumsum(exact)
        assert below[low - 1] <= 0.025 < below[low]
        assert 1 - below[high] <= 0.025 < 1 - below[high - 1]


def test_the_order_of_rows_does_not_show() -> None:
    random = np.random.default_rng(2)
    n = 400
    group, rule, p = random.integers(0, 4, n), random.integers(-1, 60, n), random.random(n) / 20
    mean, variance = random.normal(0.0, 9.0, n), random.random(n)

    def outcome(order: Any) -> list[bytes]:
        g, r, q, m, v = group[order], rule[order], p[order], mean[order], variance[order]
        laws = count_laws(g, 4, q, r)
        sums = expected_sums(g, 4, m, q), expected_counts(g, 4, q), sum_variances(g, 4, m, v, q, r)
        return [*(part.tobytes() for part in sums), *(law.probability.tobytes() for law in laws)]

    assert outcome(random.permutation(n)) == outcome(np.arange(n))


def test_limits_of_counts() -> None:
    law = count_laws(np.zeros(2, np.int64), 1, np.array([0.5, 0.5]))[0]
    assert [law.above(limit) for limit in (-math.inf, -3, 0, 1.5, 2, math.inf)] == [1.0, 1.0, 0.75, 0.25, 0.0, 0.0]
    assert [law.at_least(limit) for limit in (-math.inf, 0, 1, 1.5, 3, math.inf)] == [1.0, 1.0, 0.75, 0.25, 0.0, 0.0]
    empty = count_laws(np.zeros(0, np.int64), 2, np.zeros(0))
    assert [(one.least, one.probability.tolist()) for one in empty] == [(0, [1.0])] * 2


def test_normal_laws() -> None:
    mean, sd = np.array([5.0, 5.0, 5.0]), np.array([2.0, 0.0, 0.0])
    assert normal_above(mean, sd, 5.0).tolist() == [0.5, 0.0, 0.0]
    assert normal_above(mean, sd, np.array([5.0, 5.0, 4.0]), or_equal=True).tolist() == [0.5, 1.0, 1.0]
    low, high = normal_interval(mean, sd, 0.9)
    assert (1.0 - normal_above(mean, sd, high))[0] == pytest.approx(0.95, abs=1e-14)
    assert normal_above(mean, sd, low)[0] == pytest.approx(0.95, abs=1e-14)
    assert (low[1], high[1]) == (5.0, 5.0)
    assert normal_above(np.zeros(1), np.ones(1), 30.0)[0] == pytest.approx(4.906713927148187e-198, rel=1e-12)


def test_moments_need_values_of_choices() -> None:
    with pytest.raises(InternalError):
        moments(Between(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1)))


N, WINDOWS, ROUNDS = 12, 200, 1_000


def test_sums_of_normals_by_worlds_and_by_law() -> None:
    """Two hundred windows of twelve normal rows, each in a thousand worlds."""
    random = np.random.default_rng(3)
    group = np.repeat(np.arange(WINDOWS), N)
    normal = Normal(random.normal(50.0, 9.0, group.size), random.random(group.size) * 5.0)
    bundle = draw_numbers(source(17, "speed", "kmh"), identities(group.size), normal, range(ROUNDS))
    sums, _there = finished("sum", fold(["sum"], group, WINDOWS, bundle))
    mean = expected_sums(group, WINDOWS, normal.mean)
    sigma = np.sqrt(sum_variances(group, WINDOWS, *moments(normal)))
    by_worlds = expected(sums)
    assert ((by_worlds.mean - mean) / sigma).mean() == pytest.approx(0.0, abs=4 / math.sqrt(ROUNDS * WINDOWS))
    covered = (by_worlds.low <= mean) & (mean <= by_worlds.high)
    assert covered.mean() == pytest.approx(0.95, abs=0.06)
    found = interval(sums, 0.95)
    assert ((found.high - mean) / sigma).mean() == pytest.approx(1.96, abs=0.02)
    assert ((mean - found.low) / sigma).mean() == pytest.approx(1.96, abs=0.02)
    limit = mean + 0.7 * sigma
    above, law = probability(sums > limit[:, None]), normal_above(mean, sigma, limit)
    assert ((above.low <= law) & (law <= above.high)).mean() == pytest.approx(0.95, abs=0.06)
    assert above.share.mean() == pytest.approx(law.mean(), abs=4 * 0.5 / math.sqrt(ROUNDS * WINDOWS))


def test_counts_by_worlds_and_by_law() -> None:
    random = np.random.default_rng(4)
    group = np.repeat(np.arange(50), N)
    rule = np.where(random.random(group.size) < 0.5, random.integers(0, 150, group.size), -1)
    p = random.random(group.size) / 6
    rows = stretches(identities(group.size, 1), p, rule.astype(np.uint64), rule >= 0)
    there = existing(source(17, "cars", ""), rows, range(4_000))
    counts, _ = finished("count", fold(["count"], group, 50, np.zeros(there.shape), there))
    laws = count_laws(group, 50, p, rule)
    assert counts.mean() == pytest.approx(
        expected_counts(group, 50, p).mean(), abs=4 * counts.std() / math.sqrt(counts.size)
    )
    squares = 0.0
    for g, law in enumerate(laws):
        assert law.least == 0
        observed = np.bincount(counts[g].astype(np.int64), minlength=law.probability.size)
        likely = law.probability * 4_000 > 20
        errors = (observed - law.probability * 4_000)[likely] ** 2 / (law.probability * 4_000)[likely]
        squares += float(errors.sum() / likely.sum())
    assert 0.5 < squares / 50 < 1.2  # chi-squared over its cells
