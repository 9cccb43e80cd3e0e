"""Aggregates of every group in every round: sum, count, avg, min and max.

Model
-----
A *fold* is what is known of some rows: for each group and round how many values there are, their exact sum, the least
and the greatest. Folds of different rows merge, in any order, to the same bytes. Rows that are the same in every world
are folded once, as a bundle of one round, and merge with any number of rounds: only uncertain rows are drawn.

A value counts where it is *present*: its row exists in that world, and it is not NULL. Spark's rules hold: without any
value a count is 0 and all else is NULL; NaN is greater than anything; 0.0 and -0.0 are one value. Whole numbers are
int64 and stay exact, where doubles would round; a sum of them beyond 64 bits wraps.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.bundle_values import Values
from punctual.kernel.draw.exact_sums import added, bundle_sums, nearest_means, nearest_sums, whole_sums
from punctual.kernel.draw.philox import plain
from punctual.kernel.synopses.limbs import MASK, Loose

U = np.uint64
Function = Literal["count", "sum", "avg", "min", "max"]
SUMMED: tuple[Function, ...] = ("sum", "avg")
EXACT = 1 << 53
"""A double has every whole number up to here."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Groups by rounds; a part that nobody asked for is None.

    ``odd`` counts values that are not finite and in no sum: NaN, infinity, minus infinity; None where there is none.
    ``least`` and ``greatest`` of whole numbers are int64.
    """

    count: I64
    sums: Loose | None = None
    odd: I64 | None = None
    least: Values | None = None
    greatest: Values | None = None


def no_least(shape: tuple[int, int], *, whole: bool) -> Values:
    """What is least where there is no value yet: anything is less."""
    return np.full(shape, np.iinfo(np.int64).max) if whole else np.full(shape, np.nan)


def no_greatest(shape: tuple[int, int], *, whole: bool) -> Values:
    """What is greatest where there is no value yet: nothing is less."""
    return np.full(shape, np.iinfo(np.int64).min) if whole else np.full(shape, -np.inf)


def fold(
    functions: Collection[Function],
    group: I64,
    groups: int,
    values: Values,
    present: Bools | None = None,
    order: I64 | None = None,
) -> Fold:
    """What some functions need to know of a bundle.

    Parameters
    ----------
    functions : collection of names
        Which functions will be asked for.
    group : I64
        The group of each row, below ``groups``.
    values : Values
        Rows by rounds; of rows that are certain, one round.
    present : Bools, optional
        Where there is a value; everywhere without it. To count rows, where they exist.
    order : I64, optional
        The rows in an order in which those of a group follow each other, where that is known.

    Examples
    --------
    >>> drawn = fold(["avg"], np.array([0, 1]), 2, np.array([[1.0, 2.0], [5.0, 6.0]]), np.array([[True, False]] * 2))
    >>> certain = fold(["avg"], np.array([0]), 2, np.array([[4.0]]))
    >>> values, there = finished("avg", merged(drawn, certain))
    >>> values.tolist(), there.tolist()
    ([[2.5, 4.0], [5.0, 0.0]], [[True, True], [True, False]])
    """
    group, shape = plain(group, np.int64), (groups, values.shape[1])
    whole_numbers = values.dtype == np.int64
    if any(function != "count" for function in functions):
        values = plain(values, np.int64 if whole_numbers else np.float64)
    mask = np.zeros((0, 0), np.bool_) if present is None else plain(present, np.bool_)
    count = np.zeros(shape, np.int64)
    if present is None:
        count += np.bincount(group, minlength=groups)[:, None]
    else:
        _count(group, mask, count)
    sums, odd, least, greatest = None, None, None, None
    if any(function in functions for function in SUMMED):
        sums, finite = _sums(group, groups, values, None if present is None else mask, order)
        if not finite:
            odd = np.zeros((3, *shape), np.int64)
            _count_odd(group, values, mask, present is not None, odd)
    if "min" in functions:
        least = no_least(shape, whole=whole_numbers)
        _least(group, values, mask, present is not None, least, least.dtype.type(0))
    if "max" in functions:
        greatest = no_greatest(shape, whole=whole_numbers)
        _greatest(group, values, mask, present is not None, greatest, greatest.dtype.type(0))
    return Fold(count, sums, odd, least, greatest)


def merged(one: Fold, other: Fold) -> Fold:
    """What is known of the rows of both: of the same groups, in the same rounds, or one of them of certain rows."""
    shape = np.broadcast_shapes(one.count.shape, other.count.shape)
    sums, odd = None, None
    if one.sums is not None and other.sums is not None:
        sums = added(_in_rounds(one, one.sums, shape), _in_rounds(other, other.sums, shape))
        odds = [side.odd for side in (one, other) if side.odd is not None]
        odd = sum(odds[1:], np.zeros((3, *shape), np.int64) + odds[0]) if odds else None
    least = None if one.least is None or other.least is None else np.fmin(one.least, other.least)
    greatest = None if one.greatest is None or other.greatest is None else np.maximum(one.greatest, other.greatest)
    return Fold(one.count + other.count, sums, odd, least, greatest)


def _sums(
    group: I64, groups: int, values: Values, present: Bools | None, order: I64 | None
) -> tuple[Loose, bool]:
    """The sums, and whether all values are in them. Whole numbers that no double has go in two halves."""
    if values.dtype == np.int64 and values.size and (values.max() > EXACT or values.min() < -EXACT):
        halves = np.concatenate([values & ~np.int64(MASK), values & MASK]).astype(np.float64)
        twice = None if present is None else np.concatenate([present, present])
        return bundle_sums(np.concatenate([group, group]), groups, halves, twice)
    return bundle_sums(group, groups, plain(values, np.float64), present, order)


def finished(function: Function, folded: Fold, *, whole: bool = False) -> tuple[Values, Bools]:
    """The values of a function, groups by rounds, and where there is one; 0 where there is none.

    Sums of ``whole`` numbers are int64.

    >>> many = fold(["sum", "max"], np.array([0, 0]), 1, np.array([[2**53 + 1], [2**53 + 2]]))
    >>> int(finished("sum", many, whole=True)[0][0, 0]) - 2**54, int(finished("max", many)[0][0, 0]) - 2**53
    (3, 2)
    """
    there: Bools = folded.count > 0
    if function == "count":
        return folded.count.astype(np.float64), np.ones(there.shape, np.bool_)
    found = folded.least if function == "min" else folded.greatest
    if function == "sum" and whole and folded.sums is not None:
        found = whole_sums(folded.sums).reshape(there.shape)
    elif function in SUMMED and folded.sums is not None:
        flat = nearest_sums(folded.sums) if function == "sum" else nearest_means(folded.sums, folded.count.ravel())
        found = flat.reshape(there.shape)
        if folded.odd is not None:
            nan, above, below = (part > 0 for part in folded.odd)
            found = np.where(above, np.inf, np.where(below, -np.inf, found))
            found = np.where(nan | (above & below), np.nan, found)
    if found is None:
        raise InternalError(f"nobody folded for {function}")
    return np.where(there, found, 0), there


def _in_rounds(side: Fold, sums: Loose, shape: tuple[int, ...]) -> Loose:
    """The sums with those of certain rows repeated for each round."""
    digits = sums.digits.reshape(*side.count.shape, -1)
    width = digits.shape[2]
    return Loose(sums.low, np.broadcast_to(digits, (*shape, width)).reshape(-1, width))


@compiled
def _count(group: I64, present: Bools, count: I64) -> None:
    for i in range(group.size):
        row, found = present[i], count[group[i]]
        for j in range(U(row.size)):
            found[j] += np.int64(row[j])


@compiled
def _count_odd(group: I64, values: Values, present: Bools, masked: bool, odd: I64) -> None:
    for i in range(group.size):
        for j in range(values.shape[1]):
            value = values[i, j]
            if not masked or present[i, j]:
                odd[0, group[i], j] += value != value
                odd[1, group[i], j] += value == np.inf
                odd[2, group[i], j] += value == -np.inf


@compiled
def _least(
    group: I64, values: Values, present: Bools, masked: bool, least: Values, zero: Any
) -> None:
    """NaN at first, and anything is less than NaN. A zero of the same type is added: so -0.0 becomes 0.0."""
    rounds = values.shape[1]
    for i in range(group.size):
        row, found = values[i], least[group[i]]
        if masked:
            there = present[i]
            for j in range(U(rounds)):
                better = there[j] & ((row[j] < found[j]) | (found[j] != found[j]))
                found[j] = row[j] + zero if better else found[j]
        else:
            for j in range(U(rounds)):
                better = (row[j] < found[j]) | (found[j] != found[j])
                found[j] = row[j] + zero if better else found[j]


@compiled
def _greatest(
    group: I64, values: Values, present: Bools, masked: bool, greatest: Values, zero: Any
) -> None:
    """NaN stays once it is there."""
    rounds = values.shape[1]
    for i in range(group.size):
        row, found = values[i], greatest[group[i]]
        if masked:
            there = present[i]
            for j in range(U(rounds)):
                better = there[j] & ((row[j] > found[j]) | (row[j] != row[j]))
                found[j] = row[j] + zero if better else found[j]
        else:
            for j in range(U(rounds)):
                better = (row[j] > found[j]) | (row[j] != row[j])
                found[j] = row[j] + zero if better else found[j]
