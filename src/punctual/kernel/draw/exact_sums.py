"""Exact sums over the rows of a bundle, for every group and round, in vector instructions.

Model
-----
Sums are exact and rounded once, as everywhere (``synopses/limbs.py``), so the order of rows does not show. Here a
number is cut into multiples of ``2**(32 * limb)``, one limb after the other from the top, by adding and subtracting a
number so large that the rest falls off. All of that is exact, and so are sums of up to 4,096 such multiples in doubles:
a row adds a vector of rounds to each limb. How many limbs there are follows from the largest and the smallest number.

Cost: less than a nanosecond a number and a limb, of which typical bundles need two or three. Numbers beyond ``2**900``,
or that need many limbs, go the way of ordinary sums, ten times slower.

Rounding
--------
The limbs of a sum are added from the top with what each addition loses. If that is nothing, or too little to matter
(Ziv's test: both ends of what is possible round to the same double), the sum is the nearest double. The few others are
rounded by way of integers.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.synopses.limbs import MASK, UNIT, Loose, carried, means, rounded, sum_doubles

U = np.uint64
AT_ONCE = 4096
"""Multiples of a limb below 2**40, so many of them, stay below 2**52."""
TOP_BITS = 40
MANY_LIMBS = 8
FEW_ROUNDS = 4
FAR = 900
"""No number beyond 2**900 and none with bits below 2**-900 is cut."""
_MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
_INFINITE = np.int64(0x7FF0000000000000)
_CUT = 1.5 * 2.0**52
_NEAR = 2.0**-50
_SPLIT = 2.0**27 + 1.0


def bundle_sums(
    group: I64, groups: int, values: F64, present: Bools | None = None, order: I64 | None = None
) -> tuple[Loose, bool]:
    """The sum of each group in each round, and whether all values are in it: those that are not finite are left out.

    The sum of group g in the j-th round is number ``g * rounds + j``.

    Parameters
    ----------
    group : I64
        The group of each row, below ``groups``.
    values : F64
        Rows by rounds.
    present : Bools, optional
        Rows by rounds: where there is a value; everywhere without it.
    order : I64, optional
        The rows in an order in which those of a group follow each other, where that is known.

    Examples
    --------
    >>> sums, whole = bundle_sums(np.array([0, 1, 0]), 2, np.array([[1e300, 0.1], [7.0, np.inf], [-1e300, 0.2]]))
    >>> nearest_sums(sums).tolist(), whole
    ([0.0, 0.30000000000000004, 7.0, 0.0], False)
    """
    rounds = values.shape[1]
    mask = np.zeros((0, 0), np.bool_) if present is None else present
    most, least = _magnitudes(values, mask, present is not None)
    if most >= _INFINITE:
        finite = np.isfinite(values)
        return bundle_sums(group, groups, values, finite if present is None else finite & present, order)[0], False
    if most == 0:
        return Loose(UNIT, np.zeros((groups * rounds, 1), np.int64)), True
    bits, last = (most >> 52) - 1022, max(least >> 52, 1) - 1075  # below 2**bits, and multiples of 2**last
    top = -((TOP_BITS - bits) // 32)
    bottom = min(last // 32, top)
    if rounds < FEW_ROUNDS or bits > FAR or last < -FAR or top - bottom >= MANY_LIMBS:
        chosen = np.ones(values.shape, np.bool_) if present is None else present
        cell = np.broadcast_to(group[:, None] * rounds + np.arange(rounds), values.shape)[chosen]
        return sum_doubles(cell, groups * rounds, values[chosen].view(np.int64)), True
    digits = np.zeros((groups * rounds, top - bottom + 2), np.int64)
    quanta = np.exp2(32.0 * np.arange(top, bottom - 1, -1))
    by_group = np.argsort(group, kind="stable") if order is None else order
    _add(by_group, group, values, mask, present is not None, quanta, digits)
    return Loose(UNIT + bottom, digits), True


def added(one: Loose, other: Loose) -> Loose:
    """Number by number, the sum of both."""
    low = min(one.low, other.low)
    width = max(side.low + side.digits.shape[1] for side in (one, other)) - low
    digits = np.zeros((one.digits.shape[0], width), np.int64)
    for side in (one, other):
        digits[:, side.low - low : side.low - low + side.digits.shape[1]] += side.digits
    return Loose(low, digits)


def nearest_sums(sums: Loose) -> F64:
    """The nearest double of each sum, ties to even."""
    return _nearest(sums, None)


def nearest_means(sums: Loose, n: I64) -> F64:
    """The nearest double of each sum over a number of values: divided first, rounded once. 0 where n is 0."""
    return _nearest(sums, n)


def whole_sums(sums: Loose) -> I64:
    """Sums of whole numbers as they are, the lowest 64 bits of them.

    >>> whole_sums(Loose(UNIT, np.array([[5, 1], [-1, 0], [7, 1 << 32]]))).tolist()
    [4294967301, -1, 7]
    """
    found = np.zeros(sums.digits.shape[0], np.int64)
    for limb in range(UNIT, UNIT + 2):  # what is below one is 0, what is above does not fit
        if 0 <= limb - sums.low < sums.digits.shape[1]:
            found += sums.digits[:, limb - sums.low] << (32 * (limb - UNIT))
    return found


def _nearest(sums: Loose, n: I64 | None) -> F64:
    cells, width = sums.digits.shape
    found, unclear = np.zeros(cells), np.ones(cells, np.bool_)
    if 32 * abs(sums.low - UNIT) <= FAR and 32 * abs(sums.low + width - UNIT) <= FAR:
        scales = np.exp2(32.0 * np.arange(sums.low - UNIT, sums.low - UNIT + width + 1))
        if n is None:
            _round_sums(sums.digits, scales, found, unclear)
        else:
            _round_means(sums.digits, scales, n, found, unclear)
    if unclear.any():
        rest = carried(Loose(sums.low, sums.digits[unclear]))
        found[unclear] = rounded(rest) if n is None else means(rest, n[unclear])
    return found


@compiled
def _magnitudes(values: F64, present: Bools, masked: bool) -> tuple[int, int]:
    """The bits of the largest and of the smallest nonzero magnitude; 0 and a large number where all are zero."""
    most, least = np.int64(0), _MAGNITUDE - 1
    for i in range(values.shape[0]):
        row = values[i]
        if masked:
            there = present[i]
            for j in range(U(row.size)):
                bits = np.float64(row[j] if there[j] else 0.0).view(np.int64) & _MAGNITUDE
                before = (bits - 1) & _MAGNITUDE  # zero becomes the largest
                most = bits if bits > most else most
                least = before if before < least else least
        else:
            for j in range(U(row.size)):
                bits = np.float64(row[j]).view(np.int64) & _MAGNITUDE
                before = (bits - 1) & _MAGNITUDE
                most = bits if bits > most else most
                least = before if before < least else least
    return int(most), int(least + 1)


@compiled
def _add(order: I64, group: I64, values: F64, present: Bools, masked: bool, quanta: F64, digits: I64) -> None:
    """Add rows in an order in which those of a group follow each other; quanta are those of limbs from the top."""
    rounds = values.shape[1]
    sums, rest = np.zeros((quanta.size, rounds)), np.empty(rounds)
    held = 0
    for at in range(order.size):
        i = order[at]
        row = values[i]
        if masked:
            there = present[i]
            for j in range(U(rounds)):
                rest[j] = row[j] if there[j] else 0.0
        else:
            for j in range(U(rounds)):
                rest[j] = row[j]
        for limb in range(quanta.size):
            cut, total = _CUT * quanta[limb], sums[limb]
            for j in range(U(rounds)):
                multiple = (rest[j] + cut) - cut
                total[j] += multiple
                rest[j] -= multiple
        held += 1
        if held == AT_ONCE or at + 1 == order.size or group[order[at + 1]] != group[i]:
            _hand_over(sums, quanta, digits[group[i] * rounds : (group[i] + 1) * rounds])
            held = 0


@compiled
def _hand_over(sums: F64, quanta: F64, digits: I64) -> None:
    """Add multiples to the digits of their limbs, what exceeds the uppermost to the one above, and forget them."""
    for limb in range(quanta.size):
        scale, place = np.divide(1.0, quanta[limb]), quanta.size - 1 - limb
        for j in range(sums.shape[1]):
            digit = int(sums[limb, j] * scale)
            if limb == 0:
                digits[j, place + 1] += digit >> 32
                digit &= MASK
            digits[j, place] += digit
            sums[limb, j] = 0.0


@compiled
def _both(a: float, b: float) -> tuple[float, float]:
    """The sum of two numbers, and what it lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@compiled
def _added_up(digits: I64, scales: F64, limbs: I64) -> tuple[float, float, float]:
    """A sum as two doubles, the first of which is the nearest to both; and a bound on what they lost."""
    width = digits.size
    carry = np.int64(0)
    for k in range(width):
        carry += digits[k]
        limbs[k] = carry & MASK
        carry >>= 32
    total, lost, beyond = float(carry) * scales[width], 0.0, 0.0
    for k in range(width - 1, -1, -1):
        total, more = _both(total, float(limbs[k]) * scales[k])
        lost, more = _both(lost, more)
        beyond += abs(more)
    total, lost = _both(total, lost)
    return total, lost, 2.0 * beyond


@compiled
def _round_sums(digits: I64, scales: F64, found: F64, unclear: Bools) -> None:
    limbs = np.empty(digits.shape[1], np.int64)
    for i in range(digits.shape[0]):
        total, lost, beyond = _added_up(digits[i], scales, limbs)
        found[i] = total + 0.0
        error = abs(lost) * _NEAR + beyond
        unclear[i] = beyond > 0.0 and not (total + (lost + error) == total and total + (lost - error) == total)


@compiled
def _round_means(digits: I64, scales: F64, n: I64, found: F64, unclear: Bools) -> None:
    limbs = np.empty(digits.shape[1], np.int64)
    for i in range(digits.shape[0]):
        unclear[i] = False
        if n[i] == 0:
            continue
        total, lost, beyond = _added_up(digits[i], scales, limbs)
        divisor = float(n[i])
        quotient = np.divide(total, divisor)
        product, below = _times(quotient, divisor)
        left = total - product  # exact, as they are within a few units of each other
        rest = np.divide((left - below) + lost, divisor)
        error = np.divide((abs(left) + abs(below) + abs(lost)) * _NEAR + beyond, divisor) + abs(rest) * _NEAR
        found[i] = quotient + rest + 0.0
        unclear[i] = not (quotient + (rest + error) == found[i] and quotient + (rest - error) == found[i])


@compiled
def _times(a: float, b: float) -> tuple[float, float]:
    """The product of two numbers, and what it lost (Dekker)."""
    product = a * b
    c, d = a * _SPLIT, b * _SPLIT
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
