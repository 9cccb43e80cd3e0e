"""Compile the kernels of possible worlds: every distribution, existence, folds, results and closed forms, once."""

from __future__ import annotations

import numpy as np

from punctual.kernel.draw.closed_forms import normal_above, sum_variances
from punctual.kernel.draw.count_laws import count_laws
from punctual.kernel.draw.distributions import Normal, Uniform, Weighted
from punctual.kernel.draw.draws import draw_numbers, draw_places
from punctual.kernel.draw.existence import existing, stretches
from punctual.kernel.draw.folds import Function, finished, fold, merged
from punctual.kernel.draw.histograms import histograms
from punctual.kernel.draw.in_time import interpolated
from punctual.kernel.draw.kept.pane_folds import of_groups
from punctual.kernel.draw.moments import moments
from punctual.kernel.draw.nearest import nearest
from punctual.kernel.draw.observed import empirical
from punctual.kernel.draw.philox import source
from punctual.kernel.draw.results import expected

ROWS, ROUNDS = 8, range(1, 10)
FUNCTIONS: tuple[Function, ...] = ("count", "sum", "avg", "min", "max")


def warm_draw() -> int:
    """Draw, fold and sum up a few rows; how many numbers came out."""
    drawn_from, identity, number = source(1, "warm", "x"), np.arange(ROWS, dtype=np.uint64), np.arange(ROWS)
    middle, wide = np.linspace(0.1, 50.0, ROWS), np.full(ROWS, 2.0)
    observed, asked, group = number < ROWS - 2, number[-2:], number % 2
    answers = 0
    for choice in (
        Weighted.of_lists(number[:3] * 2, middle[:4]),
        empirical(group, observed, number, asked)[0],
        interpolated(group, number, observed, number, asked, ROWS)[0],
        nearest(np.column_stack([middle, wide]), number, observed, number, asked, 3)[0],
    ):
        answers += draw_places(drawn_from, identity[:2], choice, ROUNDS).size + moments(choice, middle)[0].size
    rows = stretches(identity, np.full(ROWS, 0.2), identity // np.uint64(2))
    present = existing(source(1, "warm", ""), rows, ROUNDS)
    certain = fold(FUNCTIONS, group, 2, middle[:, None])
    whole = np.broadcast_to(number[:, None], (ROWS, len(ROUNDS))).copy()
    for folded in (fold(FUNCTIONS, group, 2, whole), fold(FUNCTIONS, group, 2, whole, present)):
        answers += finished("sum", of_groups([(folded, np.arange(2))], 2), whole=True)[0].size
    for distribution in (Normal(middle, wide), Uniform(-wide, middle)):
        values = draw_numbers(drawn_from, identity, distribution, ROUNDS)
        values[0, 0] = np.nan
        for folded in (fold(FUNCTIONS, group, 2, values), fold(FUNCTIONS, group, 2, values, present)):
            for function in FUNCTIONS:
                bundle, there = finished(function, merged(folded, certain))
                answers += expected(bundle, there).mean.size + histograms(bundle, 3, there).bins.size
        both = of_groups([(fold(FUNCTIONS, group, 2, values), np.arange(2)), (certain, np.arange(2))], 2)
        answers += finished("sum", both)[0].size
    answers += normal_above(middle, np.sqrt(sum_variances(number, ROWS, middle, wide)), 7.0).size
    return answers + len(count_laws(group, 2, rows.high - rows.low, group))
