"""Answers that need no rounds: expected sums and counts, and sums of normal values.

A sum's expectation is the sum of ``p m`` over its rows, whatever depends on what. Its variance needs to know what does:
rows are independent, except that those of a rule exclude each other, of which one has the variance::

    sum of p (v + m^2) - (sum of p m)^2

for probabilities p, means m and variances v of the values. A sum of normal values of rows that surely exist is normal.
Sums are exact, so that no order of rows shows.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.philox import plain
from punctual.kernel.synopses.limbs import carried, rounded, sum_doubles


def expected_sums(group: I64, groups: int, mean: F64, probability: F64 | None = None) -> F64:
    """EXPECTED(sum(x)) of each group: 0 of one without rows.

    >>> expected_sums(np.array([0, 0, 1]), 2, np.array([3.0, 5.0, 7.0]), np.array([1.0, 0.5, 0.25])).tolist()
    [5.5, 1.75]
    """
    return _sums(group, groups, mean if probability is None else mean * probability)


def expected_counts(group: I64, groups: int, probability: F64) -> F64:
    """EXPECTED(count(*)) of each group."""
    return _sums(group, groups, probability)


def sum_variances(
    group: I64,
    groups: int,
    mean: F64,
    variance: F64,
    probability: F64 | None = None,
    rule: I64 | None = None,
) -> F64:
    """The variance of the sum of each group.

    Parameters
    ----------
    mean, variance : F64
        Of each row's value.
    probability : F64, optional
        That the row exists; all do without it.
    rule : I64, optional
        The number of the row's rule, -1 without one. Rules that reach into several groups are fine.

    Examples
    --------
    >>> alone = np.zeros(2, np.int64), 1, np.array([1.0, 1.0]), np.zeros(2), np.array([0.5, 0.5])
    >>> sum_variances(*alone).tolist(), sum_variances(*alone, np.array([7, 7])).tolist()
    ([0.5], [0.0])
    """
    p = np.ones(mean.size) if probability is None else probability
    own = p * variance + p * (1.0 - p) * mean * mean
    if rule is None or not (rule >= 0).any():
        return _sums(group, groups, own)
    free, bound = rule < 0, np.flatnonzero(rule >= 0)
    pairs, which = np.unique(np.column_stack([group[bound], rule[bound]]), axis=0, return_inverse=True)
    which = which.ravel()
    p, m = p[bound], mean[bound]
    squares = _sums(which, pairs.shape[0], p * (variance[bound] + m * m))
    together = np.maximum(squares - _sums(which, pairs.shape[0], p * m) ** 2, 0.0)
    places = np.concatenate([group[free], pairs[:, 0]])
    return _sums(places, groups, np.concatenate([own[free], together]))


def normal_above(mean: F64, sd: F64, limit: F64 | float, *, or_equal: bool = False) -> F64:
    """PROBABILITY(x > limit) of normal values; equality matters only where the deviation is 0.

    >>> normal_above(np.array([0.0, 3.0]), np.array([1.0, 0.0]), 0.0).tolist()
    [0.5, 1.0]
    """
    limits = np.broadcast_to(np.asarray(limit, np.float64), mean.shape).copy()
    return _above(plain(mean, np.float64), plain(sd, np.float64), limits, or_equal)


def normal_interval(mean: F64, sd: F64, level: float) -> tuple[F64, F64]:
    """INTERVAL(x, level) of normal values.

    >>> low, high = normal_interval(np.array([10.0]), np.array([2.0]), 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([6.08], [13.92])
    """
    reach = NormalDist().inv_cdf(0.5 + level / 2)
    return mean - reach * sd, mean + reach * sd


def _sums(cell: I64, cells: int, values: F64) -> F64:
    return rounded(carried(sum_doubles(plain(cell, np.int64), cells, plain(values, np.float64).view(np.int64))))


@compiled
def _above(mean: F64, sd: F64, limit: F64, or_equal: bool) -> F64:
    found = np.empty(mean.size)
    for i in range(mean.size):
        if sd[i] > 0.0:
            found[i] = 0.5 * math.erfc((limit[i] - mean[i]) / (sd[i] * math.sqrt(2.0)))
        else:
            found[i] = 1.0 if mean[i] > limit[i] or (or_equal and mean[i] == limit[i]) else 0.0
    return found
