"""Time zones as Spark reads them at the end of a time: offsets, short names and regions, with Java's rules."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

DAY = 86_400
_MOST_S = 18 * 3600
_SHORT = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh", "EST": "-05:00", "MST": "-07:00", "HST": "-10:00",
}  # fmt: skip
"""Names of three letters that Java knows."""
_UNKNOWN = frozenset({"Factory", "localtime", "posixrules", "ROC"})
"""Names that Python may have and Java has not."""
_HOUR = re.compile(r"([+-])([0-9]):")
_MINUTE = re.compile(r"([+-])([0-9]{2}):([0-9])\Z")
_OFFSET = re.compile(r"([+-])([0-9]{1,2})(?:([0-9]{2})([0-9]{2})?|:([0-9]{2})(?::([0-9]{2}))?)?")


@lru_cache(maxsize=4096)
def find_zone(text: str) -> int | ZoneInfo | None:
    """Seconds east of UTC, or a region with rules; None for what is no zone.

    >>> find_zone("+1:2"), find_zone("UTC-08"), find_zone("Europe/Berlin"), find_zone("Z8")
    (3720, -28800, zoneinfo.ZoneInfo(key='Europe/Berlin'), None)
    """
    name = _MINUTE.sub(r"\1\2:0\3", _HOUR.sub(r"\g<1>0\2:", text, count=1), count=1)
    name = _SHORT.get(name, name)
    if name == "Z":
        return 0
    if len(name) <= 1 or name[0] in "+-":
        return _offset(name)
    for prefix in ("UTC", "GMT", "UT"):
        rest = name[len(prefix) :]
        if name.startswith(prefix) and (not rest or rest[0] in "+-"):
            return _offset(rest) if rest else 0
    return _region(name)


def local_to_utc(days: int, clock_us: int, zone: int | ZoneInfo) -> int:
    """Microseconds since 1970 of a wall clock's time in a zone.

    Of two such times it is the earlier one; a time that clocks skip counts on from before the gap.
    """
    if isinstance(zone, int):
        return (days * DAY - zone) * 1_000_000 + clock_us
    # Python's dates end where rules have long been the same every 400 years.
    cycles = max(0, (days - _LAST_DAY) // _CYCLE_DAYS + 1)
    moved = days - cycles * _CYCLE_DAYS
    wall = _FIRST if moved < _FIRST_DAY else _EPOCH + timedelta(days=moved, microseconds=clock_us)
    offset = wall.replace(tzinfo=zone).utcoffset()
    seconds = offset.days * DAY + offset.seconds if offset is not None else 0
    return (days * DAY - seconds) * 1_000_000 + clock_us


def today(zone: int | ZoneInfo) -> int:
    """Days since 1970 of the date in a zone now."""
    now = datetime.now(UTC)
    wall = now + timedelta(seconds=zone) if isinstance(zone, int) else now.astimezone(zone)
    return wall.date().toordinal() - _EPOCH.toordinal()


_EPOCH, _FIRST = datetime(1970, 1, 1), datetime(1, 1, 1)
_FIRST_DAY = _FIRST.toordinal() - _EPOCH.toordinal()
_LAST_DAY = datetime(9990, 1, 1).toordinal() - _EPOCH.toordinal()
_CYCLE_DAYS = 146_097


def _offset(text: str) -> int | None:
    found = _OFFSET.fullmatch(text)
    # One digit for hours stands alone.
    if found is None or (len(found[2]) == 1 and len(text) != 2):
        return None
    hours, minutes, seconds = int(found[2]), int(found[3] or found[5] or 0), int(found[4] or found[6] or 0)
    total = (hours * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MOST_S:
        return None
    return -total if found[1] == "-" else total


def _region(name: str) -> ZoneInfo | None:
    return ZoneInfo(name) if name in _regions() else None


@cache
def _regions() -> frozenset[str]:
    return frozenset(available_timezones()) - _UNKNOWN
