"""Uncertain rankings by looking at every world, in fractions: nothing but the definitions.

Rows are (score, probability, rule): a score of None has no rank, a rule of None is one of its own. A world is the list
of the rows that exist in it, best first, as indexes. Where enumeration is too much, :func:`rank_distribution` writes
the definition of the rank's distribution down row by row, with 256 binary digits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple


class Row(NamedTuple):
    score: float | None
    prob: Fraction
    rule: Hashable = None


World = tuple[int, ...]
DIGITS = 256
"""Binary ones, of numbers that stand for fractions."""


def in_rank_order(rows: Sequence[Row]) -> list[int]:
    scored = [(row.score, index) for index, row in enumerate(rows) if row.score is not None]
    return [index for _score, index in sorted(scored, key=lambda one: -one[0])]


def worlds(rows: Sequence[Row]) -> tuple[tuple[World, Fraction], ...]:
    """Every world of positive probability."""
    return _worlds(tuple(rows))


@lru_cache(maxsize=32)
def _worlds(rows: tuple[Row, ...]) -> tuple[tuple[World, Fraction], ...]:
    return tuple(_enumerated(rows))


def _enumerated(rows: tuple[Row, ...]) -> Iterator[tuple[World, Fraction]]:
    order = in_rank_order(rows)
    place = {index: at for at, index in enumerate(order)}
    rules: dict[Hashable, list[int]] = {}
    for index in order:
        label = rows[index].rule
        rules.setdefault(("own", index) if label is None else ("rule", label), []).append(index)
    choices = [
        [*((index, rows[index].prob) for index in members), (None, 1 - sum(rows[index].prob for index in members))]
        for members in rules.values()
    ]
    for choice in product(*choices):
        probability = Fraction(1)
        for _index, one in choice:
            probability *= one
        if probability:
            existing = [index for index, _one in choice if index is not None]
            yield tuple(sorted(existing, key=place.__getitem__)), probability


def rank_probabilities(rows: Sequence[Row], k: int) -> list[list[Fraction]]:
    return [list(ranks) for ranks in _rank_probabilities(tuple(rows), k)]


@lru_cache(maxsize=512)
def _rank_probabilities(rows: tuple[Row, ...], k: int) -> list[list[Fraction]]:
    found = [[Fraction(0)] * k for _ in rows]
    for world, probability in worlds(rows):
        for rank, index in enumerate(world[:k]):
            found[index][rank] += probability
    return found


def topk_probabilities(rows: Sequence[Row], k: int) -> list[Fraction]:
    return [sum(ranks, Fraction(0)) for ranks in rank_probabilities(rows, k)]


def best_by(rows: Sequence[Row], values: Sequence[Fraction], k: int) -> list[int]:
    """The k rows of largest absolute value, none of value 0, equal ones in rank order."""
    return sorted((index for index in in_rank_order(rows) if values[index]), key=lambda index: -abs(values[index]))[:k]


def u_topk(rows: Sequence[Row], k: int) -> tuple[World, Fraction]:
    """The likeliest vector; of equal ones the first in lexicographic order of rank."""
    place = {index: at for at, index in enumerate(in_rank_order(rows))}
    vectors: dict[World, Fraction] = {}
    for world, probability in worlds(rows):
        vectors[world[:k]] = vectors.get(world[:k], Fraction(0)) + probability
    most = max(vectors.values())
    tied = [vector for vector, probability in vectors.items() if probability == most]
    return min(tied, key=lambda vector: [place[index] for index in vector]), most


def u_kranks(rows: Sequence[Row], k: int) -> list[tuple[int, Fraction]]:
    ranks = rank_probabilities(rows, k)
    named = []
    for rank in range(k):
        row = max(in_rank_order(rows), key=lambda index: ranks[index][rank], default=None)  # the first of equal ones
        if row is not None and ranks[row][rank]:
            named.append((row, ranks[row][rank]))
    return named


def expected_ranks(rows: Sequence[Row]) -> dict[int, Fraction]:
    found = dict.fromkeys(in_rank_order(rows), Fraction(0))
    for world, probability in worlds(rows):
        for index in found:
            found[index] += probability * (world.index(index) if index in world else len(world))
    return found


def prf(rows: Sequence[Row], weights: Sequence[Fraction]) -> list[Fraction]:
    return [
        sum((weight * one for weight, one in zip(weights, ranks)), Fraction(0))
        for ranks in rank_probabilities(rows, len(weights))
    ]


def prfe(rows: Sequence[Row], alpha: Fraction) -> list[Fraction]:
    return prf(rows, [alpha ** (rank + 1) for rank in range(len(rows))])


def expected_by_key(rows: Sequence[Row], keys: Sequence[Hashable], k: int) -> dict[Hashable, Fraction]:
    """Expected number of rows of each key among the k best."""
    found: dict[Hashable, Fraction] = {}
    for world, probability in worlds(rows):
        for index in world[:k]:
            found[keys[index]] = found.get(keys[index], Fraction(0)) + probability
    return found


def rank_distribution(rows: Sequence[Row], k: int) -> list[list[Fraction]]:
    """:func:`rank_probabilities` from the definition: for each row a product over the other rules, O(n^2 k).

    Whole numbers of 2**-DIGITS instead of fractions, whose denominators would have thousands of digits.
    """
    one = 1 << DIGITS
    found = [[Fraction(0)] * k for _ in rows]
    order = in_rank_order(rows)
    probs = [round(row.prob * one) for row in rows]
    for at, index in enumerate(order):
        masses: dict[Hashable, int] = {}
        for better in order[:at]:
            label = rows[better].rule
            if label is None or label != rows[index].rule:
                whose = ("own", better) if label is None else ("rule", label)
                masses[whose] = masses.get(whose, 0) + probs[better]
        beaten = [one]
        for mass in masses.values():
            beaten.append(0)
            beaten = [((one - mass) * here + mass * before) >> DIGITS for before, here in zip([0, *beaten], beaten)][:k]
        for rank, exactly in enumerate(beaten):
            found[index][rank] = Fraction(probs[index] * exactly, one * one)
    return found
