"""Uncertain rows for tests: few for enumeration, many for properties."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from punctual.kernel.world.input.rows import F64, I64
from tests.oracles.worlds import Row

LABELS: tuple[Hashable, ...] = (None, None, "a", "b", ("a", 1))


@st.composite
def few_rows(draw: st.DrawFn, most: int = 7) -> list[Row]:
    """Equal and missing scores, probabilities 0 and 1, rules that sum to 1, a rule that nobody shares."""
    drawn = draw(
        st.lists(
            st.tuples(
                st.one_of(st.integers(-2, 4), st.none()), st.sampled_from((0, 1, 2, 3, 5, 10)), st.sampled_from(LABELS)
            ),
            max_size=most,
        )
    )
    sums: dict[Hashable, int] = {}
    for _score, weight, label in drawn:
        sums[label] = sums.get(label, 0) + weight
    return [
        Row(score, Fraction(weight, 10 if label is None else max(10, sums[label])), label)
        for score, weight, label in drawn
    ]


def columns(rows: Sequence[Row]) -> tuple[list[Any], list[float], list[Any]]:
    """Score, probability and rule as the kernel takes them."""
    return [row.score for row in rows], [float(row.prob) for row in rows], [row.rule for row in rows]


def many_rows(seed: int, n: int, size: int, mass: tuple[float, float]) -> tuple[F64, F64, I64]:
    """Rules of about ``size`` rows each, with masses between the two."""
    random = np.random.default_rng(seed)
    rule = random.integers(0, max(1, n // size), n)
    weight = random.random(n) + 0.01
    target = random.uniform(*mass, n)
    return random.random(n), np.minimum(1.0, weight / np.bincount(rule, weight, n)[rule] * target[rule]), rule
