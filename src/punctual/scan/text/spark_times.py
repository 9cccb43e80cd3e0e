"""Times and dates in text as Spark's parser takes them, one at a time."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

from punctual.scan.text.time_zones import find_zone, local_to_utc, today

_LONG = 1 << 63
_INT = 1 << 31
_FIRST_GREGORIAN = -141_427
"""The first day of the Gregorian calendar; earlier day numbers of old files are of the Julian one."""
_BLANK = bytes([*range(33), 127])
_BLANKS = "".join(map(chr, range(33)))


def timestamp(text: str) -> int | None:
    """Microseconds since 1970 of a time, which is in UTC where it names no zone; None if it is none.

    >>> timestamp("2012-04-21T09:20:00.123+01:00"), timestamp("2012-4"), timestamp("21.04.2012")
    (1334996400123000, 1333238400000000, None)
    """
    value = _timestamp(text)
    if value is None and "GMT" in text:
        value = _timestamp(text.replace("GMT", ""))
    return value


def _timestamp(text: str) -> int | None:
    parsed = _parsed(text.encode("utf-8", "replace"))
    if parsed is None:
        return None
    parts, zone, only_time = parsed
    place = 0 if zone is None else find_zone(zone.decode("utf-8", "replace").strip(_BLANKS))
    if place is None:
        return None
    day = today(place) if only_time else day_number(*parts[:3])
    return None if day is None else _micros(day, parts, place)


def timestamp_ntz(text: str) -> int | None:
    """Microseconds of a time without a zone; None if it is none.

    >>> timestamp_ntz("2012-04-21"), timestamp_ntz("2012-04-21T00:00:00Z")
    (1334966400000000, None)
    """
    parsed = _parsed(text.encode("utf-8", "replace"))
    if parsed is None or parsed[1] is not None or parsed[2]:
        return None
    day = day_number(*parsed[0][:3])
    return None if day is None else _micros(day, parsed[0], 0)


def date(text: str) -> int | None:
    """Days since 1970 of a date; a short or long number is one already. None if it is none.

    >>> date("2012-04-21T09:20"), date("12"), date("2012/04/21")
    (15451, 12, None)
    """
    day = _date(text)
    if day is None and "GMT" in text:
        day = _date(text.replace("GMT", ""))
    if day is not None:
        return day
    found = re.fullmatch(r"([+-]?)0*(\d{1,10})", text)
    if found is None:
        return None
    number = int(found[1] + found[2])
    return _from_julian(number) if -_INT <= number < _INT else None


def day_number(year: int, month: int, day: int) -> int | None:
    """Days since 1970 of a day of the proleptic Gregorian calendar; None if there is none.

    >>> day_number(1970, 1, 2), day_number(2013, 2, 29)
    (1, None)
    """
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    most = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= most[month - 1]:
        return None
    return _civil(year, month, day)


def _civil(year: int, month: int, day: int) -> int:
    y = year - (month <= 2)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return y * 365 + y // 4 - y // 100 + y // 400 + of_year - 719_468


def _from_julian(number: int) -> int:
    """The number of the day with the same name in the Gregorian calendar."""
    if number >= _FIRST_GREGORIAN:
        return number
    shifted = number + 719_470
    y, of_cycle = divmod(shifted, 1461)
    years = min(of_cycle // 365, 3)
    of_year = of_cycle - 365 * years
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    year = 4 * y + years + (month >= 10)
    return _civil(year, (month + 2) % 12 + 1, 1) + day - 1


def _micros(day: int, parts: list[int], zone: int | ZoneInfo) -> int | None:
    hours, minutes, seconds, fraction = parts[3:7]
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    value = local_to_utc(day, ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction, zone)
    return value if -_LONG <= value < _LONG else None


def _date(text: str) -> int | None:
    data = text.encode("utf-8", "replace").strip(_BLANK)
    sign = -1 if data[:1] == b"-" else 1
    data = data[1:] if data[:1] in (b"-", b"+") else data
    found = re.match(rb"(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?=[ T]|\Z))?)?", data)
    if found is None or (found[3] is None and found.end() < len(data)):
        return None
    day = day_number(sign * int(found[1]), int(found[2] or 1), int(found[3] or 1))
    return day if day is not None and -_INT <= day < _INT else None


_TIME = re.compile(
    rb"""(?:
        (?P<year>[+-]?\d{4,6}) (?: -(?P<month>\d{1,2}) (?: -(?P<day>\d{1,2}) (?: [ T](?P<hour>\d{1,2}) )? )? )?
      | T(?P<thour>\d{1,2})
      | (?P<ohour>\d{1,2})(?=:)
    )
    (?: :(?P<minute>\d{1,2}) (?: :(?P<second>\d{1,2}) (?: \.(?P<fraction>\d*) )? (?P<zone>[^0-9].*)? )? )?""",
    re.X | re.S,
)


def _parsed(data: bytes) -> tuple[list[int], bytes | None, bool] | None:
    """Year to microseconds, the zone's name, and whether there was only a time."""
    found = _TIME.fullmatch(data.strip(_BLANK))
    hourless = found is not None and found["minute"] and not (found["hour"] or found["thour"] or found["ohour"])
    if found is None or hourless or (found["thour"] and data[:1] != b"T"):
        return None
    only_time = found["year"] is None
    hour = found["hour"] or found["thour"] or found["ohour"] or b"0"
    fraction = (found["fraction"] or b"")[:6].ljust(6, b"0")
    parts = [int(found[name] or 1) for name in ("year", "month", "day")]
    parts += [int(hour), int(found["minute"] or 0), int(found["second"] or 0), int(fraction)]
    return parts, found["zone"], only_time
