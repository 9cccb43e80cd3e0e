"""Durations as programs write them: ``20 MINUTES``, ``1.5 SECONDS``; of fixed length, above zero."""

from __future__ import annotations

from fractions import Fraction

from punctual.clock import SECOND, Micros
from punctual.config import LONGEST_US, unit_us
from punctual.errors import BindError, Span
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.written import Duration

UNFIXED = ("MONTH", "MONTHS", "YEAR", "YEARS", "QUARTER", "QUARTERS")
FOR_EXAMPLE = "for example: 500 MILLISECONDS, 90 SECONDS, 20 MINUTES, 1 DAY, 2 WEEKS"


def parse_duration(cursor: Cursor, *, bare_seconds: bool = False, zero: bool = False) -> Duration:
    """A number and a unit; a bare number is seconds where the language says so.

    Parameters
    ----------
    bare_seconds : bool
        A number without a unit is accepted and counts seconds.
    zero : bool
        A duration of zero is accepted, as in ``WATERMARK 0 SECONDS``.
    """
    first = cursor.index
    negative = cursor.accept("-")
    number = cursor.number("a duration")
    word = cursor.peek()
    size: Micros | None = unit_us(word.text) if word.kind == "word" else None
    if size is not None:
        cursor.next()
    elif word.word in UNFIXED:
        cursor.next()
        raise _bad(cursor.since(first), f"a {word.word.lower().removesuffix('s')} has no fixed length", FOR_EXAMPLE)
    elif bare_seconds:
        size = SECOND
    else:
        raise cursor.wrong("a unit of time", hint=FOR_EXAMPLE)
    span = cursor.since(first)
    if not _is_plain(number.text):
        raise _bad(span, f'"{number.text}" is not a plain number', FOR_EXAMPLE)
    exact = Fraction(number.text) * size
    if negative or (exact == 0 and not zero):
        raise _bad(span, "a duration must be longer than zero", FOR_EXAMPLE)
    if exact.denominator != 1:
        raise _bad(span, "a duration is a whole number of microseconds", FOR_EXAMPLE)
    if exact > LONGEST_US:
        raise _bad(span, "this duration is too long", FOR_EXAMPLE)
    return Duration(int(exact), span)


def _is_plain(number: str) -> bool:
    """Whether it is made of digits and at most one point: no exponent, no suffix for a type, not too long."""
    whole, _, fraction = number.partition(".")
    digits = whole + fraction
    return digits.isascii() and digits.isdecimal() and len(whole) <= 18 and len(fraction) <= 18


def _bad(span: Span, fact: str, hint: str) -> BindError:
    return BindError("bind.bad-duration", fact, span=span, hint=hint)
