"""Folds of panes: what is known of the rows of a pane, by its own groups, put together to what is known of a window.

A *cell* is a group of a pane. A fold of cells is a fold like any other, with cells for groups; several of them merge
into the groups of a window, in any order, to the same bytes as a fold of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from punctual.kernel.arrays.state import I64
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.bundle_values import Values
from punctual.kernel.draw.folds import Fold, no_greatest, no_least
from punctual.kernel.synopses.limbs import Loose


def pane_of(age: I64, range_us: int, period_us: int) -> I64:
    """The pane of each row by its age: panes are the stretches between the edges of all windows.

    A window has the rows with ages from 0 up to and without its range. Windows are a period apart, so their edges are
    the multiples of the period, and these shifted by the range.

    >>> pane_of(np.array([0, 1, 2, 3, 4, 5, 6]), 7, 3).tolist(), pane_of(np.array([0, 1, 2, 3]), 4, 2).tolist()
    ([0, 1, 1, 2, 3, 3, 4], [1, 1, 3, 3])
    """
    found: I64 = age // period_us * 2 + (age % period_us >= range_us % period_us)
    return found


def of_groups(parts: Sequence[tuple[Fold, I64]], groups: int) -> Fold:
    """What is known of groups: folds of cells, each with the group of every cell. There is one at least.

    Examples
    --------
    >>> from punctual.kernel.draw.folds import finished, fold
    >>> cells = fold(["sum"], np.array([0, 1]), 2, np.array([[1.0, 2.0], [5.0, 6.0]]))
    >>> values, there = finished("sum", of_groups([(cells, np.array([2, 0])), (cells, np.array([0, 2]))], 3))
    >>> values.tolist(), there[:, 0].tolist()
    ([[6.0, 8.0], [0.0, 0.0], [6.0, 8.0]], [True, False, True])
    """
    folds = [fold for fold, _group in parts]
    width = max(fold.count.shape[1] for fold in folds)
    count = np.zeros((groups, width), np.int64)
    sums, odd, least, greatest = _no_sums(folds, groups * width), None, None, None
    if any(fold.odd is not None for fold in folds):
        odd = np.zeros((3, groups, width), np.int64)
    if folds[0].least is not None:
        least = no_least((groups, width), whole=folds[0].least.dtype == np.int64)
    if folds[0].greatest is not None:
        greatest = no_greatest((groups, width), whole=folds[0].greatest.dtype == np.int64)
    for fold, group in parts:
        _add(group, fold.count, count)
        if sums is not None and fold.sums is not None:
            _add_digits(group, fold.sums.digits, fold.sums.low - sums.low, fold.count.shape[1], sums.digits, width)
        if odd is not None and fold.odd is not None:
            for kind in range(3):
                _add(group, fold.odd[kind], odd[kind])
        if least is not None and fold.least is not None:
            _lower(group, fold.least, least)
        if greatest is not None and fold.greatest is not None:
            _raise(group, fold.greatest, greatest)
    return Fold(count, sums, odd, least, greatest)


def cells_of(fold: Fold, first: int, end: int) -> Fold:
    """Some cells by themselves, as arrays of their own."""
    width = fold.count.shape[1]
    sums = None if fold.sums is None else Loose(fold.sums.low, fold.sums.digits[first * width : end * width].copy())
    odd = None if fold.odd is None else fold.odd[:, first:end].copy()
    least, greatest = (None if one is None else one[first:end].copy() for one in (fold.least, fold.greatest))
    return Fold(fold.count[first:end].copy(), sums, odd, least, greatest)


def rounds_of(fold: Fold, first: int, end: int) -> Fold:
    """Some of its rounds; a fold of one round stands for all of them."""
    cells, width = fold.count.shape
    if width == 1 or (first, end) == (0, width):
        return fold
    some = slice(first, end)
    sums = None
    if fold.sums is not None:
        digits = fold.sums.digits.reshape(cells, width, -1)[:, some]
        sums = Loose(fold.sums.low, digits.reshape(-1, digits.shape[2]))
    odd = None if fold.odd is None else fold.odd[:, :, some].copy()
    least, greatest = (None if one is None else one[:, some].copy() for one in (fold.least, fold.greatest))
    return Fold(fold.count[:, some].copy(), sums, odd, least, greatest)


def in_turn(one: Fold, ones: int, other: Fold, others: int) -> Fold:
    """So many rounds of one fold of some cells, then so many of another one of the same."""
    if one.count.shape[1] == other.count.shape[1] == 1 and ones > 1 and others > 1:
        return one  # all rounds of both are alike
    one, other = _wide(one, ones), _wide(other, others)
    sums, odd, odds = None, None, [one.odd, other.odd]
    if one.sums is not None and other.sums is not None:
        low = min(one.sums.low, other.sums.low)
        limbs = max(side.low + side.digits.shape[1] for side in (one.sums, other.sums)) - low
        digits = np.zeros((one.count.shape[0], ones + others, limbs), np.int64)
        for side, some in ((one.sums, slice(0, ones)), (other.sums, slice(ones, None))):
            own = slice(side.low - low, side.low - low + side.digits.shape[1])
            digits[:, some, own] = side.digits.reshape(one.count.shape[0], -1, side.digits.shape[1])
        sums = Loose(low, digits.reshape(-1, limbs))
    if any(part is not None for part in odds):
        shapes = [(3, *fold.count.shape) for fold in (one, other)]
        parts = [np.zeros(shape, np.int64) if part is None else part for part, shape in zip(odds, shapes)]
        odd = np.concatenate(parts, axis=2)
    ends = [
        None if first is None or second is None else np.concatenate([first, second], axis=1)
        for first, second in ((one.least, other.least), (one.greatest, other.greatest))
    ]
    return Fold(np.concatenate([one.count, other.count], axis=1), sums, odd, *ends)


def fold_bytes(fold: Fold) -> int:
    """How much it takes to keep it."""
    arrays = [fold.count, fold.odd, fold.least, fold.greatest, None if fold.sums is None else fold.sums.digits]
    return sum(one.nbytes for one in arrays if one is not None)


def _wide(fold: Fold, rounds: int) -> Fold:
    """The same, with a column for each round."""
    if fold.count.shape[1] == rounds:
        return fold
    sums = None if fold.sums is None else Loose(fold.sums.low, np.repeat(fold.sums.digits, rounds, axis=0))
    odd = None if fold.odd is None else np.repeat(fold.odd, rounds, axis=2)
    least, greatest = (None if one is None else np.repeat(one, rounds, axis=1) for one in (fold.least, fold.greatest))
    return Fold(np.repeat(fold.count, rounds, axis=1), sums, odd, least, greatest)


def _no_sums(folds: Sequence[Fold], cells: int) -> Loose | None:
    """Sums of nothing, with room for the digits of all of these."""
    every = [fold.sums for fold in folds if fold.sums is not None]
    if not every:
        return None
    low = min(one.low for one in every)
    return Loose(low, np.zeros((cells, max(one.low + one.digits.shape[1] for one in every) - low), np.int64))


@compiled
def _add(group: I64, part: I64, total: I64) -> None:
    alike = part.shape[1] == 1
    for i in range(group.size):
        found = total[group[i]]
        if alike:
            for j in range(found.size):
                found[j] += part[i, 0]
        else:
            for j in range(found.size):
                found[j] += part[i, j]


@compiled
def _add_digits(group: I64, part: I64, offset: int, width: int, total: I64, rounds: int) -> None:
    """Add sums of cells, so many rounds each, to those of groups; their digits begin so much further up."""
    for i in range(group.size):
        for j in range(rounds):
            row, found = part[i * width + (0 if width == 1 else j)], total[group[i] * rounds + j]
            for k in range(row.size):
                found[offset + k] += row[k]


@compiled
def _lower(group: I64, part: Values, total: Values) -> None:
    """NaN where there is no value, and anything is less than NaN."""
    alike = part.shape[1] == 1
    for i in range(group.size):
        found = total[group[i]]
        for j in range(found.size):
            value = part[i, 0 if alike else j]
            if value < found[j] or found[j] != found[j]:
                found[j] = value


@compiled
def _raise(group: I64, part: Values, total: Values) -> None:
    """NaN stays once it is there."""
    alike = part.shape[1] == 1
    for i in range(group.size):
        found = total[group[i]]
        for j in range(found.size):
            value = part[i, 0 if alike else j]
            if value > found[j] or value != value:
                found[j] = value
