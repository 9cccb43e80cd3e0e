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
to row, and a read multiplies them by at most 1 / (1 - 2 A). A step is *light* when ``A + A' <= 1`` and ``A <= LIGHT``:
all steps of a rule of mass up to 0.45 are, and those of one that gains most of its mass at its end.

*Leaves*, as soon as one step is not light: there division loses digits with every rule. (Rules of 0.3 and 0.7, all
first members before all second ones: wrong by 2e-10 with 40 rules, by 4e-4 with 70.) Rows are cut into leaves of 64.
Every factor is put on the O(log n) nodes of a segment tree over leaves that make up the leaves which its stretch
covers. Leaves are visited in order; the polynomials on the path from the root are kept, and only those below the point
where two neighbouring paths part are computed again, by products alone. Each leaf starts from these and is scanned. A
factor that a heavy step ends inside the leaf is kept apart from the start, and multiplied in for each row that it is
above of. O(n k log n), but the lowest six levels, where a tree has most of its work, are the cheaper scan.

*Stop.* N_i, the number of all better rows, only grows with i, and Pr_k(i) <= P(N_i < k) (see ``candidates``). Once a
row sees P(N < k) <= eps, every later row has Pr_k <= eps and is not visited. Chernoff's bound on the mass of better
rows says beforehand where that is at the latest, so the tree is built over a prefix only.

Invariant: what a row shows of its first ranks has the same bits for every k, eps and number of readings. Which steps
are light is asked of all rows, whether or not they are visited; leaves begin at multiples of 64; and a longer prefix
makes a tree whose left half is the shorter one's: a stretch is cut into the same nodes there.

Memory: k times the depth of the tree, and 8 bytes for each factor on each of its nodes.
Oracles: all worlds; the definition in rational arithmetic (tests/oracles/worlds.py).
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.world.polynomial import BLOCK, add_up, constant, divide, first, multiply, times
from punctual.kernel.world.reading import CHOICE, SUM, Readings, blocks_over, compare, weigh, write
from punctual.kernel.world.rows import F64, I64, UncertainRows, WorldError

BOOLS = NDArray[np.bool_]
EPS = 1e-18
"""A probability that is taken for 0."""
LEAST_EPS, MOST_EPS = 1e-24, 0.5
LIGHT = 0.45
"""The largest mass that is divided out: an error grows tenfold in the row that is read, and no further."""
LEAF = 64
"""Rows of a leaf."""
NEVER = 1 << 62


def walk(rows: UncertainRows, readings: Readings) -> None:
    """Show rows, none of them impossible, to the readings until these have seen enough."""
    n, reached = rows.prob.size, int(readings.ends.max(initial=0))
    mass, before, end, apart, light = stretches(rows.prob, rows.rule, rows.rules)
    if light:
        _walk(rows.prob, mass, before, apart, end, max(n, 1), 0, np.zeros(3, np.int64), np.zeros(0), readings)
        return
    reached = min(n, -(-reached // LEAF) * LEAF)
    tree = _on_nodes(mass[:reached], end[:reached])
    _walk(rows.prob[:reached], mass, before, apart, end, LEAF, *tree, readings)


def checked_eps(eps: float) -> float:
    """A probability that may be neglected."""
    if not LEAST_EPS <= eps < MOST_EPS:
        raise WorldError("world.bad-eps", f"eps is {eps}; it is at least {LEAST_EPS} and below {MOST_EPS}")
    return float(eps)


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
def stretches(prob: F64, rule: I64, rules: int) -> tuple[F64, I64, I64, BOOLS, bool]:
    """The factor behind each row.

    Its mass; the former member of the rule, or -1; the next one, where it ends, or ``NEVER``; whether it is kept apart
    in the leaf where it ends; and whether no factor is.
    """
    n = prob.size
    mass, before, end, apart = prob.copy(), np.full(n, -1), np.full(n, NEVER), np.zeros(n, np.bool_)
    last = np.full(rules, -1)
    for i in range(n):
        g = rule[i]
        if g >= 0:
            former = last[g]
            if former >= 0:
                before[i], end[former] = former, i
                mass[i] += mass[former]
            last[g] = i
    light = True
    for i in range(n - 1, -1, -1):
        after = end[i]
        if after < n:
            # Behind a factor that is kept apart nothing makes good for a division.
            uneven = apart[after] and end[after] // LEAF == after // LEAF
            apart[i] = mass[i] > LIGHT or mass[i] + mass[after] > 1.0 or uneven
            light = light and not apart[i]
    return mass, before, end, apart, light


@compiled
def _on_nodes(mass: F64, end: I64) -> tuple[int, I64, F64]:
    """Depth of a tree over leaves, and the masses of the factors that are put on each node.

    Nodes are numbered from the root, 1, as in a heap; leaf l and its ancestors are ``2**depth + l`` and its halves. The
    masses of a node begin at its entry in the second array, and end at the next one.
    """
    depth = 0
    while LEAF << depth < end.size:
        depth += 1
    offsets = np.zeros((2 << depth) + 1, np.int64)
    items = np.zeros(0)
    for filling in (False, True):
        for i in range(end.size):
            left, right = (1 << depth) + i // LEAF + 1, (1 << depth) + min(1 << depth, end[i] // LEAF)
            while left < right:
                if left & 1:
                    if filling:
                        items[offsets[left]] = mass[i]
                    offsets[left] += 1
                    left += 1
                if right & 1:
                    right -= 1
                    if filling:
                        items[offsets[right]] = mass[i]
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
            items = np.zeros(start)
    offsets[1:] = offsets[:-1].copy()
    offsets[0] = 0
    return depth, offsets, items


@compiled
def _walk(
    prob: F64,
    mass: F64,
    before: I64,
    apart: BOOLS,
    end: I64,
    leaf: int,
    depth: int,
    offsets: I64,
    items: F64,
    readings: Readings,
) -> None:
    """Visit the leaves, of ``leaf`` rows each, and scan them. ``prob`` is of whole leaves, or of all rows."""
    asked, numbers, rows, values, key, best_value, best_row, table, ends, eps = readings
    over, blocks = 0, ends.size
    path = np.zeros((depth + 1, (blocks + 1) * BLOCK))  # the root's polynomial first
    path[0, BLOCK] = 1.0
    lows, highs = np.full(depth + 1, BLOCK), np.full(depth + 1, 2 * BLOCK)
    poly, shown, spare = constant(blocks), constant(blocks), constant(blocks)
    sums = np.zeros(blocks + 2)
    some, kept, kept_mass = np.zeros(LEAF), np.zeros(LEAF, np.int64), np.zeros(LEAF)
    for start in range(0, prob.size, leaf):
        number, stop = start // leaf, min(start + leaf, prob.size)
        level = 1
        while number and not (number ^ (number - 1)) >> (depth - level):  # where this path and the last one part
            level += 1
        for at in range(level, depth + 1):
            node = ((1 << depth) + number) >> (depth - at)
            factors = items[offsets[node] : offsets[node + 1]]
            lows[at], highs[at] = times(path[at - 1], lows[at - 1], highs[at - 1], factors, spare, path[at])
        divided, apart_now = 0, 0
        for i in range(start, stop):
            j = before[i]
            if 0 <= j < start:
                if apart[j]:
                    kept[apart_now], kept_mass[apart_now] = j, mass[j]
                    apart_now += 1
                else:
                    some[divided] = mass[j]
                    divided += 1
        low, high = times(path[depth], lows[depth], highs[depth], some[:divided], spare, poly)
        for i in range(start, stop):
            j = before[i]
            if j >= 0:
                if apart[j]:
                    apart_now = _without(kept, kept_mass, apart_now, j)
                else:
                    divide(poly, low, high, mass[j])
            lower, higher = low, high
            if apart_now:
                lower, higher = times(poly, low, high, kept_mass[:apart_now], spare, shown)
            view = shown if apart_now else poly
            add_up(view, lower, higher, sums)
            over = blocks_over(i, lower, higher, sums, ends, over, eps)
            if over == blocks:
                return
            # In line: to call somebody with all of these arrays takes longer than what follows.
            p = prob[i]
            for one in range(asked.size):
                k, kind, needed = asked[one]["k"], asked[one]["kind"], asked[one]["needed"]
                if p * asked[one]["size"] <= needed:
                    if kind == CHOICE:
                        break  # all further ones need more
                    continue
                fewer = first(view, lower, higher, sums, k) if k > over * BLOCK else 0.0
                if fewer <= eps:
                    continue
                if kind == SUM:
                    values[asked[one]["at"] + key[i]] += p * fewer
                elif kind == CHOICE:
                    if p * fewer > needed:
                        at = asked[one]["at"] + asked[one]["count"]
                        rows[at], values[at] = i, p * fewer
                        asked[one]["count"] += 1
                else:
                    weigh(i, p, view, lower, higher, asked, one, numbers, rows, values)
            if best_row.size or table.size:
                here = max(lower, (over + 1) * BLOCK)
                ranks = view[here : max(here, higher)]
                if best_row.size:
                    compare(i, p, ranks, best_value[here - BLOCK :], best_row[here - BLOCK :])
                if table.size:
                    write(p, ranks, table[i, here - BLOCK :])
            if apart[i] and end[i] < stop:
                kept[apart_now], kept_mass[apart_now] = i, mass[i]
                apart_now += 1
            else:
                low, high = multiply(poly, low, high, mass[i])


@compiled
def _without(kept: I64, kept_mass: F64, count: int, factor: int) -> int:
    """Take a factor out, the others in their order; how many are left."""
    there = 0
    for at in range(count):
        if kept[at] != factor:
            kept[there], kept_mass[there] = kept[at], kept_mass[at]
            there += 1
    return there
