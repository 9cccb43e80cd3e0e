"""What may be given as rows, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.errors import PunctualError
from punctual.kernel import world
from punctual.kernel.world.rows import ranked


def test_equal_scores_rank_by_position() -> None:
    assert ranked([1, 3, 3, 1, 3], [0.5] * 5).position.tolist() == [1, 2, 4, 0, 3]


MISSING = [[2.0, None, float("nan"), 7.0], pa.array([2, None, None, 7]), np.array([2, np.nan, np.nan, 7])]


@pytest.mark.parametrize("score", MISSING, ids=["list", "arrow", "numpy"])
def test_a_missing_score_has_no_rank(score: Any) -> None:
    assert ranked(score, [0.5] * 4).position.tolist() == [3, 0]
    assert world.topk_probabilities(score, [0.5] * 4, k=9).tolist() == [0.5, 0, 0, 0.5]


def test_a_row_without_rank_is_no_member() -> None:
    assert world.expected_ranks([None, 1], [0.9, 0.9], ["a", "a"], k=2).index.tolist() == [1]


def test_large_whole_scores_keep_their_digits() -> None:
    assert ranked(np.array([2**63, 2**63 + 1], np.uint64), [0.5, 0.5]).position.tolist() == [1, 0]
    assert ranked([2**62, 2**62 + 1], [0.5, 0.5]).position.tolist() == [1, 0]
    assert ranked([float("-inf"), 0.0, float("inf")], [0.5] * 3).position.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b", "a", None],
        [("x", 1), None, "b", ("x", 1), None],
        np.array([7, -1, 3, 7, 0]),
        np.array([1.5, np.nan, 2, 1.5, np.nan]),
        np.array(["u", None, "v", "u", None], object),
        pa.array([1, None, 2, 1, None]),
        [frozenset({1}), None, 2, frozenset({1}), None],
    ],
    ids=lambda labels: str(type(labels[0]).__name__),
)
def test_labels_of_any_kind(labels: Any) -> None:
    assert ranked([5, 4, 3, 2, 1], [0.2] * 5, labels).rule.tolist() == [0, -1, -1, 0, -1]


def test_empty() -> None:
    assert world.topk_probabilities([], [], k=3).shape == (0,)
    assert world.rank_probabilities([], [], [], k=3).shape == (0, 3)
    assert world.candidates([], [], k=3).shape == (0,)
    for answer in (
        world.pk_topk([], [], k=1),
        world.pt_k([], [], k=1, threshold=0.5),
        world.u_topk([], [], k=1),
        world.u_kranks([], [], k=1),
        world.expected_ranks([], [], k=1),
        world.prf([], [], k=1, weights=[1]),
        world.prfe([], [], k=1, alpha=0.5),
        world.topk_streams([], [], [], k=1),
        world.topk_streams_exclusive([], [], k=1),
    ):
        assert (answer.index.size, answer.value.size) == (0, 0)
        assert answer.index.dtype == np.int64


WRONG: list[tuple[str, Any]] = [
    ("bad-probability.*row 1 is 1.5", lambda: world.pk_topk([1, 2], [0.5, 1.5], k=1)),
    ("bad-probability.*row 0 is -0.1", lambda: world.u_topk([1, 2], [-0.1, 1], k=1)),
    ("bad-probability.*row 1 is nan", lambda: world.expected_ranks([1, 2], [0.5, None], k=1)),
    ("bad-probability.*no number", lambda: world.prfe([1], ["often"], k=1, alpha=1)),
    ("bad-probability.*2 dimensions", lambda: world.pk_topk([1], [[0.5]], k=1)),
    ("bad-score.*no number", lambda: world.pk_topk(["high"], [0.5], k=1)),
    ("bad-score.*2 dimensions", lambda: world.pk_topk([[1.0]], [0.5], k=1)),
    ("rule-mass.*rule of 2 rows add up to 1.1", lambda: world.pk_topk([1, 2, 3], [0.5, 0.6, 1], ["a", "a", "b"], k=1)),
    ("lengths-differ.*2 scores, 1 probabilities", lambda: world.pk_topk([1, 2], [0.5], k=1)),
    ("lengths-differ.*2 scores, 2 probabilities, 1 rules", lambda: world.candidates([1, 2], [0.5, 1], ["a"], k=1)),
    ("lengths-differ.*1 scores, 2 keys", lambda: world.topk_streams([1], [0.5], ["a", "b"], k=1)),
    ("bad-k.*k is 0", lambda: world.topk_probabilities([1], [0.5], k=0)),
    ("bad-k.*1.5, which is no whole number", lambda: world.u_kranks([1], [0.5], k=1.5)),
    ("bad-threshold.*0", lambda: world.pt_k([1], [0.5], k=1, threshold=0)),
    ("bad-threshold.*nan", lambda: world.pt_k([1], [0.5], k=1, threshold=float("nan"))),
    ("bad-weights", lambda: world.prf([1], [0.5], k=1, weights=[])),
    ("bad-weights", lambda: world.prf([1], [0.5], k=1, weights=[float("inf")])),
    ("bad-alpha.*0", lambda: world.prfe([1], [0.5], k=1, alpha=0)),
    ("bad-alpha.*1.01", lambda: world.prfe([1], [0.5], k=1, alpha=1.01)),
    ("bad-eps.*0.5", lambda: world.candidates([1], [0.5], k=1, eps=0.5)),
]


@pytest.mark.parametrize(("message", "call"), WRONG, ids=[message for message, _call in WRONG])
def test_refused(message: str, call: Any) -> None:
    with pytest.raises(PunctualError, match=rf"\[world\.{message}") as refused:
        call()
    assert isinstance(refused.value, ValueError)


def test_a_mass_may_exceed_one_by_rounding() -> None:
    prob = [0.1] * 10 + [5e-10]
    assert world.topk_probabilities(range(11), prob, ["a"] * 11, k=1).sum() == pytest.approx(1, abs=1e-9)
    assert world.u_topk(range(11), prob, ["a"] * 11, k=1).index.tolist() == [9]
