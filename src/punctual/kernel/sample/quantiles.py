"""Student's t: how many standard errors a 95 % interval reaches to each side."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled

CONFIDENCE = 0.95
_TABLE = 100
_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


def student_t(freedom: I64) -> F64:
    """The two-sided quantile for so many degrees of freedom; NaN for none.

    By the closed form of the distribution up to 100, by Fisher's expansion around the normal one beyond.

    >>> student_t(np.array([0, 1, 30, 10**6])).round(4).tolist()
    [nan, 12.7062, 2.0423, 1.96]
    """
    many = np.maximum(freedom, 1).astype(np.float64)
    z = _Z
    far = z + (z**3 + z) / (4 * many) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * many**2)
    far += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * many**3)
    return np.where(freedom <= _TABLE, _table()[np.clip(freedom, 0, _TABLE)], far)


@cache
def _table() -> F64:
    found = np.full(_TABLE + 1, np.nan)
    _fill(found, CONFIDENCE)
    return found


@compiled
def _fill(found: F64, confidence: float) -> None:
    for freedom in range(1, found.size):
        low, high = 0.0, math.pi / 2
        for _ in range(100):
            middle = (low + high) / 2
            if _inside(middle, freedom) < confidence:
                low = middle
            else:
                high = middle
        found[freedom] = math.tan(low) * math.sqrt(freedom)


@compiled
def _inside(angle: float, freedom: int) -> float:
    """The probability that abs(t) is below ``tan(angle) * sqrt(freedom)`` (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (power + 1) / (power + 2)
    return (angle + sine * total) * 2 / math.pi if odd else sine * total
