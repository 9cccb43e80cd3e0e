"""Texts as numbers, as Spark casts them: whole numbers and words for true and false always, others where that is sure.

A text is ``lengths[i]`` bytes of ``data`` from ``starts[i]``. A kernel writes ``values`` and says in ``states`` how
each text went: it fits, it is a *misfit* (no such number), or somebody else must look, who is exact and slower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled

FITS, MISFIT, LONG, DOUBTFUL = 0, 1, 2, 3
"""What became of a text. LONG: it has the form of a number, with more digits than are sure here."""

Bytes = NDArray[np.uint8]
Starts = NDArray[np.int64]
Lengths = NDArray[np.int32]
Valid = NDArray[np.bool_]
States = NDArray[np.uint8]

_POWERS = np.array([10.0**power for power in range(23)])
"""Powers of ten that a double holds exactly."""
_TENS = np.array([10**power for power in range(20)], np.uint64)
_EXACT = 1 << 53
_MOST = 10**17
"""Digits below this can take one more digit, and then one more."""


@compiled
def trimmed(data: Bytes, at: int, length: int) -> tuple[int, int]:
    """Where a text begins and ends without white space and control characters around it."""
    end = at + length
    while at < end and (data[at] <= 32 or data[at] == 127):
        at += 1
    while end > at and (data[end - 1] <= 32 or data[end - 1] == 127):
        end -= 1
    return at, end


@compiled
def _without_blanks(data: Bytes, at: int, length: int) -> tuple[int, int]:
    """As ``trimmed``, but DEL is no blank: for types whose texts Spark gives to Java."""
    end = at + length
    while at < end and data[at] <= 32:
        at += 1
    while end > at and data[end - 1] <= 32:
        end -= 1
    return at, end


@compiled
def booleans(
    data: Bytes, starts: Starts, lengths: Lengths, valid: Valid, values: NDArray[np.bool_], states: States
) -> None:
    """``t``, ``true``, ``y``, ``yes`` and ``1`` or their opposites, in any case, with white space around."""
    for row in range(starts.size):
        states[row] = FITS
        if not valid[row]:
            continue
        at, end = trimmed(data, starts[row], lengths[row])
        states[row] = MISFIT
        word = np.int64(0)
        if 0 < end - at <= 5:
            for place in range(at, end):
                byte = np.int64(data[place])
                word = word << 8 | (byte + 32 if 65 <= byte <= 90 else byte)
        if word == 0x74 or word == 0x74727565 or word == 0x79 or word == 0x796573 or word == 0x31:
            values[row], states[row] = True, FITS
        elif word == 0x66 or word == 0x66616C7365 or word == 0x6E or word == 0x6E6F or word == 0x30:
            values[row], states[row] = False, FITS


@compiled
def integers(
    data: Bytes, starts: Starts, lengths: Lengths, valid: Valid, most: int, values: NDArray[np.int64], states: States
) -> None:
    """Digits, perhaps after a sign, with white space and control characters around; from ``-most - 1`` to ``most``."""
    for row in range(starts.size):
        states[row] = FITS
        if not valid[row]:
            continue
        at, end = trimmed(data, starts[row], lengths[row])
        negative = at < end and data[at] == 45
        if at < end and (negative or data[at] == 43):
            at += 1
        fits = at < end
        total = np.int64(0)
        # Totals are kept negative, where there is one more.
        for place in range(at, end):
            digit = np.int64(data[place]) - 48
            if digit < 0 or digit > 9 or total < -922337203685477580 or (total == -922337203685477580 and digit > 8):
                fits = False
                break
            total = total * 10 - digit
        if not fits or total < (-most - 1 if negative else -most):
            states[row] = MISFIT
        values[row] = total if negative else -total


@compiled
def decimals(
    data: Bytes,
    starts: Starts,
    lengths: Lengths,
    valid: Valid,
    precision: int,
    scale: int,
    values: NDArray[np.uint64],
    states: States,
) -> None:
    """Numbers of up to 18 digits without an exponent, half rounded up; two words per value, the lower one first.

    All others are doubtful, also what is no number at all.
    """
    for row in range(starts.size):
        states[row] = FITS
        if not valid[row]:
            continue
        states[row] = DOUBTFUL
        at, end = _without_blanks(data, starts[row], lengths[row])
        negative = at < end and data[at] == 45
        if at < end and (negative or data[at] == 43):
            at += 1
        total, digits, after, up = _scaled(data, at, end, scale)
        missing = scale - min(after, scale)
        if digits == 0 or missing > 19:
            continue
        if up:
            total += np.uint64(1)
        low, high = _times(total, _TENS[missing])
        size = missing
        while size - missing < 19 and _TENS[size - missing] <= total:
            size += 1
        if total != 0 and size > precision:
            states[row] = MISFIT
            continue
        if negative:
            low = ~low + np.uint64(1)
            high = ~high + np.uint64(low == 0)
        values[2 * row], values[2 * row + 1] = low, high
        states[row] = FITS


@compiled
def _scaled(data: Bytes, at: int, end: int, scale: int) -> tuple[np.uint64, int, int, bool]:
    """Digits with a point as a whole number, up to so many after the point.

    Also how many digits there are (none, if it has another form), how many of them after the point, and whether what is
    cut off is at least half.
    """
    total, digits, after, point, up = np.uint64(0), 0, 0, False, False
    for place in range(at, end):
        byte = data[place]
        if byte == 46 and not point:
            point = True
            continue
        if byte < 48 or byte > 57 or total >= _MOST:
            return total, 0, 0, False
        digits += 1
        if point and after >= scale:
            # Of what is cut off the first digit alone decides.
            if after == scale:
                up = byte >= 53
            after += 1
            continue
        total = total * np.uint64(10) + np.uint64(byte - 48)
        after += point
    return total, digits, after, up


@compiled
def _times(left: np.uint64, right: np.uint64) -> tuple[np.uint64, np.uint64]:
    """A product of two words: its lower and its upper word."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b, c, d = left >> half, left & mask, right >> half, right & mask
    lower = b * d
    middle = a * d + (lower >> half)
    cross = b * c + (middle & mask)
    return (cross << half) | (lower & mask), a * c + (middle >> half) + (cross >> half)


@compiled
def doubles(
    data: Bytes,
    starts: Starts,
    lengths: Lengths,
    valid: Valid,
    reach: int,
    values: NDArray[np.float64],
    states: States,
) -> None:
    """Numbers whose digits are below 2^53 and whose power of ten is at most 22: one operation, so rounded once.

    Others that are far from the ends of the range (``reach`` is a power of ten) are LONG. What is doubtful may be a
    number in another form, or none.
    """
    for row in range(starts.size):
        states[row] = FITS
        if not valid[row]:
            continue
        states[row] = DOUBTFUL
        at, end = _without_blanks(data, starts[row], lengths[row])
        negative = at < end and data[at] == 45
        if at < end and (negative or data[at] == 43):
            at += 1
        total, digits, power, point, many = np.int64(0), 0, 0, False, False
        while at < end:
            byte = data[at]
            if 48 <= byte <= 57:
                digits += 1
                if total < _MOST:
                    total = total * 10 + np.int64(byte - 48)
                    power -= point
                else:
                    many = True
                    power += not point
            elif byte == 46 and not point:
                point = True
            else:
                break
            at += 1
        if digits == 0:
            continue
        exponent, at = _exponent(data, at, end)
        power += exponent
        if at < end:
            continue
        if not many and total < _EXACT and -22 <= power <= 22:
            value = np.float64(total)
            value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
            values[row] = -value if negative else value
            states[row] = FITS
        elif total != 0 and -reach < power < reach:
            states[row] = LONG


@compiled
def _exponent(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The power of ten at a place, 0 if there is none, and the place after it."""
    if at == end or (data[at] != 101 and data[at] != 69):
        return 0, at
    down = at + 1 < end and data[at + 1] == 45
    first = at + 2 if at + 1 < end and (down or data[at + 1] == 43) else at + 1
    place, exponent = first, 0
    while place < end and 48 <= data[place] <= 57 and exponent < 100_000:
        exponent = exponent * 10 + int(np.int64(data[place]) - 48)
        place += 1
    return (-exponent if down else exponent), (at if place == first else place)
