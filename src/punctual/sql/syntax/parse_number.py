"""Numbers as programs write them: whole ones, signed ones, shares in percent, precisions."""

from __future__ import annotations

from punctual.errors import BindError, ParseError
from punctual.sql.syntax.cursor import Cursor
from punctual.sql.syntax.written import Precision, Share


def whole_number(
    cursor: Cursor,
    what: str,
    least: int = 1,
    most: int | None = None,
    code: str = "parse.syntax",
    hint: str | None = None,
) -> int:
    """A whole number of at least ``least`` and at most ``most``, small enough to count rows with."""
    first = cursor.index
    negative = cursor.accept("-")
    digits = cursor.number(what).text
    number = int(digits) if digits.isdecimal() and len(digits) <= 18 and not negative else -1
    if number < least or (most is not None and number > most):
        accepted = f"of at least {least}" if most is None else f"from {least} to {most}"
        error = BindError if code.startswith("bind.") else ParseError
        raise error(code, f"{what} is a whole number {accepted}", span=cursor.since(first), hint=hint)
    return number


def signed_number(cursor: Cursor, what: str) -> float:
    """A number, with a minus sign perhaps."""
    sign = -1.0 if cursor.accept("-") else 1.0
    return sign * cursor.plain_number(what)


def parse_share(cursor: Cursor) -> Share:
    """``95%``. Which shares make sense is for the binder to say."""
    first = cursor.index
    percent = signed_number(cursor, "a share such as 95%")
    cursor.expect("%")
    return Share(percent / 100, cursor.since(first))


def parse_precision(cursor: Cursor) -> Precision:
    """``0.5``, ``1%`` or ``1% OR 0.01``."""
    first = cursor.index
    number = signed_number(cursor, "a number or a share in percent")
    if not cursor.accept("%"):
        return Precision(None, number, cursor.since(first))
    floor = signed_number(cursor, "a number") if cursor.accept("OR") else None
    return Precision(number / 100, floor, cursor.since(first))
