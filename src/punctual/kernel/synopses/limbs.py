"""Exact sums of numbers of any size: integers in limbs of 32 bits, as wide as the numbers need and no wider.

Model
-----
A finite double is an integer times ``2**-1074``, so a sum of doubles is an integer too, of at most 2,160 bits; the sum
of their squares has twice as many. A number is a sum of ``digit[k] * 2**(32 * (low + k - unit))``: limb ``unit`` holds
ones. While rows are added, digits are int64 and not carried (:class:`Loose`, a matrix with one row per cell): a row
adds less than ``2**33`` to a digit, so ``2**29`` rows fit into one lift, and as many states into one combine. What a
state keeps is carried and trimmed at both ends (:class:`Exact`, two's complement digits in int32, the last one signed),
so equal sums are equal bytes.

Why not pairs of doubles
------------------------
A double-double sum keeps 106 bits, and what falls off depends on the order of additions: rare for sums, ordinary for
variances of values far from zero, where the leading half cancels. Here nothing falls off. It is not slower: three
integer additions per row, no chain of dependent floating-point operations; and since integer additions can be undone,
a range of cells is the difference of two running totals, however many cells it spans. Typical measurements need four
to six limbs; only cells that mix magnitudes beyond ``2**200`` need many.

Oracle: ``fractions.Fraction``, in ``tests/oracles/aggregates.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled

MASK = 0xFFFFFFFF
UNIT = 34
"""The limb of ones in sums: 34 limbs below it reach beyond the smallest double, 2**-1074."""
SQUARE_UNIT = 2 * UNIT
"""The limb of ones in sums of squares."""
FRACTION = 10
"""Digits of 16 bits below a number that is divided: a quotient by two divisors of 47 bits keeps 64 bits and more."""
_FIRST_BIT = 32 * UNIT - 1075  # plus the exponent field of a double: the bit at which its mantissa starts


@dataclass(frozen=True, slots=True)
class Loose:
    """Sums under way: ``digits[i, k]`` belongs to limb ``low + k`` of cell i, and may exceed a limb."""

    low: int
    digits: I64


@dataclass(frozen=True, slots=True)
class Exact:
    """Finished sums: the limbs of number i are ``digits[offsets[i]:offsets[i + 1]]``, the first of them ``low[i]``."""

    low: I64
    offsets: I64
    digits: NDArray[np.int32]

    def columns(self) -> tuple[pa.Array, pa.Array]:
        """As Arrow columns: ``low`` int16 and ``digits`` list<int32>."""
        return pa.array(self.low.astype(np.int16)), pa.ListArray.from_arrays(
            pa.array(self.offsets.astype(np.int32)), pa.array(self.digits)
        )

    @staticmethod
    def of_columns(low: pa.Array, digits: pa.Array) -> Exact:
        offsets = digits.offsets.to_numpy().astype(np.int64)
        flat = digits.values.to_numpy()
        return Exact(low.to_numpy().astype(np.int64), offsets, flat)

    def loose(self) -> Loose:
        lengths = np.diff(self.offsets)
        used = lengths > 0
        if not used.any():
            return Loose(0, np.zeros((self.low.size, 1), np.int64))
        low = int(self.low[used].min())
        width = int((self.low + lengths)[used].max()) - low
        return Loose(low, _spread(self.low, self.offsets, self.digits, low, width))


def carried(sums: Loose) -> Exact:
    """Carry and trim: the one form that equal sums share."""
    digits = np.zeros((sums.digits.shape[0], sums.digits.shape[1] + 1), np.int64)
    digits[:, :-1] = sums.digits
    first, last = _carry(digits)
    offsets = np.zeros(first.size + 1, np.int64)
    np.cumsum(last - first, out=offsets[1:])
    low = np.where(last > first, first + sums.low, 0)
    return Exact(low, offsets, _trim(digits, first, offsets))


def range_sums(sums: Loose, starts: I64, ends: I64) -> Loose:
    """One sum a range ``[starts[j], ends[j])``, as the difference of running totals.

    Totals may wrap around; their differences do not, since int64 counts modulo ``2**64``. Cost: ``(n + m) * width``.
    """
    running = np.zeros((sums.digits.shape[0] + 1, sums.digits.shape[1]), np.int64)
    np.cumsum(sums.digits, axis=0, out=running[1:])
    return Loose(sums.low, running[ends] - running[starts])


def sum_integers(cell: I64, cells: int, numbers: I64) -> Loose:
    """Sums of int64 values per cell."""
    digits = np.zeros((cells, 2), np.int64)
    _add_integers(cell, numbers, digits)
    return Loose(UNIT, digits)


def sum_decimals(cell: I64, cells: int, words: I64) -> Loose:
    """Sums of 128-bit integers per cell; ``words[i]`` are the lower and upper half of row i."""
    digits = np.zeros((cells, 4), np.int64)
    _add_wide_integers(cell, words, digits)
    return Loose(UNIT, digits)


def sum_doubles(cell: I64, cells: int, bits: I64) -> Loose:
    """Sums of finite doubles per cell, given by their bits."""
    least, most = _exponents(bits)
    low = (least + _FIRST_BIT) >> 5
    digits = np.zeros((cells, ((most + _FIRST_BIT) >> 5) + 3 - low), np.int64)
    _add_doubles(cell, bits, low, digits)
    return Loose(low, digits)


def sum_squares(cell: I64, cells: int, bits: I64) -> Loose:
    """Sums of squares of finite doubles per cell, given by their bits; nothing overflows."""
    least, most = _exponents(bits)
    low = (2 * (least + _FIRST_BIT)) >> 5
    digits = np.zeros((cells, ((2 * (most + _FIRST_BIT) + 54) >> 5) + 3 - low), np.int64)
    _add_squares(cell, bits, low, digits)
    return Loose(low, digits)


def rounded(sums: Exact) -> F64:
    """The nearest double of each sum, ties to even; beyond the largest double, an infinity."""
    return _round(sums.low, sums.offsets, sums.digits)


def means(sums: Exact, n: I64) -> F64:
    """The nearest double of each sum over a whole number below ``2**47``, ties to even: divided first, rounded once."""
    return _means(sums.low, sums.offsets, sums.digits, n)


@compiled
def _add_integers(cell: I64, numbers: I64, digits: I64) -> None:
    for i in range(cell.size):
        digits[cell[i], 0] += numbers[i] & MASK
        digits[cell[i], 1] += numbers[i] >> 32


@compiled
def _add_wide_integers(cell: I64, words: I64, digits: I64) -> None:
    for i in range(cell.size):
        c = cell[i]
        digits[c, 0] += words[i, 0] & MASK
        digits[c, 1] += (words[i, 0] >> 32) & MASK
        digits[c, 2] += words[i, 1] & MASK
        digits[c, 3] += words[i, 1] >> 32


@compiled
def _exponents(bits: I64) -> tuple[int, int]:
    """Least and most exponent field of nonzero doubles; subnormals count as 1, as their mantissa starts there."""
    least, most = 2047, 1
    for i in range(bits.size):
        if bits[i] & 0x7FFFFFFFFFFFFFFF != 0:
            field = max((bits[i] >> 52) & 0x7FF, 1)
            least = min(least, field)
            most = max(most, field)
    return min(least, most), most


@compiled
def _add_at(digits: I64, row: int, at: int, magnitude: int, sign: int) -> None:
    """Add ``sign * magnitude * 2**at``, magnitude below 2**55, bit 0 being the first bit of column 0."""
    column, shift = at >> 5, at & 31
    lower = (magnitude & MASK) << shift
    upper = (magnitude >> 32) << shift
    digits[row, column] += sign * (lower & MASK)
    digits[row, column + 1] += sign * ((lower >> 32) + (upper & MASK))
    digits[row, column + 2] += sign * (upper >> 32)


@compiled
def _add_doubles(cell: I64, bits: I64, low: int, digits: I64) -> None:
    for i in range(cell.size):
        b = bits[i]
        field = (b >> 52) & 0x7FF
        mantissa = b & 0xFFFFFFFFFFFFF
        if field > 0:
            mantissa |= 1 << 52
        elif mantissa == 0:
            continue
        _add_at(digits, cell[i], max(field, 1) + _FIRST_BIT - 32 * low, mantissa, 1 if b >= 0 else -1)


@compiled
def _add_squares(cell: I64, bits: I64, low: int, digits: I64) -> None:
    for i in range(cell.size):
        b = bits[i]
        field = (b >> 52) & 0x7FF
        mantissa = b & 0xFFFFFFFFFFFFF
        if field > 0:
            mantissa |= 1 << 52
        elif mantissa == 0:
            continue
        # The mantissa is upper * 2**27 + lower; the three products of its square have at most 54 bits each.
        at = 2 * (max(field, 1) + _FIRST_BIT) - 32 * low
        upper, lower = mantissa >> 27, mantissa & 0x7FFFFFF
        _add_at(digits, cell[i], at, lower * lower, 1)
        _add_at(digits, cell[i], at + 28, upper * lower, 1)
        _add_at(digits, cell[i], at + 54, upper * upper, 1)


@compiled
def _carry(digits: I64) -> tuple[I64, I64]:
    """Carry each row in place, its last digit signed; where its shortest two's complement form starts and ends."""
    rows, width = digits.shape
    first = np.zeros(rows, np.int64)
    last = np.zeros(rows, np.int64)
    for i in range(rows):
        for k in range(width - 1):
            digits[i, k + 1] += digits[i, k] >> 32
            digits[i, k] &= MASK
        end = width
        while end > 1:
            # A last digit that only repeats the sign of the one before says nothing.
            below = digits[i, end - 2]
            if digits[i, end - 1] != (-1 if below >> 31 else 0):
                break
            end -= 1
            digits[i, end - 1] = below - (1 << 32) if below >> 31 else below
        if end == 1 and digits[i, 0] == 0:
            end = 0
        start = 0
        while start < end and digits[i, start] == 0:
            start += 1
        first[i], last[i] = start, end
    return first, last


@compiled
def _trim(digits: I64, first: I64, offsets: I64) -> NDArray[np.int32]:
    out = np.empty(offsets[-1], np.int32)
    for i in range(first.size):
        for k in range(offsets[i + 1] - offsets[i]):
            digit = digits[i, first[i] + k] & MASK
            out[offsets[i] + k] = digit - (1 << 32) if digit >> 31 else digit
    return out


@compiled
def _spread(low: I64, offsets: I64, digits: NDArray[np.int32], base: int, width: int) -> I64:
    out = np.zeros((low.size, width), np.int64)
    for i in range(low.size):
        start, end = offsets[i], offsets[i + 1]
        for k in range(start, end):
            digit = np.int64(digits[k])
            out[i, low[i] - base + k - start] = digit if k == end - 1 else digit & MASK
    return out


@compiled
def magnitude(digits: NDArray[np.int32], start: int, end: int, out: I64) -> int:
    """Write the limbs of a number's absolute value into ``out`` (``end - start + 1`` of them); its sign."""
    negative = end > start and digits[end - 1] < 0
    carry = 1 if negative else 0
    for k in range(start, end):
        out[k - start] = digits[k]
        out[k - start] &= MASK
        if negative:
            carry += out[k - start] ^ MASK
            out[k - start] = carry & MASK
            carry >>= 32
    out[end - start] = 0
    return -1 if negative else 1


@compiled
def leading(digits: I64, count: int, bits: int) -> tuple[int, int]:
    """The 62 leading bits of a nonnegative number and their exponent: it is about ``head * 2**exponent``.

    Digits have ``bits`` bits (a divisor of 32), lowest first. A remainder below the 62 bits sets the last one, so that
    rounding ``head`` to a double rounds the number itself.
    """
    top = count - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return 0, 0
    head, k, length = digits[top], top, 0
    while (head >> length) != 0:
        length += 1
    while k > 0 and length + bits <= 62:
        k -= 1
        head = (head << bits) | digits[k]
        length += bits
    if k > 0 and length < 62:
        taken = 62 - length
        k -= 1
        head = (head << taken) | (digits[k] >> (bits - taken))
        if digits[k] & ((1 << (bits - taken)) - 1):
            head |= 1
        exponent = k * bits + bits - taken
    else:
        exponent = k * bits
    for j in range(k):
        if digits[j] != 0:
            head |= 1
            break
    return head, exponent


@compiled
def divide(digits: I64, count: int, divisor: int) -> int:
    """Divide a nonnegative number in place, digits of 16 bits, lowest first; the remainder. Divisors below 2**47."""
    rest = 0
    for k in range(count - 1, -1, -1):
        rest = (rest << 16) | digits[k]
        digits[k] = rest // divisor
        rest -= digits[k] * divisor
    return rest


@compiled
def nearest(head: int, exponent: int) -> float:
    """The double nearest to ``head * 2**exponent``, an infinity where that overflows.

    ``head`` is what :func:`leading` gives: its last bit stands for all that was below it.
    """
    below = -1076 - exponent
    if below > 0:
        # Two bits below the smallest double, and all the rest in the last of them: else it would be rounded twice.
        cut = min(below, 62)
        head = (head >> cut) | (1 if head & ((1 << cut) - 1) else 0)
        exponent += below
    mantissa = float(head)
    _, own = math.frexp(mantissa)
    if head != 0 and own + exponent > 1024:
        return math.inf
    return math.ldexp(mantissa, int(exponent))


@compiled
def _round(low: I64, offsets: I64, digits: NDArray[np.int32]) -> F64:
    out = np.zeros(low.size, np.float64)
    scratch = np.zeros(digits.size + 1, np.int64)
    for i in range(low.size):
        start, end = offsets[i], offsets[i + 1]
        if end == start:
            continue
        sign = magnitude(digits, start, end, scratch)
        head, exponent = leading(scratch, end - start + 1, 32)
        out[i] = sign * nearest(head, exponent + 32 * (low[i] - UNIT))
    return out


@compiled
def quotient(limbs: I64, count: int, divisor: int) -> tuple[int, int]:
    """The 62 leading bits of a positive number over a divisor below 2**47, and their exponent, as :func:`leading` has
    them.

    Limbs have 32 bits, lowest first. They are divided from the top, whole ones where the divisor lets a remainder and a
    limb fit into 63 bits, and no further down than the bits that are asked for.
    """
    bits = 32 if divisor < 1 << 31 else 16
    k = count * (32 // bits)
    head, length, rest = 0, 0, 0
    while True:
        k -= 1
        digit = 0
        if k >= 0:
            digit = limbs[k] if bits == 32 else (limbs[k >> 1] >> (16 * (k & 1))) & 0xFFFF
        rest = (rest << bits) | digit
        own = rest // divisor
        rest -= own * divisor
        if length + bits > 62:
            break
        head = (head << bits) | own
        if length > 0:
            length += bits
        elif own != 0:
            length = math.frexp(float(own))[1]
    taken = 62 - length
    below = own & ((1 << (bits - taken)) - 1)
    head = (head << taken) | (own >> (bits - taken))
    for j in range((k * bits + 31) >> 5):
        rest |= limbs[j] if j < (k * bits) >> 5 else limbs[j] & 0xFFFF
    return head | (1 if below != 0 or rest != 0 else 0), k * bits + bits - taken


@compiled
def _means(low: I64, offsets: I64, digits: NDArray[np.int32], n: I64) -> F64:
    out = np.zeros(low.size, np.float64)
    widest = 0
    for i in range(low.size):
        widest = max(widest, offsets[i + 1] - offsets[i])
    limbs = np.zeros(widest + 1, np.int64)
    for i in range(low.size):
        width = offsets[i + 1] - offsets[i]
        if width == 0:
            continue
        sign = magnitude(digits, offsets[i], offsets[i + 1], limbs)
        head, exponent = quotient(limbs, width, max(n[i], 1))
        out[i] = sign * nearest(head, exponent + 32 * (low[i] - UNIT))
    return out
