"""Expected ranks and geometric weights beyond enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from punctual.kernel import world
from tests.kernel.world.drawing import many_rows
from tests.oracles.worlds import Row, rank_distribution

MASSES = ((0.05, 0.4), (0.5, 1.0), (1.0, 1.0))


@pytest.mark.parametrize("mass", MASSES, ids=str)
@pytest.mark.parametrize("alpha", [0.01, 0.5, 0.9, 1.0])
def test_geometric_weights_are_those_of_all_ranks(mass: tuple[float, float], alpha: float) -> None:
    score, prob, rule = many_rows(8, 120, 3, mass)
    rows = [Row(s, Fraction(p), r) for s, p, r in zip(score.tolist(), prob.tolist(), rule.tolist())]
    ranks = np.array(rank_distribution(rows, 60), float)  # no more than 40 rules have a row
    expected = ranks @ alpha ** np.arange(1.0, 61.0)
    answer = world.prfe(score, prob, rule, k=120, alpha=alpha)
    found = np.zeros(120)
    found[answer.index] = answer.value
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-18)


@pytest.mark.parametrize("mass", MASSES, ids=str)
def test_expected_ranks_by_the_other_formula(mass: tuple[float, float]) -> None:
    """``M - p - p W`` in fractions."""
    score, prob, rule = many_rows(8, 200, 4, mass)
    exact = [Fraction(p) for p in prob.tolist()]
    expected = []
    for i in range(200):
        worse = sum((exact[j] for j in range(200) if score[j] < score[i] and rule[j] != rule[i]), Fraction(0))
        expected.append(sum(exact) - exact[i] - exact[i] * worse)
    answer = world.expected_ranks(score, prob, rule, k=200)
    assert answer.index.tolist() == sorted(range(200), key=lambda i: expected[i])
    assert answer.value == pytest.approx(sorted(map(float, expected)), rel=1e-13)


def test_expected_ranks_of_a_million_rows_keep_their_digits() -> None:
    """The best row is certain: its rank is 0, and the next one's the mass above it, not what is left of a million."""
    n = 1_000_000
    prob = np.full(n, 0.3)
    prob[[0, 1, 2]] = 1.0, 1e-9, 1.0
    answer = world.expected_ranks(-np.arange(n), prob, k=2)
    assert answer.index.tolist() == [0, 2]
    assert answer.value.tolist() == [0.0, 1.000000001]
