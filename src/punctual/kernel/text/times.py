"""Texts as dates and times, as Spark casts them: the whole grammar, but names of time zones.

``2020``, ``2020-1``, ``2020-01-02``, then after ``T`` or a space ``3``, ``3:4``, ``3:4:5`` or ``3:4:5.678``, and only
after seconds a zone; white space and control characters around. Words as in :mod:`punctual.kernel.text.numbers`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.text.numbers import FITS, MISFIT, Bytes, Lengths, Starts, States, Valid, trimmed

SECOND, DAY = 1_000_000, 86_400_000_000
"""In microseconds."""
ZONED, DATELESS = 2, 3
"""What became of a text, besides FITS and MISFIT: its zone or its far year, or its missing date, decides."""
_SURE_YEAR = 290_000
"""Microseconds of years up to this, either way, fit into a word."""


@compiled
def dates(
    data: Bytes, starts: Starts, lengths: Lengths, valid: Valid, values: NDArray[np.int32], states: States
) -> None:
    """Days since 1970. A whole date may be followed by a space or ``T`` and anything."""
    parts = np.empty(3, np.int64)
    for row in range(starts.size):
        states[row] = FITS
        if not valid[row]:
            continue
        states[row] = MISFIT
        at, end = trimmed(data, starts[row], lengths[row])
        if at == end:
            continue
        sign = -1 if data[at] == 45 else 1
        at += data[at] == 45 or data[at] == 43
        parts[:] = 1
        part, value, digits, sure = 0, np.int64(0), 0, True
        while at < end and data[at] != 32 and data[at] != 84:
            byte = data[at]
            if byte == 45 and part < 2:
                if not (4 <= digits <= 7 if part == 0 else 1 <= digits <= 2):
                    sure = False
                    break
                parts[part] = value
                part, value, digits = part + 1, np.int64(0), 0
            elif 48 <= byte <= 57 and digits < 8:
                value = value * 10 + np.int64(byte - 48)
                digits += 1
            else:
                sure = False
                break
            at += 1
        if not sure or not (4 <= digits <= 7 if part == 0 else 1 <= digits <= 2) or (part < 2 and at < end):
            continue
        parts[part] = value
        year = sign * parts[0]
        if _is_date(year, parts[1], parts[2]):
            days = _days(year, parts[1], parts[2])
            if -2147483648 <= days <= 2147483647:
                values[row] = days
                states[row] = FITS


@compiled
def times(
    data: Bytes,
    starts: Starts,
    lengths: Lengths,
    valid: Valid,
    local: bool,
    values: NDArray[np.int64],
    days: NDArray[np.int64],
    zones: NDArray[np.int32],
    states: States,
) -> None:
    """Microseconds since 1970, of a text without a zone as if in UTC; with ``local`` a zone does not count.

    Of ZONED and DATELESS texts ``values`` has the time of the day, ``days`` the date, and ``zones`` where in the text
    the zone begins, or -1.
    """
    parts = np.empty(7, np.int64)
    last_date, last_day = -1, 0
    for row in range(starts.size):
        states[row] = FITS
        if not valid[row]:
            continue
        first, end = starts[row], starts[row] + lengths[row]
        date, clock, offset = _ordinary(data, first, end)
        if date >= 0 and offset != DAY:
            # Rows of a file are mostly of one day.
            if date != last_date and _is_date(date // 10000, date // 100 % 100, date % 100):
                last_date, last_day = date, _days(date // 10000, date // 100 % 100, date % 100)
            if date == last_date:
                values[row] = last_day * DAY + clock - (0 if local else offset)
                continue
        states[row] = MISFIT
        at, end = trimmed(data, first, lengths[row])
        zone, dateless = _split(data, first, at, end, parts)
        if zone == -2 or parts[3] > 23 or parts[4] > 59 or parts[5] > 59:
            continue
        clock = ((parts[3] * 60 + parts[4]) * 60 + parts[5]) * SECOND + parts[6]
        zones[row] = -1 if zone < 0 else zone - first
        if dateless:
            values[row], days[row], states[row] = clock, 0, DATELESS
            continue
        if not _is_date(parts[0], parts[1], parts[2]):
            continue
        offset = 0 if zone < 0 else _offset(data, zone, end)
        date = _days(parts[0], parts[1], parts[2])
        if offset == DAY or parts[0] > _SURE_YEAR or parts[0] < -_SURE_YEAR:
            values[row], days[row], states[row] = clock, date, ZONED
            continue
        values[row] = date * DAY + clock - (0 if local else offset)
        states[row] = FITS


@compiled
def _ordinary(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Date, as digits, time of the day and offset of ``2020-01-02T03:04:05.678+01:00``; -1 for another form."""
    size = end - at
    if size < 19 or data[at + 4] != 45 or data[at + 7] != 45 or data[at + 13] != 58 or data[at + 16] != 58:
        return -1, 0, 0
    if data[at + 10] != 84 and data[at + 10] != 32:
        return -1, 0, 0
    century, years = _two_digits(data, at), _two_digits(data, at + 2)
    month, day = _two_digits(data, at + 5), _two_digits(data, at + 8)
    hours, minutes, seconds = _two_digits(data, at + 11), _two_digits(data, at + 14), _two_digits(data, at + 17)
    # Of a number that is none every bit is set.
    if (century | years | month | day | hours | minutes | seconds) < 0 or hours > 23 or minutes > 59 or seconds > 59:
        return -1, 0, 0
    fraction, unit = 0, 100_000
    at += 19
    if at < end and data[at] == 46:
        at += 1
        while at < end and 48 <= data[at] <= 57:
            fraction += unit * int(np.int64(data[at]) - 48)
            unit //= 10
            at += 1
    date = ((century * 100 + years) * 100 + month) * 100 + day
    clock = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction
    return date, clock, 0 if at == end else _offset(data, at, end)


@compiled
def _two_digits(data: Bytes, at: int) -> int:
    """A number of two digits; -1 if they are none."""
    tens, ones = np.int64(data[at]) - 48, np.int64(data[at + 1]) - 48
    if tens < 0 or tens > 9 or ones < 0 or ones > 9:
        return -1
    return int(tens * 10 + ones)


@compiled
def _split(data: Bytes, first: int, at: int, end: int, parts: NDArray[np.int64]) -> tuple[int, bool]:
    """The numbers of a time, and where its zone begins (-1: none, -2: it is no time) and whether it lacks a date."""
    parts[:3], parts[3:] = 1, 0
    if at == end:
        return -2, False
    sign, signed = 1, data[at] == 45 or data[at] == 43
    if signed:
        sign = -1 if data[at] == 45 else 1
        at += 1
    part, value, digits, dateless, zone = 0, np.int64(0), 0, False, -1
    while at < end:
        byte = data[at]
        if 48 <= byte <= 57:
            if (part == 6 and digits < 6) or (part != 6 and digits < 8):
                value = value * 10 + np.int64(byte - 48)
            digits += 1
            at += 1
            continue
        if at == first and byte == 84:
            dateless, part, at = True, 3, at + 1
            continue
        if part == 0 and byte == 58 and not signed:
            dateless, part = True, 3
        # Which bytes may end a part; seconds and their fraction also end where a zone begins.
        ends = byte == 45 if part < 2 else (byte == 32 or byte == 84) if part == 2 else byte == 58 if part < 5 else True
        if not ends or not _has_digits(part, digits):
            return -2, False
        if part == 6:
            for _ in range(digits, 6):
                value *= 10
        parts[part] = value
        value, digits = np.int64(0), 0
        if part == 6 or (part == 5 and byte != 46):
            zone, part = at, 7
            break
        part += 1
        at += 1
    if part < 7:
        if not _has_digits(part, digits):
            return -2, False
        if part == 6:
            for _ in range(digits, 6):
                value *= 10
        parts[part] = value
    parts[0] *= sign
    return zone, dateless


@compiled
def _has_digits(part: int, digits: int) -> bool:
    if part == 0:
        return 4 <= digits <= 6
    return part == 6 or 1 <= digits <= 2


@compiled
def _offset(data: Bytes, at: int, end: int) -> int:
    """Microseconds east of UTC of ``Z`` or ``+hh:mm``; a day for other forms."""
    if end - at == 1 and data[at] == 90:
        return 0
    if end - at != 6 or (data[at] != 43 and data[at] != 45) or data[at + 3] != 58:
        return DAY
    hours, minutes = _two_digits(data, at + 1), _two_digits(data, at + 4)
    if hours < 0 or minutes < 0 or minutes > 59 or hours * 60 + minutes > 18 * 60:
        return DAY
    total = (hours * 60 + minutes) * 60 * SECOND
    return -total if data[at] == 45 else total


@compiled
def _is_date(year: int, month: int, day: int) -> bool:
    if month < 1 or month > 12 or day < 1 or day > 31:
        return False
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return day <= (29 if leap else 28)
    return day <= 30 or not (month == 4 or month == 6 or month == 9 or month == 11)


@compiled
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 in the Gregorian calendar, which holds for all times; years begin in March here."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
