"""Rows that are dropped from panes change nothing: the lemma and the theorem of ``candidates``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel import world
from punctual.kernel.world.input.rows import F64, I64
from tests.kernel.world.drawing import columns, few_rows, many_rows
from tests.oracles import worlds as oracle
from tests.oracles.worlds import Row

ROUNDING = 1e-14


@settings(deadline=None, derandomize=True, max_examples=70)
@given(few_rows(), st.integers(1, 4), st.sampled_from((1e-18, 0.01, 0.1, 0.3)))
def test_the_mask_is_the_lemma(rows: list[Row], k: int, eps: float) -> None:
    """A row stays if fewer than k better rows exist with a probability above eps, in all worlds."""
    order = oracle.in_rank_order(rows)
    kept = []
    for index, row in enumerate(rows):
        better = set(order[: order.index(index)]) if index in order else set()
        fewer = sum((p for one, p in oracle.worlds(rows) if len(better & set(one)) < k), Fraction(0))
        close = abs(float(fewer) - eps) < ROUNDING
        kept.append(None if close else row.score is not None and row.prob > 0 and fewer > eps)
    mask = world.candidates(*columns(rows), k=k, eps=eps).tolist()
    assert all(one == expected for one, expected in zip(mask, kept) if expected is not None)


def panes_of(seed: int, mass: tuple[float, float], size: int, n: int = 240) -> tuple[F64, F64, I64, I64]:
    """Rows in five panes of different sizes, of which one is nearly empty; rules span them."""
    score, prob, rule = many_rows(seed, n, size, mass)
    pane = np.random.default_rng(seed).choice(5, n, p=[0.4, 0.3, 0.15, 0.14, 0.01])
    rule = np.where(rule % 3 == 0, -1 - np.arange(n), rule)  # a third of the rows are on their own
    return score, prob, rule, pane


@pytest.mark.parametrize("mass", [(0.1, 0.5), (0.5, 1.0), (1.0, 1.0)], ids=str)
@pytest.mark.parametrize("size", [2, 20])
@pytest.mark.parametrize("k", [1, 4, 15])
@pytest.mark.parametrize("eps", [1e-18, 1e-6, 1e-2, 0.2])
def test_merged_candidates_answer_as_all_rows_do(mass: tuple[float, float], size: int, k: int, eps: float) -> None:
    score, prob, rule, pane = panes_of(k, mass, size)
    kept = np.zeros(240, bool)
    for one in range(5):
        inside = pane == one
        kept[inside] = world.candidates(score[inside], prob[inside], rule[inside], k=k, eps=eps)
    full = world.rank_probabilities(score, prob, rule, k=k)
    cut = np.zeros_like(full)
    cut[kept] = world.rank_probabilities(score[kept], prob[kept], rule[kept], k=k)
    assert np.abs(cut - full).max() <= eps + ROUNDING
    assert np.abs(cut.sum(axis=1) - full.sum(axis=1)).max() <= eps + ROUNDING
    weights = np.linspace(1, 0.1, k)
    assert np.abs((cut - full) @ weights).max() <= eps + ROUNDING
    keys = np.arange(240) % 7
    by_key = [np.bincount(keys, one.sum(axis=1)) for one in (cut, full)]
    assert np.abs(by_key[0] - by_key[1]).max() <= 5 * k * eps + ROUNDING


def test_candidates_are_few_and_needed() -> None:
    """Of a large pane only what k decides stays, and a looser eps would change answers."""
    score, prob, rule = many_rows(2, 20_000, 3, (0.5, 1.0))
    mask = world.candidates(score, prob, rule, k=10)
    assert 20 < mask.sum() <= 200, "a hundredth"
    assert mask[np.argsort(-score)[: mask.sum()]].all(), "a prefix in rank order"
    looser = world.candidates(score, prob, rule, k=10, eps=0.2)
    values = world.topk_probabilities(score, prob, rule, k=10)
    assert values[mask & ~looser].max() > 1e-3


def test_the_answers_themselves() -> None:
    score, prob, rule, pane = panes_of(9, (0.5, 1.0), 2, 2400)
    kept = np.flatnonzero(
        np.any([(pane == one) & _within(score, prob, rule, pane == one, 5) for one in range(5)], axis=0)
    )
    assert kept.size < 1000
    every, some = (score, prob, rule), (score[kept], prob[kept], rule[kept])
    for ranking in (world.pk_topk, world.global_topk, world.u_kranks):
        assert kept[ranking(*some, k=5).index].tolist() == ranking(*every, k=5).index.tolist()
    thresholds = world.pt_k(*some, k=5, threshold=0.1), world.pt_k(*every, k=5, threshold=0.1)
    assert kept[thresholds[0].index].tolist() == thresholds[1].index.tolist()
    weighted = world.prf(*some, k=5, weights=[3, 2, 1]), world.prf(*every, k=5, weights=[3, 2, 1])
    assert kept[weighted[0].index].tolist() == weighted[1].index.tolist()


def _within(score: F64, prob: F64, rule: I64, inside: np.ndarray, k: int) -> np.ndarray:
    mask = np.zeros(score.size, bool)
    mask[inside] = world.candidates(score[inside], prob[inside], rule[inside], k=k)
    return mask


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 1.0])
def test_a_million_rows(p: float) -> None:
    rows, most = np.arange(1_000_000.0), 1_000_000
    with np.errstate(under="ignore"):
        fewer = (1 - p) ** rows + rows * p * (1 - p) ** np.maximum(rows - 1, 0) if p < 1 else rows < 2
    mask = world.candidates(rows, np.full(most, p), k=2)
    assert mask.sum() == (fewer > 1e-18).sum()
    assert mask[-2:].all()
