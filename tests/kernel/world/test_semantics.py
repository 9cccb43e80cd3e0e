"""Every ranking of uncertain rows against all worlds, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from punctual.kernel import world
from punctual.kernel.world import Ranked
from tests.kernel.world.drawing import columns, few_rows
from tests.oracles import worlds as oracle
from tests.oracles.worlds import Row

CLOSE = 1e-12
ks = st.sampled_from((1, 2, 3, 5, 12))
EXAMPLES = 70
checked = settings(deadline=None, derandomize=True, max_examples=EXAMPLES)
HALF = Fraction(1, 2)


def same(answer: Ranked, index: Sequence[int], value: Sequence[Fraction]) -> None:
    assert answer.index.tolist() == list(index)
    assert answer.value == pytest.approx([float(one) for one in value], abs=CLOSE, rel=0)


@checked
@given(few_rows(), ks)
@example([], 1)
@example([Row(1, Fraction(1)), Row(1, Fraction(1)), Row(1, Fraction(1))], 2)
def test_probabilities(rows: list[Row], k: int) -> None:
    ranks = np.array(oracle.rank_probabilities(rows, k), float).reshape(len(rows), k)
    assert world.rank_probabilities(*columns(rows), k=k) == pytest.approx(ranks, abs=CLOSE, rel=0)
    assert world.topk_probabilities(*columns(rows), k=k) == pytest.approx(ranks.sum(axis=1), abs=CLOSE, rel=0)


@checked
@given(few_rows(), ks)
def test_pk_and_global(rows: list[Row], k: int) -> None:
    values = oracle.topk_probabilities(rows, k)
    expected = oracle.best_by(rows, values, k)
    same(world.pk_topk(*columns(rows), k=k), expected, [values[index] for index in expected])
    same(world.global_topk(*columns(rows), k=k), expected, [values[index] for index in expected])


@checked
@given(few_rows(), ks, st.integers(1, 20))
def test_pt(rows: list[Row], k: int, twentieths: int) -> None:
    values, threshold = oracle.topk_probabilities(rows, k), Fraction(twentieths, 20)
    expected = [index for index in oracle.best_by(rows, values, len(rows)) if values[index] >= threshold]
    same(world.pt_k(*columns(rows), k=k, threshold=float(threshold)), expected, [values[index] for index in expected])


@checked
@given(few_rows(), ks)
@example([Row(3, HALF), Row(2, HALF), Row(1, HALF)], 2)
@example([Row(3, Fraction(1, 3)), Row(2, HALF), Row(1, Fraction(1))], 1)
@example([Row(3, Fraction(3, 10), "a"), Row(2, Fraction(4, 10)), Row(1, Fraction(7, 10), "a")], 2)
def test_u_topk(rows: list[Row], k: int) -> None:
    vector, probability = oracle.u_topk(rows, k)
    same(world.u_topk(*columns(rows), k=k), vector, [probability] * len(vector))


@checked
@given(few_rows(), ks)
def test_u_kranks(rows: list[Row], k: int) -> None:
    named = oracle.u_kranks(rows, k)
    same(world.u_kranks(*columns(rows), k=k), [row for row, _value in named], [value for _row, value in named])


@checked
@given(few_rows(), ks)
def test_expected_ranks(rows: list[Row], k: int) -> None:
    values = oracle.expected_ranks(rows)
    expected = sorted(values, key=lambda index: values[index])[:k]
    same(world.expected_ranks(*columns(rows), k=k), expected, [values[index] for index in expected])


@checked
@given(few_rows(), ks, st.lists(st.integers(-3, 3), min_size=1, max_size=4))
def test_prf(rows: list[Row], k: int, weights: list[int]) -> None:
    values = oracle.prf(rows, [Fraction(weight) for weight in weights])
    expected = oracle.best_by(rows, values, k)
    same(world.prf(*columns(rows), k=k, weights=weights), expected, [values[index] for index in expected])


@checked
@given(few_rows(), ks, st.integers(1, 10))
def test_prfe(rows: list[Row], k: int, tenths: int) -> None:
    values = oracle.prfe(rows, Fraction(tenths, 10))
    expected = oracle.best_by(rows, values, k)
    same(world.prfe(*columns(rows), k=k, alpha=tenths / 10), expected, [values[index] for index in expected])


@checked
@given(few_rows(), ks, st.lists(st.sampled_from(("x", "y", None)), min_size=7, max_size=7))
def test_keys(rows: list[Row], k: int, keys: list[str | None]) -> None:
    score, prob, rule = columns(rows)
    keys = keys[: len(rows)]
    values = oracle.expected_by_key(rows, keys, k)
    order = [index for index in oracle.in_rank_order(rows) if rows[index].prob]
    best_row = {keys[index]: index for index in reversed(order)}
    expected = sorted(values, key=lambda key: (-values[key], order.index(best_row[key])))[:k]
    answer = world.topk_streams(score, prob, keys, rule, k=k)
    same(answer, [best_row[key] for key in expected], [values[key] for key in expected])


@checked
@given(few_rows(), ks)
def test_exclusive_keys_without_probabilities(rows: list[Row], k: int) -> None:
    keys = [row.rule for row in rows]
    ranked = [row.rule for row in rows if row.score is not None]
    alternatives = [
        Row(row.score, Fraction(1, ranked.count(row.rule)) if row.score is not None else Fraction(1), ("key", row.rule))
        for row in rows
    ]
    values = oracle.expected_by_key(alternatives, keys, k)
    answer = world.topk_streams_exclusive([row.score for row in rows], keys, k=k)
    assert answer.value == pytest.approx(sorted(map(float, values.values()), reverse=True)[:k], abs=CLOSE, rel=0)
    assert all(
        float(values[keys[index]]) == pytest.approx(value, abs=CLOSE, rel=0)
        for index, value in zip(answer.index.tolist(), answer.value.tolist())
    )
    assert max(answer.value, default=0) <= 1 + CLOSE
