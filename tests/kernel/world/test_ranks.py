"""Distributions of ranks where enumeration ends: against 256 binary digits, at every mass, and at a million rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from punctual.kernel import world
from punctual.kernel.world import RankTable
from punctual.kernel.world.input.rows import F64, I64
from punctual.kernel.world.rank_walk import EPS, reach
from tests.kernel.world.drawing import many_rows
from tests.oracles.worlds import Row, rank_distribution

MASSES = ((0.01, 0.1), (0.2, 0.45), (0.44, 0.56), (0.5, 1.0), (0.999, 1.0), (1.0, 1.0), (0.0, 1.0))
MILLION = 1_000_000


def exactly(score: F64, prob: F64, rule: I64, k: int) -> F64:
    rows = [Row(s, Fraction(p), r) for s, p, r in zip(score.tolist(), prob.tolist(), rule.tolist())]
    return np.array(rank_distribution(rows, k), float)


@pytest.mark.parametrize("mass", MASSES, ids=str)
@pytest.mark.parametrize("size", [2, 7])
def test_hundreds_of_rows(mass: tuple[float, float], size: int) -> None:
    score, prob, rule = many_rows(3, 150, size, mass)
    assert world.rank_probabilities(score, prob, rule, k=14) == pytest.approx(exactly(score, prob, rule, 14), abs=1e-14)


def halves(rules: int) -> tuple[F64, F64, I64]:
    """All first members are above all second members: each rule's factor leaves after all have come."""
    return -np.arange(2.0 * rules), np.full(2 * rules, 0.5), np.tile(np.arange(rules), 2)


@pytest.mark.parametrize("first", [0.5, 0.45, 0.3, 0.2, 0.1])
def test_rules_that_become_certain_late(first: float) -> None:
    """The polynomial loses 50 factors one after the other: dividing them out would lose digits with each."""
    score, _prob, rule = halves(50)
    prob = np.repeat([first, 1 - first], 50)
    assert world.rank_probabilities(score, prob, rule, k=50) == pytest.approx(exactly(score, prob, rule, 50), abs=1e-14)


@pytest.mark.parametrize("members", [2, 3, 5])
@pytest.mark.parametrize("apart", [1, 9, 40])
@pytest.mark.parametrize("first", [0.02, 0.44, 0.9])
def test_rules_inside_a_node_and_across_nodes(members: int, apart: int, first: float) -> None:
    """Stretches inside a node of few rows, one after the other and interleaved, and across such nodes."""
    rows = np.arange(members * apart * 4)
    rule = rows // (members * apart) * apart + rows % apart
    place = rows % (members * apart) // apart
    prob = np.where(place == 0, first, (1 - first) / (members - 1))
    alone = rows % 7 == 0
    rule = np.where(alone, -1 - rows, rule)
    assert world.rank_probabilities(-rows, prob, rule, k=20) == pytest.approx(exactly(-rows, prob, rule, 20), abs=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_impossible_ranks_are_nobodys(seed: int) -> None:
    """More ranks than rules: exactly 0, so that no row is named for them."""
    random = np.random.default_rng(seed)
    rule = random.integers(0, 4, 12)
    prob = random.random(12) / np.bincount(rule, minlength=4)[rule]
    score, rules = random.random(12), len(set(rule.tolist()))
    assert not world.rank_probabilities(score, prob, rule, k=12)[:, rules:].any()
    assert world.u_kranks(score, prob, rule, k=12).index.size == rules
    assert not world.prf(score, prob, rule, k=12, weights=[0.0] * rules + [1.0]).index.size


def test_a_table_has_every_smaller_k() -> None:
    score, prob, rule = many_rows(11, 400, 3, (0.2, 1.0))
    table = RankTable.of(score, prob, rule, k=30)
    for k in (1, 2, 16, 29, 30):
        own = world.topk_probabilities(score, prob, rule, k=k)
        assert table.topk_probabilities(k) == pytest.approx(own, abs=1e-14)
        assert table.rank_probabilities(k).tolist() == world.rank_probabilities(score, prob, rule, k=k).tolist()
    with pytest.raises(world.WorldError, match=r"bad-k.*ranks up to 30 are known, and 31"):
        table.topk_probabilities(31)


def expected_number_among(prob: F64, rule: I64, k: int) -> float:
    """E[min(k, N)] from the distribution of N: products of halves of all rules, two by two."""
    masses = np.minimum(1.0, np.bincount(rule, prob))
    poly = np.stack([1 - masses, masses], axis=1)
    while len(poly) > 1:
        if len(poly) % 2:
            poly = np.concatenate([poly, [[1.0] + [0.0] * (poly.shape[1] - 1)]])
        left, right = poly[::2], poly[1::2]
        poly = np.zeros((len(left), min(k, 2 * left.shape[1] - 1)))
        for c in range(min(k, left.shape[1])):
            stop = min(right.shape[1], poly.shape[1] - c)
            poly[:, c : c + stop] += left[:, c : c + 1] * right[:, :stop]
    fewer = np.cumsum(np.append(poly[0], np.zeros(k))[:k])  # P(N <= j)
    return float((1 - fewer).sum())


@pytest.mark.parametrize(
    ("mass", "k"), [((0.5, 1.0), 30), ((1e-6, 1e-5), 8), ((1e-6, 8e-5), 12)], ids=["likely", "rare", "in between"]
)
def test_a_million_rows(mass: tuple[float, float], k: int) -> None:
    score, prob, rule = many_rows(7, MILLION, 3, mass)
    values = world.topk_probabilities(score, prob, rule, k=k)
    assert values.sum() == pytest.approx(expected_number_among(prob, rule, k), rel=1e-11)
    assert (values >= 0).all()
    assert (values <= prob * (1 + 1e-12)).all()


def test_a_million_rows_with_heavy_rules() -> None:
    score, prob, rule = many_rows(7, MILLION, 3, (1e-6, 2e-5))
    heavy = rule < 3
    prob[heavy] *= 0.9 / np.bincount(rule[heavy], prob[heavy])[rule[heavy]]
    values = world.topk_probabilities(score, prob, rule, k=6)
    assert values.sum() == pytest.approx(expected_number_among(prob, rule, 6), rel=1e-11)


def test_rows_behind_the_stop_have_nothing() -> None:
    """Where the walk stops the probability of fewer than k better rows is below 1e-18, not only small."""
    prob = np.full(500, 0.5)
    values = world.topk_probabilities(-np.arange(500.0), prob, k=5)
    exact = [float(sum(Fraction(_choose(i, c)) / 2**i for c in range(5)) / 2) for i in range(500)]
    assert values == pytest.approx(exact, abs=EPS, rel=1e-12)
    assert exact[np.flatnonzero(values)[-1] + 1] <= EPS


def _choose(n: int, c: int) -> int:
    product = 1
    for i in range(c):
        product = product * (n - i) // (i + 1)
    return product


@pytest.mark.parametrize("k", [1, 2, 10, 100])
@pytest.mark.parametrize("p", [0.02, 0.5, 1.0])
def test_chernoffs_bound_holds(k: int, p: float) -> None:
    """The first row that is left out has P(N < k) <= eps."""
    for eps in (1e-18, 1e-3):
        n = int(reach(np.full(20_000, p), np.array([k]), eps)[0])
        poly = np.array([1.0])
        for _row in range(n):
            poly = np.convolve(poly, [1 - p, p])[:k]
        assert n < 20_000
        assert poly.sum() <= eps
