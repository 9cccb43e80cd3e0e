"""What the worlds say: EXPECTED, PROBABILITY and INTERVAL, with how far rounds may be off.

Arrays are result rows by rounds. A result counts in the rounds in which it is *there*: its row exists in that world and
the value is not NULL. They are computed from all rounds at once, in their order, so they follow from the values alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.philox import plain
from punctual.kernel.sample.quantiles import CONFIDENCE, student_t

_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@dataclass(frozen=True, slots=True)
class Expected:
    """The mean over ``worlds`` of each result, NaN over none, and the ends of its 95 % interval, NaN below two.

    ``sd`` is how much the result varies between worlds.
    """

    mean: F64
    low: F64
    high: F64
    sd: F64
    worlds: I64


@dataclass(frozen=True, slots=True)
class Probability:
    """The share of ``worlds`` in which something holds, NaN of none, and Wilson's 95 % interval around it."""

    share: F64
    low: F64
    high: F64
    worlds: I64


@dataclass(frozen=True, slots=True)
class Interval:
    """The central part of each result over worlds, NaN of none, and ``level``: how much of the law is inside.

    The level is what was asked for or a little more, and less where there are too few worlds for it.
    """

    low: F64
    high: F64
    level: F64


def expected(values: F64, there: Bools | None = None) -> Expected:
    """EXPECTED(x), and its Monte Carlo error: Student's interval, with Hall's correction for skewness.

    Values with a long tail to the right are more often too low on average than too high, so their interval reaches
    farther to the right (P. Hall, On the removal of skewness by transformation, 1992).

    >>> found = expected(np.array([[1.0, 2.0, 3.0], [5.0, 7.0, 0.0]]), np.array([[True] * 3, [True, True, False]]))
    >>> found.mean.tolist(), found.sd.round(3).tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([2.0, 6.0], [1.0, 1.414], [-0.48, -6.71], [4.48, 18.71])
    >>> skewed = expected(np.array([[0.0] * 8 + [5.0, 10.0]]))
    >>> skewed.mean.tolist(), skewed.low.round(2).tolist(), skewed.high.round(2).tolist()
    ([1.5], [-0.2], [10.77])
    """
    counted = np.ones(values.shape, np.bool_) if there is None else there
    counted = plain(counted, np.bool_)
    mean, squares, cubes = _mean_and_powers(plain(values, np.float64), counted)
    worlds = how_often(counted)
    n = np.maximum(worlds, 1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        sd = np.sqrt(np.where(worlds > 1, squares, np.nan) / np.maximum(worlds - 1, 1))
        error, reach = sd / np.sqrt(n), student_t(worlds - 1)
        lean = np.where(squares > 0.0, cubes / squares**1.5, 0.0)  # skewness over the root of n
        low, high = mean - error * _unskewed(reach, lean), mean - error * _unskewed(-reach, lean)
    return Expected(mean, low, high, sd, worlds)


def _unskewed(reach: F64, lean: F64) -> F64:
    """How many standard errors a mean is off, of one that is off by ``reach`` once its skewness was transformed away.

    The transformation is ``t + a t**2 / 3 + a**2 t**3 / 27 + a / 6``, with a the skewness over the root of n.
    """
    some = np.abs(lean) > 1e-6
    a = np.where(some, lean, 1.0)
    return np.where(some, (np.cbrt(1.0 + a * (reach - a / 6)) - 1.0) * 3.0 / a, reach)


def rounds_for(sd: float, within: float, confidence: float = CONFIDENCE) -> int:
    """How many rounds a mean needs for a half-width: at least 2.

    >>> rounds_for(10.0, 1.0), rounds_for(0.0, 1.0), rounds_for(10.0, 1.0, 0.99)
    (385, 2, 664)
    """
    if not (within > 0.0 and 0.0 < confidence < 1.0 and sd >= 0.0):
        raise InternalError(f"rounds for a deviation of {sd} within {within} at {confidence}")
    return max(2, math.ceil((NormalDist().inv_cdf(0.5 + confidence / 2) * sd / within) ** 2))


def probability(holds: Bools, there: Bools | None = None) -> Probability:
    """PROBABILITY(condition): where ``holds``, of the worlds in which the row is there.

    A condition and its opposite add up to 1.

    >>> found = probability(np.array([[True] * 9 + [False]]))
    >>> found.share.tolist(), found.low.round(3).tolist(), found.high.round(3).tolist()
    ([0.9], [0.596], [0.982])
    """
    counted = np.ones(holds.shape, np.bool_) if there is None else there
    return of_counts(how_often(holds if there is None else holds & there), how_often(counted))


def how_often(there: Bools) -> I64:
    """In how many rounds each result is there.

    >>> how_often(np.array([[True, False, True], [False] * 3])).tolist()
    [2, 0]
    """
    return _how_often(plain(there, np.bool_))


def of_counts(held: I64, worlds: I64) -> Probability:
    """The same where it is known in how many worlds it held."""
    n = np.where(worlds > 0, worlds, np.nan)
    share = held / n
    centre = (held + _Z**2 / 2) / (n + _Z**2)
    half = _Z / (n + _Z**2) * np.sqrt(held * (1.0 - share) + _Z**2 / 4)
    low = np.where(held == 0, share, np.maximum(centre - half, 0.0))
    high = np.where(held == worlds, share, np.minimum(centre + half, 1.0))
    return Probability(share, low, high, worlds)


def interval(values: F64, level: float, there: Bools | None = None) -> Interval:
    """INTERVAL(x, level): the k-th least and the k-th greatest value, with k as large as the level allows.

    Between them lies ``(n + 1 - 2 k) / (n + 1)`` of the law on average, whatever the law is. So 95 % needs 39 worlds.

    >>> found = interval(np.arange(1.0, 100.0).reshape(1, 99), 0.9)
    >>> found.low.tolist(), found.high.tolist(), found.level.tolist()
    ([5.0], [95.0], [0.9])
    >>> interval(np.arange(19.0).reshape(1, 19), 0.95).level.tolist()
    [0.9]
    """
    if not 0.0 < level < 1.0:
        raise InternalError(f"an interval of level {level}")
    counted = np.ones(values.shape, np.bool_) if there is None else there
    worlds = how_often(counted)
    if not worlds.any():
        nothing = np.full(worlds.size, np.nan)
        return Interval(nothing, nothing, np.zeros(worlds.size))
    ordered = np.sort(np.where(counted, values, np.nan), axis=1)  # NaN last
    k = np.maximum(1, np.floor((1.0 - level) / 2 * (worlds + 1) + 1e-9).astype(np.int64))
    rows = np.arange(worlds.size)
    level_reached = np.where(worlds > 0, (worlds + 1 - 2 * k) / (worlds + 1), 0.0)
    return Interval(ordered[rows, k - 1], ordered[rows, np.maximum(worlds - k, 0)], level_reached)


@compiled
def _how_often(there: Bools) -> I64:
    found = np.zeros(there.shape[0], np.int64)
    for i in range(there.shape[0]):
        total = 0
        for j in range(there.shape[1]):
            total += there[i, j]
        found[i] = total
    return found


@compiled
def _mean_and_powers(values: F64, there: Bools) -> tuple[F64, F64, F64]:
    """The mean of each row's values, NaN of none, and the sums of squares and cubes of distances from it."""
    mean, squares, cubes = np.full(values.shape[0], np.nan), np.zeros(values.shape[0]), np.zeros(values.shape[0])
    for i in range(values.shape[0]):
        total, lost, count = 0.0, 0.0, 0
        for j in range(values.shape[1]):
            if there[i, j]:
                value = values[i, j]
                added = total + value
                lost += (total - added) + value if abs(total) >= abs(value) else (value - added) + total
                total = added
                count += 1
        if count == 0:
            continue
        mean[i] = (total + lost if np.isfinite(total) else total) / count
        for j in range(values.shape[1]):
            if there[i, j]:
                away = values[i, j] - mean[i]
                squares[i] += away * away
                cubes[i] += away * away * away
    return mean, squares, cubes
