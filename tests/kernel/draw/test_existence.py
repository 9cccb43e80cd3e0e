"""Which rows exist: probabilities, rules that exclude, and no dependence on the order of rows."""

from __future__ import annotations

import numpy as np
import pytest

from punctual.kernel.draw import existing, source, stretches
from tests.kernel.draw.plain import identities, uniform

WHICH = source(2, "cars", "")


def test_a_row_exists_where_its_number_is_below_its_probability() -> None:
    rows, probability = identities(6), np.array([0.0, 0.2, 0.5, 0.8, 1.0, 1e-9])
    found = existing(WHICH, stretches(rows, probability), range(3, 60))
    plain = [[uniform(2, "cars", "", int(row), turn) < p for turn in range(3, 60)] for row, p in zip(rows, probability)]
    assert found.tolist() == plain
    assert not found[0].any()
    assert found[4].all()


def rules() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Twenty rules of three rows, four of which are full, and ten rows without one."""
    random = np.random.default_rng(5)
    probability = random.random(70) / 3.0
    rule = np.append(np.repeat(np.arange(20, dtype=np.uint64) * np.uint64(77), 3), np.zeros(10, np.uint64))
    probability[:12] /= np.repeat(probability[:12].reshape(4, 3).sum(axis=1), 3)
    return identities(70, 3), probability, rule, np.arange(70) < 60


def test_of_a_rule_one_row_exists_or_none() -> None:
    rows, probability, rule, ruled = rules()
    found = existing(WHICH, stretches(rows, probability, rule, ruled), range(3_000))
    by_rule = found[:60].reshape(20, 3, 3_000).sum(axis=1)
    assert by_rule.max() == 1
    assert (by_rule[:4].mean(axis=1) > 0.999).all()  # full, up to rounding
    errors = (found.mean(axis=1) - probability) / np.sqrt(probability * (1 - probability) / 3_000)
    assert np.abs(errors).max() < 4.0
    assert (errors**2).mean() == pytest.approx(1.0, abs=0.5)
    alone = found[60:]
    assert (alone.sum(axis=0) > 1).any()


def test_rules_are_independent_of_each_other() -> None:
    rows, probability, rule, ruled = rules()
    found = existing(WHICH, stretches(rows, probability, rule, ruled), range(3_000))
    each = found[12:60].reshape(16, 3, 3_000).any(axis=1)
    correlations = np.corrcoef(each) - np.eye(16)
    assert np.abs(correlations).max() < 5 / np.sqrt(3_000)


def test_the_order_of_rows_does_not_show() -> None:
    rows, probability, rule, ruled = rules()
    whole = stretches(rows, probability, rule, ruled)
    found = existing(WHICH, whole, range(200))
    order = np.random.default_rng(6).permutation(70)
    other = existing(WHICH, stretches(rows[order], probability[order], rule[order], ruled[order]), range(200))
    assert (other == found[order]).all()
    some = np.array([5, 66, 2])
    assert (existing(WHICH, whole.take(some), range(50, 90)) == found[some, 50:90]).all()


def test_every_row_has_a_rule() -> None:
    rows, probability, rule, _ruled = rules()
    found = existing(WHICH, stretches(rows[:60], probability[:60], rule[:60]), range(300))
    assert found.reshape(20, 3, 300).sum(axis=1).max() == 1
