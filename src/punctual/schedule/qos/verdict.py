"""What a policy says: how much of their input the queries use that give way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.estimate.quality_curve import QualityCurve

Bools = NDArray[np.bool_]
PARTS = 10_000
"""Shares are whole multiples of one by this, so that a record of a share is exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Either a ``level``, the same quality for all, or the same ``share`` for all; neither: nobody gives way.

    ``late`` are the instants of each open group that will be late whatever is done, where there are any.
    """

    level: float | None = None
    share: float | None = None
    late: tuple[Bools | None, ...] = ()

    def share_of(self, curve: QualityCurve, *, late: bool = False) -> float:
        """What a query uses of its input; a late one no more than it must.

        >>> from punctual.estimate.quality_curve import LINEAR
        >>> Verdict(level=0.70005).share_of(LINEAR), Verdict(level=0.001).share_of(LINEAR), Verdict().share_of(LINEAR)
        (0.7, 0.01, 1.0)
        """
        if late:
            return _whole_parts(0.0, curve)
        if self.level is not None:
            return _whole_parts(curve.share(self.level), curve)
        return 1.0 if self.share is None else _whole_parts(self.share, curve)


def _whole_parts(share: float, curve: QualityCurve) -> float:
    """No more than a share, and no less than what is acceptable."""
    least = int(np.ceil(curve.least_share * PARTS - 1e-6))
    return min(PARTS, max(least, int(share * PARTS + 1e-6))) / PARTS
