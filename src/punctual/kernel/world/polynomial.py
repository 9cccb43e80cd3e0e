"""How many rows exist: the first coefficients of a product of factors ``1 - a + a x``, in blocks of 16.

Model
-----
The coefficient of x^c is the probability that exactly ``c`` of some independent events happen. An event of probability
``a`` multiplies the polynomial by ``1 - a + a x``. Only the first coefficients are kept, and those never need others.

Layout
------
A polynomial is an array of whole blocks and two ends, both at blocks: coefficient c is ``poly[BLOCK + c]``, everything
outside ``low <= at < high`` is 0. The block before ``low`` is filled with zeros (for ``low == BLOCK`` it is the first
one, which is there for nothing else), so that loops may look back without asking; what is behind ``high`` is stale.

Invariant: a coefficient has the same bits however many others are kept. So nothing depends on the width: ends only pass
over exact zeros, a coefficient below ``NOTHING`` becomes 0 wherever it is, and sums are over blocks in a fixed order.

Design
------
Products add positive numbers only, so every coefficient keeps its digits, however small it is. One event runs forwards
with the former value in a register; several are multiplied with each other first, and eight of them cost three times
what one costs. Either becomes vector instructions (50 ns for an event and 100 coefficients, with all around it). Small
coefficients become zeros so that no number comes near the least one that a double can hold, where each operation would
be a hundred times slower. Products only move probability upwards and never enlarge it, so a million of them lose less
than a millionth of 1e-18.

Division by a factor, ``q[c] = s f[c] - r q[c - 1]`` with s = 1 / (1 - a) and r = a s, waits for each coefficient before
the next. But 1 / (1 + r x) is (1 - r x) (1 + r^2 x^2) / (1 - r^4 x^4): two products, and a recurrence that waits for
the fourth coefficient before it, in half the time. It subtracts. What an error of size 1 becomes is bounded by
``1 / (1 - 2 a)``, the largest value of 1 / (1 - a + a x) on the unit circle: harmless for small ``a``, without bound
towards 1/2; above that it grows with every coefficient. Who divides must keep away from there (see ``rank_scan``).
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.rows import F64

BLOCK = 16
NOTHING = 1e-31
"""A coefficient below this one is 0."""


def blocks_for(k: int) -> int:
    """How many blocks hold k coefficients."""
    return -(-k // BLOCK)


@compiled
def constant(blocks: int) -> F64:
    """The polynomial 1, from ``BLOCK`` to ``2 * BLOCK``."""
    poly = np.zeros((blocks + 1) * BLOCK)
    poly[BLOCK] = 1.0
    return poly


@compiled
def multiply(poly: F64, low: int, high: int, a: float) -> tuple[int, int]:
    """One more event; the new ends."""
    rest = max(0.0, 1.0 - a)
    high = _with_room(poly, high)
    part = poly[low:high]
    before = 0.0
    for c in range(part.size):
        here = part[c]
        value = rest * here + a * before
        part[c] = value if value >= NOTHING else 0.0
        before = here
    return _trimmed(poly, low, high)


@compiled
def times(poly: F64, low: int, high: int, masses: F64, spare: F64, out: F64) -> tuple[int, int]:
    """``out`` becomes ``poly`` with all events of ``masses``, eight at a time; its ends."""
    rounds = max(1, (masses.size + 7) // 8)
    for one in range(rounds):
        # The last round writes to ``out``.
        source = poly if one == 0 else (spare if (rounds - one) % 2 else out)
        target = out if (rounds - one) % 2 else spare
        low, high = _times_eight(source, low, high, masses[8 * one : 8 * one + 8], target)
    return low, high


@compiled
def _times_eight(poly: F64, low: int, high: int, masses: F64, out: F64) -> tuple[int, int]:
    t0, t1, t2, t3, t4, t5, t6, t7, t8 = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # the product of the events
    for a in masses:
        rest = max(0.0, 1.0 - a)
        t8 = rest * t8 + a * t7
        t7 = rest * t7 + a * t6
        t6 = rest * t6 + a * t5
        t5 = rest * t5 + a * t4
        t4 = rest * t4 + a * t3
        t3 = rest * t3 + a * t2
        t2 = rest * t2 + a * t1
        t1 = rest * t1 + a * t0
        t0 = rest * t0
    high = _with_room(poly, high)
    for at in range(low - BLOCK, low):
        out[at] = 0.0
    here, there = poly[low - BLOCK : high], out[low:high]
    if masses.size <= 2:
        for c in range(there.size):
            value = (t0 * here[c + 16] + t1 * here[c + 15]) + t2 * here[c + 14]
            there[c] = value if value >= NOTHING else 0.0
    elif masses.size <= 4:
        for c in range(there.size):
            value = (t0 * here[c + 16] + t1 * here[c + 15]) + (t2 * here[c + 14] + t3 * here[c + 13])
            value += t4 * here[c + 12]
            there[c] = value if value >= NOTHING else 0.0
    else:
        for c in range(there.size):
            value = (t0 * here[c + 16] + t1 * here[c + 15]) + (t2 * here[c + 14] + t3 * here[c + 13])
            value += (t4 * here[c + 12] + t5 * here[c + 11]) + (t6 * here[c + 10] + t7 * here[c + 9])
            value += t8 * here[c + 8]
            there[c] = value if value >= NOTHING else 0.0
    return _trimmed(out, low, high)


@compiled
def _with_room(poly: F64, high: int) -> int:
    """The upper end with a block for what eight events add, where they add something."""
    if high < poly.size:
        top = 0.0
        for at in range(high - 8, high):
            top += poly[at]
        if top > 0.0:
            for at in range(high, high + BLOCK):
                poly[at] = 0.0
            return high + BLOCK
    return high


@compiled
def _trimmed(poly: F64, low: int, high: int) -> tuple[int, int]:
    """The ends without blocks of zeros."""
    while low < high and poly[low + BLOCK - 1] == 0.0 and _empty(poly, low):
        low += BLOCK
    while low < high and poly[high - BLOCK] == 0.0 and _empty(poly, high - BLOCK):
        high -= BLOCK
    return low, high


@compiled
def _empty(poly: F64, block: int) -> bool:
    size = 0.0
    for at in range(block, block + BLOCK):
        size += abs(poly[at])
    return size == 0.0


@compiled
def divide(poly: F64, low: int, high: int, a: float) -> None:
    """One event less, of probability ``a``; the ends stay."""
    scale = 1.0 / (1.0 - a)
    r = a * scale
    r2 = r * r
    r4 = r2 * r2
    part = poly[low:high]
    q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0  # four coefficients of the quotient
    x1, x2, x3 = 0.0, 0.0, 0.0  # and of the former four of the dividend
    for four in range(part.size // 4):
        y0, y1 = scale * part[4 * four], scale * part[4 * four + 1]
        y2, y3 = scale * part[4 * four + 2], scale * part[4 * four + 3]
        u0, u1 = y0 - r * x3, y1 - r * y0
        q0 = (u0 + r2 * (x2 - r * x1)) + r4 * q0
        q1 = (u1 + r2 * (x3 - r * x2)) + r4 * q1
        q2 = ((y2 - r * y1) + r2 * u0) + r4 * q2
        q3 = ((y3 - r * y2) + r2 * u1) + r4 * q3
        part[4 * four], part[4 * four + 1] = q0, q1
        part[4 * four + 2], part[4 * four + 3] = q2, q3
        x1, x2, x3 = y1, y2, y3


@compiled
def add_up(poly: F64, low: int, high: int, before: F64) -> None:
    """``before[b]`` becomes the sum of ``poly[: b * BLOCK]``, for the blocks from one end to the other."""
    part, sums = poly[low:high], before[low // BLOCK : high // BLOCK + 1]
    sums[0] = 0.0
    value = 0.0
    for block in range(sums.size - 1):
        at = BLOCK * block
        a = (part[at] + part[at + 4]) + (part[at + 8] + part[at + 12])
        b = (part[at + 1] + part[at + 5]) + (part[at + 9] + part[at + 13])
        c = (part[at + 2] + part[at + 6]) + (part[at + 10] + part[at + 14])
        d = (part[at + 3] + part[at + 7]) + (part[at + 11] + part[at + 15])
        value += (a + b) + (c + d)
        sums[block + 1] = value


@compiled
def first(poly: F64, low: int, high: int, before: F64, k: int) -> float:
    """Sum of the first k coefficients, given the sums before blocks."""
    end = BLOCK + k
    if end <= low:
        return 0.0
    block = min(end, high) // BLOCK
    a, b = float(before[block]), 0.0
    for at in range(block * BLOCK, min(end, high) - 1, 2):
        a += poly[at]
        b += poly[at + 1]
    if end < high and k % 2:
        a += poly[end - 1]
    return a + b


@compiled
def weighted(poly: F64, low: int, high: int, weights: F64) -> float:
    """Sum of the first coefficients times their weights, which fill whole blocks."""
    end = min(high, BLOCK + weights.size)
    if end <= low:
        return 0.0
    part, own = poly[low:end], weights[low - BLOCK : end - BLOCK]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for four in range(part.size // 4):
        a += part[4 * four] * own[4 * four]
        b += part[4 * four + 1] * own[4 * four + 1]
        c += part[4 * four + 2] * own[4 * four + 2]
        d += part[4 * four + 3] * own[4 * four + 3]
    return (a + b) + (c + d)
