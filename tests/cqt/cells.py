"""The cells of a case's tables: values as text and back.

NULL, NaN and Infinity are words; a string with spaces (or one that looks like such a word) is quoted; instants are
durations since 1970 (``1s``, ``1.5s``, ``2min``); ``-`` in a feed means that the row lacks the column. A float is
printed so that it reads back exactly.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

TOKEN = re.compile(r"'((?:[^'\\]|\\.)*)'|(\S+)")
DURATION = re.compile(r"(-?\d+(?:\.\d+)?)(us|ms|s|min|h|d|w)")
UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000,
         "w": 604_800_000_000}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
PLAIN_STRING = re.compile(r"[^\s'\[\],]+")
MISSING = object()
"""The row has no such column at all."""


class Malformed(str):
    """A cell that its column's type cannot hold, as it is fed."""


def split(line: str) -> list[str]:
    """The tokens of a line; quoted ones keep their quotes.

    >>> split("1s  'a b'  NULL")
    ['1s', "'a b'", 'NULL']
    """
    return [match.group(0) for match in TOKEN.finditer(line)]


def duration(text: str) -> int:
    """Microseconds of ``1.5s``.

    >>> duration("1.5s"), duration("2min"), duration("-3us")
    (1500000, 120000000, -3)
    """
    match = DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration")
    exact = Decimal(match[1]) * UNITS[match[2]]
    if exact != int(exact):
        raise ValueError(f"{text!r} is not a whole number of microseconds")
    return int(exact)


def duration_text(us: int) -> str:
    """A duration or instant as cases print it: seconds, or days when whole, or microseconds when that is shorter.

    >>> duration_text(1_500_000), duration_text(86_400_000_000), duration_text(7)
    ('1.5s', '1d', '7us')
    """
    if us and us % UNITS["d"] == 0:
        return f"{us // UNITS['d']}d"
    if us % 1_000 == 0:
        whole, rest = divmod(abs(us), 1_000_000)
        sign = "-" if us < 0 else ""
        return f"{sign}{whole}s" if not rest else f"{sign}{whole}.{rest // 1000:03d}".rstrip("0") + "s"
    return f"{us}us"


def value(token: str, declared: str) -> Any:
    """A fed cell as a Python value of the declared type, or :class:`Malformed`."""
    if token == "-":
        return MISSING
    if token == "NULL":
        return None
    if token.startswith("'") and declared != "STRING":
        return Malformed(_unquoted(token))
    try:
        return _value(token, declared)
    except (ValueError, InvalidOperation):
        return Malformed(_unquoted(token))


def _value(token: str, declared: str) -> Any:
    if declared == "STRING":
        return _unquoted(token)
    if declared in INTEGERS:
        return int(token)
    if declared in ("FLOAT", "DOUBLE"):
        return FLOATS[token] if token in FLOATS else float(token)
    if declared.startswith("DECIMAL"):
        return Decimal(token)
    if declared == "BOOLEAN":
        return {"true": True, "false": False}[token] if token in ("true", "false") else Malformed(token)
    if declared == "DATE":
        return date.fromisoformat(token)
    if declared == "TIMESTAMP":
        return EPOCH + timedelta(microseconds=duration(token))
    raise ValueError(f"cases have no cells of type {declared}")


def _unquoted(token: str) -> str:
    if token.startswith("'"):
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token


def render(cell: Any) -> str:
    """A value as a token."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return _float_text(cell)
    if isinstance(cell, int | Decimal):
        return format(cell, "f") if isinstance(cell, Decimal) else str(cell)
    if isinstance(cell, datetime):
        return duration_text((cell - EPOCH) // timedelta(microseconds=1))
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, list):
        return "[" + ",".join(render(item) for item in cell) + "]"
    if isinstance(cell, str):
        plain = PLAIN_STRING.fullmatch(cell) and cell not in ("-", "NULL", *FLOATS)
        return cell if plain else "'" + re.sub(r"(['\\])", r"\\\1", cell) + "'"
    raise TypeError(f"cases cannot print {cell!r}")


def _float_text(cell: float) -> str:
    if math.isnan(cell):
        return "NaN"
    if math.isinf(cell):
        return "Infinity" if cell > 0 else "-Infinity"
    return repr(cell)


def same(expected: str, actual: str, tolerance: float) -> bool:
    """Whether two tokens mean the same; with a tolerance, floats may differ relatively by so much."""
    if expected == actual or not tolerance:
        return expected == actual
    try:
        return math.isclose(float(expected), float(actual), rel_tol=tolerance)
    except ValueError:
        return False


def table(rows: list[list[str]]) -> list[str]:
    """Rows of tokens as lines, columns aligned."""
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(max(len(row) for row in rows))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
