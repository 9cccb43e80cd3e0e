"""Rankings that need no distribution of ranks: expected rank, and weights that fall geometrically.

Expected rank
-------------
In a world a row that exists has rank 0 plus the number of better rows, one that does not has the size of the world.
Rows outside i's rule are independent of it; other members exist only where i does not. So, with R the mass of the
other members, O the mass outside the rule and B the better part of O::

    r_i = R + (1 - p_i) O + p_i B

which is ``M - p_i - p_i W_i`` (M the mass of all rows, W the worse part of O) written without subtracting large
numbers. O(n) after sorting. No row may be left out, however bad: it counts in the size of the world.

Geometric weights
-----------------
With weight alpha^j for rank j a row is worth ``alpha p_i`` times its polynomial (see ``rank_walk``) at alpha: a product
of numbers between alpha and 1, one per rule, of which one changes at each row. The product over all rules, i's own
included, bounds the worth of i and all later rows and never grows, so the walk ends when it is below 1e-18.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.quantities import checked_alpha, checked_k
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import F64, I64, Column, UncertainRows
from punctual.kernel.world.rank_walk import EPS
from punctual.kernel.world.ranked import Ranked, best


def expected_ranks(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """The k rows of least expected rank, and their expected ranks: ascending, 0 is best.

    >>> answer = expected_ranks([80, 50], [0.3, 0.8], k=2)
    >>> answer.index.tolist(), answer.value.round(3).tolist()
    ([1, 0], [0.3, 0.56])
    """
    return expected_ranks_of(ranked(score, prob, rule), checked_k(k))


def expected_ranks_of(rows: UncertainRows, k: int | None) -> Ranked:
    """The same over ranked rows; all of them for None."""
    return best(rows, _expected_ranks(rows.prob, rows.rule, rows.rules), k, ascending=True)


def prfe(score: Column, prob: Column, rule: Column | None = None, *, k: int, alpha: float) -> Ranked:
    """The k rows of largest ``sum over ranks j of alpha^j P(rank j)``, alpha in (0, 1]; what is below 1e-18 is 0.

    >>> prfe([80, 50], [0.5, 0.5], k=2, alpha=0.5).value.tolist()
    [0.25, 0.1875]
    """
    return prfe_of(ranked(score, prob, rule).possible(), checked_k(k), checked_alpha(alpha))


def prfe_of(rows: UncertainRows, k: int | None, alpha: float) -> Ranked:
    """The same over ranked rows without impossible ones; all of them for None."""
    return best(rows, _geometric(rows.prob, rows.rule, rows.rules, alpha), k)


@compiled
def _expected_ranks(prob: F64, rule: I64, rules: int) -> F64:
    masses = np.zeros(rules)
    everything, lost = 0.0, 0.0  # a sum and the digits that it lost
    for i in range(prob.size):
        if rule[i] >= 0:
            masses[rule[i]] += prob[i]
        everything, lost = _add(everything, lost, prob[i])
    everything += lost
    out = np.zeros(prob.size)
    seen = np.zeros(rules)
    better, lost = 0.0, 0.0
    for i in range(prob.size):
        g, p = rule[i], prob[i]
        mass, above = (masses[g], seen[g]) if g >= 0 else (p, 0.0)
        out[i] = max(0.0, (mass - p) + (1.0 - p) * (everything - mass) + p * (better + lost - above))
        better, lost = _add(better, lost, p)
        if g >= 0:
            seen[g] += p
    return out


@compiled
def _add(value: float, lost: float, more: float) -> tuple[float, float]:
    """Neumaier's sum: ``value + lost`` is exact to the last digit."""
    result = value + more
    if value >= more:
        return result, lost + ((value - result) + more)
    return result, lost + ((more - result) + value)


@compiled
def _geometric(prob: F64, rule: I64, rules: int, alpha: float) -> F64:
    values = np.zeros(prob.size)
    mass, factor = np.zeros(rules), np.ones(rules)
    everything = 1.0
    for i in range(prob.size):
        g, p = rule[i], prob[i]
        if everything < EPS:
            return values[:i]
        if g < 0:
            values[i] = alpha * p * everything
            everything *= 1.0 - p * (1.0 - alpha)
        else:
            others = min(1.0, everything / factor[g])
            values[i] = alpha * p * others
            mass[g] += p
            factor[g] = max(alpha, 1.0 - mass[g] * (1.0 - alpha))
            everything = others * factor[g]
    return values
