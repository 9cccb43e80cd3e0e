"""What QUALITY says: how good an answer is that rests on a share of its input.

Either the name of a curve, or a table of points. Numbers are made of it in :mod:`punctual.estimate.quality_curve`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CurveName = Literal["CONVEX", "LINEAR", "CONCAVE"]


@dataclass(frozen=True, slots=True)
class QualityPoint:
    """An answer has this quality when it rests on these shares of its inputs, in the order of ``Quality.inputs``."""

    quality: float
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """A curve, or else points from good to bad.

    ``inputs`` are the names that FROM gives to the inputs, in lower case, where each has shares of its own; without
    them a share is that of every input.
    """

    curve: CurveName | None = None
    points: tuple[QualityPoint, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def by_key(self) -> Quality:
        """The same where the samples of all inputs are drawn by one key.

        Of such samples the smallest is left, so a share is the least of those of its point.

        >>> points = QualityPoint(1.0, (1.0, 1.0)), QualityPoint(0.7, (0.6, 0.3))
        >>> [(point.quality, *point.shares) for point in Quality(None, points, ("a", "b")).by_key.points]
        [(1.0, 1.0), (0.7, 0.3)]
        """
        if not self.inputs:
            return self
        best: dict[float, float] = {}
        for point in self.points:
            best.setdefault(min(point.shares), point.quality)
        return Quality(points=tuple(QualityPoint(worth, (share,)) for share, worth in best.items()))
