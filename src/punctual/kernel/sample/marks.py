"""What a kept row stands for, as one number that travels with it: its *mark*.

A mark is one more group key of whatever is computed over the sample, so that weights are applied to totals and not to
rows, and sums stay exact. Its bits, from the highest:

======== ==== =========================================================================================
group       6  0 to 31: the part of the sample that the row is in, for the jackknife; 32: kept for certain
window      5  which set of rows it was drawn from, where several are drawn from on their own
poisson     1  what a and b are
a          26
b          26  the weight of a row is b / a, or 1 of one that is kept for certain
======== ==== =========================================================================================

*Simple* (poisson 0): b is how many rows the window has besides those kept for certain, and a how many of them are in
the sample. *Poisson* (poisson 1): each row, or each key, was kept with the probability a / b, and nobody knows how many
there were. A mark of a certain row has the a and b of its window as well: where a is less than b, rows like it may be
missing from the sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64, Bools

SHARES = 10_000
"""Shares are multiples of one ten-thousandth."""
GROUPS = 32
"""How many parts a sample has for the jackknife."""
CERTAIN = GROUPS
"""The group of rows that are kept whatever their place is."""
WINDOWS = 32
LEAST = 2
"""A window keeps so many rows of its uncertain part at least: of one row nobody can say how much it varies, and no row
would silently stand for all."""

_BITS = 26
_MOST = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class Strata:
    """Marks taken apart: an entry for each."""

    group: I64
    window: I64
    poisson: Bools
    sampled: I64
    """``a``: rows of the window in the sample, or ten-thousandths."""
    population: I64
    """``b``: rows of the window, or `SHARES`."""

    @property
    def certain(self) -> Bools:
        """Whether rows were kept whatever their place."""
        found: Bools = self.group == CERTAIN
        return found

    @property
    def weight(self) -> F64:
        """How many rows each row stands for."""
        return np.where(self.certain, 1.0, self.population / self.sampled)

    @property
    def thinned(self) -> Bools:
        """Whether the window may have rows that are not in the sample."""
        found: Bools = self.sampled < self.population
        return found

    def take(self, which: I64) -> Strata:
        """Some of the marks."""
        return Strata(
            self.group[which], self.window[which], self.poisson[which], self.sampled[which], self.population[which]
        )


def rounded(share: float) -> float:
    """The share that is used: a multiple of a ten-thousandth, not zero.

    >>> rounded(0.30004), rounded(1e-9), rounded(1.0)
    (0.3, 0.0001, 1.0)
    """
    if not 0.0 <= share <= 1.0:
        raise InternalError(f"a share of {share}")
    return max(1, round(share * SHARES)) / SHARES


def row_marks(places: F64, share: float, certain: Bools, window: int = 0) -> tuple[Bools, I64]:
    """Which rows of a window are kept, and the marks of those.

    Parameters
    ----------
    places : F64
        The place of every row of the window, by row.
    share : float
        Rows below it are kept. Of those that are not certain at least `LEAST`: the ones with the least places.
    certain : Bools
        Which rows are kept whatever their place.
    window : int
        Another number for another window that the same answer is made of.

    Examples
    --------
    >>> places, certain = np.array([0.4, 0.1, 0.8, 0.9, 0.2]), np.array([False, False, False, True, False])
    >>> kept, marks = row_marks(places, 0.5, certain)
    >>> kept.tolist(), strata(marks).weight.round(2).tolist()
    ([True, True, False, True, True], [1.33, 1.33, 1.0, 1.33])
    """
    if share >= 1.0:
        return np.ones(places.size, np.bool_), _packed(np.full(places.size, CERTAIN), window, False, 1, 1)
    uncertain = np.flatnonzero(~certain)
    below = uncertain[places[uncertain] < share]
    if below.size < LEAST:
        below = uncertain[np.argsort(places[uncertain], kind="stable")[:LEAST]]
    kept = certain.copy()
    kept[below] = True
    if uncertain.size == below.size:  # nothing is missing
        return kept, _packed(np.full(int(kept.sum()), CERTAIN), window, False, 1, 1)
    # Groups by rank, not by place: so they have sizes that follow from n alone, and each leaves a simple random sample.
    group = np.full(places.size, CERTAIN)
    group[below[np.argsort(places[below], kind="stable")]] = np.arange(below.size) * GROUPS // below.size
    sampled, population, poisson = below.size, uncertain.size, False
    if population > _MOST:  # too many for the bits: only the share is told, and intervals are a little too wide
        sampled, population, poisson = max(1, round(sampled / population * _MOST)), _MOST, True
    return kept, _packed(group[kept], window, poisson, sampled, population)


def share_marks(places_of_kept: F64, share: float, window: int = 0) -> I64:
    """The marks of rows that were kept because their places are below a share (see `rounded`), by row or by key.

    >>> marks = strata(share_marks(np.array([0.0, 0.1, 0.2499]), 0.25))
    >>> marks.group.tolist(), marks.weight.tolist()
    ([0, 12, 31], [4.0, 4.0, 4.0])
    """
    if share >= 1.0:
        return _packed(np.full(places_of_kept.size, CERTAIN), window, False, 1, 1)
    group = np.minimum((places_of_kept * (GROUPS / share)).astype(np.int64), GROUPS - 1)
    return _packed(group, window, True, round(share * SHARES), SHARES)


def strata(marks: I64) -> Strata:
    """What marks say."""
    bits = marks.view(np.uint64)
    return Strata(
        (bits >> np.uint64(2 * _BITS + 6)).astype(np.int64),
        _field(marks, 2 * _BITS + 1, WINDOWS - 1),
        _field(marks, 2 * _BITS, 1).astype(np.bool_),
        _field(marks, _BITS, _MOST),
        _field(marks, 0, _MOST),
    )


def group_size(sampled: I64, group: I64) -> I64:
    """How many of the sampled rows of a simple sample are in a group.

    >>> group_size(np.array([3, 3, 3, 64]), np.array([0, 1, 10, 31])).tolist()
    [1, 0, 1, 2]
    """
    return _ranks_before(sampled, group + 1) - _ranks_before(sampled, group)


def _ranks_before(sampled: I64, group: I64) -> I64:
    """How many ranks r of so many have ``r * GROUPS // sampled < group``."""
    return -(-group * sampled // GROUPS)


def _field(marks: I64, shift: int, mask: int) -> I64:
    return (marks >> shift) & mask


def _packed(group: I64, window: int, poisson: bool, a: int, b: int) -> I64:
    if not 0 <= window < WINDOWS:
        raise InternalError(f"a window of number {window}")
    low = (window << (2 * _BITS + 1)) | (int(poisson) << (2 * _BITS)) | (a << _BITS) | b
    return ((group.astype(np.uint64) << np.uint64(2 * _BITS + 6)) | np.uint64(low)).view(np.int64)
