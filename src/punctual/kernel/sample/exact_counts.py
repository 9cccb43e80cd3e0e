"""How many rows there are of which a few were sampled: 95 % intervals by the exact distribution.

The number of rows M is in the interval where neither so few nor so many sampled rows would be a surprise: both tails
have 2.5 % or more. Of a simple sample the sampled rows are hypergeometric: n of N rows were drawn. Of a Poisson sample
they are binomial: each of M rows was kept with the share. What was sampled itself counts half in both tails (mid-P):
whole numbers would make the interval too wide otherwise (Clopper and Pearson's covers up to 98 %, this one 94 to 97).
"""

from __future__ import annotations

import math

import numpy as np

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled
from punctual.kernel.sample.quantiles import CONFIDENCE

_TAIL = (1.0 - CONFIDENCE) / 2


def of_simple_sample(found: I64, sampled: I64, population: I64) -> tuple[F64, F64]:
    """The fewest and the most rows of a kind among ``population``, of whose sample ``found`` are of that kind.

    >>> [bound.tolist() for bound in of_simple_sample(np.array([2, 4]), np.array([4, 4]), np.array([8, 4]))]
    [[2.0, 4.0], [6.0, 4.0]]
    """
    return _distinct(found, sampled, population, np.zeros(found.size))


def of_poisson_sample(found: I64, share: F64) -> tuple[F64, F64]:
    """The fewest and the most rows of a kind, of which ``found`` were kept by a share.

    >>> [bound.tolist() for bound in of_poisson_sample(np.array([0, 10]), np.array([0.5, 0.5]))]
    [[0.0, 13.0], [4.0, 31.0]]
    """
    unknown = np.zeros(found.size, np.int64)
    return _distinct(found, unknown, unknown, share)


def _distinct(found: I64, sampled: I64, population: I64, share: F64) -> tuple[F64, F64]:
    """Groups of one window have few different counts: each is looked for once."""
    cases, which = np.unique(np.column_stack([found, sampled, population, share]), axis=0, return_inverse=True)
    low, high = np.zeros(len(cases)), np.zeros(len(cases))
    _search(cases, low, high, _TAIL)
    return low[which.ravel()], high[which.ravel()]


@compiled
def _search(cases: F64, low: F64, high: F64, tail: float) -> None:
    for i in range(low.size):
        m, n, total, share = int(cases[i, 0]), int(cases[i, 1]), int(cases[i, 2]), cases[i, 3]
        # The few of both kinds are looked for: their tails have few terms.
        other = share == 0.0 and n - m < m
        few = n - m if other else m
        least, most = few, few
        if share > 0.0:
            most = math.ceil((3 * few + 20) / share)
        elif n > 0:
            most = min(total - (n - few), math.ceil((3 * few + 20) / n * total))
        fewest = _first(least, most, few, n, total, share, 1.0 - tail)
        beyond = _first(least, most + 1, few, n, total, share, tail)
        low[i] = total - (beyond - 1) if other else fewest
        high[i] = total - fewest if other else beyond - 1


@compiled
def _first(least: int, most: int, few: int, n: int, total: int, share: float, bound: float) -> int:
    """The first number of rows with which fewer than ``few`` sampled ones, and half of the cases of just so many, have
    at most this probability; or ``most``."""
    while least < most:
        middle = (least + most) // 2
        if _up_to(few, middle, n, total, share) <= bound:
            most = middle
        else:
            least = middle + 1
    return least


@compiled
def _up_to(few: int, rows: int, n: int, total: int, share: float) -> float:
    """The probability that fewer than ``few`` of these rows are in the sample, and half of that of just so many."""
    if few > rows or (share == 0.0 and few > n):
        return 1.0
    if share > 0.0:
        logarithm = _log_choose(rows, few) + few * math.log(share) + (rows - few) * math.log1p(-share)
    else:
        if total - rows - n + few < 0:  # the sample has more of them, whatever was drawn
            return 0.0
        logarithm = _log_choose(rows, few) + _log_choose(total - rows, n - few) - _log_choose(total, n)
    term = math.exp(logarithm)
    whole = term / 2
    for k in range(few, 0, -1):
        if share > 0.0:
            term *= k * (1.0 - share) / ((rows - k + 1) * share)
        else:
            term *= k * (total - rows - n + k) / ((rows - k + 1.0) * (n - k + 1.0))
        whole += term
    return whole


@compiled
def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
