"""U-topk where rules have many members and rows are many."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest

from punctual.kernel import world
from punctual.kernel.world.likeliest import _best_by_end
from tests.kernel.world.drawing import columns, many_rows
from tests.oracles import worlds as oracle
from tests.oracles.worlds import Row


@pytest.mark.parametrize("seed", range(40))
def test_long_rules(seed: int) -> None:
    """Members in between, a likelier one late, rules that become certain: up to 13 rows in three or four rules."""
    random = Random(seed)
    labels = [random.choice("abc") for _ in range(random.randint(9, 13))]
    weights = [random.choice((1, 1, 2, 5, 9, 20)) for _ in labels]
    spare = random.choice((0, 0, 3))
    rows = []
    for place, (label, weight) in enumerate(zip(labels, weights)):
        mass = sum(other for one, other in zip(labels, weights) if one == label) + spare
        rows.append(Row(-place, Fraction(weight, mass), label))
    rows += [Row(-20 - extra, Fraction(random.randint(1, 9), 10)) for extra in range(2)]
    random.shuffle(rows)
    for k in (1, 2, 3, 4, 6):
        vector, probability = oracle.u_topk(rows, k)
        answer = world.u_topk(*columns(rows), k=k)
        assert answer.index.tolist() == list(vector)
        assert answer.value == pytest.approx([float(probability)] * len(vector), abs=1e-12, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("mass", [(0.1, 0.4), (0.5, 1.0), (1.0, 1.0)], ids=str)
def test_the_best_up_to_every_end(mass: tuple[float, float], k: int) -> None:
    """The heap against every choice of k rows of different rules among the first ones, where nothing else exists."""
    for seed in range(25):
        _score, prob, rule = many_rows(seed, 9, 2, mass)
        found = np.exp(_best_by_end(prob, rule, 9, k))
        for end in range(found.size):
            first = range(end + 1)
            masses = np.bincount(rule[: end + 1], prob[: end + 1], 9)
            choices = [rows for rows in combinations(first, k) if len({int(rule[row]) for row in rows}) == k]
            most = max((float(prob[[*rows]].prod() * absent(masses, rule[[*rows]])) for rows in choices), default=0.0)
            assert found[end] == pytest.approx(most, abs=1e-12)


def absent(masses: np.ndarray, taken: np.ndarray) -> float:
    """Probability that no rule but those taken has a row."""
    return float((1 - np.delete(masses, taken)).prod())


def probability_of(vector: list[int], score: np.ndarray, prob: np.ndarray, rule: np.ndarray, k: int) -> float:
    """By the definition: these rows exist, and nothing else above the last of them (nothing else at all, if short)."""
    above = score >= (score[vector[-1]] if len(vector) == k else -np.inf)
    others = above & ~np.isin(rule, rule[vector])
    masses = np.bincount(rule[others], prob[others])
    return float(prob[vector].prod() * (1 - masses).prod())


@pytest.mark.parametrize("mass", [(0.02, 0.3), (0.3, 0.9), (1.0, 1.0)], ids=str)
def test_no_exchange_of_one_row_is_likelier(mass: tuple[float, float]) -> None:
    score, prob, rule = many_rows(4, 300, 4, mass)
    for k in (1, 3, 8):
        answer = world.u_topk(score, prob, rule, k=k)
        vector = answer.index.tolist()
        most = probability_of(vector, score, prob, rule, k)
        assert answer.value == pytest.approx([most] * len(vector), rel=1e-12)
        for out in vector:
            kept = [row for row in vector if row != out]
            for row in np.flatnonzero(~np.isin(rule, rule[kept])):
                other = sorted([*kept, int(row)], key=lambda index: -score[index])
                assert probability_of(other, score, prob, rule, k) <= most * (1 + 1e-12)


def test_a_million_rows() -> None:
    score, prob, rule = many_rows(4, 1_000_000, 3, (0.2, 0.9))
    answer = world.u_topk(score, prob, rule, k=20)
    assert answer.index.size == 20
    assert answer.value[0] == pytest.approx(probability_of(answer.index.tolist(), score, prob, rule, 20), rel=1e-10)


def test_a_probability_too_small_for_a_double() -> None:
    answer = world.u_topk(-np.arange(5000), np.full(5000, 0.5), k=2000)
    assert answer.index.tolist() == list(range(2000))
    assert answer.value[0] == 0.0
