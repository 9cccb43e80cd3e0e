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
A binary tree over rows, whose leaves are single rows. The factor of a stretch belongs to the O(log n) largest nodes
that it covers, and the polynomial of a row is the product of the factors on its path from the root. Which factors a
node has is seen from its sibling's rows: the right one of two has those of rows in the left one whose stretch ends
behind both, the left one those that end at a row in the right one and began before both. Rows are visited in order; the
polynomials on the path are kept, and only those below the point where two neighbouring paths part are computed again.
Products alone, so rules of any mass are exact to the last digits (to divide a factor out and multiply the next one in
would take one step instead of log n, but it loses all digits where rules have masses about a half, and ranks that are
impossible would get some 1e-18), and eight factors
at once: 10,000 rows in rules take 180 ns each for k = 100.

Under a node of ``FEW`` rows there are fewer than ``FEW`` factors for each row. Their product F, ``FEW`` coefficients,
is kept apart from the polynomial B of the node. Whatever is linear in B F is read from F alone, with what it would be
for B, B x, B x^2 ... found once for the node: the first k coefficients of B F add up to the sum of ``F[d]`` times the
first k - d coefficients of B, so no row costs more for a larger k. F goes down to two rows, and the factor that the
other one of them may have is left to the reader. Only who needs all ranks of every row (U-kRanks, tables) has the
polynomials of the path computed down to the rows.

*Stop.* N_i, the number of all better rows, only grows with i, and Pr_k(i) <= P(N_i < k) (see ``candidates``). Once a
row sees P(N < k) <= eps, every later row has Pr_k <= eps and is not visited. Chernoff's bound on the mass of better
rows says beforehand where that is at the latest, so the tree is over a prefix only.

Invariant: what a row shows of its first ranks has the same bits for every k, eps and number of readings. A longer
prefix has a tree whose left half is the shorter one's, and nothing is on the way down to that: the factors on a path
and their order are the same.

Cost: O(n k log n). Memory: k times the depth of the tree.
Oracles: all worlds; the definition in rational arithmetic (tests/oracles/worlds.py).
"""

from __future__ import annotations

from math import log

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.quantities import number
from punctual.kernel.world.input.rows import F64, I64, UncertainRows, WorldError
from punctual.kernel.world.polynomial import AT_ONCE, BLOCK, U, add_up, ones, times, times_some
from punctual.kernel.world.walk_input import (
    CHOICE,
    SUM,
    WEIGHTED,
    Readings,
    compare,
    enter_node,
    first,
    keep,
    shift_weights,
    weigh,
    write,
)

EPS = 1e-18
"""A probability that is taken for 0."""
LEAST_EPS, MOST_EPS = 1e-24, 0.5
FEW = BLOCK
"""Rows of the lowest nodes whose polynomials have all coefficients that are wanted."""
FEW_BITS = 4
STEPS = FEW_BITS - 1
"""From there down to two rows."""
NEVER = 1 << 62


def walk(rows: UncertainRows, readings: Readings) -> None:
    """Show rows, none of them impossible, to the readings until these have seen enough."""
    reached = int(readings.ends.max(initial=0))
    depth = ((max(reached, 1) - 1) // FEW).bit_length()
    known = FEW << depth  # rows further on end no stretch inside
    _walk(rows.prob[:reached], *stretches(rows.prob[:known], rows.rule[:known], rows.rules), depth, readings)


def checked_eps(eps: float) -> float:
    """A probability that may be neglected."""
    own = number(eps, "world.bad-eps", "eps")
    if not LEAST_EPS <= own < MOST_EPS:
        raise WorldError("world.bad-eps", f"eps is {own}; it is at least {LEAST_EPS} and below {MOST_EPS}")
    return own


def reach(prob: F64, ks: I64, eps: float) -> I64:
    """For each k how many of the first rows may have P(N < k) > eps, by Chernoff's bound: the others do not."""
    better = np.cumsum(prob)  # behind each row
    return np.minimum(prob.size, np.searchsorted(better, enough_mass(ks, log(eps))) + 1)


@compiled
def enough_mass(ks: I64, log_eps: float) -> F64:
    """A mean of N that is large enough for P(N < k) <= eps, by halving.

    A sum N of independent events with mean m > h has P(N <= h) <= exp(h - m) (m / h)^h.
    """
    means = np.empty(ks.size)
    for at in range(ks.size):
        h = ks[at] - 1
        bad, good = float(h), h + 1.0
        while _log_below(good, h) > log_eps:
            bad, good = good, 2 * good
        while good - bad > 1e-9 * good:
            middle = (bad + good) / 2
            if _log_below(middle, h) > log_eps:
                bad = middle
            else:
                good = middle
        means[at] = good * (1 + 1e-9)
    return means


@compiled
def _log_below(mean: float, h: int) -> float:
    return h - mean + (h * log(mean / h) if h else 0.0)


@compiled
def stretches(prob: F64, rule: I64, rules: int) -> tuple[F64, I64, F64, I64]:
    """The stretch behind each row, and the one that ends there.

    The mass of its factor; the next member of the rule, where it ends, or ``NEVER``; the mass before the row; and the
    former member, or ``NEVER``.
    """
    n = prob.size
    mass, end, prior, before = prob.copy(), np.full(n, NEVER), np.zeros(n), np.full(n, NEVER)
    last = np.full(rules, -1)
    for i in range(n):
        g = rule[i]
        if g >= 0:
            former = last[g]
            if former >= 0:
                before[i], end[former] = former, i
                prior[i] = mass[former]
                mass[i] = min(1.0, mass[i] + mass[former])
            last[g] = i
    return mass, end, prior, before


@compiled
def _walk(prob: F64, mass: F64, end: I64, prior: F64, before: I64, depth: int, readings: Readings) -> None:
    # In line what is done for every row: to call somebody with all of these arrays takes longer.
    records, numbers, rows, values, key, best_value, best_row, table, ends, eps = readings
    over, blocks, ranks, whole = 0, ends.size, ends.size * BLOCK, best_row.size + table.size > 0
    levels = depth + 1 + (STEPS + 1 if whole else 0)
    polys, sides = ones(levels + 1, blocks)  # the root's first, a spare one last
    few, few_sides = ones(STEPS + 1, 1)
    node, sums, shifted = np.full(depth + STEPS + 1, -1), np.zeros(ranks + FEW + 1), np.zeros((records.size, FEW + 1))
    factors, besides = np.zeros((FEW << depth) // 2 + AT_ONCE), _besides(prob.size, mass, end, prior, before)
    for start in range(0, prob.size, FEW):
        for level in range(1, depth + 1):
            number = start >> (FEW_BITS + depth - level)
            if node[level] != number:
                node[level] = number
                count = _factors(mass, end, prior, before, number, FEW_BITS + depth - level, factors)
                times(polys, sides, level - 1, factors, count, levels, level)
        add_up(polys, sides, depth, sums)
        least = enter_node(records)
        for i in range(start, min(start + FEW, prob.size)):
            p = prob[i]
            if not (p > least or whole or i == start):
                continue
            for step in range(1, STEPS + 1):
                number = i >> (FEW_BITS - step)
                if node[depth + step] != number:
                    node[depth + step] = number
                    count = _factors(mass, end, prior, before, number, FEW_BITS - step, factors)
                    if records.size or i == start:
                        times_some(few, few_sides, step - 1, factors, 0, count, step)
                    if whole:
                        times(polys, sides, depth + step - 1, factors, count, levels, depth + step)
            beside = besides[i]
            if i == start:
                over = _over(over, i, few, beside, sums, ends, eps)
                if over == blocks:
                    return
            for one in range(records.size):
                k, kind, needed = records[one]["k"], records[one]["kind"], records[one]["needed"]
                if p * records[one]["size"] <= needed:
                    if kind == CHOICE:  # all further ones need more
                        break
                elif k > over * BLOCK and kind == WEIGHTED:
                    if not records[one]["known"]:
                        shift_weights(polys, sides, depth, records, one, numbers, shifted)
                    weigh(i, p, few, beside, records, one, numbers, shifted, rows, values)
                elif k > over * BLOCK:
                    fewer = first(few, beside, sums, ranks - k)
                    if fewer > eps and kind == SUM:
                        values[records[one]["at"] + key[i]] += p * fewer
                    elif fewer > eps and p * fewer > needed:
                        keep(i, p * fewer, records, one, rows, values)
            if whole:
                factors[0] = beside
                times(polys, sides, levels - 2, factors, 1, levels, levels - 1)
                low, high = max(sides[levels - 1, 0], (over + 1) * BLOCK), sides[levels - 1, 1]
                if best_row.size:
                    compare(i, p, polys, levels - 1, low, high, best_value, best_row)
                if table.size:
                    write(i, p, polys, levels - 1, low, high, table)


@compiled
def _besides(many: int, mass: F64, end: I64, prior: F64, before: I64) -> F64:
    """For each of so many rows the mass of the factor that the other one of the last two on its path has there."""
    masses = np.zeros(many + 1)
    for left in range(0, min(many, mass.size - 1), 2):
        masses[left] = prior[left + 1] if before[left + 1] < left else 0.0
        masses[left + 1] = mass[left] if end[left] > left + 1 else 0.0
    return masses


@compiled
def _over(over: int, row: int, few: F64, beside: float, sums: F64, ends: I64, eps: float) -> int:
    """How many blocks of ranks are over at a row; so many were over before it."""
    while over < ends.size:
        if row < ends[over] and first(few, beside, sums, (ends.size - over - 1) * BLOCK) > eps:
            break
        over += 1
    return over


@compiled
def _factors(mass: F64, end: I64, prior: F64, before: I64, number: int, bits: int, out: F64) -> int:
    """Masses of the factors on the node of so many bits of rows; how many they are. Zeros follow."""
    count, start, size = 0, number << bits, 1 << bits
    if number & 1:
        for row in range(start - size, start):
            out[U(count)] = mass[U(row)]
            count += end[U(row)] >= start + size
    else:
        for row in range(start + size, min(start + 2 * size, mass.size)):
            out[U(count)] = prior[U(row)]
            count += before[U(row)] < start
    for at in range(count, count + AT_ONCE - 1):
        out[U(at)] = 0.0
    return count
