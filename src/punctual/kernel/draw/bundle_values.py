"""Values in every world: bundles of numbers, truths and texts, and what Spark SQL's operators make of them.

Model
-----
A *bundle* is a matrix of rows by rounds, with what is NULL. Certain values have one round, which stands for all:
operators broadcast, so that what is certain is reckoned once for each row, not once for each world.

The rules are those of Spark SQL with ANSI off: NULL makes NULL, truth has three values, division by zero is NULL, NaN
equals NaN and is greater than any number, 0.0 equals -0.0. Two things differ: all whole numbers are BIGINT, and wrap at
64 bits, where Spark's INT and smaller ones wrap at their own; and functions such as EXP may be off by one last bit,
LOG10 by two.

Where a value is NULL, its place in ``values`` holds anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64, Bools

Kind = Literal["number", "whole", "truth", "text"]
Values = NDArray[Any]
TYPES: dict[Kind, type[np.generic]] = {
    "number": np.float64, "whole": np.int64, "truth": np.bool_, "text": np.int64,
}  # fmt: skip
MOST_DIGITS = 20
"""To so many digits after the point `rounded` is exact: 5 to this power is a double."""

_LEAST, _GREATEST = np.int64(-(2**63)), np.int64(2**63 - 1)
_SPLITTER = 134217729.0  # 2^27 + 1 cuts a double into two halves whose products are exact
_EXACT = 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """Rows by rounds, or by one round where all rounds are the same.

    ``values`` are float64, int64 (``whole``, and ``text`` by codes that are in the order of the texts) or bool.
    ``known`` says where there is a value, and broadcasts to them; None: everywhere.
    """

    values: Values
    known: Bools | None
    kind: Kind


def constant(value: bool | int | float) -> Bundle:
    """The same for all rows: one of them stands for all."""
    kind: Kind = "truth" if isinstance(value, bool) else "whole" if isinstance(value, int) else "number"
    return Bundle(np.full((1, 1), value, TYPES[kind]), None, kind)


def nulls(kind: Kind) -> Bundle:
    """NULL for all rows."""
    return Bundle(np.zeros((1, 1), TYPES[kind]), np.zeros((1, 1), np.bool_), kind)


def as_number(bundle: Bundle) -> Bundle:
    """CAST AS DOUBLE of a number or truth."""
    if bundle.kind == "number":
        return bundle
    return Bundle(bundle.values.astype(np.float64), bundle.known, "number")


def as_whole(bundle: Bundle) -> Bundle:
    """CAST AS BIGINT: without its fraction, the nearest there is where it is too large, 0 for NaN.

    >>> as_whole(Bundle(np.array([[2.9, -2.9, 1e30, np.nan]]), None, "number")).values.tolist()
    [[2, -2, 9223372036854775807, 0]]
    """
    if bundle.kind == "whole":
        return bundle
    values = _saturated(bundle.values) if bundle.kind == "number" else bundle.values.astype(np.int64)
    return Bundle(values, bundle.known, "whole")


def as_int(bundle: Bundle) -> Bundle:
    """CAST AS INT: numbers as by `as_whole`, whole numbers lose what is above 32 bits."""
    if bundle.kind == "whole":
        return Bundle(bundle.values.astype(np.int32).astype(np.int64), bundle.known, "whole")
    return Bundle(np.clip(as_whole(bundle).values, -(2**31), 2**31 - 1), bundle.known, "whole")


def _saturated(numbers: F64) -> I64:
    above, below = numbers >= -float(_LEAST), numbers < float(_LEAST)
    plain = ~(above | below | np.isnan(numbers))
    whole: I64 = np.where(plain, numbers, 0.0).astype(np.int64)
    return whole if plain.all() else np.where(above, _GREATEST, np.where(below, _LEAST, whole))


def _all_known(*bundles: Bundle) -> Bools | None:
    known: Bools | None = None
    for bundle in bundles:
        if bundle.known is not None:
            known = bundle.known if known is None else known & bundle.known
    return known


def _except(known: Bools | None, where: Bools) -> Bools | None:
    """What is known, except in some places."""
    if not where.any():
        return known
    return ~where if known is None else known & ~where


# Arithmetic. Both sides are of one kind, except that `divided` takes numbers and `whole_quotient` whole numbers.


def plus(a: Bundle, b: Bundle) -> Bundle:
    with np.errstate(all="ignore"):
        return Bundle(a.values + b.values, _all_known(a, b), a.kind)


def minus(a: Bundle, b: Bundle) -> Bundle:
    with np.errstate(all="ignore"):
        return Bundle(a.values - b.values, _all_known(a, b), a.kind)


def times(a: Bundle, b: Bundle) -> Bundle:
    with np.errstate(all="ignore"):
        return Bundle(a.values * b.values, _all_known(a, b), a.kind)


def divided(a: Bundle, b: Bundle) -> Bundle:
    """NULL by zero.

    >>> found = divided(constant(1.0), Bundle(np.array([[4.0, 0.0]]), None, "number"))
    >>> found.values[0, 0], found.known.tolist()
    (np.float64(0.25), [[True, False]])
    """
    with np.errstate(all="ignore"):
        return Bundle(a.values / b.values, _except(_all_known(a, b), b.values == 0), "number")


def remainder(a: Bundle, b: Bundle) -> Bundle:
    """With the sign of the first; NULL by zero."""
    known = _except(_all_known(a, b), b.values == 0)
    with np.errstate(all="ignore"):
        values = np.fmod(a.values, b.values if a.kind == "number" else _divisor(b.values))
    return Bundle(values, known, a.kind)


def whole_quotient(a: Bundle, b: Bundle) -> Bundle:
    """DIV: without its fraction; NULL by zero. The least number by -1 wraps."""
    known, divisor = _except(_all_known(a, b), b.values == 0), _divisor(b.values)
    with np.errstate(all="ignore"):
        quotient = (a.values - np.fmod(a.values, divisor)) // divisor
        return Bundle(np.where(b.values == -1, -a.values, quotient), known, "whole")


def _divisor(numbers: I64) -> I64:
    """1 in place of 0 and -1, by which a processor may refuse to divide."""
    plain: I64 = np.where((numbers == 0) | (numbers == -1), 1, numbers)
    return plain


def negative(a: Bundle) -> Bundle:
    with np.errstate(all="ignore"):
        return Bundle(-a.values, a.known, a.kind)


# Comparison. Both sides are of one kind.


def _equal(a: Values, b: Values) -> Bools:
    found: Bools = a == b
    if a.dtype.kind == "f":
        odd = np.isnan(a)
        if odd.any():
            found |= odd & np.isnan(b)
    return found


def _less(a: Values, b: Values) -> Bools:
    found: Bools = a < b
    if a.dtype.kind == "f":
        odd = np.isnan(b)
        if odd.any():
            found |= odd & ~np.isnan(a)
    return found


def equal(a: Bundle, b: Bundle) -> Bundle:
    return Bundle(_equal(a.values, b.values), _all_known(a, b), "truth")


def different(a: Bundle, b: Bundle) -> Bundle:
    return Bundle(~_equal(a.values, b.values), _all_known(a, b), "truth")


def less(a: Bundle, b: Bundle) -> Bundle:
    return Bundle(_less(a.values, b.values), _all_known(a, b), "truth")


def at_most(a: Bundle, b: Bundle) -> Bundle:
    return Bundle(~_less(b.values, a.values), _all_known(a, b), "truth")


def greater(a: Bundle, b: Bundle) -> Bundle:
    return less(b, a)


def at_least(a: Bundle, b: Bundle) -> Bundle:
    return at_most(b, a)


def same(a: Bundle, b: Bundle) -> Bundle:
    """``<=>``: NULL is the same as NULL, and as nothing else."""
    found = _equal(a.values, b.values)
    known = _all_known(a, b)
    if known is not None:
        found = found & known
    if a.known is not None and b.known is not None:
        found = found | ~(a.known | b.known)
    return Bundle(found, None, "truth")


def among(subject: Bundle, *items: Bundle) -> Bundle:
    """IN: true where one is equal, else NULL where one is NULL."""
    return any_of(*(equal(subject, item) for item in items))


# Truth, of three values.


def all_of(*truths: Bundle) -> Bundle:
    """AND: false where one is false, else NULL where one is NULL.

    >>> unknown, false = nulls("truth"), constant(False)
    >>> all_of(unknown, false).known.tolist(), all_of(unknown, constant(True)).known.tolist()
    ([[True]], [[False]])
    """
    found: Bools = np.ones((1, 1), np.bool_)
    for truth in truths:
        found = found & (truth.values if truth.known is None else truth.values | ~truth.known)
    known = _all_known(*truths)
    return Bundle(found, None if known is None else known | ~found, "truth")


def any_of(*truths: Bundle) -> Bundle:
    """OR: true where one is true, else NULL where one is NULL."""
    found: Bools = np.zeros((1, 1), np.bool_)
    for truth in truths:
        found = found | holds(truth)
    known = _all_known(*truths)
    return Bundle(found, None if known is None else known | found, "truth")


def opposite(truth: Bundle) -> Bundle:
    return Bundle(~truth.values, truth.known, "truth")


def holds(truth: Bundle) -> Bools:
    """Where it is true: neither false nor NULL."""
    found: Bools = truth.values if truth.known is None else truth.values & truth.known
    return found


def is_null(a: Bundle) -> Bundle:
    return Bundle(np.zeros((1, 1), np.bool_) if a.known is None else ~a.known, None, "truth")


# Choice. Values are of one kind, except in `null_if`.


def chosen(*parts: Bundle) -> Bundle:
    """CASE: conditions and values in turn, and perhaps a value at the end for where none of them is true.

    >>> small = Bundle(np.array([[True, False]]), None, "truth")
    >>> chosen(small, constant(1), constant(2)).values.tolist(), chosen(small, constant(1)).known.tolist()
    ([[1, 2]], [[True, False]])
    """
    pairs = [(parts[at], parts[at + 1]) for at in range(0, len(parts) - 1, 2)]
    found = parts[-1] if len(parts) % 2 else nulls(parts[1].kind)
    for condition, value in reversed(pairs):
        found = _choice(holds(condition), value, found)
    return found


def first_known(*bundles: Bundle) -> Bundle:
    """COALESCE."""
    found = bundles[-1]
    for bundle in reversed(bundles[:-1]):
        found = bundle if bundle.known is None else _choice(bundle.known, bundle, found)
    return found


def _choice(taken: Bools, value: Bundle, other: Bundle) -> Bundle:
    """One value where it is taken, the other elsewhere."""
    known = None
    if value.known is not None or other.known is not None:
        here, there = (np.True_ if one.known is None else one.known for one in (value, other))
        known = np.where(taken, here, there)
    return Bundle(np.where(taken, value.values, other.values), known, value.kind)


def null_if(a: Bundle, b: Bundle) -> Bundle:
    """The first, NULL where it equals the second. NumPy, too, compares whole numbers with numbers as numbers."""
    known = _except(a.known, holds(equal(a, b)))
    values = a.values if known is None else np.broadcast_to(a.values, np.broadcast_shapes(a.values.shape, known.shape))
    return Bundle(values, known, a.kind)


def least(*bundles: Bundle) -> Bundle:
    """NULL only where all are; of equal ones the first."""
    found = bundles[0]
    for bundle in bundles[1:]:
        found = _better(_less(bundle.values, found.values), bundle, found)
    return found


def greatest(*bundles: Bundle) -> Bundle:
    """NULL only where all are; of equal ones the first."""
    found = bundles[0]
    for bundle in bundles[1:]:
        found = _better(_less(found.values, bundle.values), bundle, found)
    return found


def _better(wins: Bools, bundle: Bundle, found: Bundle) -> Bundle:
    if found.known is not None:
        wins = wins | ~found.known
    if bundle.known is not None:
        wins = wins & bundle.known
    known = None if bundle.known is None or found.known is None else bundle.known | found.known
    return Bundle(np.where(wins, bundle.values, found.values), known, found.kind)


# Functions of numbers; `absolute`, `floor`, `ceiling` and `rounded` take whole numbers, too.


def absolute(a: Bundle) -> Bundle:
    with np.errstate(all="ignore"):
        return Bundle(np.abs(a.values), a.known, a.kind)


def floor(a: Bundle) -> Bundle:
    return a if a.kind == "whole" else Bundle(_saturated(np.floor(a.values)), a.known, "whole")


def ceiling(a: Bundle) -> Bundle:
    return a if a.kind == "whole" else Bundle(_saturated(np.ceil(a.values)), a.known, "whole")


def sign(a: Bundle) -> Bundle:
    """-1.0 or 1.0; zeros and NaN stay."""
    with np.errstate(all="ignore"):
        return Bundle(np.where(a.values == 0, a.values, np.sign(a.values)), a.known, "number")


FUNCTIONS = {"sqrt": np.sqrt, "exp": np.exp, "sin": np.sin, "cos": np.cos, "tan": np.tan, "radians": np.radians}
LOGARITHMS = {"ln": np.log, "log10": np.log10}


def function(name: str, a: Bundle) -> Bundle:
    """One of ``FUNCTIONS``; NaN where it has no value."""
    with np.errstate(all="ignore"):
        return Bundle(FUNCTIONS[name](a.values), a.known, "number")


def logarithm(name: str, a: Bundle) -> Bundle:
    """One of ``LOGARITHMS``; NULL of what is not positive."""
    with np.errstate(all="ignore"):
        return Bundle(LOGARITHMS[name](a.values), _except(a.known, a.values <= 0), "number")


def power(a: Bundle, b: Bundle) -> Bundle:
    """As in Java: unlike in C, 1 to the NaN is NaN, and so is 1 or -1 to the infinite."""
    base, exponent = a.values, b.values
    with np.errstate(all="ignore"):
        values = np.power(base, exponent)
    odd = np.isnan(exponent) | (np.isinf(exponent) & (np.abs(base) == 1))
    # By a constant of 0.5 NumPy takes the root: -0.0 of -0.0, and NaN of the infinite.
    root = (exponent == 0.5) & ((base == 0) | (base == -np.inf))
    values = np.where(odd, np.nan, np.where(root, np.abs(base), values)) if odd.any() or root.any() else values
    return Bundle(values, _all_known(a, b), "number")


def angle(a: Bundle, b: Bundle) -> Bundle:
    """ATAN2; as in Spark, -0.0 is 0.0."""
    return Bundle(np.arctan2(a.values + 0.0, b.values + 0.0), _all_known(a, b), "number")


def rounded(a: Bundle, digits: Bundle | None = None) -> Bundle:
    """ROUND: halves go away from zero, as seen in the shortest decimal that is read as the number.

    So 2.675 to 2 digits is 2.68, though the double is a little less. ``digits`` is a constant from 0 to `MOST_DIGITS`.

    >>> rounded(Bundle(np.array([[2.675, -0.125, 0.1]]), None, "number"), constant(2)).values.tolist()
    [[2.68, -0.13, 0.1]]
    >>> rounded(Bundle(np.array([[0.49999999999999994, 2.5, -0.2]]), None, "number")).values.tolist()
    [[0.0, 3.0, 0.0]]
    """
    if a.kind == "whole":
        return a
    wanted = 0 if digits is None else int(digits.values[0, 0])
    if not 0 <= wanted <= MOST_DIGITS:
        raise InternalError(f"rounding to {wanted} digits")
    with np.errstate(all="ignore"):
        return Bundle(_rounded(a.values, 10.0**wanted), a.known, "number")


def _rounded(numbers: F64, unit: float) -> F64:
    """To multiples of 1 / unit, exactly; ``unit`` is a power of ten up to `MOST_DIGITS`.

    Let y be a number times the unit. It has a whole part and a rest, and goes up where the rest is a half or more, or
    where its decimal is exactly the half and y a little less. The decimals that are read as the number are those
    within h of y, half of the distance to its neighbours; the one that is printed is the shortest of them, and of
    these the nearest. So it is the half where the half is within h, no whole number is, and no other tenth is nearer.
    None is exactly at h: of a number and its neighbour the middle has 54 bits. Beyond 2^53 a whole number always is
    within h: nothing changes.
    """
    size = np.abs(numbers)
    here = size * unit < _EXACT  # not where it is NaN
    size = np.where(here, size, 0.0)
    high, low = _product(size, unit)
    below = np.floor(high)
    rest = ((high - below) - 0.5) + low  # beyond the half
    reach = np.spacing(size) * (unit / 2)
    is_half = (-rest < reach) & (rest > -0.05) & (rest + 0.5 > reach)
    nearest = (below + ((rest >= 0) | is_half)) / unit
    return np.where(here, np.where(nearest == 0, 0.0, np.copysign(nearest, numbers)), numbers)


def _product(size: F64, unit: float) -> tuple[F64, F64]:
    """A product as a double and what it is off, exactly (Dekker)."""
    high = size * unit
    scaled, other = size * _SPLITTER, unit * _SPLITTER
    size_high, unit_high = scaled - (scaled - size), other - (other - unit)
    size_low, unit_low = size - size_high, unit - unit_high
    low = ((size_high * unit_high - high) + size_high * unit_low + size_low * unit_high) + size_low * unit_low
    return high, low
