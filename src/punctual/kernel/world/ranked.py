"""What an answer over uncertain rows is: indexes into the input, best first, and what each is worth.

Equal values are in rank order. Values that differ in their last digits only are equal: they come from sums in
different orders, and an answer must not depend on that. So values are compared at 40 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.rows import F64, I64, UncertainRows, WorldError

COMPARED_BITS = 40
SPARE_BITS = 53 - COMPARED_BITS
HALF = 1 << (SPARE_BITS - 1)
HIGHEST = (1 << (63 - SPARE_BITS)) - 1
RESIDUE = 1e-15


@dataclass(frozen=True, slots=True)
class Ranked:
    """Places of rows in the input, best first, and the value of each: a probability, an expected rank or a score."""

    index: I64
    value: F64


def best(
    rows: UncertainRows, values: F64, k: int | None, *, ascending: bool = False, at_least: float | None = None
) -> Ranked:
    """The first k rows by the size of their values (all of them for None).

    ``values`` are those of the first rows in rank order. Ascending: the least first; else the largest absolute ones
    first, and none of value 0. ``at_least`` keeps values from it on, again without their last digits.
    """
    compared = settled(values if ascending else np.abs(values))
    if ascending:
        kept = np.arange(values.size)
    elif at_least is None:
        kept = np.flatnonzero(compared)
    else:
        kept = np.flatnonzero(compared >= settled(np.array([at_least])))
    order = (np.argsort(compared[kept], kind="stable") if ascending else largest_first(np.abs(values[kept])))[:k]
    chosen = kept[order]
    return Ranked(rows.position[chosen], values[chosen])


def largest_first(sizes: F64) -> I64:
    """Places by size, equal ones in their order.

    Sizes are compared at 40 bits. That leaves 13 bits of each, enough to carry its place through an unstable sort: half
    the time of a stable one.

    >>> largest_first(np.array([0.3, 0.5, 0.1 + 0.2])).tolist()
    [1, 0, 2]
    """
    if sizes.size > 1 << SPARE_BITS:
        return np.argsort(_rounded_down_from(HIGHEST, sizes.view(np.int64)) >> SPARE_BITS, kind="stable")
    keys = _rounded_down_from(HIGHEST, sizes.view(np.int64))
    keys.sort()
    return keys & ((1 << SPARE_BITS) - 1)


@compiled
def _rounded_down_from(highest: int, bits: I64) -> I64:
    """The larger a size the less its key, in the upper bits; in the lower ones its place, as far as they go."""
    keys = np.empty(bits.size, np.int64)
    for place in range(bits.size):
        here = bits[place]
        rounded = (here + (HALF - 1) + ((here >> SPARE_BITS) & 1)) >> SPARE_BITS  # half to even
        keys[place] = ((highest - rounded) << SPARE_BITS) | (place & ((1 << SPARE_BITS) - 1))
    return keys


def settled(values: F64) -> F64:
    """Values without the digits that depend on the order of additions.

    >>> bool(settled(np.array([0.1 + 0.2])) == settled(np.array([0.3])))
    True
    """
    digits, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(digits, COMPARED_BITS)), exponent - COMPARED_BITS))


def without_residue(values: F64, weights: F64) -> F64:
    """Values, with 0 for what terms of both signs leave over when they cancel."""
    if (weights >= 0).all():
        return values
    return np.where(np.abs(values) <= RESIDUE * np.abs(weights).max(), 0.0, values)


def checked_threshold(threshold: float) -> float:
    """A threshold in (0, 1]."""
    if not 0 < threshold <= 1:
        raise WorldError("world.bad-threshold", f"the threshold is {threshold}; it is above 0 and at most 1")
    return float(threshold)


def checked_weights(weights: Sequence[float] | F64) -> F64:
    """At least one weight, all of them finite."""
    own = np.asarray(weights, dtype=np.float64)
    if own.ndim != 1 or not own.size or not np.isfinite(own).all():
        raise WorldError("world.bad-weights", "weights are at least one finite number, the first for rank 1")
    return own
