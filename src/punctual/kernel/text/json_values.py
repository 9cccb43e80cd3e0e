"""Values of one declared column, from their places in lines of JSON.

Each function takes what :func:`punctual.kernel.text.json_tokens.walk_lines` found and fills ``values`` and ``valid``
for one column. What is not surely right makes its line doubtful; NULLs and missing fields are not valid.
"""

# Comparisons one by one compile to less than a search in a tuple.
# ruff: noqa: SIM109
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.text.bare import bare
from punctual.kernel.text.json_tokens import FALSE, INTEGER, NULL, NUMBER, STRING, TRUE

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

_ZERO, _NINE, _MINUS, _DOT = 48, 57, 45, 46
_EXACT_DIGITS = 18
_EXACT_MANTISSA = 1 << 53
_NOT_TWO = 1_000_000
_NO_DAY = _NO_ZONE = -(1 << 40)
_NO_TIME = -(1 << 63)
POWERS = 10.0 ** np.arange(23)
"""Powers of ten that are doubles: a product or quotient with a mantissa that is one too is rounded once."""
FRACTION_UNITS = 10 ** np.arange(6, -1, -1)
"""Microseconds of the last digit of a fraction, by how many digits it has."""


@bare
def digit_at(data: Bytes, at: int) -> int:
    """The digit in a place; below zero or above nine if there is none."""
    return int(np.int64(data[at]) - _ZERO)


@bare
def take_booleans(kinds: Bytes, column: int, values: Bytes, valid: Bytes, doubts: Bytes) -> None:
    for row in range(doubts.size):
        kind = kinds[row, column]
        values[row] = kind == TRUE
        valid[row] = kind == TRUE or kind == FALSE
        if not valid[row] and kind > NULL:
            doubts[row] = 1


@bare
def _integer(data: Bytes, at: int, length: int) -> tuple[int, bool]:
    """A whole number, and whether it is surely right: one of more than 63 bits is not."""
    end = at + length
    negative = data[at] == _MINUS
    if negative:
        at += 1
    if end - at > _EXACT_DIGITS + 1:
        return 0, False
    # Nineteen digits never go beyond 64 bits, so a number beyond 63 shows as a negative one.
    value = 0
    for i in range(at, end):
        value = value * 10 + digit_at(data, i)
    return (-value if negative else value), value >= 0


@bare
def take_integers(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, least: int, most: int,
    values: Places, valid: Bytes, doubts: Bytes,
) -> None:  # fmt: skip
    """Whole numbers from the least to the most."""
    for row in range(doubts.size):
        kind = kinds[row, column]
        values[row], valid[row] = 0, 0
        if kind == INTEGER:
            value, sure = _integer(data, starts[row, column], lengths[row, column])
            if sure and least <= value <= most:
                values[row], valid[row] = value, 1
                continue
        if kind > NULL:
            doubts[row] = 1


@bare
def _double(data: Bytes, at: int, length: int) -> tuple[float, int]:
    """A number as a double, and whether it is exactly the nearest one: 1; 0 if others must say; -1 if it is extreme."""
    end = at + length
    negative = data[at] == _MINUS
    if negative:
        at += 1
    mantissa, digits, scale = 0, 0, 0
    fraction = False
    while at < end and (_ZERO <= data[at] <= _NINE or data[at] == _DOT):
        if data[at] == _DOT:
            fraction = True
        else:
            if digits or data[at] != _ZERO:
                digits += 1
                if digits <= _EXACT_DIGITS:
                    mantissa = mantissa * 10 + digit_at(data, at)
            if fraction:
                scale -= 1
        at += 1
    if at < end:
        at += 1
        below = data[at] == _MINUS
        if below or data[at] == 43:
            at += 1
        if end - at > 6:
            return 0.0, -1
        exponent = 0
        for i in range(at, end):
            exponent = exponent * 10 + digit_at(data, i)
        scale += -exponent if below else exponent
    if digits == 0:
        return (-0.0 if negative else 0.0), 1
    if digits + scale > 300 or digits + scale < -300:
        return 0.0, -1
    if digits > _EXACT_DIGITS or mantissa > _EXACT_MANTISSA or scale > 22 or scale < -22:
        return 0.0, 0
    value = np.float64(mantissa)
    value = value * POWERS[scale] if scale >= 0 else value / POWERS[-scale]
    return (-value if negative else value), 1


@bare
def take_doubles(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, values: NDArray[np.float64], valid: Bytes,
    hard: Bytes, doubts: Bytes,
) -> int:  # fmt: skip
    """Doubles; those of ``hard`` rows are still to be found, from their text. How many those are."""
    count = 0
    for row in range(doubts.size):
        kind = kinds[row, column]
        values[row], valid[row] = 0.0, 0
        if kind == INTEGER or kind == NUMBER:
            value, sure = _double(data, starts[row, column], lengths[row, column])
            if sure >= 0:
                # A whole number has no negative zero.
                values[row] = value + 0.0 if kind == INTEGER else value
                valid[row] = 1
                if sure == 0:
                    hard[row] = 1
                    count += 1
                continue
        if kind > NULL:
            doubts[row] = 1
    return count


@bare
def narrow(doubles: NDArray[np.float64], valid: Bytes, values: NDArray[np.float32], doubts: Bytes) -> None:
    """The floats nearest to what was written, from the doubles nearest to it.

    A double that is half way between two floats may have been rounded to there, so its line is doubtful.
    """
    bits = doubles.view(np.int64)
    for row in range(doubts.size):
        value = doubles[row]
        values[row] = np.float32(value)
        size = abs(value)
        if valid[row] and ((bits[row] & 0x1FFFFFFF) == 0x10000000 or size > 3.4e38 or (size < 1.2e-38 and size != 0.0)):
            doubts[row] = 1


@bare
def _decimal(
    data: Bytes, at: int, length: int, precision: int, scale: int, values: NDArray[np.uint64], row: int
) -> bool:
    """Digits with at most ``scale`` behind the point, as a whole number of 128 bits, low half first."""
    end = at + length
    negative = at < end and data[at] == _MINUS
    if negative:
        at += 1
    low, high = np.uint64(0), np.uint64(0)
    half, ten = np.uint64(32), np.uint64(10)
    mask = np.uint64(0xFFFFFFFF)
    digits, behind, point = 0, 0, False
    first = at
    while at < end or behind < scale:
        digit = np.uint64(0)
        if at < end and data[at] == _DOT and not point and at > first and at + 1 < end:
            point = True
            at += 1
            continue
        if at < end:
            if not _ZERO <= data[at] <= _NINE:
                return False
            digit = np.uint64(data[at] - _ZERO)
            at += 1
            if point:
                behind += 1
        else:
            behind += 1
        if digits or digit:
            digits += 1
        if digits > precision or behind > scale:
            return False
        below = (low & mask) * ten + digit
        above = (low >> half) * ten + (below >> half)
        high = high * ten + (above >> half)
        low = (above << half) | (below & mask)
    if negative:
        low, high = ~low + np.uint64(1), ~high
        if low == np.uint64(0):
            high += np.uint64(1)
    values[row, 0], values[row, 1] = low, high
    return end > first


@bare
def take_decimals(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, precision: int, scale: int,
    values: NDArray[np.uint64], valid: Bytes, doubts: Bytes,
) -> None:  # fmt: skip
    """Decimals, written as numbers or as strings; a row of ``values`` has the low and the high half."""
    for row in range(doubts.size):
        kind = kinds[row, column]
        values[row, 0], values[row, 1], valid[row] = 0, 0, 0
        if kind == INTEGER or kind == NUMBER or kind == STRING:
            if _decimal(data, starts[row, column], lengths[row, column], precision, scale, values, row):
                valid[row] = 1
                continue
            values[row, 0], values[row, 1] = 0, 0
        if kind > NULL:
            doubts[row] = 1


@bare
def _two(data: Bytes, at: int) -> int:
    """A number of two digits; beyond any such number if it is none."""
    a, b = np.uint8(data[at] - _ZERO), np.uint8(data[at + 1] - _ZERO)
    return int(np.int64(a) * 10 + np.int64(b)) if a < 10 and b < 10 else _NOT_TWO


@bare
def _day(data: Bytes, at: int) -> int:
    """The day ``YYYY-MM-DD`` since 1970, :data:`_NO_DAY` if there is no such day."""
    year = _two(data, at) * 100 + _two(data, at + 2)
    month, day = _two(data, at + 5), _two(data, at + 8)
    if year > 9999 or data[at + 4] != _MINUS or data[at + 7] != _MINUS or not 1 <= month <= 12 or not 1 <= day <= 31:
        return _NO_DAY
    if day > 28:
        most = 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31
        if month == 2:
            most = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
        if day > most:
            return _NO_DAY
    # Years begin in March, so that a leap day is their last; a cycle more, so that none is negative.
    y = np.uint32(year + 399 if month <= 2 else year + 400)
    of_year = np.uint32(153 * (month - 3 if month > 2 else month + 9) + 2) // np.uint32(5)
    leaps = np.int64(y // np.uint32(4)) - np.int64(y // np.uint32(100)) + np.int64(y // np.uint32(400))
    return int(np.int64(y) * 365 + leaps + np.int64(of_year) + day - 1 - 719468 - 146097)


@bare
def take_dates(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, values: NDArray[np.int32], valid: Bytes,
    doubts: Bytes,
) -> None:  # fmt: skip
    """Days; what follows a day and a ``T`` or a blank does not matter."""
    for row in range(doubts.size):
        kind = kinds[row, column]
        values[row], valid[row] = 0, 0
        at, length = starts[row, column], lengths[row, column]
        if kind == STRING and (length == 10 or (length > 10 and (data[at + 10] == 84 or data[at + 10] == 32))):
            day = _day(data, at)
            if day != _NO_DAY:
                values[row], valid[row] = day, 1
                continue
        if kind > NULL:
            doubts[row] = 1


@bare
def _zone(data: Bytes, at: int, end: int) -> int:
    """Seconds that a zone is ahead, if it is ``Z`` or hours and minutes, else :data:`_NO_ZONE`."""
    if end - at == 1 and data[at] == 90:
        return 0
    if end - at == 6 and data[at + 3] == 58 and (data[at] == 43 or data[at] == _MINUS):
        hours, minutes = _two(data, at + 1), _two(data, at + 4)
        if hours < 18 and minutes < 60:
            ahead = hours * 3600 + minutes * 60
            return ahead if data[at] == 43 else -ahead
    return _NO_ZONE


@bare
def _time(data: Bytes, at: int, length: int, with_zone: bool) -> int:
    """Microseconds since 1970 of ``YYYY-MM-DDTHH:MM:SS[.fraction][zone]``, else :data:`_NO_TIME`."""
    if length < 19 or data[at + 13] != 58 or data[at + 16] != 58 or (data[at + 10] != 84 and data[at + 10] != 32):
        return _NO_TIME
    day = _day(data, at)
    hours, minutes, seconds = _two(data, at + 11), _two(data, at + 14), _two(data, at + 17)
    if day == _NO_DAY or hours > 23 or minutes > 59 or seconds > 59:
        return _NO_TIME
    end = at + length
    at += 19
    fraction = 0
    if at < end and data[at] == _DOT:
        at += 1
        first = at
        while at < end and _ZERO <= data[at] <= _NINE:
            if at < first + 6:
                fraction = fraction * 10 + digit_at(data, at)
            at += 1
        if at == first or at - first > 9:
            return _NO_TIME
        fraction *= FRACTION_UNITS[min(at - first, 6)]
    ahead = 0
    if at < end:
        ahead = _zone(data, at, end) if with_zone else _NO_ZONE
        if ahead == _NO_ZONE:
            return _NO_TIME
    return (day * 86400 + hours * 3600 + minutes * 60 + seconds - ahead) * 1_000_000 + fraction


@bare
def take_times(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, with_zone: bool, values: Places,
    valid: Bytes, doubts: Bytes,
) -> None:  # fmt: skip
    """Microseconds since 1970; a whole number is seconds, where a zone may be given."""
    for row in range(doubts.size):
        kind = kinds[row, column]
        values[row], valid[row] = 0, 0
        if kind <= NULL:
            continue
        at, length = starts[row, column], lengths[row, column]
        value = _NO_TIME
        if kind == STRING:
            value = _time(data, at, length, with_zone)
        elif kind == INTEGER and with_zone and length <= 12:
            value = _integer(data, at, length)[0] * 1_000_000
        if value == _NO_TIME:
            doubts[row] = 1
        else:
            values[row], valid[row] = value, 1
