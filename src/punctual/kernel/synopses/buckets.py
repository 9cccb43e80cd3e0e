"""Logarithmic buckets: which values a histogram may take for one another, decided by the value alone.

Model
-----
A double's exponent and the seven leading bits of its mantissa are its bucket: 128 buckets an octave, equal in width
within it. Bucket 0 holds zero, negative values mirror positive ones, and infinities and NaN (the greatest) have buckets
of their own. Buckets are numbered in the order of their values.

Invariants
----------
The middle of a bucket differs from any of its values x by at most ``|x| / 256`` (:data:`ALPHA`); below the smallest
normal double, ``2**-1022``, by at most ``2**-1030``. Integers are cut, not rounded, to the 53 bits that a double has,
so the bound holds for all of int64; the middle is an integer of the bucket then, and exact up to ``|x| < 256``. There
are no logarithms: the bucket is cut out of the value's bits, so it is the same on every machine.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.arrays.state import F64, I64, Bools

ALPHA = 1 / 256
"""Greatest relative error of a bucket's middle."""
INFINITE = (0x7FF << 7) + 1
NAN = INFINITE + 1
_SHIFT = 45
_INTEGERS = 2**53


def of_doubles(values: F64) -> I64:
    """The bucket of each double.

    Examples
    --------
    >>> middles(of_doubles(np.array([0.0, 100.1, -np.inf]))).tolist()
    [0.0, 100.25, -inf]
    """
    sizes = np.abs(values)
    buckets = np.where(sizes == 0.0, 0, (sizes.view(np.int64) >> _SHIFT) + 1)
    return np.where(np.isnan(values), NAN, np.where(values < 0, -buckets, buckets))


def of_integers(values: I64) -> I64:
    """The bucket of each integer."""
    # Of the smallest int64 the absolute value is 2**63 only when it is unsigned.
    sizes = np.abs(values).view(np.uint64)
    sizes = np.where(sizes < _INTEGERS, sizes, sizes & ~np.uint64(0x7FF))
    return np.where(values < 0, -1, 1) * of_doubles(sizes.astype(np.float64))


def middles(buckets: I64) -> F64:
    """The middle of each bucket."""
    sizes = np.abs(buckets)
    finite = (sizes > 0) & (sizes < INFINITE)
    bits = np.where(finite, ((sizes - 1) << _SHIFT) | (1 << (_SHIFT - 1)), 0)
    values = np.where(sizes == INFINITE, np.inf, bits.view(np.float64))
    return np.where(sizes == NAN, np.nan, np.where(buckets < 0, -values, values))


def integer_middles(buckets: I64, least: int, most: int) -> I64:
    """An integer in the middle of each bucket, between ``least`` and ``most``."""
    sizes = np.abs(buckets)
    bits = np.where(sizes > 0, (sizes - 1) << _SHIFT, 0)
    # Where a bucket is narrower than two, the only integer that it can have is the first one it reaches.
    values = np.maximum(np.floor(np.abs(middles(buckets))), np.ceil(bits.view(np.float64)))
    unsigned = np.minimum(values, 2.0**63).astype(np.uint64)
    # The bucket of 2**63 exists for the smallest int64 alone, and negation leaves that as it is.
    signed = unsigned.view(np.int64)
    signed = np.where(buckets < 0, np.negative(signed), signed)
    return np.clip(signed, least, most)


def is_exact(buckets: I64) -> Bools:
    """Whether a bucket holds one value only: zero, an infinity or NaN."""
    exact: Bools = (buckets == 0) | (np.abs(buckets) >= INFINITE)
    return exact
