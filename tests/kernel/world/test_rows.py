"""What may be given as rows, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from punctual.errors import PunctualError
from punctual.kernel import world
from punctual.kernel.world.input.rank_order import ranked


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


NOON = 1763276400000000000
CLOSE_CALLS: dict[str, Any] = {
    "beside None": [NOON, NOON + 100, None],
    "nullable": pd.Series([NOON, NOON + 100, None], dtype="Int64"),
    "arrow": pa.array([NOON, NOON + 100, None]),
    "beside NA": [NOON, NOON + 100, pd.NA],
    "beside NaN": [NOON, NOON + 100, float("nan")],
    "beside a float": [NOON, NOON + 100, 0.5],
    "objects": np.array([NOON, NOON + 100, None], object),
    "more than 64 bits": [2**64, 2**64 + 1, None],
    "signed and unsigned": [2**63, 2**63 + 1, -1],
    "hundreds of digits": [10**400, 10**400 + 1, float("-inf")],
    "decimals": [Decimal(NOON), Decimal(NOON) + 1, Decimal("NaN")],
    "decimals in arrow": pa.array([Decimal(NOON), Decimal(NOON) + 1, None]),
    "several types": [Fraction(1, 3), Decimal("0.34"), 1e-300],
    "a float and an int": [2.0**53, 2**53 + 1, np.float64(0)],
    "masked": np.ma.masked_array([NOON, NOON + 1, NOON + 2], [False, False, True]),
    "instants": np.array(["2025", "2026", "NaT"], "M8[ns]"),
    "instants in pandas": pd.Series([pd.Timestamp(NOON), pd.Timestamp(NOON + 1), pd.NaT]),
    "instants in arrow": pa.array([NOON, NOON + 1, None], pa.timestamp("ns")),
    "a generator": (NOON + step for step in (0, 1, -1)),
}


@pytest.mark.parametrize("case", CLOSE_CALLS)
def test_scores_are_compared_exactly(case: str) -> None:
    assert world.pk_topk(CLOSE_CALLS[case], [1, 1, 1], k=1).index.tolist() == [1]


def test_equal_scores_of_several_types_rank_by_position() -> None:
    assert ranked([1, Decimal(1), 2**64, Fraction(2**64), 1.0], [0.1] * 5).position.tolist() == [2, 3, 0, 1, 4]


def test_probabilities_may_be_any_numbers() -> None:
    for prob in ([Decimal("0.5"), Fraction(1, 4)], np.float32([0.5, 0.25]), pa.array([0.5, 0.25]), iter([0.5, 0.25])):
        assert ranked([2, 1], prob).prob.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("k", [2**63, 10**30, 10**5000], ids=["63 bits", "30 digits", "5000 digits"])
def test_a_k_beyond_all_rows_means_all_of_them(k: int) -> None:
    rows = ([2, 1], [0.5, 1.0])
    assert world.topk_probabilities(*rows, k=k).tolist() == [0.5, 1.0]
    assert world.candidates(*rows, k=k).tolist() == [True, True]
    for answer in (
        world.pk_topk(*rows, k=k),
        world.u_topk(*rows, k=k),
        world.u_kranks(*rows, k=k),
        world.expected_ranks(*rows, k=k),
        world.prf(*rows, k=k, weights=[1]),
        world.prfe(*rows, k=k, alpha=0.5),
        world.topk_streams(*rows, ["a", "b"], k=k),
        world.topk_streams_exclusive([2, 1], ["a", "b"], k=k),
        *world.rank_together([0.5, 1.0], None, None, [world.Wanted("PK", k, (), 0.1), world.Wanted("U_TOPK", k)]),
    ):
        assert sorted(answer.index.tolist()) == [0, 1]


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
    ("bad-probability.*row 1 is None", lambda: world.expected_ranks([1, 2], [0.5, None], k=1)),
    ("bad-probability.*no number", lambda: world.prfe([1], ["often"], k=1, alpha=1)),
    ("bad-probability.*row 1 is '1', which is no number", lambda: world.pk_topk([2, 1], [1, "1"], k=1)),
    ("bad-probability.*row 1 is 1j", lambda: world.pk_topk([2, 1], [1, 1j], k=1)),
    ("bad-probability.*row 1 is None", lambda: world.pk_topk([2, 1], np.ma.masked_array([1.0, 1], [0, 1]), k=1)),
    ("bad-probability.*row 1 is None", lambda: world.pk_topk([2, 1], pa.array([1.0, None]), k=1)),
    ("bad-probability.*row 0 is inf", lambda: world.pk_topk([1], [10**400], k=1)),
    ("bad-probability.*row 0 is .1., which is no number", lambda: world.pk_topk([2, 1], [[1], [1, 2]], k=1)),
    ("bad-probability.*are 0.5, which is no column", lambda: world.pk_topk([1], 0.5, k=1)),
    ("bad-probability.*2 dimensions", lambda: world.pk_topk([1], [[0.5]], k=1)),
    ("bad-score.*no number", lambda: world.pk_topk(["high"], [0.5], k=1)),
    ("bad-score.*row 1 is '2', which is no number", lambda: world.pk_topk([1, "2"], [0.5, 0.5], k=1)),
    ("bad-score.*row 2 is 'a'", lambda: world.pk_topk(pa.array([None, None, "a"]), [0.5] * 3, k=1)),
    ("bad-score.*row 0 is b'1'", lambda: world.pk_topk(np.array([b"1"]), [0.5], k=1)),
    ("bad-score.*row 1 is 1j", lambda: world.pk_topk([1, 1j], [0.5, 0.5], k=1)),
    ("bad-score.*row 1 is .2., which is no number", lambda: world.pk_topk([1, [2]], [0.5, 0.5], k=1)),
    ("bad-score.*0 dimensions", lambda: world.pk_topk(np.array(1.0), [0.5], k=1)),
    ("bad-score.*2 dimensions", lambda: world.pk_topk(pd.DataFrame({"a": [1]}), [0.5], k=1)),
    ("bad-score.*are None, which is no column", lambda: world.topk_streams_exclusive(None, ["a"], k=1)),
    ("bad-label.*keys are None", lambda: world.topk_streams([1], [0.5], None, k=1)),
    ("bad-score.*2 dimensions", lambda: world.pk_topk([[1.0]], [0.5], k=1)),
    ("rule-mass.*rule of 2 rows add up to 1.1", lambda: world.pk_topk([1, 2, 3], [0.5, 0.6, 1], ["a", "a", "b"], k=1)),
    ("lengths-differ.*2 scores, 1 probabilities", lambda: world.pk_topk([1, 2], [0.5], k=1)),
    ("lengths-differ.*2 scores, 2 probabilities, 1 rules", lambda: world.candidates([1, 2], [0.5, 1], ["a"], k=1)),
    ("lengths-differ.*1 scores, 2 keys", lambda: world.topk_streams([1], [0.5], ["a", "b"], k=1)),
    ("bad-k.*k is 0", lambda: world.topk_probabilities([1], [0.5], k=0)),
    ("bad-k.*1.5, which is no whole number", lambda: world.u_kranks([1], [0.5], k=1.5)),
    ("bad-k.*None", lambda: world.pk_topk([1], [0.5], k=None)),
    ("bad-k.*an int; it is at least 1", lambda: world.pk_topk([1], [0.5], k=-(10**5000))),
    ("bad-threshold.*None, which is no number", lambda: world.pt_k([1], [0.5], k=1, threshold=None)),
    ("bad-threshold.*'0.5', which is no number", lambda: world.pt_k([1], [0.5], k=1, threshold="0.5")),
    ("bad-threshold.*0.5j, which is no number", lambda: world.pt_k([1], [0.5], k=1, threshold=0.5j)),
    ("bad-threshold.*inf", lambda: world.pt_k([1], [0.5], k=1, threshold=10**400)),
    ("bad-weights.*None, which is no column", lambda: world.prf([1], [0.5], k=1, weights=None)),
    ("bad-weights.*place 1 is None", lambda: world.prf([1], [0.5], k=1, weights=[1, None])),
    ("bad-weights.*place 0 is '1'", lambda: world.prf([1], [0.5], k=1, weights=["1"])),
    ("bad-weights.*2 dimensions", lambda: world.prf([1], [0.5], k=1, weights=[[1.0]])),
    ("bad-alpha.*<NA>, which is no number", lambda: world.prfe([1], [0.5], k=1, alpha=pd.NA)),
    ("bad-alpha.*which is no number", lambda: world.prfe([1], [0.5], k=1, alpha=[0.5])),
    ("bad-eps.*None, which is no number", lambda: world.candidates([1], [0.5], k=1, eps=None)),
    ("too-large.*3 rows and 1000000000 ranks", lambda: world.rank_probabilities([3, 2, 1], [0.5] * 3, k=10**9)),
    ("too-large", lambda: world.RankTable.of([3, 2, 1], [0.5] * 3, k=10**30)),
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


def test_parameters_may_be_any_numbers() -> None:
    rows = ([2, 1], [0.5, 1.0])
    for half in (np.array(0.5), Decimal("0.5"), Fraction(1, 2), np.float32(0.5)):
        assert world.pt_k(*rows, k=1, threshold=half).index.tolist() == [0, 1]
        assert world.prfe(*rows, k=1, alpha=half).value.tolist() == [0.375]
        assert world.prf(*rows, k=1, weights=[half]).value.tolist() == [0.25]
    assert world.candidates(*rows, k=1, eps=np.array(0.1)).tolist() == [True, True]


@pytest.mark.parametrize("excess", [0.0, 9e-10])
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_likelier_than_its_row(seed: int, excess: float) -> None:
    """Rules of a mass of 1, and of as much more as is forgiven."""
    random = np.random.default_rng(seed)
    rule, score = random.integers(0, 12, 40), random.permutation(40)
    prob = random.random(40) ** random.choice([0.01, 1, 5])
    prob = np.minimum(1.0, prob / np.bincount(rule, prob)[rule] * (1 + excess))
    for k in (1, 5, 40):
        table = world.RankTable.of(score, prob, rule, k=k)
        assert (world.topk_probabilities(score, prob, rule, k=k) <= prob).all()
        assert (table.topk_probabilities() <= prob).all()
        assert (table.rank_probabilities() <= prob[:, None]).all()
        for answer in (
            world.pk_topk(score, prob, rule, k=k),
            world.u_kranks(score, prob, rule, k=k),
            world.u_topk(score, prob, rule, k=k),
            world.prfe(score, prob, rule, k=k, alpha=1),
        ):
            assert (answer.value <= prob[answer.index]).all()
        assert (world.topk_streams_exclusive(score, rule, prob, k=k).value <= 1).all()


def test_no_rounding_makes_a_row_likelier() -> None:
    prob = np.linspace(0.2, 0.3, 500)
    assert (np.exp(np.log(prob)) > prob).any()
    for one in prob.tolist():  # the likeliest of ten that exclude each other
        answer = world.u_topk(range(10, 0, -1), [one] + [(1 - one) / 9] * 9, ["a"] * 10, k=1)
        assert answer.index.tolist() == [0]
        assert answer.value[0] <= one
    # A rule that is more than 1 by what is forgiven surely has a row, and no more than that.
    assert world.prf([3, 2, 1], [0.5, 0.5 + 9e-10, 1.0], ["a", "a", None], k=1, weights=[0, 1]).value.tolist() == [1.0]
