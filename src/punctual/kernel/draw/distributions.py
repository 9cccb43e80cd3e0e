"""What an uncertain value may be: one distribution a row, in arrays.

Numbers: :class:`Normal` and :class:`Uniform`. Choices, whose draws are places of values that stand elsewhere, so that
these may be of any type: :class:`Weighted` for DISCRETE, :class:`Among` for EMPIRICAL and NEAREST, :class:`Between` for
INTERPOLATED. How the last two are found is in ``observed.py``, ``in_time.py`` and ``nearest.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.kernel.arrays.ragged import offsets_of
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.philox import plain


@dataclass(frozen=True, slots=True)
class Normal:
    """NORMAL(mean, sd)."""

    mean: F64
    sd: F64

    def take(self, rows: I64) -> Normal:
        return Normal(self.mean[rows], self.sd[rows])

    def faulty(self) -> Bools:
        """Rows whose parameters mean nothing."""
        found: Bools = ~(np.isfinite(self.mean) & np.isfinite(self.sd) & (self.sd >= 0.0))
        return found


@dataclass(frozen=True, slots=True)
class Uniform:
    """UNIFORM(low, high)."""

    low: F64
    high: F64

    def take(self, rows: I64) -> Uniform:
        return Uniform(self.low[rows], self.high[rows])

    def faulty(self) -> Bools:
        """Rows whose parameters mean nothing."""
        found: Bools = ~(np.isfinite(self.low) & np.isfinite(self.high) & (self.low <= self.high))
        return found


@dataclass(frozen=True, slots=True)
class Weighted:
    """DISCRETE(values, weights): place ``offsets[i] <= p < offsets[i + 1]`` has a share of the weight of row i.

    ``cumulative[p]`` is the weight of row i up to and with place p.
    """

    offsets: I64
    cumulative: F64

    @staticmethod
    def of_lists(offsets: I64, weights: F64) -> Weighted:
        """Of the weights of all rows, one list behind the other.

        >>> Weighted.of_lists(np.array([0, 2, 3]), np.array([1.0, 2.0, 5.0])).cumulative.tolist()
        [1.0, 3.0, 5.0]
        """
        return Weighted(offsets, _running(plain(offsets, np.int64), plain(weights, np.float64)))

    @staticmethod
    def faulty(offsets: I64, weights: F64) -> Bools:
        """Rows without any weight, with a negative one or with one that is no number.

        >>> Weighted.faulty(np.array([0, 2, 2, 4, 6]), np.array([1.0, 0.0, 2.0, -1.0, 0.0, 0.0])).tolist()
        [False, True, True, True]
        """
        rows = offsets.size - 1
        row = np.repeat(np.arange(rows), np.diff(offsets))
        wrong = np.bincount(row, ~(np.isfinite(weights) & (weights >= 0.0)), rows) > 0
        found: Bools = wrong | (np.bincount(row, weights > 0.0, rows) == 0)
        return found

    def places(self, rows: I64) -> tuple[I64, I64]:
        """The places of some of the rows, one list behind the other, and where each list begins among them."""
        sizes = np.diff(self.offsets)[rows]
        offsets = offsets_of(sizes)
        return np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], sizes), offsets

    def take(self, rows: I64) -> Weighted:
        """Some of the rows; places count anew, in the lists of those rows."""
        members, offsets = self.places(rows)
        return Weighted(offsets, self.cumulative[members])


@dataclass(frozen=True, slots=True)
class Among:
    """One of ``pool[starts[i]]``, ``pool[starts[i] + 1]``, ... for row i, each as likely as the others.

    Rows may share a stretch of the pool. A row without any (``sizes[i] == 0``) has no value: its place is -1.
    """

    starts: I64
    sizes: I64
    pool: I64

    def take(self, rows: I64) -> Among:
        return Among(self.starts[rows], self.sizes[rows], self.pool)


@dataclass(frozen=True, slots=True)
class Between:
    """Place ``earlier[i]`` with the probability ``share[i]``, else ``later[i]``."""

    earlier: I64
    later: I64
    share: F64

    def take(self, rows: I64) -> Between:
        return Between(self.earlier[rows], self.later[rows], self.share[rows])


Number = Normal | Uniform
Choice = Weighted | Among | Between


@compiled
def _running(offsets: I64, weights: F64) -> F64:
    """Sums within lists, in their order."""
    found = np.empty(weights.size)
    for i in range(offsets.size - 1):
        total = 0.0
        for place in range(offsets[i], offsets[i + 1]):
            total += weights[place]
            found[place] = total
    return found
