"""What an answer over uncertain rows is: indexes into the input, best first, and what each is worth.

Equal values are in rank order. Values that differ in their last digits only are equal: they come from sums in
different orders, and an answer must not depend on that. So values are compared at 40 bits, and where rounding to these
has put two that differ in their last digits on different sides, they are equal nevertheless (``NOISE``). A value
reaches a threshold, or stays within a margin, also where it is less by ``HAIR``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.rows import F64, I64, UncertainRows

COMPARED_BITS = 40
SPARE_BITS = 53 - COMPARED_BITS
HALF = 1 << (SPARE_BITS - 1)
HIGHEST = (1 << (63 - SPARE_BITS)) - 1
PLACES = (1 << SPARE_BITS) - 1
NOISE = 1e-13
"""Neighbours that differ by less, relatively, are equal."""
HAIR = 2.0**-COMPARED_BITS
RESIDUE = 1e-15


@dataclass(frozen=True, slots=True)
class Ranked:
    """Places of rows in the input, best first, and the value of each: a probability, an expected rank or a score."""

    index: I64
    value: F64


def best(rows: UncertainRows, values: F64, k: int | None, *, ascending: bool = False) -> Ranked:
    """The first k rows by the size of their values (all of them for None).

    ``values`` are those of the first rows in rank order. Ascending: the least first, and none is below 0; else the
    largest absolute ones first, and none of value 0.
    """
    kept = np.arange(values.size) if ascending else np.flatnonzero(values)
    chosen = kept[(least_first(values) if ascending else largest_first(np.abs(values[kept])))[:k]]
    return Ranked(rows.position[chosen], values[chosen])


def largest_first(sizes: F64) -> I64:
    """Places by size, equal ones in their order.

    >>> largest_first(np.array([0.3, 0.5, 0.1 + 0.2])).tolist()
    [1, 0, 2]
    """
    return _in_order(sizes, HIGHEST)


def least_first(sizes: F64) -> I64:
    """The same from the least one on.

    >>> least_first(np.array([0.1 + 0.2, 0.5, 0.3])).tolist()
    [0, 2, 1]
    """
    return _in_order(sizes, 0)


def reaches(values: F64, least: float) -> NDArray[np.bool_]:
    """Which values are at least so large, but for their last digits.

    >>> reaches(np.array([0.3, 0.29]), 0.1 + 0.2).tolist()
    [True, False]
    """
    return np.asarray(values >= least * (1.0 - HAIR))


def without_residue(values: F64, prob: F64, weights: F64) -> F64:
    """Values of rows, with 0 for what terms of both signs leave over when they cancel.

    What is left is a rounding of terms that are no larger than a row's probability times the largest weight.

    >>> without_residue(np.array([1e-17, 1e-17]), np.array([0.5, 1e-16]), np.array([1.0, -1.0])).tolist()
    [0.0, 1e-17]
    """
    if (weights >= 0).all():
        return values
    return np.where(np.abs(values) <= RESIDUE * np.abs(weights).max() * prob, 0.0, values)


def _in_order(sizes: F64, flip: int) -> I64:
    """Places by rounded size, ascending, or descending for all bits set in ``flip``.

    Rounding leaves 13 bits of each size, enough to carry its place through an unstable sort: half the time of a stable
    one.
    """
    keys, order = _keys(sizes.view(np.int64), flip), None
    if sizes.size > PLACES:
        keys >>= SPARE_BITS
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    else:
        keys.sort()
        order = keys & PLACES
        keys >>= SPARE_BITS
    return _with_ties(sizes, keys, order) if _has_neighbours(keys) else order


@compiled
def _keys(bits: I64, flip: int) -> I64:
    """Sizes rounded, in the upper bits; in the lower ones the place of each, as far as they go."""
    keys = np.empty(bits.size, np.int64)
    for place in range(bits.size):
        here = bits[place]
        rounded = (here + (HALF - 1) + ((here >> SPARE_BITS) & 1)) >> SPARE_BITS  # half to even
        keys[place] = ((rounded ^ flip) << SPARE_BITS) | (place & PLACES)
    return keys


@compiled
def _has_neighbours(keys: I64) -> bool:
    """Whether any two in sorted order differ by one unit: then rounding may have parted what is equal."""
    found = False
    for at in range(1, keys.size):
        found |= keys[at] - keys[at - 1] == 1
    return found


def _with_ties(sizes: F64, keys: I64, order: I64) -> I64:
    """The order with groups of rounded sizes made one where they are neighbours and their nearest members equal."""
    starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 2))
    least, most = np.minimum.reduceat(sizes[order], starts), np.maximum.reduceat(sizes[order], starts)
    gap = np.maximum(least[1:], least[:-1]) - np.minimum(most[1:], most[:-1])
    tied = (np.diff(keys[starts]) == 1) & (gap < NOISE * np.maximum(least[1:], least[:-1]))
    group = np.repeat(np.cumsum(np.append(False, ~tied)), np.diff(np.append(starts, keys.size)))
    return order[np.lexsort((order, group))]
