"""Time: integers of microseconds inside, the system clock at one place only."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue
from typing import Any, Protocol

Micros = int
"""Microseconds: since 1970-01-01 UTC for an instant, or a length for a duration."""

SECOND: Micros = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_1, _YEAR_2000, _YEAR_10000 = -62_135_596_800 * SECOND, 946_684_800 * SECOND, 253_402_300_800 * SECOND
_400_YEARS: Micros = 146_097 * 86_400 * SECOND
UNITS_US: dict[str, Micros] = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND,
    "MINUTE": 60 * SECOND,
    "HOUR": 3_600 * SECOND,
    "DAY": 86_400 * SECOND,
    "WEEK": 604_800 * SECOND,
}


class Clock(Protocol):
    """What the engine knows of time outside its streams."""

    def now(self) -> Micros:
        """Wall clock, microseconds since 1970 UTC."""
        ...

    def monotonic(self) -> Micros:
        """A clock that never goes back, for deadlines and durations."""
        ...

    def thread_us(self) -> float:
        """Core time that the calling thread has used, in microseconds."""
        ...

    def sleep(self, duration: Micros) -> None:
        """Wait."""
        ...

    def receive(self, inbox: SimpleQueue[Any], within: Micros | None, *, expected: bool) -> Any:
        """The next message, or None when there is none for so long (None: for ever).

        ``expected`` says that somebody is at work whose message will come.
        """
        ...


class SystemClock:
    """The machine's clocks; the only reader of them in the package."""

    def now(self) -> Micros:
        return time.time_ns() // 1_000

    def monotonic(self) -> Micros:
        return time.monotonic_ns() // 1_000

    def thread_us(self) -> float:
        return time.thread_time_ns() / 1_000

    def sleep(self, duration: Micros) -> None:
        if duration > 0:
            time.sleep(duration / SECOND)

    def receive(self, inbox: SimpleQueue[Any], within: Micros | None, *, expected: bool) -> Any:
        try:
            return inbox.get(timeout=None if within is None else max(0.0, within / SECOND))
        except Empty:
            return None


class ManualClock:
    """A clock that moves when told to."""

    def __init__(self, at: Micros = 0) -> None:
        self.at = at

    def now(self) -> Micros:
        return self.at

    def monotonic(self) -> Micros:
        return self.at

    def thread_us(self) -> float:
        """Work takes no time."""
        return 0.0

    def sleep(self, duration: Micros) -> None:
        self.at += max(0, duration)

    def receive(self, inbox: SimpleQueue[Any], within: Micros | None, *, expected: bool) -> Any:
        """Time stands still while somebody works, and jumps where nobody does."""
        if expected or within is None:
            return inbox.get()
        try:
            return inbox.get_nowait()
        except Empty:
            self.sleep(within)
            return None


def process_us(pid: int | None = None) -> float:
    """Core time that a process of this machine has used, in microseconds; by default this one.

    Raises OSError where there is no such process, or where the system does not say.

    >>> before = process_us()
    >>> process_us() >= before > 0
    True
    """
    if pid is None:
        return time.process_time_ns() / 1_000
    return time.clock_gettime_ns((~pid << 3) | _PROCESS_CLOCK) / 1_000


_PROCESS_CLOCK = 2
"""Linux: the clock of another process is its number, inverted, and which of its clocks it is in the last three bits."""


def iso(at: Micros) -> str:
    """An instant as answers print it: UTC, ``Z``, six decimals only when not zero.

    Years before 1 and after 9999 have a sign, as ISO 8601 has it; year 0 is the one before year 1.

    >>> iso(0), iso(1_500_000)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500000Z')
    >>> iso(2**63 - 1), iso(-(2**63))
    ('+294247-01-10T04:00:54.775807Z', '-290308-12-21T19:59:05.224192Z')
    """
    # The calendar repeats every 400 years, so any instant has a twin within the years that datetime knows.
    cycles = 0 if _YEAR_1 <= at < _YEAR_10000 else (at - _YEAR_2000) // _400_YEARS
    twin = EPOCH + timedelta(microseconds=at - cycles * _400_YEARS)
    text = twin.replace(tzinfo=None).isoformat() + "Z"
    if not cycles:
        return text
    year = twin.year + 400 * cycles
    return (f"{year:+05d}" if year > 9999 else f"{year:05d}" if year < 0 else f"{year:04d}") + text[4:]


def instant_us(text: str) -> Micros:
    """A date, or a date and time, of the years 1 to 9999; without a zone it is UTC.

    >>> instant_us("1970-01-02"), instant_us("1970-01-01T01:00:00+01:00")
    (86400000000, 0)
    """
    return datetime_us(datetime.fromisoformat(text.strip()))


def datetime_us(time: datetime) -> Micros:
    """A date and time as microseconds since 1970; without a zone it is UTC.

    >>> datetime_us(datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    return ((time if time.tzinfo is not None else time.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)


def span_text(duration: Micros) -> str:
    """A duration in its largest whole unit.

    >>> span_text(90 * SECOND), span_text(60 * SECOND), span_text(1_500)
    ('90s', '1min', '1500us')
    """
    for size, name in (
        (UNITS_US["WEEK"], "w"),
        (UNITS_US["DAY"], "d"),
        (UNITS_US["HOUR"], "h"),
        (UNITS_US["MINUTE"], "min"),
        (SECOND, "s"),
        (1_000, "ms"),
    ):
        if duration and duration % size == 0:
            return f"{duration // size}{name}"
    return f"{duration}us"


def duration_text(duration: Micros) -> str:
    """A duration as a program has it.

    >>> duration_text(90 * SECOND), duration_text(60 * SECOND)
    ('90 SECONDS', '1 MINUTE')
    """
    for name in ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"):
        if duration % UNITS_US[name] == 0:
            count = duration // UNITS_US[name]
            return f"{count} {name}" if count == 1 else f"{count} {name}S"
    raise AssertionError("durations are whole microseconds")
