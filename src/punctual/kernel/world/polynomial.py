"""How many rows exist: the first coefficients of a product of factors ``1 - a + a x``, changed in place.

Model
-----
``poly[c]`` is the probability that exactly ``c`` of some independent events happen. An event of probability ``a``
multiplies it by ``1 - a + a x``. Only the first ``k`` coefficients are kept, and those never need the others. A
polynomial is an array and the two ends of the part that is not zero: ``low <= c < high``.

Design
------
Products add positive numbers only, so every coefficient keeps its digits, however small it is. They run forwards with
the former value in a register, which becomes vector instructions (26 ns for 100 coefficients); two factors at a time
cost the same as one. Coefficients below ``NOTHING`` at both ends become zeros and are passed over: a thousand events
leave a part of some 25 standard deviations to work on, and no number comes near the least one that a double can hold,
where each operation would be a hundred times slower. Products only move probability upwards and never enlarge it, so a
million of them lose less than a millionth of 1e-18.

Division by a factor, ``q[c] = (f[c] - a q[c - 1]) / (1 - a)``, subtracts. What an error of size 1 becomes is bounded by
``1 / (1 - 2 a)``, the largest value of 1 / (1 - a + a x) on the unit circle: harmless for small ``a``, without bound
towards 1/2; above that it grows with every coefficient. Who divides must keep away from there (see ``rank_scan``).
"""

from __future__ import annotations

from punctual.kernel.compiled import compiled
from punctual.kernel.world.rows import F64

NOTHING = 1e-31
"""A coefficient below this one is 0."""


@compiled
def trimmed(poly: F64, low: int, high: int) -> tuple[int, int]:
    """The ends without coefficients that are as good as 0."""
    while low < high and poly[low] < NOTHING:
        low += 1
    while low < high and poly[high - 1] < NOTHING:
        high -= 1
    return low, high


@compiled
def multiply(poly: F64, low: int, high: int, a: float) -> tuple[int, int]:
    """One more event; the new ends."""
    rest = max(0.0, 1.0 - a)
    if high < poly.size:
        poly[high] = 0.0
        high += 1
    before = 0.0
    for c in range(low, high):
        here = poly[c]
        poly[c] = rest * here + a * before
        before = here
    return trimmed(poly, low, high)


@compiled
def multiply_two(poly: F64, low: int, high: int, a: float, b: float) -> tuple[int, int]:
    """Two more events; the new ends."""
    not_a, not_b = max(0.0, 1.0 - a), max(0.0, 1.0 - b)
    none, one, both = not_a * not_b, a * not_b + not_a * b, a * b
    for _ in range(2):
        if high < poly.size:
            poly[high] = 0.0
            high += 1
    before, earlier = 0.0, 0.0
    for c in range(low, high):
        here = poly[c]
        poly[c] = none * here + one * before + both * earlier
        earlier = before
        before = here
    return trimmed(poly, low, high)


@compiled
def divide(poly: F64, low: int, high: int, a: float, out: F64) -> None:
    """``out`` becomes ``poly`` without an event of probability ``a``, between the same ends."""
    scale = 1.0 / (1.0 - a)
    ratio = a * scale
    before = 0.0
    for c in range(low, high):
        before = poly[c] * scale - ratio * before
        out[c] = before


@compiled
def total(poly: F64, low: int, high: int) -> float:
    """Sum of the coefficients, four at a time."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    at = low
    while at + 4 <= high:
        a += poly[at]
        b += poly[at + 1]
        c += poly[at + 2]
        d += poly[at + 3]
        at += 4
    while at < high:
        a += poly[at]
        at += 1
    return (a + b) + (c + d)


@compiled
def weighted(poly: F64, low: int, high: int, weights: F64) -> float:
    """Sum of the coefficients times their weights."""
    a, b = 0.0, 0.0
    at = low
    while at + 2 <= high:
        a += poly[at] * weights[at]
        b += poly[at + 1] * weights[at + 1]
        at += 2
    if at < high:
        a += poly[at] * weights[at]
    return a + b
