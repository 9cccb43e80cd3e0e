"""One text as a number, in all forms that Spark's casts know: slow, for what the kernels do not vouch for."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np

_BLANKS = "".join(map(chr, range(33)))
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_DECIMAL = re.compile(r"([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))(?:[eE]([+-]?\d+))?")
_JAVA_WORDS = {"NaN": math.nan, "Infinity": math.inf}
_WORDS = {
    "inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf, "-inf": -math.inf,
    "-infinity": -math.inf, "nan": math.nan,
}  # fmt: skip
_MOST_DIGITS = 38
_FLOAT_END = 2.0**128


def exact_double(text: str) -> float | None:
    """A text as a DOUBLE; None if it does not fit.

    >>> exact_double(" 1e3d"), exact_double("-inf"), exact_double("0x1.8p1"), exact_double("1,5")
    (1000.0, -inf, 3.0, None)
    """
    plain = text.strip(_BLANKS)
    word = _JAVA_WORDS.get(plain.removeprefix("-").removeprefix("+") if plain[:2] not in ("-+", "+-") else plain)
    if word is not None:
        return -word if plain.startswith("-") else word
    digits = _digits(plain)
    if digits is None:
        return _WORDS.get(plain.lower())
    if "x" not in digits and "X" not in digits:
        return float(digits)
    try:
        return float.fromhex(digits)
    except OverflowError:
        return -math.inf if digits.startswith("-") else math.inf


def exact_float(text: str) -> float | None:
    """A text as a FLOAT, rounded once, as a double; None if it does not fit."""
    double = exact_double(text)
    if double is None or not math.isfinite(double) or double == 0:
        return double
    if abs(double) >= _FLOAT_END:
        return math.copysign(math.inf, double)
    digits = _digits(text.strip(_BLANKS)) or ""
    with np.errstate(over="ignore"):
        nearest = float(np.float32(double))
    other = _float_beyond(nearest, double)
    ends = [math.copysign(_FLOAT_END, end) if math.isinf(end) else end for end in (nearest, other)]
    if nearest == double or abs(ends[0] - double) != abs(ends[1] - double):
        return nearest
    # The double is halfway between two floats: what it was rounded from decides.
    given = _hex_fraction(digits) if "x" in digits.lower() else Fraction(digits)
    if given == Fraction(double):
        return nearest
    return max(nearest, other) if given > Fraction(double) else min(nearest, other)


def exact_decimal(text: str, precision: int, scale: int) -> int | None:
    """A text as a DECIMAL without its point, half rounded up; None if it does not fit.

    >>> exact_decimal("1.005", 5, 2), exact_decimal("-2e1", 5, 2), exact_decimal("1e3", 5, 2)
    (101, -2000, None)
    """
    found = _DECIMAL.fullmatch(text.strip(_BLANKS))
    if found is None:
        return None
    whole, fraction, exponent = found[2] or "", found[3] or found[4] or "", found[5] or "0"
    digits, own_scale = int(whole + fraction), len(fraction) - int(exponent)
    if not -(2**31) < own_scale < 2**31 or len(exponent.lstrip("+-0")) > 10:
        return None
    size = len(str(digits))
    if digits and size - own_scale > _MOST_DIGITS:
        return None
    if own_scale - scale > size:
        unscaled = 0
    elif own_scale > scale:
        unscaled, rest = divmod(digits, 10 ** (own_scale - scale))
        unscaled += 2 * rest >= 10 ** (own_scale - scale)
    else:
        unscaled = digits * 10 ** (scale - own_scale) if digits else 0
    if unscaled >= 10**precision:
        return None
    return -unscaled if found[1] == "-" else unscaled


def _digits(plain: str) -> str | None:
    """The number without its suffix, if it is one."""
    for digits in (plain, plain[:-1] if plain[-1:] in tuple("dDfF") else ""):
        if _FLOAT.fullmatch(digits) or _HEX_FLOAT.fullmatch(digits):
            return digits
    return None


def _float_beyond(nearest: float, double: float) -> float:
    """The float on the other side of a double."""
    towards = np.float32(math.copysign(math.inf, double - nearest)) if not math.isinf(nearest) else np.float32(0)
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(nearest), towards))


def _hex_fraction(digits: str) -> Fraction:
    mantissa, exponent = re.split("[pP]", digits.lower().lstrip("+-")[2:])
    whole, _, fraction = mantissa.partition(".")
    value = Fraction(int(whole + fraction or "0", 16), 16 ** len(fraction)) * Fraction(2) ** int(exponent)
    return -value if digits.startswith("-") else value
