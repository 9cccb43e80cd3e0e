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
