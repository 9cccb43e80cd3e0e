"""Rankings on display against the rules as they are written, over whole rankings and exact numbers."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.kernel.synopses.ranked_rows import WorldRows
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.steady import near, steady
from punctual.kernel.world.streams import topk_streams, topk_streams_exclusive
from punctual.kernel.world.together import Wanted, rank_together
from tests.kernel.world.test_synopsis import answered, drawn, in_order, lifted
from tests.oracles import worlds
from tests.oracles.display import following

QUICK = settings(deadline=None, derandomize=True, max_examples=300)
MARGINS = st.sampled_from([Fraction(1, 20), Fraction(1, 4), Fraction(1, 10), Fraction(1)])
# Many ties, many exact margins (21/20, 5/4, 2), in twentieths and in binary fractions.
WORTHS = st.integers(1, 44).map(lambda n: Fraction(n, 40)) | st.integers(1, 16).map(lambda n: Fraction(n, 16))
RANKINGS = st.dictionaries(st.integers(0, 9), WORTHS, max_size=10)


def ranked(worth: dict[int, Fraction], *, ascending: bool = False) -> list[tuple[int, Fraction]]:
    return sorted(worth.items(), key=lambda item: (item[1] if ascending else -abs(item[1]), item[0]))


def columns(ranking: list[tuple[int, Fraction]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([e for e, _v in ranking], np.int64), np.array([float(v) for _e, v in ranking], np.float64)


def displayed(
    former: list[int], ranking: list[tuple[int, Fraction]], k: int, margin: Fraction, *, ascending: bool = False
) -> list[int]:
    entries, values = columns(ranking)
    found = near(Ranked(np.arange(entries.size), values), k, float(margin), ascending=ascending)
    places = steady(
        np.array(former, np.int64), entries[found.index], found.value, k=k, margin=float(margin), ascending=ascending
    )
    shown: list[int] = entries[found.index][places].tolist()
    return shown


@QUICK
@given(st.lists(RANKINGS, min_size=1, max_size=6), st.integers(1, 5), MARGINS, st.booleans())
def test_near_misses_give_what_whole_rankings_give(
    several: list[dict[int, Fraction]], k: int, margin: Fraction, ascending: bool
) -> None:
    shown: list[int] = []
    for number, worth in enumerate(several):
        ranking = ranked(worth, ascending=ascending)
        expected = following(shown, ranking, margin, k=k, ascending=ascending)
        shown = displayed(shown, ranking, k, margin, ascending=ascending)
        assert shown == expected
        if number == 0:
            assert shown == [entry for entry, _value in ranking[:k]]


@QUICK
@given(st.lists(RANKINGS, min_size=2, max_size=4), st.integers(1, 5), MARGINS)
def test_what_a_display_promises(several: list[dict[int, Fraction]], k: int, margin: Fraction) -> None:
    shown: list[int] = []
    for worth in several:
        ranking = ranked(worth)
        before, shown = shown, displayed(shown, ranking, k, margin)
        assert len(shown) == len(set(shown)) == min(k, len(worth))
        gone = [entry for entry in before if entry in worth and entry not in shown]
        new = [entry for entry in shown if entry not in before]
        # Whoever is displaced was passed, each by somebody else.
        assert len(gone) <= len(new)
        best = sorted((worth[entry] for entry in new), reverse=True)
        assert all(b > v * (1 + margin) for b, v in zip(reversed(best), sorted((worth[e] for e in gone), reverse=True)))
        # Nobody who is left out passes anybody on display, and nobody the one above.
        for entry in worth.keys() - set(shown):
            assert all(worth[entry] <= worth[other] * (1 + margin) for other in shown)
        assert all(worth[low] <= worth[high] * (1 + margin) for high, low in pairwise(shown))
        assert displayed(shown, ranking, k, margin) == shown
        entries, values = columns(ranking)
        exact = entries[steady(np.array(before, np.int64), entries, values, k=k, margin=0.0)].tolist()
        assert sorted(worth[entry] for entry in exact) == sorted(value for _e, value in ranking[:k])


@QUICK
@given(st.lists(RANKINGS, min_size=1, max_size=6), WORTHS, MARGINS)
def test_a_threshold_in_place_of_k(several: list[dict[int, Fraction]], threshold: Fraction, margin: Fraction) -> None:
    shown: list[int] = []
    for worth in several:
        ranking = ranked(worth)
        expected = following(shown, ranking, margin, threshold=threshold)
        entries, values = columns([(e, v) for e, v in ranking if v * (1 + margin) >= threshold])
        places = steady(
            np.array(shown, np.int64), entries, values, k=1, margin=float(margin), threshold=float(threshold)
        )
        shown = entries[places].tolist()
        assert shown == expected


def test_scores_of_both_signs_count_by_their_size() -> None:
    entries, former = np.array([1, 2, 3]), np.array([3, 2])
    assert entries[steady(former, entries, np.array([-0.87, 0.8, -0.6]), k=2, margin=0.1)].tolist() == [2, 1]
    assert entries[steady(former, entries, np.array([-0.9, 0.87, -0.85]), k=2, margin=0.1)].tolist() == [3, 2]


SEMANTICS: list[tuple[str, tuple[float, ...]]] = [
    ("PK", ()), ("GLOBAL", ()), ("PT", (0.25,)), ("EXPECTED_RANK", ()), ("PRF", (1.0, -0.5, 0.25)), ("PRFE", (0.5,)),
]


@pytest.mark.parametrize(("semantics", "numbers"), SEMANTICS)
@pytest.mark.parametrize("seed", range(6))
def test_a_synopsis_gives_near_misses(seed: int, semantics: str, numbers: tuple[float, ...]) -> None:
    """Exactly the rows that the k-th best does not pass, by probabilities counted over all worlds."""


    chance = random.Random(seed)
    rows = drawn(chance, 9, rules=bool(seed % 2))
    ranking, order = in_order(rows, [0] * len(rows), ascending=False)
    k, margin = 2, Fraction(1, 4)
    weights = [Fraction(number) for number in numbers]
    if semantics == "EXPECTED_RANK":
        means = worlds.expected_ranks(ranking)
        values = [means[i] for i in range(len(rows))]
        by_value = sorted(range(len(rows)), key=lambda i: (values[i], i))
        expected = [i for i in by_value if values[i] <= values[by_value[k - 1]] * (1 + margin)]
    else:
        if semantics in ("PK", "GLOBAL", "PT"):
            values = worlds.topk_probabilities(ranking, k)
        else:
            values = worlds.prf(ranking, weights) if semantics == "PRF" else worlds.prfe(ranking, weights[0])
        by_value = [i for i in worlds.best_by(ranking, values, len(rows)) if values[i]]
        least = weights[0] if semantics == "PT" else abs(values[by_value[k - 1]]) if len(by_value) >= k else Fraction(0)
        expected = [i for i in by_value if abs(values[i]) * (1 + margin) >= least]
    synopsis = WorldRows(0, 0)
    state = lifted(synopsis, rows, [0] * len(rows), [0] * len(rows), 1)
    found, _rejected = answered(synopsis, state, (semantics, k, 0, float(margin), *numbers))
    assert [row["x0"] for row in found] == [rows[order[i]]["x0"] for i in expected]
    plain, _rejected = answered(synopsis, state, (semantics, k, 0, 0.0, *numbers))
    assert found[: len(plain)] == plain  # the very same values


def test_near_misses_of_keys_begin_with_the_ranking() -> None:
    chance = np.random.default_rng(5)
    prob, keys = chance.random(60) / 16, chance.integers(-1, 12, 60)
    score = np.arange(60, 0, -1)
    labels = np.where(keys < 0, 12, keys)
    for semantics, plain in (
        ("STREAMS", topk_streams(score, prob, labels, k=60)),
        ("STREAMS_EXCLUSIVE", topk_streams_exclusive(score, labels, prob, k=60)),
        ("STREAMS_ALIKE", topk_streams_exclusive(score, labels, k=60)),
    ):
        assert plain.index.size > 5
        (found,) = rank_together(prob, None, keys, [Wanted(semantics, 60, (), 0.05)])
        assert found.index.tolist() == plain.index.tolist()
        assert np.allclose(found.value, plain.value, rtol=1e-14, atol=0)  # rows of a key are added up in other orders
        (few,) = rank_together(prob, None, keys, [Wanted(semantics, 3, (), 0.5)])
        assert 3 < few.index.size < 13
        assert few.value[-1] * 1.5 >= few.value[2]


def test_few_rows_are_all_near() -> None:
    wanted = [Wanted("PK", 5, (), 0.05)]
    assert rank_together(np.array([0.5, 0.001]), None, None, wanted)[0].index.tolist() == [0, 1]
    assert rank_together(np.zeros(0), None, None, wanted)[0].index.size == 0
