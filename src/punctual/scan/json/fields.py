"""Values of one field of a line as Spark takes them, by declared type: what fits, and what is a fault."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from punctual.scan.block import arrow_type
from punctual.scan.json.parser import (
    END_ARRAY,
    END_OBJECT,
    FALSE,
    FIELD,
    INTEGER,
    NULL,
    NUMBER,
    START_ARRAY,
    START_OBJECT,
    STRING,
    TRUE,
    JsonFault,
    JsonParser,
)  # fmt: skip
from punctual.scan.text import spark_times

Take = Callable[[JsonParser], Any]
"""Takes the value that the parser stands at; raises JsonFault where it does not fit."""

_NON_NUMBERS = {
    "NaN": float("nan"), "+INF": float("inf"), "+Infinity": float("inf"), "Infinity": float("inf"),
    "-INF": float("-inf"), "-Infinity": float("-inf"),
}  # fmt: skip
_RANGES = {
    "TINYINT": (-(1 << 7), (1 << 8) - 1), "SMALLINT": (-(1 << 15), (1 << 15) - 1),
    "INT": (-(1 << 31), (1 << 31) - 1), "BIGINT": (-(1 << 63), (1 << 63) - 1),
}  # fmt: skip
_MANY = 1 << 31
_MOST_DIGITS = 80
_MOST_DROPPED = 646_456_992
"""Java has no larger power of ten to round with."""


def take_for(kind: str) -> Take:
    """How a value of a declared type is taken."""
    if kind in _RANGES:
        return lambda parser: _integer(parser, kind)
    if kind.startswith("DECIMAL("):
        of: Any = arrow_type(kind)
        return lambda parser: _decimal(parser, of.precision, of.scale)
    return _TAKES[kind]


def _value(parser: JsonParser) -> str | None:
    """The token of the value; None where it is NULL, or nothing at all."""
    while parser.token == FIELD:
        parser.next()
    return None if parser.token == NULL else parser.token


def _refuse(parser: JsonParser, token: str) -> None:
    if token == STRING:
        parser.content()
    raise JsonFault


def _boolean(parser: JsonParser) -> bool | None:
    token = _value(parser)
    if token is not None and token not in (TRUE, FALSE):
        _refuse(parser, token)
    return None if token is None else token == TRUE


def _integer(parser: JsonParser, kind: str) -> int | None:
    token = _value(parser)
    if token is None:
        return None
    if token != INTEGER:
        _refuse(parser, token)
    value = int(parser.content())
    least, most = _RANGES[kind]
    if not least <= value <= most:
        raise JsonFault
    # One byte may be written without its sign.
    return value - 256 if kind == "TINYINT" and value > 127 else value


def _double(parser: JsonParser) -> float | None:
    token = _value(parser)
    if token in (INTEGER, NUMBER):
        if parser.special is not None:
            return parser.special
        text = parser.content()
        return float(text) + (0.0 if token == INTEGER else -0.0)
    if token == STRING and (special := _NON_NUMBERS.get(parser.content())) is not None:
        return special
    if token is not None:
        _refuse(parser, token)
    return None


def _float(parser: JsonParser) -> float | None:
    double = _double(parser)
    if double is None or parser.token == STRING or parser.special is not None:
        return double
    return nearest_float(parser.content(), double)


def nearest_float(text: str, double: float) -> float:
    """The float nearest to a number, of which the nearest double is known.

    >>> nearest_float("1.00000017881393432617187499", 1.0000001788139343)
    1.0000001192092896
    """
    with np.errstate(over="ignore", under="ignore"):
        found = np.float32(double)
        other = np.nextafter(found, np.float32(np.inf if float(found) < double else -np.inf))
    if np.isinf(double) or float(found) == double:
        return float(found)
    pair = [Fraction(float(x)) if np.isfinite(x) else Fraction(2) ** 128 * (1 if x > 0 else -1) for x in (found, other)]
    exact, middle = Fraction(double), sum(pair) / 2
    if exact != middle or Fraction(text) == middle:
        return float(found)
    above = Fraction(text) > middle
    return float(max(found, other) if above else min(found, other))


def _time(parse: Callable[[str], int | None], parser: JsonParser, *, seconds: bool = False) -> int | None:
    token = _value(parser)
    if token is None:
        return None
    if token == INTEGER and seconds:
        value = int(parser.content())
        if not -(1 << 63) <= value < 1 << 63:
            raise JsonFault
        # Spark multiplies without looking.
        return ((value * 1_000_000 + (1 << 63)) % (1 << 64)) - (1 << 63)
    if token != STRING:
        _refuse(parser, token)
    found = parse(parser.content())
    if found is None:
        raise JsonFault
    return found


def _decimal(parser: JsonParser, precision: int, scale: int) -> Decimal | None:
    token = _value(parser)
    if token is None:
        return None
    if token not in (INTEGER, NUMBER, STRING) or parser.special is not None:
        _refuse(parser, token)
    text = parser.content()
    return exact_decimal(text.replace(",", "") if token == STRING else text, precision, scale)


def exact_decimal(text: str, precision: int, scale: int) -> Decimal:
    """A decimal of a type, rounded half up; raises JsonFault if it does not fit.

    >>> exact_decimal("12.345", 10, 2)
    Decimal('12.35')
    """
    found = re.fullmatch(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?)0*(\d+))?", text)
    if found is None or not (found[2] or found[3]):
        raise JsonFault
    if len(found[5] or "") > len(str(_MANY)):
        raise JsonFault
    exponent = int(found[4] + found[5]) if found[5] else 0
    smallest = exponent - len(found[3] or "")
    if abs(exponent) >= _MANY or not -_MANY < smallest < _MANY or smallest + scale < -_MOST_DROPPED:
        raise JsonFault
    # Digits up to the last that counts, and whether the one behind it rounds up; the text may be very long.
    text = found[2] + (found[3] or "")
    kept = len(found[2]) + exponent + scale
    rounds_up = 0 <= kept < len(text) and int(text[kept]) >= 5
    whole = text[: max(kept, 0)].lstrip("0")
    missing = max(kept - len(text), 0)
    if whole and len(whole) + missing > _MOST_DIGITS:
        raise JsonFault
    digits = int(whole or 0) * 10 ** (missing if whole else 0) + rounds_up
    if digits >= 10**precision:
        raise JsonFault
    sign = int(found[1] == "-" and digits > 0)
    return Decimal((sign, tuple(int(digit) for digit in str(digits)), -scale))


def _string(parser: JsonParser) -> str | None:
    token = _value(parser)
    if token is None:
        return None
    if token == STRING:
        return as_utf8(parser.content())
    return as_utf8(written(parser))


def as_utf8(text: str) -> str:
    """Text in which half a surrogate pair is a question mark."""
    return text.encode("utf-8", "replace").decode()


def written(parser: JsonParser) -> str:
    """The value that the parser stands at, written again."""
    if parser.token not in (START_OBJECT, START_ARRAY):
        if parser.token in (END_OBJECT, END_ARRAY):
            raise JsonFault
        return _scalar(parser)
    parts: list[str] = [str(parser.token)]
    depth, fresh = 1, True
    while depth:
        token = parser.next()
        if token is None:
            break
        if token in (END_OBJECT, END_ARRAY):
            depth -= 1
            parts.append(token)
            fresh = False
            continue
        if not fresh:
            parts.append(",")
        if token == FIELD:
            parts.append(quoted(parser.name or "") + ":")
        elif token in (START_OBJECT, START_ARRAY):
            depth += 1
            parts.append(token)
        else:
            parts.append(_scalar(parser))
        fresh = token in (FIELD, START_OBJECT, START_ARRAY)
    return "".join(parts)


def _scalar(parser: JsonParser) -> str:
    token = str(parser.token)
    if token == STRING:
        return quoted(parser.content())
    if token == INTEGER:
        return str(int(parser.content()))
    if token == NUMBER:
        value = parser.special if parser.special is not None else float(parser.content())
        text = java_double(value)
        return text if np.isfinite(value) else f'"{text}"'
    return token


_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def quoted(text: str) -> str:
    """A string of JSON; only characters that must be escaped are.

    >>> quoted('a"\\x1f')
    '"a\\\\"\\\\u001F"'
    """
    return '"' + re.sub(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]', _escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in _SHORT:
        return _SHORT[char]
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))


def java_double(value: float) -> str:
    """A double as Java writes it.

    >>> [java_double(value) for value in (1.0, 1e7, 0.00012, -0.0, 123456789.5, 5e-324)]
    ['1.0', '1.0E7', '1.2E-4', '-0.0', '1.234567895E8', '4.9E-324']
    """
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(_shortest(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent)
    if value == 0:
        return ("-" if sign else "") + "0.0"
    if 1e-3 <= abs(value) < 1e7:
        if point <= 0:
            body = "0." + "0" * -point + text
        else:
            text = text.ljust(point, "0")
            body = text[:point] + "." + (text[point:] or "0")
    else:
        body = f"{text[0]}.{text[1:] or '0'}E{point - 1}"
    return ("-" if sign else "") + body


def _shortest(value: float) -> str:
    """The fewest digits that say a double; where one would do, the nearest two."""
    two = f"{value:.1e}"
    return two if float(two) == value else repr(value)


_BASE64 = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")} | {"=": -2}


def _binary(parser: JsonParser) -> bytes | None:
    token = _value(parser)
    if token is None:
        return None
    if token != STRING:
        _refuse(parser, token)
    if parser.is_open:
        content = _base64_ahead(parser)
        parser.close("")
        return content
    return _base64_text(parser.content())


def _digit(parser: JsonParser, char: str, index: int) -> int:
    """What a character stands for: -1 a blank between groups, -2 padding."""
    if char in _BASE64:
        return _BASE64[char]
    if char != "\\":
        raise JsonFault
    char = parser.escape()
    if char <= " " and index == 0:
        return -1
    if char not in _BASE64:
        raise JsonFault
    return _BASE64[char]


def _base64_ahead(parser: JsonParser) -> bytes:
    """Bytes of the string that the parser has not read; on a fault it stays open, from where the fault is."""
    out = bytearray()
    while True:
        char = parser.take()
        while char <= " ":
            char = parser.take()
        if char == '"':
            return bytes(out)
        first = _digit(parser, char, 0)
        if first == -1:
            continue
        if first == -2:
            raise JsonFault
        second = _digit(parser, parser.take(), 1)
        if second < 0:
            raise JsonFault
        out += _rest_of_group(parser, first << 6 | second)


def _rest_of_group(parser: JsonParser, bits: int) -> bytes:
    """Bytes of a group of four, of which two digits are taken."""
    for index in (2, 3):
        char = parser.take()
        if char == '"':
            # The padding is missing; the string still ends here.
            parser.at -= 1
            raise JsonFault
        digit = _digit(parser, char, index)
        if digit == -2:
            if index == 2 and _digit(parser, parser.take(), 3) != -2:
                raise JsonFault
            return (bits >> 4).to_bytes(1, "big") if index == 2 else (bits >> 2).to_bytes(2, "big")
        bits = bits << 6 | digit
    return bits.to_bytes(3, "big")


def _base64_text(text: str) -> bytes:
    """Bytes of a string that was read."""
    inner = JsonParser(re.sub(r'["\\]', "!", text) + '"')
    out = _base64_ahead(inner)
    if inner.at != len(inner.text):
        raise JsonFault
    return out


_TAKES: dict[str, Take] = {
    "BOOLEAN": _boolean,
    "FLOAT": _float,
    "DOUBLE": _double,
    "STRING": _string,
    "BINARY": _binary,
    "DATE": lambda parser: _time(spark_times.date, parser),
    "TIMESTAMP": lambda parser: _time(spark_times.timestamp, parser, seconds=True),
    "TIMESTAMP_NTZ": lambda parser: _time(spark_times.timestamp_ntz, parser),
}
