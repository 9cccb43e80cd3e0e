"""Every aggregate function, computed from the rows themselves with Python's exact numbers. Slow and plain."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

WIDE = decimal.Context(prec=200)


def nearest(value: Fraction) -> float:
    """The double nearest to a fraction; beyond the largest, an infinity."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def root(value: Fraction) -> float:
    """The square root of a nonnegative fraction, to a double."""
    scale = 2**2400
    return nearest(Fraction(math.isqrt(value.numerator * scale**2 // value.denominator), scale))


def split(values: Sequence[Any]) -> tuple[list[Fraction], float | None]:
    """Finite values, and what the others make of a sum (None: nothing)."""
    odd = [v for v in values if isinstance(v, float) and not math.isfinite(v)]
    finite = [Fraction(v) for v in values if not (isinstance(v, float) and not math.isfinite(v))]
    return finite, sum(odd) if odd else None


def total(values: Sequence[Any]) -> Any:
    """SUM: of integers beyond int64 NULL; of doubles the nearest to the exact sum."""
    if not values:
        return None
    finite, odd = split(values)
    if odd is not None:
        return odd
    exact = sum(finite, Fraction(0))
    if isinstance(values[0], float):
        return nearest(exact)
    if isinstance(values[0], Decimal):
        return WIDE.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return int(exact) if -(2**63) <= exact < 2**63 else None


def mean(values: Sequence[Any], scale: int | None = None) -> Any:
    """AVG: the double nearest to the exact quotient; of decimals the exact quotient, half up at ``scale``."""
    if not values:
        return None
    finite, odd = split(values)
    if odd is not None:
        return odd
    if scale is None:
        return nearest(sum(finite, Fraction(0)) / len(values))
    exact = sum(finite, Fraction(0)) / len(values)
    shifted = abs(exact) * 10**scale
    whole = math.floor(shifted + Fraction(1, 2))
    return Decimal(whole if exact >= 0 else -whole).scaleb(-scale, WIDE)


def variance(values: Sequence[Any], lost: int) -> Fraction | float | None:
    """VAR_POP (lost = 0) or VAR_SAMP (lost = 1), exactly; NaN where a value is not finite."""
    if len(values) <= lost:
        return None
    finite, odd = split([float(v) for v in values])
    if odd is not None:
        return math.nan
    middle = sum(finite, Fraction(0)) / len(finite)
    return sum(((v - middle) ** 2 for v in finite), Fraction(0)) / (len(finite) - lost)


def spark_key(value: Any) -> tuple[Any, ...]:
    """Spark's ascending order: NULL, values, NaN; strings by their bytes; nested values by their text."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    if isinstance(value, str):
        return (1, value.encode())
    if isinstance(value, list | dict):
        return (1, str(value))
    return (1, value)


def extreme(values: Sequence[Any], pick: Callable[..., Any]) -> Any:
    return pick(values, key=spark_key) if values else None


def end(rows: Sequence[tuple[Any, int, tuple[Any, ...]]], pick: Callable[..., Any]) -> Any:
    """FIRST or LAST of rows (value, time, ties)."""
    if not rows:
        return None
    return pick(rows, key=lambda r: (r[1], tuple(spark_key(t) for t in r[2]), spark_key(r[0])))[0]


def percentile(values: Sequence[Any], share: float) -> Any:
    """The smallest value whose rank reaches ``ceil(share * n)``, at least 1."""
    if not values:
        return None
    ordered = sorted(values, key=spark_key)
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


def distinct(values: Sequence[Any]) -> list[Any]:
    """Different values in order; NaN equals itself, -0.0 equals 0.0."""
    return [v for _, v in sorted({spark_key(v): v for v in values}.items())]
