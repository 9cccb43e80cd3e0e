"""How good an answer is that rests on a share of its input: what QUALITY says.

The three curves go through the published points: of quality 0.7 where 75 % (CONVEX), 30 % (LINEAR) or 3 % (CONCAVE) of
the input was dropped. A table is linear between its points, and from its last one to nothing at all.

A curve is used both ways. ``share`` is the least share that has a quality, so that no work is done for nothing where a
table is flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from punctual.plan.quality import Quality, QualityPoint

LEAST_SHARE = 0.01
"""What a curve keeps of its input at least: below that nothing can be said of an answer."""
FLAT_AT_FIRST = 4.185
"""The power of CONVEX: ``1 - 0.75 ** 4.185`` is 0.7."""
STEEP_AT_FIRST = 11.71
"""The power of CONCAVE: ``0.97 ** 11.71`` is 0.7."""


class QualityCurve(Protocol):
    """Quality by share of the input, both in [0, 1] and one as 1 where the other is."""

    @property
    def least_share(self) -> float:
        """No less of the input is used: the quality of that is the lowest that is acceptable."""
        ...

    def quality(self, share: float) -> float:
        """The quality of an answer that rests on this share of its input."""
        ...

    def share(self, quality: float) -> float:
        """The least share that has this quality; 1 where none has it."""
        ...


@dataclass(frozen=True, slots=True)
class Powers:
    """``quality = 1 - (1 - share ** inner) ** outer``: one of the two is 1."""

    inner: float = 1.0
    outer: float = 1.0
    least_share: float = LEAST_SHARE

    def quality(self, share: float) -> float:
        """
        >>> [round(curve.quality(kept), 3) for curve, kept in ((CONVEX, 0.25), (LINEAR, 0.7), (CONCAVE, 0.97))]
        [0.7, 0.7, 0.7]
        """
        kept = _part(share) ** self.inner
        return float(kept if self.outer == 1.0 else 1.0 - (1.0 - kept) ** self.outer)

    def share(self, quality: float) -> float:
        """
        >>> [round(curve.share(0.7), 2) for curve in (CONVEX, LINEAR, CONCAVE)]
        [0.25, 0.7, 0.97]
        """
        wanted = _part(quality)
        kept = wanted if self.outer == 1.0 else 1.0 - (1.0 - wanted) ** (1.0 / self.outer)
        return float(kept ** (1.0 / self.inner))


CONVEX = Powers(outer=FLAT_AT_FIRST)
LINEAR = Powers()
CONCAVE = Powers(inner=STEEP_AT_FIRST)


@dataclass(frozen=True, slots=True)
class Table:
    """Points in ascending order of their shares; ``table`` makes one."""

    shares: tuple[float, ...]
    qualities: tuple[float, ...]

    @property
    def least_share(self) -> float:
        return self.shares[0]

    def quality(self, share: float) -> float:
        return float(np.interp(_part(share), (0.0, *self.shares), (0.0, *self.qualities)))

    def share(self, quality: float) -> float:
        wanted = _part(quality)
        shares, qualities = (0.0, *self.shares), (0.0, *self.qualities)
        above = int(np.searchsorted(qualities, wanted))
        if above == 0:
            return 0.0
        if above == len(shares):
            return 1.0
        low, high = qualities[above - 1], qualities[above]
        part = (wanted - low) / (high - low)
        return float(shares[above - 1] + part * (shares[above] - shares[above - 1]))


def table(points: Iterable[tuple[float, float]]) -> Table:
    """A curve through points (share, quality), in any order.

    One that goes on to nothing of the input ends where a curve with a name does: of nothing at all nothing can be said.

    Raises
    ------
    ValueError
        What is wrong with them, as a sentence.

    Examples
    --------
    >>> curve = table([(1.0, 1.0), (0.5, 0.9), (0.1, 0.4)])
    >>> round(curve.quality(0.75), 3), round(curve.quality(0.05), 3), round(curve.share(0.9), 3), curve.least_share
    (0.95, 0.2, 0.5, 0.1)
    >>> table([(1.0, 0.9), (0.5, 1.0)])
    Traceback (most recent call last):
    ValueError: quality falls from 1 to 0.9 where the share grows from 50 % to 100 %
    """
    ordered = sorted(points)
    for share, quality in ordered:
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"a share of {_percent(share)} is not between 0 % and 100 %")
        if not 0.0 <= quality <= 1.0:
            raise ValueError(f"a quality of {quality:g} is not between 0 and 1")
    if not ordered or ordered[-1][0] != 1.0:
        raise ValueError("there is no quality for 100 % of the input")
    for (less, worse), (more, better) in pairwise(ordered):
        if less == more:
            raise ValueError(f"there are two qualities for {_percent(less)}")
        if worse > better:
            grows = f"the share grows from {_percent(less)} to {_percent(more)}"
            raise ValueError(f"quality falls from {worse:g} to {better:g} where {grows}")
    if ordered[0][0] == 0.0:
        (_nothing, worst), (share, quality) = ordered[:2]
        part = LEAST_SHARE / share
        ordered[:1] = [(LEAST_SHARE, worst + part * (quality - worst))] if part < 1.0 else []
    shares, qualities = zip(*ordered)
    return Table(tuple(shares), tuple(qualities))


@dataclass(frozen=True, slots=True)
class SeveralInputs:
    """A table with a share for each input: ``of_inputs`` has the shares of each point of the table of their means.

    The mean of the shares is what stands for all of them.
    """

    means: Table
    of_inputs: tuple[tuple[float, ...], ...]

    @property
    def least_share(self) -> float:
        return self.means.least_share

    def quality(self, share: float) -> float:
        return self.means.quality(share)

    def share(self, quality: float) -> float:
        return self.means.share(quality)


CURVES: Mapping[str, QualityCurve] = {"CONVEX": CONVEX, "LINEAR": LINEAR, "CONCAVE": CONCAVE}


def curve_of(quality: Quality) -> QualityCurve:
    """The curve that QUALITY names, or the one through its points."""
    if quality.curve is not None:
        return CURVES[quality.curve]
    points = _with_something(quality.points)
    rising = sorted((sum(point.shares) / len(point.shares), point.quality, point.shares) for point in points)
    means = table((mean, worth) for mean, worth, _shares in rising)
    return SeveralInputs(means, tuple(shares for *_mean, shares in rising)) if quality.inputs else means


def _with_something(points: Sequence[QualityPoint]) -> list[QualityPoint]:
    """Points from good to bad, as far as something of every input is used: of nothing at all nothing can be said.

    A table that goes on to nothing of an input ends where so little of it is used as a curve keeps at least; or at the
    point before, where that has even less.
    """
    found = [point for point in points if min(point.shares) > 0.0]
    if len(found) < len(points):
        last, nothing = found[-1], points[len(found)]
        part = max(LEAST_SHARE / more for more, less in zip(last.shares, nothing.shares) if less == 0.0)
        if part < 1.0:
            shares = (round(less + part * (more - less), 12) for more, less in zip(last.shares, nothing.shares))
            worth = nothing.quality + part * (last.quality - nothing.quality)
            found.append(QualityPoint(worth, tuple(shares)))
    return found


def input_shares(quality: Quality, share: float) -> dict[str, float]:
    """The share of each input, by its name in lower case, that a share of all of them stands for.

    >>> from punctual.plan.quality import QualityPoint
    >>> points = QualityPoint(1.0, (1.0, 1.0)), QualityPoint(0.7, (0.6, 0.3))
    >>> {name: round(part, 2) for name, part in input_shares(Quality(None, points, ("a", "b")), 0.45).items()}
    {'a': 0.6, 'b': 0.3}
    """
    curve = curve_of(quality)
    if not isinstance(curve, SeveralInputs):
        return {}
    means = (0.0, *curve.means.shares)
    columns = zip(*curve.of_inputs)
    return {name: float(np.interp(share, means, (0.0, *column))) for name, column in zip(quality.inputs, columns)}


def _part(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
