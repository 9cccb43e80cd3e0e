"""How much of a ranking's tail is cut when time is short.

A top-k is never answered from a sample of rows: rivals that are lost make every other row look better. What may give
way is the tail: a walk down the ranking ends once fewer than k better rows exist with a probability of at most eps, and
no Pr_k moves by more than eps. A looser eps ends it sooner.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.estimate.quality_curve import LINEAR, QualityCurve
from punctual.kinds.ranking.reach import mass_read

LADDER = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2)
"""By how much a probability may move, from hardly to visibly."""


@dataclass(frozen=True, slots=True)
class TailCut:
    """The knob of a ranking that needs so many ranks of every row; its setting is eps.

    >>> TailCut(1).setting(0.9), TailCut(1).setting(0.0)
    (1e-09, 0.01)
    """

    ranks: int

    @property
    def curve(self) -> QualityCurve:
        """How answers suffer, where nobody says it."""
        return LINEAR

    def share(self, setting: float) -> float:
        """All of the work: what else is done for a ranking does not become less."""
        return 1.0

    def setting(self, share: float) -> float:
        """The least eps of :data:`LADDER` that leaves at most this share of a walk, the loosest where none does."""
        whole = mass_read(self.ranks)
        return next((eps for eps in LADDER if mass_read(self.ranks, eps) <= share * whole), LADDER[-1])
