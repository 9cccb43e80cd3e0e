"""Mean and variance of each row's distribution, what closed forms are made of, and its third moment.

The third says how much rests on values that are seldom drawn.
"""

from __future__ import annotations

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.distributions import Among, Between, Choice, Normal, Number, Uniform
from punctual.kernel.draw.philox import plain


def moments(distribution: Number | Choice, values: F64 | None = None) -> tuple[F64, F64]:
    """Mean and variance of each row; of a choice, over the values that stand at its places. NaN of nothing.

    >>> mean, variance = moments(Between(np.array([0]), np.array([1]), np.array([0.75])), np.array([2.0, 6.0]))
    >>> mean.tolist(), variance.tolist()
    ([3.0], [3.0])
    """
    mean, variance, _third = three_moments(distribution, values)
    return mean, variance


def three_moments(distribution: Number | Choice, values: F64 | None = None) -> tuple[F64, F64, F64]:
    """Mean, variance and third central moment of each row.

    >>> three_moments(Between(np.array([0]), np.array([1]), np.array([0.75])), np.array([2.0, 6.0]))[2].tolist()
    [6.0]
    """
    if isinstance(distribution, Normal):
        return distribution.mean.astype(np.float64), distribution.sd**2, np.zeros(distribution.sd.size)
    if isinstance(distribution, Uniform):
        half = distribution.high / 2 - distribution.low / 2
        return distribution.low / 2 + distribution.high / 2, half * half / 3, np.zeros(half.size)
    if values is None:
        raise InternalError("moments of a choice without values")
    if isinstance(distribution, Between):
        one, other = values[distribution.earlier], values[distribution.later]
        share, apart = distribution.share, one - other
        spread = share * (1.0 - share) * apart**2
        return share * one + (1.0 - share) * other, spread, spread * (1.0 - 2.0 * share) * apart
    if isinstance(distribution, Among):
        pairs = np.column_stack([distribution.starts, distribution.sizes])
        different, which = np.unique(pairs, axis=0, return_inverse=True)  # many rows share a stretch
        starts, sizes = np.ascontiguousarray(different[:, 0]), np.ascontiguousarray(different[:, 1])
        mean, variance, third = _of_lists(starts, starts + sizes, np.zeros(0), values[distribution.pool])
        return mean[which.ravel()], variance[which.ravel()], third[which.ravel()]
    starts, ends = (plain(side, np.int64) for side in (distribution.offsets[:-1], distribution.offsets[1:]))
    return _of_lists(starts, ends, distribution.cumulative, plain(values, np.float64))


@compiled
def _of_lists(starts: I64, ends: I64, cumulative: F64, values: F64) -> tuple[F64, F64, F64]:
    """Mean and central moments of the values of each list, by cumulative weights, or all alike where there are none."""
    mean, variance, third = np.full(starts.size, np.nan), np.full(starts.size, np.nan), np.full(starts.size, np.nan)
    for i in range(starts.size):
        if starts[i] == ends[i]:
            continue
        middle, spread, lean, weight = 0.0, 0.0, 0.0, 1.0
        total = cumulative[ends[i] - 1] if cumulative.size else float(ends[i] - starts[i])
        for p in range(starts[i], ends[i]):
            if cumulative.size:
                weight = cumulative[p] - (cumulative[p - 1] if p > starts[i] else 0.0)
            middle += weight / total * values[p]
        for p in range(starts[i], ends[i]):
            if cumulative.size:
                weight = cumulative[p] - (cumulative[p - 1] if p > starts[i] else 0.0)
            away = values[p] - middle
            spread += weight / total * away * away
            lean += weight / total * away * away * away
        mean[i], variance[i], third[i] = middle, spread, lean
    return mean, variance, third
