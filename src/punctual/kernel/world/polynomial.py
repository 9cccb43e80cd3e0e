"""How many rows exist: the first coefficients of products of factors ``1 - a + a x``, in blocks of 16.

Model
-----
The coefficient of x^c is the probability that exactly ``c`` of some independent events happen. An event of probability
``a`` multiplies the polynomial by ``1 - a + a x``. Only the first coefficients are kept, and those never need others.

Layout
------
Polynomials of one width are the rows of an array: coefficient c of the p-th is ``polys[p, BLOCK + c]``. Its two ends,
both at blocks, are ``ends[p]``: everything outside of low <= at < high is 0. The block before the lower end is filled
with zeros (the first block is there for nothing else), so that loops may look back without asking; what is behind the
upper end is stale.

Invariant: a coefficient has the same bits however many others are kept. So nothing depends on the width: ends only pass
over exact zeros, a coefficient below ``NOTHING`` becomes 0 wherever it is, and sums are over blocks in a fixed order.

Design
------
Products add positive numbers only, so every coefficient keeps its digits, however small it is. Nothing is ever divided:
``1 / (1 - a + a x)`` enlarges errors 1 / (1 - 2 a) fold, without bound as ``a`` comes near a half.

Events are multiplied with each other first, by twos, fours and eights, then eight at once with the polynomial: 60 ns
for 100 coefficients, where one alone takes 17. Small coefficients become zeros so that no number comes near the least
one that a double can hold, where each operation would be a hundred times slower. Products only move probability
upwards and never enlarge it, so a million of them lose less than a millionth of 1e-18.

Places are unsigned where a loop shall become vector instructions: a signed one may count from the end, which is asked
each time. Slices take longer to make than most of what is done here.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.rows import F64, I64

BLOCK = 16
AT_ONCE = 8
"""Events that are multiplied in together."""
NOTHING = 1e-31
"""A coefficient below this one is 0."""
U = np.uint64
Product = tuple[float, ...]
"""Coefficients of the product of some events."""


def blocks_for(k: int) -> int:
    """How many blocks hold k coefficients."""
    return -(-k // BLOCK)


@compiled
def ones(many: int, blocks: int) -> tuple[F64, I64]:
    """Polynomials 1, and their ends."""
    polys, ends = np.zeros((many, (blocks + 1) * BLOCK)), np.empty((many, 2), np.int64)
    polys[:, BLOCK] = 1.0
    ends[:, 0], ends[:, 1] = BLOCK, 2 * BLOCK
    return polys, ends


@compiled
def times(polys: F64, ends: I64, source: int, masses: F64, count: int, spare: int, target: int) -> None:
    """One polynomial becomes another one with some events, by way of a third one that is nobody's.

    ``masses`` are those of the events, and seven zeros behind.
    """
    rounds = max(1, (count + AT_ONCE - 1) // AT_ONCE)
    if rounds % 2:
        times_some(polys, ends, source, masses, 0, count, target)
    else:
        times_some(polys, ends, source, masses, 0, count, spare)
        times_some(polys, ends, spare, masses, AT_ONCE, count, target)
    for done in range(AT_ONCE * (2 - rounds % 2), count, 2 * AT_ONCE):
        times_some(polys, ends, target, masses, done, count, spare)
        times_some(polys, ends, spare, masses, done + AT_ONCE, count, target)
    low, high = ends[target, 0], ends[target, 1]
    while low < high and polys[target, low + BLOCK - 1] == 0.0 and _empty(polys, target, low):
        low += BLOCK
    while low < high and polys[target, high - BLOCK] == 0.0 and _empty(polys, target, high - BLOCK):
        high -= BLOCK
    ends[target, 0], ends[target, 1] = low, high


@compiled
def times_some(polys: F64, ends: I64, source: int, masses: F64, at: int, count: int, target: int) -> None:
    """Up to eight events more, from ``at`` on; the ends may have blocks of zeros."""
    p, q, low, high = U(source), U(target), U(ends[source, 0]), U(ends[source, 1])
    if high < U(polys.shape[1]) and not _room(polys, p, high):
        for c in range(BLOCK):
            polys[p, high + U(c)] = 0.0
        high += U(BLOCK)
    for c in range(BLOCK):
        polys[q, low - U(BLOCK) + U(c)] = 0.0
    if count - at <= 1:
        _times_one(polys, p, low, high, masses[at], q)
    elif count - at == 2:
        _times_two(polys, p, low, high, _two(masses[at], masses[at + 1]), q)
    elif count - at <= 4:
        _times_four(polys, p, low, high, _four(masses, at), q)
    else:
        _times_eight(polys, p, low, high, _eight(masses, at), q)
    ends[target, 0], ends[target, 1] = low, high


@compiled
def _times_one(polys: F64, p: U, low: U, high: U, a: float, q: U) -> None:
    rest = max(0.0, 1.0 - a)
    for x in range(low, high):
        value = rest * polys[p, x] + a * polys[p, x - U(1)]
        polys[q, x] = value if value >= NOTHING else 0.0


@compiled
def _times_two(polys: F64, p: U, low: U, high: U, t: Product, q: U) -> None:
    for x in range(low, high):
        value = (t[0] * polys[p, x] + t[1] * polys[p, x - U(1)]) + t[2] * polys[p, x - U(2)]
        polys[q, x] = value if value >= NOTHING else 0.0


@compiled
def _times_four(polys: F64, p: U, low: U, high: U, t: Product, q: U) -> None:
    for x in range(low, high):
        value = t[0] * polys[p, x] + t[1] * polys[p, x - U(1)]
        value += t[2] * polys[p, x - U(2)] + t[3] * polys[p, x - U(3)]
        value += t[4] * polys[p, x - U(4)]
        polys[q, x] = value if value >= NOTHING else 0.0


@compiled
def _times_eight(polys: F64, p: U, low: U, high: U, t: Product, q: U) -> None:
    for x in range(low, high):
        value = t[0] * polys[p, x] + t[1] * polys[p, x - U(1)]
        other = t[2] * polys[p, x - U(2)] + t[3] * polys[p, x - U(3)]
        value += t[4] * polys[p, x - U(4)] + t[5] * polys[p, x - U(5)]
        other += t[6] * polys[p, x - U(6)] + t[7] * polys[p, x - U(7)]
        value += other + t[8] * polys[p, x - U(8)]
        polys[q, x] = value if value >= NOTHING else 0.0


@compiled
def _two(a: float, b: float) -> Product:
    r, s = max(0.0, 1.0 - a), max(0.0, 1.0 - b)
    return r * s, r * b + a * s, a * b


@compiled
def _four(masses: F64, at: int) -> Product:
    x0, x1, x2 = _two(masses[U(at)], masses[U(at + 1)])
    y0, y1, y2 = _two(masses[U(at + 2)], masses[U(at + 3)])
    return x0 * y0, x0 * y1 + x1 * y0, (x0 * y2 + x1 * y1) + x2 * y0, x1 * y2 + x2 * y1, x2 * y2


@compiled
def _eight(masses: F64, at: int) -> Product:
    x0, x1, x2, x3, x4 = _four(masses, at)
    y0, y1, y2, y3, y4 = _four(masses, at + 4)
    return (
        x0 * y0,
        x0 * y1 + x1 * y0,
        (x0 * y2 + x1 * y1) + x2 * y0,
        (x0 * y3 + x1 * y2) + (x2 * y1 + x3 * y0),
        ((x0 * y4 + x1 * y3) + (x2 * y2 + x3 * y1)) + x4 * y0,
        (x1 * y4 + x2 * y3) + (x3 * y2 + x4 * y1),
        (x2 * y4 + x3 * y3) + x4 * y2,
        x3 * y4 + x4 * y3,
        x4 * y4,
    )


@compiled
def _room(polys: F64, which: U, end: U) -> bool:
    """Are the coefficients before an end zeros, as many as eight events move?"""
    top = 0.0
    for c in range(1, AT_ONCE + 1):
        top += polys[which, end - U(c)]
    return top == 0.0


@compiled
def _empty(polys: F64, which: int, block: int) -> bool:
    size = 0.0
    for c in range(BLOCK):
        size += polys[U(which), U(block + c)]
    return size == 0.0


@compiled
def add_up(polys: F64, ends: I64, which: int, sums: F64) -> None:
    """``sums[C - c]`` becomes the sum of the first c coefficients of all C; what follows behind ``sums[C]`` stays 0."""
    p, low, high = U(which), ends[which, 0], ends[which, 1]
    back = polys.shape[1]
    for at in range(BLOCK, low + 1):
        sums[U(back - at)] = 0.0
    total = 0.0
    for block in range(low, high, BLOCK):
        # The sum of a block is known before its parts are, so that blocks need not wait for each other.
        x = U(block)
        a = (polys[p, x] + polys[p, x + U(4)]) + (polys[p, x + U(8)] + polys[p, x + U(12)])
        b = (polys[p, x + U(1)] + polys[p, x + U(5)]) + (polys[p, x + U(9)] + polys[p, x + U(13)])
        c = (polys[p, x + U(2)] + polys[p, x + U(6)]) + (polys[p, x + U(10)] + polys[p, x + U(14)])
        d = (polys[p, x + U(3)] + polys[p, x + U(7)]) + (polys[p, x + U(11)] + polys[p, x + U(15)])
        value = total
        for inside in range(BLOCK - 1):
            value += polys[p, x + U(inside)]
            sums[U(back - block - inside - 1)] = value
        total += (a + b) + (c + d)
        sums[U(back - block - BLOCK)] = total
    for at in range(max(low, high) + 1, back + 1):
        sums[U(back - at)] = total
