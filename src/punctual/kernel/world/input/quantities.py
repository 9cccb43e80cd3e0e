"""Numbers that a caller gives: scores, probabilities, weights and parameters.

A number is an int, a float, a Decimal, a Fraction, or NumPy's, also as an array without dimensions; a text is none.
Scores are compared exactly, whatever their size and beside whatever they stand; instants and durations of NumPy, pandas
or Arrow columns are scores too, later or longer ones being higher. Missing scores (None, NaN, NaT, pandas' NA, null,
masked) have no rank; a probability, weight or parameter is never missing.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import compress, pairwise
from numbers import Real
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.world.input.columns import plain, shown
from punctual.kernel.world.input.rows import F64, I64, Column, WorldError

CODE = "world.bad-score"
EXACT = 2.0**53
"""Whole numbers below are doubles."""
ALL = 1 << 40
"""As a k: more rows than there are, and few enough for compiled code."""


def scores(score: Column) -> tuple[int, I64, NDArray[Any]]:
    """How many rows there are, the places of those that have a score, and their scores as something that sorts.

    >>> size, places, values = scores([2**63 + 1, None, 2.0**63])
    >>> size, places.tolist(), values.tolist()
    (3, [0, 2], [1, 0])
    """
    column = plain(score, CODE, "scores")
    places = np.arange(len(column))
    if isinstance(column, list):
        return places.size, *_of_objects(column, places)
    if isinstance(column, np.ndarray):
        return places.size, *_of_array(column, places)
    there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    return places.size, *_of_array(column.drop_null().to_numpy(zero_copy_only=False), there)


def probabilities(prob: Column) -> F64:
    """Numbers in [0, 1].

    >>> probabilities([1, 0.5]).tolist()
    [1.0, 0.5]
    """
    probs = _floats(prob, "world.bad-probability", "probabilities", "probability of row")
    if probs.size and not (probs.min() >= 0 and probs.max() <= 1):
        at = int((~((probs >= 0) & (probs <= 1))).argmax())
        raise WorldError("world.bad-probability", f"the probability of row {at} is {probs[at]}; it is between 0 and 1")
    return probs


def checked_weights(weights: Column) -> F64:
    """At least one weight, all of them finite."""
    own = _floats(weights, "world.bad-weights", "weights", "weight at place")
    if not own.size or not np.isfinite(own).all():
        raise WorldError("world.bad-weights", "weights are at least one finite number, the first for rank 1")
    return own


def checked_threshold(threshold: Any) -> float:
    """A threshold in (0, 1]."""
    own = number(threshold, "world.bad-threshold", "the threshold")
    if not 0 < own <= 1:
        raise WorldError("world.bad-threshold", f"the threshold is {own}; it is above 0 and at most 1")
    return own


def checked_alpha(alpha: Any) -> float:
    """The base of geometric weights, in (0, 1]."""
    own = number(alpha, "world.bad-alpha", "alpha")
    if not 0 < own <= 1:
        raise WorldError("world.bad-alpha", f"alpha is {own}; it is above 0 and at most 1")
    return own


def checked_k(k: Any) -> int:
    """``k``, a whole number of at least 1; one beyond all rows means all of them.

    >>> checked_k(3), checked_k(10**30) == ALL
    (3, True)
    """
    try:
        whole = index(k)
    except TypeError:
        raise WorldError("world.bad-k", f"k is {shown(k)}, which is no whole number") from None
    if whole < 1:
        raise WorldError("world.bad-k", f"k is {shown(whole)}; it is at least 1")
    return min(whole, ALL)


def number(value: Any, code: str, name: str) -> float:
    """One number, that ``name`` names.

    >>> number(Decimal("0.5"), "world.bad-alpha", "alpha")
    0.5
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not _is_number(value):
        raise WorldError(code, f"{name} is {shown(value)}, which is no number")
    return _float(value)


def _floats(values: Column, code: str, names: str, name: str) -> F64:
    column = plain(values, code, names)
    if isinstance(column, pa.Array):
        column = column.to_pylist() if column.null_count else column.to_numpy(zero_copy_only=False)
    array = _array(column, code, names) if isinstance(column, list) else column
    if array.dtype.kind in "biuf":
        return np.require(array, np.float64, ["C", "A", "W"])
    objects = column if isinstance(column, list) else column.tolist()
    for at, value in enumerate(objects):
        if not _is_number(value):
            raise WorldError(code, f"the {name} {at} is {shown(value)}, which is no number")
    return np.array([_float(value) for value in objects], np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal | np.bool_)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf if value > 0 else -math.inf


def _array(values: list[Any], code: str, names: str) -> NDArray[Any]:
    """As NumPy sees them, or as the objects that they are where it sees nothing."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):  # lists of several lengths
        return np.fromiter(values, object, len(values))
    if array.ndim != 1:
        raise WorldError(code, f"{names} have {array.ndim} dimensions; they have one", hint="give one value per row")
    return array


def _of_array(values: NDArray[Any], places: I64) -> tuple[I64, NDArray[Any]]:
    kind = values.dtype.kind
    if kind not in "biufmM":
        return _of_objects(values.tolist(), places)
    if kind in "fmM":
        missing = np.isnan(values) if kind == "f" else np.isnat(values)
        if missing.any():
            values, places = values[~missing], places[~missing]
    if kind in "mM":
        values = values.astype(values.dtype.newbyteorder("=")).view(np.int64)
    return places, values


def _of_objects(values: list[Any], places: I64) -> tuple[I64, NDArray[Any]]:
    """Python objects at these places: as NumPy has them where that keeps all digits, else by their order."""
    array = _array(values, CODE, "scores")
    if _is_exact(array):
        return _of_array(array, places)
    there = [value is not None for value in values]
    if all(there):
        there = [not _missing(value, row) for row, value in zip(places.tolist(), values)]
    if not all(there):
        return _of_objects(list(compress(values, there)), places[there])
    return places, _by_order([_comparable(value) for value in values])


def _is_exact(array: NDArray[Any]) -> bool:
    """Whether they are what was given: large doubles may have been whole numbers of more digits."""
    if array.dtype.kind == "f":
        return not bool(((np.abs(array) >= EXACT) & np.isfinite(array)).any())
    return array.dtype.kind in "biumM"


def _missing(value: Any, row: int) -> bool:
    """Whether a score is missing; neither missing nor a number is an error."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if _is_number(value):
        return bool(value != value)  # NaN
    raise WorldError(CODE, f"the score of row {row} is {shown(value)}, which is no number")


def _comparable(value: Any) -> int | float | Fraction:
    """The same number in a type that compares with all others exactly."""
    own = value.item() if isinstance(value, np.generic) else value
    if isinstance(own, Decimal):
        own = Fraction(own) if own.is_finite() else float(own)
    return own  # type: ignore[no-any-return]


def _by_order(values: list[int | float | Fraction]) -> I64:
    """Numbers that are in the order of the values, and equal where they are."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = np.zeros(len(values), np.int64)
    rank = 0
    for former, place in pairwise(order):
        rank += values[former] != values[place]
        ranks[place] = rank
    return ranks
