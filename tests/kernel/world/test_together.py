"""One pass for every ranking: each answer is the definition's, and the same to the last bit in any company."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel import world
from punctual.kernel.world import Ranked, Wanted, rank_together
from punctual.kernel.world.bounds import kth_largest_at_least
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import F64, I64, UncertainRows
from punctual.kernel.world.ranked import largest_first, least_first
from punctual.kernel.world.requests import Request, walk_for
from tests.kernel.world.drawing import few_rows, many_rows
from tests.oracles import worlds as oracle
from tests.oracles.worlds import Row

CLOSE = 1e-12
KS = (1, 2, 7, 15, 16, 17, 40, 100)
SEMANTICS = ("PK", "GLOBAL", "PT", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF", "PRFE", "STREAMS")
checked = settings(deadline=None, derandomize=True, max_examples=60)


def in_rank_order(rows: Sequence[Row]) -> tuple[list[Row], F64, I64]:
    """Rows with a rank, best first, as columns."""
    order = [rows[index] for index in oracle.in_rank_order(rows)]
    order = [Row(-float(place), row.prob, row.rule) for place, row in enumerate(order)]
    labels: dict[Any, int] = {None: -1}
    rule = [labels.setdefault(row.rule, len(labels)) for row in order]
    return order, np.array([float(row.prob) for row in order]), np.array(rule, np.int64)


def expected(rows: Sequence[Row], keys: Sequence[int], one: Wanted) -> tuple[list[int], list[Fraction]]:
    """What the definition says."""
    match one.semantics:
        case "PK" | "GLOBAL" | "PT":
            values = oracle.topk_probabilities(rows, one.k)
        case "PRF":
            values = oracle.prf(rows, [Fraction(number) for number in one.numbers])
        case "PRFE":
            values = oracle.prfe(rows, Fraction(one.numbers[0]))
        case "U_KRANKS":
            named = oracle.u_kranks(rows, one.k)
            return [row for row, _value in named], [value for _row, value in named]
        case "U_TOPK":
            vector, probability = oracle.u_topk(rows, one.k)
            return list(vector), [probability] * len(vector)
        case "EXPECTED_RANK":
            by_row = oracle.expected_ranks(rows)
            index = sorted(by_row, key=lambda row: by_row[row])[: one.k]
            return index, [by_row[row] for row in index]
        case "STREAMS":
            by_key = oracle.expected_by_key(rows, keys, one.k)
            possible = [index for index, row in enumerate(rows) if row.prob]
            best_row = {keys[index]: index for index in reversed(possible)}
            names = sorted(by_key, key=lambda key: (-by_key[key], best_row[key]))[: one.k]  # type: ignore[index]
            return [best_row[key] for key in names], [by_key[key] for key in names]  # type: ignore[index]
    index = oracle.best_by(rows, values, len(rows))
    if one.semantics == "PT":
        index = [row for row in index if values[row] >= Fraction(one.numbers[0])]
    else:
        index = index[: one.k]
    return index, [values[row] for row in index]


@checked
@given(few_rows(), st.lists(st.tuples(st.sampled_from(SEMANTICS), st.integers(1, 5)), min_size=1, max_size=8))
def test_all_rankings_of_one_call_are_what_their_definitions_say(rows: list[Row], asked: list[tuple[str, int]]) -> None:
    order, prob, rule = in_rank_order(rows)
    keys = np.arange(len(order)) % 3
    numbers = {"PT": (0.25,), "PRF": (1.0, -0.5, 2.0), "PRFE": (0.5,)}
    wanted = [Wanted(semantics, k, numbers.get(semantics, ())) for semantics, k in asked]
    for one, answer in zip(wanted, rank_together(prob, rule, keys, wanted), strict=True):
        index, value = expected(order, keys.tolist(), one)
        assert answer.index.tolist() == index, one
        assert answer.value == pytest.approx([float(each) for each in value], abs=CLOSE, rel=0)


def columns(seed: int, n: int, size: int, mass: tuple[float, float]) -> tuple[F64, I64, I64]:
    """Rows in rank order, a third of them without a rule, and keys."""
    _score, prob, rule = many_rows(seed, n, size, mass)
    return prob, np.where(rule % 3 == 0, -1, rule), np.arange(n) * 7 % 31


def company(prob: F64) -> list[Wanted]:
    wanted = [Wanted(semantics, k) for semantics in ("PK", "U_KRANKS", "STREAMS") for k in KS]
    wanted += [Wanted("PK", k, margin=0.2) for k in KS]
    wanted += [Wanted("PT", k, (float(np.quantile(prob, 0.8)),)) for k in KS]
    wanted += [Wanted("PRF", 5, tuple(np.linspace(1, -0.3, k).tolist())) for k in KS]
    wanted += [Wanted("PRF", k, (1.0, -0.4, 0.3), margin) for k in KS for margin in (0.0, 0.3)]
    return wanted


def same_bits(one: Ranked, other: Ranked) -> bool:
    return one.index.tolist() == other.index.tolist() and one.value.tolist() == other.value.tolist()


MASSES = ((0.001, 0.02), (0.1, 0.44), (0.3, 1.0), (1.0, 1.0))


@pytest.mark.parametrize("mass", MASSES, ids=str)
@pytest.mark.parametrize("size", [2, 9])
@pytest.mark.parametrize("eps", [1e-18, 0.1])
def test_company_changes_no_bit(mass: tuple[float, float], size: int, eps: float) -> None:
    """Light rules and heavy ones, where the walk for a larger k goes further and its tree is higher."""
    prob, rule, keys = columns(size, 3000, size, mass)
    wanted = company(prob)
    for one, answer in zip(wanted, rank_together(prob, rule, keys, wanted, eps=eps), strict=True):
        assert same_bits(answer, rank_together(prob, rule, keys, [one], eps=eps)[0]), one


@pytest.mark.parametrize("semantics", ["STREAMS_EXCLUSIVE", "STREAMS_ALIKE"])
def test_company_changes_no_bit_of_exclusive_keys(semantics: str) -> None:
    _prob, _rule, keys = columns(3, 3000, 5, (0.1, 0.4))
    prob = np.full(3000, 1 / 200)
    wanted = [Wanted(semantics, k) for k in KS] + [Wanted("PK", 50)]
    answers = rank_together(prob, None, keys, wanted)
    assert all(same_bits(rank_together(prob, None, keys, [one])[0], both) for one, both in zip(wanted, answers))
    known = prob if semantics == "STREAMS_EXCLUSIVE" else None
    alone = world.topk_streams_exclusive(-np.arange(3000), keys, known, k=7)
    assert same_bits(answers[KS.index(7)], alone)


@pytest.mark.parametrize("mass", MASSES, ids=str)
@pytest.mark.parametrize("size", [3, 60])
@pytest.mark.parametrize("eps", [1e-18, 0.1])
def test_probabilities_of_all_rows_have_the_same_bits_from_a_larger_k(
    mass: tuple[float, float], size: int, eps: float
) -> None:
    rows = ranked(*many_rows(8, 2000, size, mass)).possible()
    keys = np.arange(rows.prob.size)
    every = walk_for(rows, [Request(k, by_key=True) for k in KS], keys=keys, table=KS[-1], eps=eps)
    for k in KS:
        request = Request(k, by_key=True)
        alone = walk_for(rows, [request], keys=keys, table=k, eps=eps)
        assert every.sums(request).tolist() == alone.sums(request).tolist()
        seen = len(alone.readings.table)
        assert every.readings.table[:seen, :k].tolist() == alone.readings.table[:, :k].tolist()
        assert not every.readings.table[seen:, :k].any()


@checked
@given(few_rows(), st.sampled_from((1e-18, 0.01, 0.1)))
def test_eps_moves_no_probability_by_more(rows: list[Row], eps: float) -> None:
    order, prob, rule = in_rank_order(rows)
    uncertain = ranked(-np.arange(prob.size), prob, [None if one < 0 else one for one in rule]).possible()
    requests = [Request(k, by_key=True) for k in (1, 2, 3)]
    result = walk_for(uncertain, requests, keys=np.arange(uncertain.prob.size), eps=eps)
    for request in requests:
        exact = np.array(oracle.topk_probabilities(order, request.k), float)
        moved = np.abs(uncertain.scatter(result.sums(request)) - exact)
        assert (moved <= eps + CLOSE).all()


@pytest.mark.parametrize("mass", MASSES, ids=str)
def test_a_loose_eps_reads_less_and_moves_little(mass: tuple[float, float]) -> None:
    rows = ranked(*many_rows(8, 4000, 3, mass)).possible()
    requests = [Request(k, by_key=True) for k in KS]
    exact, loose = (walk_for(rows, requests, keys=np.arange(4000), eps=eps) for eps in (1e-18, 0.1))
    for request in requests:
        full, cut = exact.sums(request), loose.sums(request)
        assert np.abs(full - cut).max() <= 0.1
        assert np.array_equal(cut[cut > 0], full[cut > 0]), "what is left has the same bits"
    seen = [int(np.flatnonzero(result.sums(requests[0]))[-1]) for result in (exact, loose)]
    assert seen[1] < seen[0]


def with_margin(values: F64, k: int, margin: float, *, ascending: bool = False) -> list[int]:
    """By the definition: sort, take k, then all that are close enough."""
    compared = np.array([float(f"{value:.12g}") for value in np.abs(values).tolist()])
    order = np.argsort(compared if ascending else -compared, kind="stable").tolist()
    order = [row for row in order if compared[row] or ascending]
    if k >= len(order):
        return order
    last = abs(values[order[k - 1]])
    near = (lambda v: v <= last * (1 + margin)) if ascending else (lambda v: v >= last / (1 + margin))
    return order[:k] + [row for row in order[k:] if near(abs(values[row]))]


@pytest.mark.parametrize("mass", MASSES, ids=str)
@pytest.mark.parametrize("margin", [0.05, 0.5, 10.0])
def test_near_misses(mass: tuple[float, float], margin: float) -> None:
    prob, rule, keys = columns(4, 600, 3, mass)
    score, labels = -np.arange(600), [None if one < 0 else one for one in rule.tolist()]
    weights = (1.0, 0.5, 0.25)
    every = {
        "PK": world.topk_probabilities(score, prob, labels, k=20),
        "PRF": world.rank_probabilities(score, prob, labels, k=3) @ weights,
        "STREAMS": np.bincount(keys, world.topk_probabilities(score, prob, labels, k=20)),
        "EXPECTED_RANK": (lambda all_: all_.value[np.argsort(all_.index)])(
            world.expected_ranks(score, prob, labels, k=600)
        ),
    }
    for semantics, values in every.items():
        numbers = weights if semantics == "PRF" else ()
        [answer] = rank_together(prob, rule, keys, [Wanted(semantics, 20, numbers, margin)])
        found = keys[answer.index] if semantics == "STREAMS" else answer.index
        assert found.tolist() == with_margin(values, 20, margin, ascending=semantics == "EXPECTED_RANK")
    [answer] = rank_together(prob, rule, keys, [Wanted("PT", 20, (0.1,), margin)])
    assert sorted(answer.index) == np.flatnonzero(every["PK"] >= 0.1 / (1 + margin)).tolist()


@pytest.mark.parametrize("mass", MASSES, ids=str)
def test_the_bound_on_the_kth_best_value(mass: tuple[float, float]) -> None:
    rows = ranked(*many_rows(12, 3000, 3, mass)).possible()
    bounds = kth_largest_at_least(rows.prob, np.array(KS))
    for k, bound in zip(KS, bounds.tolist()):
        values = np.sort(walk_for(rows, [Request(k, by_key=True)], keys=np.arange(3000)).sums(Request(k, by_key=True)))
        assert bound <= values[-k]
    assert bounds[-1] > 0.5 * values[-100], "and it is of use"


def test_choices_keep_little_more_than_they_answer() -> None:
    """Memory is neither rows times k nor, unless rows are alike, rows times queries."""
    prob = np.random.default_rng(1).random(100_000) * 0.01
    requests = [Request(k, best=k) for k in (10, 100, 1000)]
    result = walk_for(UncertainRows(100_000, np.arange(100_000), prob, np.full(100_000, -1), 0), requests)
    for request in requests:
        assert request.k <= result.choice(request)[0].size < 3 * request.k + 100
    assert result.readings.rows.size < 100_000


def test_rows_that_are_alike_stay_in_rank_order() -> None:
    prob = np.full(3000, 0.1)
    wanted = [Wanted("PK", k) for k in (5, 50)] + [Wanted("PRF", 5, (1.0,) * 50)]
    for one, answer in zip(wanted, rank_together(prob, None, None, wanted), strict=True):
        assert answer.index.tolist() == list(range(one.k))


def test_the_first_of_nearly_equal_rows_has_the_rank() -> None:
    """Rows 0 and 1 are as likely at rank 1, but for the last digit: 0.3 and 0.7 * 0.3 / 0.7."""
    prob = np.array([0.3, 0.3 / 0.7])
    assert prob[1] * (1 - prob[0]) == pytest.approx(0.3, rel=1e-15)
    [answer] = rank_together(prob, None, None, [Wanted("U_KRANKS", 1)])
    assert answer.index.tolist() == [0]
    [answer] = rank_together(prob * [1, 1 + 1e-9], None, None, [Wanted("U_KRANKS", 1)])
    assert answer.index.tolist() == [1]


def test_no_rows_and_impossible_rows() -> None:
    wanted = [Wanted(semantics, 3, (0.5,)) for semantics in (*SEMANTICS, "STREAMS_EXCLUSIVE", "STREAMS_ALIKE")]
    nothing = np.zeros(0, np.int64)
    assert [one.index.size for one in rank_together(np.zeros(0), nothing, nothing, wanted)] == [0] * 11
    answers = rank_together(np.array([0.0, 0.5]), None, np.array([4, 4]), wanted)
    assert [one.index.tolist() for one in answers] == [[1]] * 4 + [[], [1, 0]] + [[1]] * 4 + [[0]]


@pytest.mark.parametrize("semantics", ["STREAMS", "STREAMS_EXCLUSIVE", "STREAMS_ALIKE"])
def test_no_key_is_a_key_like_any_other(semantics: str) -> None:
    prob, keys = np.full(60, 0.04), np.arange(60) % 3
    answers = [rank_together(prob, None, each, [Wanted(semantics, 2)])[0] for each in (keys, keys - 1)]
    assert same_bits(*answers)
    assert answers[0].index.tolist() == [0, 1]


REFUSED: list[tuple[str, Any]] = [
    ("bad-semantics.*'BEST'", lambda prob: rank_together(prob, None, None, [Wanted("BEST", 1)])),
    ("bad-semantics.*no ranking", lambda prob: rank_together(prob, None, None, ["PK"])),
    ("bad-eps", lambda prob: rank_together(prob, None, None, [Wanted("PK", 1)], eps=0.0)),
    ("bad-eps", lambda prob: rank_together(prob, None, None, [Wanted("PK", 1)], eps=0.5)),
    ("bad-k", lambda prob: rank_together(prob, None, None, [Wanted("PK", 0)])),
    ("rule-mass", lambda prob: rank_together(prob, None, np.zeros(3, np.int64), [Wanted("STREAMS_EXCLUSIVE", 1)])),
    ("no-keys.*STREAMS ", lambda prob: rank_together(prob, None, None, [Wanted("STREAMS", 2)])),
    ("no-keys.*STREAMS_ALIKE", lambda prob: rank_together(prob, None, None, [Wanted("STREAMS_ALIKE", 2)])),
    ("bad-probability.*row 1 is nan", lambda prob: rank_together([0.5, np.nan], None, None, [Wanted("PK", 1)])),
    ("bad-probability.*row 0 is 1.5", lambda prob: rank_together([1.5], None, None, [Wanted("PK", 1)])),
    ("lengths-differ.*3 probabilities, 1 rules", lambda prob: rank_together(prob, [0], None, [Wanted("PK", 1)])),
    ("lengths-differ.*3 probabilities, 2 keys", lambda prob: rank_together(prob, None, [0, 1], [Wanted("STREAMS", 1)])),
    ("bad-label.*rules row 1 has 0.5", lambda prob: rank_together(prob, [0, 0.5, 1], None, [Wanted("PK", 1)])),
    ("bad-label.*keys row 0 has None", lambda prob: rank_together(prob, None, [None] * 3, [Wanted("STREAMS", 1)])),
    ("bad-threshold.*PT has no threshold", lambda prob: rank_together(prob, None, None, [Wanted("PT", 1)])),
    ("bad-alpha.*PRFE has no alpha", lambda prob: rank_together(prob, None, None, [Wanted("PRFE", 1)])),
    ("bad-weights", lambda prob: rank_together(prob, None, None, [Wanted("PRF", 1)])),
    ("bad-margin.*nan", lambda prob: rank_together(prob, None, None, [Wanted("PK", 1, (), np.nan)])),
    ("bad-margin.*-0.1", lambda prob: rank_together(prob, None, None, [Wanted("PK", 1, (), -0.1)])),
]


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[message for message, _call in REFUSED])
def test_what_is_refused(message: str, call: Any) -> None:
    with pytest.raises(world.WorldError, match=rf"\[world\.{message}"):
        call(np.full(3, 0.5))


def test_lists_and_numbers_of_any_size() -> None:
    """Rules and keys are numbers for something else: nobody makes room for all below them."""
    wanted = [Wanted("PK", 2), Wanted("STREAMS", 2), Wanted("STREAMS_ALIKE", 2), Wanted("EXPECTED_RANK", 2)]
    small = rank_together(np.array([0.3, 0.4, 0.8]), np.array([0, 0, -1]), np.array([0, 1, 0]), wanted)
    for large in (2**40, 2**62, 2**63, 2**70):
        found = rank_together([0.3, 0.4, 0.8], [large, large, -4], [5, large, 5], wanted)
        assert all(same_bits(one, other) for one, other in zip(small, found, strict=True))


@pytest.mark.parametrize("prob", [0.003046475672716653, 0.1, 0.25, 0.019, 0.7])
@pytest.mark.parametrize("n", [5, 33])
def test_equal_rows_are_in_rank_order_also_where_rounding_parts_them(prob: float, n: int) -> None:
    wanted = [Wanted("PK", n), Wanted("PRF", n, (1.0,) * n), Wanted("PRFE", n, (1.0,)), Wanted("STREAMS", n)]
    for one, answer in zip(wanted, rank_together([prob] * n, None, list(range(n)), wanted), strict=True):
        assert answer.index.tolist() == list(range(n)), one


UNIT = 2.0**-40
"""Rounding a number above a half: half a unit above ``0.5`` is its edge."""
EDGE = 0.5 + UNIT / 2


@pytest.mark.parametrize("many", [0, 9000])
def test_neighbours_on_two_sides_of_an_edge_are_equal(many: int) -> None:
    others = np.linspace(0.1, 0.2, many)
    below, above = np.nextafter(EDGE, 0), np.nextafter(EDGE, 1)
    for tied in ([below, above, EDGE], [above, below, below]):
        assert largest_first(np.array([*tied, *others]))[:3].tolist() == [0, 1, 2]
        assert least_first(np.array([*tied, *(1 + others)]))[:3].tolist() == [0, 1, 2]
    clear = np.array([EDGE - UNIT / 4, EDGE + UNIT / 4, *others])
    assert largest_first(clear)[:2].tolist() == [1, 0]
    assert least_first(np.array([EDGE + UNIT / 4, EDGE - UNIT / 4]))[:2].tolist() == [1, 0]


@checked
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=5), st.integers(0, 4), st.sampled_from((0.0, 0.25)))
def test_a_threshold_is_reached_by_what_is_equal_to_it(thousandths: list[int], which: int, margin: float) -> None:
    """Of exact probabilities, one is the threshold: rounding takes none of them away."""
    rows = [Row(-float(place), Fraction(number, 1000)) for place, number in enumerate(thousandths)]
    exact = oracle.topk_probabilities(rows, 1)
    threshold = exact[which % len(rows)]
    if threshold:
        wanted = [Wanted("PT", 1, (float(threshold * Fraction(1 + margin)),), margin)]
        if wanted[0].numbers[0] <= 1:
            [answer] = rank_together([float(row.prob) for row in rows], None, None, wanted)
            assert sorted(answer.index.tolist()) == [row for row, value in enumerate(exact) if value >= threshold]


def test_what_is_left_of_terms_is_judged_by_the_row() -> None:
    """A row of 1e-16 is worth little, and not nothing; what cancels is nothing, however little it is."""
    assert world.prf([2, 1], [1e-16, 0.5], k=2, weights=[1, -1]).index.tolist() == [1, 0]
    for prob in (1.0, 1e-3, 1e-12):
        answer = world.prf([3, 2, 1], [0.3, 0.4, prob], k=3, weights=[0.46, -0.42])  # 0.42 at rank 1, 0.46 at rank 2
        assert 2 not in answer.index.tolist()
