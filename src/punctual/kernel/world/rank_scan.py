"""The distribution of every row's rank, in one walk over rows in rank order.

Model
-----
Better rows of row i's own rule exclude it, so given that i exists, the number of better rows is a sum over the *other*
rules: rule g puts a row above i with probability ``A_g``, the mass of its members that are better than i. The
polynomial of that number is the product of ``1 - A_g + A_g x`` over rules other than i's, and i is at rank j (from 1)
with probability ``p_i`` times its coefficient j - 1. So a rule has one factor for each stretch *strictly between* two
of its consecutive members, and one behind its last member.

Design
------
*Scan*, O(n k): one polynomial with a factor for every rule. At a member, its rule's factor is divided out, the row is
read, and the larger factor is multiplied in. Taken together that last step is (1 - A' + A' x) / (1 - A + A x), which
on the unit circle is at most ``max(1, |1 - 2 A'| / |1 - 2 A|)``: as long as ``A + A' <= 1`` errors never grow from row
to row, and a read multiplies them by at most 1 / (1 - 2 A). A rule is *light* when all of its steps have
``A + A' <= 1`` and ``A <= LIGHT``: every rule of mass up to 0.45 is, and one that gains most of its mass at its end.

*Intervals*, O(n k log n), as soon as one rule is not light: there division loses digits with every rule. (Rules of 0.3
and 0.7, all first members before all second ones: wrong by 2e-10 with 40 rules, by 4e-4 with 70.)
Each factor is put on the O(log n) nodes of a segment tree over positions that make up its stretch. The leaves are
visited in order; the polynomials on the path from the root to the leaf are kept, and only those below the point where
two neighbouring paths part are computed again, by products alone. Rows without a rule have stretches too.

*Stop.* N_i, the number of all better rows, only grows with i, and Pr_k(i) <= P(N_i < k) (see ``candidates``). Once a
row sees P(N < k) <= eps, every later row has Pr_k <= eps and is not visited. Chernoff's bound on the mass of better
rows says beforehand where that is at the latest, so the tree is built over a prefix only.

Memory: k times the depth of the tree, and 4 bytes for each factor on each of its nodes.
Oracles: all worlds; the definition in rational arithmetic (tests/oracles/worlds.py).
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.world.polynomial import divide, multiply, multiply_two, total, weighted
from punctual.kernel.world.rows import F64, I64, UncertainRows

I32 = NDArray[np.int32]
EPS = 1e-18
"""A probability that is taken for 0."""
LIGHT = 0.45
"""The largest mass that is divided out: an error grows tenfold in the row that is read, and no further."""


def read_ranks(rows: UncertainRows, k: int, weights: F64 | None = None, *, table: bool = False) -> tuple[F64, F64]:
    """Values of the rows that may be among the k best, and if ``table`` the distributions of their ranks.

    Parameters
    ----------
    rows : UncertainRows
        Without impossible ones.
    weights : float64[k], optional
        The value of a row is the sum over ranks of the weight times the probability of the rank: Pr_k without.

    Returns
    -------
    values : float64[m]
        Of the first m rows in rank order; every other row has Pr_k <= EPS.
    ranks : float64[m, k], or float64[0, k]
        Probability of each rank.
    """
    m = reach(rows.prob, k, EPS)
    prob, rule = rows.prob[:m], rows.rule[:m]
    width = min(k, m)
    values, ranks = np.zeros(m), np.empty((m if table else 0, width))
    own = np.ones(0) if weights is None else weights[:width].astype(np.float64)
    mass, end, light = stretches(prob, rule, rows.rules)
    if light:
        seen = _scan(prob, rule, rows.rules, own, values, ranks)
    else:
        seen = _walk_intervals(prob, mass, *_on_nodes(end), own, values, ranks)
    ranks = ranks[:seen]
    if table and width < k:
        ranks = np.concatenate((ranks, np.zeros((seen, k - width))), axis=1)
    return values[:seen], ranks if table else np.empty((0, k))


def reach(prob: F64, k: int, eps: float) -> int:
    """How many of the first rows may have P(N < k) > eps, by Chernoff's bound: the others do not.

    A sum N of independent events with mean m > h has P(N <= h) <= exp(h - m) (m / h)^h.
    """
    h = k - 1
    bad, good = float(h), h + 1.0  # the least mean that is large enough, by halving
    while not _below(good, h, eps):
        bad, good = good, 2 * good
    while good - bad > 1e-9 * good:
        middle = (bad + good) / 2
        bad, good = (bad, middle) if _below(middle, h, eps) else (middle, good)
    better = np.cumsum(prob)  # behind each row
    return min(prob.size, int(np.searchsorted(better, good * (1 + 1e-9))) + 1)


def _below(mean: float, h: int, eps: float) -> bool:
    return h - mean + (h * log(mean / h) if h else 0.0) <= log(eps)


@compiled
def stretches(prob: F64, rule: I64, rules: int) -> tuple[F64, I64, bool]:
    """The factor behind each row: its mass and where it ends, the next member; and whether all rules are light."""
    n = prob.size
    mass, end = prob.copy(), np.full(n, n)
    last = np.full(rules, -1)
    light = True
    for i in range(n):
        g = rule[i]
        if g < 0:
            continue
        before = last[g]
        if before >= 0:
            end[before] = i
            mass[i] += mass[before]
            light = light and mass[before] <= LIGHT and mass[before] + mass[i] <= 1.0
        last[g] = i
    return mass, end, light


@compiled
def _scan(prob: F64, rule: I64, rules: int, weights: F64, values: F64, ranks: F64) -> int:
    """Read every row, light rules only; how many rows were read."""
    width = ranks.shape[1]
    poly, others = np.zeros(width), np.zeros(width)
    poly[0] = 1.0
    low, high, events = 0, 1, 0
    mass = np.zeros(rules)
    for i in range(prob.size):
        g = rule[i]
        before = mass[g] if g >= 0 else 0.0
        if before > 0.0:
            divide(poly, low, high, before, others)
            poly, others = others, poly
            high = min(high, events)
            events -= 1
        if _read(poly, low, high, prob[i], weights, values, ranks, i) <= EPS:
            return i + 1
        low, high = multiply(poly, low, high, before + prob[i])
        events += 1
        if g >= 0:
            mass[g] += prob[i]
    return prob.size


@compiled
def _on_nodes(end: I64) -> tuple[int, I64, I32]:
    """Depth of the tree, and the rows whose factor, between the row and its ``end``, is put on each node.

    Nodes are numbered from the root, 1, as in a heap; those of leaf i are ``2**depth + i`` and its ancestors.
    """
    depth = 0
    while 1 << depth < end.size:
        depth += 1
    offsets = np.zeros((2 << depth) + 1, np.int64)
    items = np.zeros(0, np.int32)
    for filling in (False, True):
        for i in range(end.size):
            left, right = (1 << depth) + i + 1, (1 << depth) + end[i]
            while left < right:
                if left & 1:
                    if filling:
                        items[offsets[left]] = i
                    offsets[left] += 1
                    left += 1
                if right & 1:
                    right -= 1
                    if filling:
                        items[offsets[right]] = i
                    offsets[right] += 1
                left >>= 1
                right >>= 1
        # Counts become starts; what was filled has moved each start to the next one's, so it is shifted back.
        if not filling:
            start = 0
            for node in range(offsets.size):
                count = offsets[node]
                offsets[node] = start
                start += count
            items = np.zeros(start, np.int32)
    offsets[1:] = offsets[:-1].copy()
    offsets[0] = 0
    return depth, offsets, items


@compiled
def _walk_intervals(
    prob: F64, mass: F64, depth: int, offsets: I64, items: I32, weights: F64, values: F64, ranks: F64
) -> int:
    """Read every row by products alone; how many rows were read."""
    width = ranks.shape[1]
    polys = np.zeros((depth + 1, width))  # of the path to the leaf, the root's first
    lows, highs = np.zeros(depth + 1, np.int64), np.ones(depth + 1, np.int64)
    polys[0, 0] = 1.0
    for i in range(prob.size):
        level = 1
        while i and not (i ^ (i - 1)) >> (depth - level):  # where the paths to this leaf and the last one part
            level += 1
        for at in range(level, depth + 1):
            low, high = lows[at - 1], highs[at - 1]
            poly = polys[at]
            poly[low:high] = polys[at - 1, low:high]
            node = ((1 << depth) + i) >> (depth - at)
            item, stop = offsets[node], offsets[node + 1]
            while item + 2 <= stop:
                low, high = multiply_two(poly, low, high, mass[items[item]], mass[items[item + 1]])
                item += 2
            if item < stop:
                low, high = multiply(poly, low, high, mass[items[item]])
            lows[at], highs[at] = low, high
        if _read(polys[depth], lows[depth], highs[depth], prob[i], weights, values, ranks, i) <= EPS:
            return i + 1
    return prob.size


@compiled
def _read(
    poly: F64, low: int, high: int, p: float, weights: F64, values: F64, ranks: F64, row: int
) -> float:
    """Write what a row of probability ``p`` gets; the probability that fewer than k others are better."""
    fewer = total(poly, low, high)
    values[row] = p * (weighted(poly, low, high, weights) if weights.size else max(0.0, fewer))
    if ranks.shape[0]:
        ranks[row, :low] = 0.0
        ranks[row, high:] = 0.0
        for c in range(low, high):
            ranks[row, c] = max(0.0, p * poly[c])
    return fewer
