"""What a pass of a live engine costs: a fixed part and a part for each unit of work in it, learned from past passes.

Model
-----
``seconds = fixed + slope * work``, fitted by least squares over past passes whose weight halves every
:data:`HALF_LIFE` passes. A prior of a few imagined passes keeps the fit sane before there is anything to learn, and
where all passes are alike; both numbers are never negative.

The fit is a value: :meth:`PassCost.after` gives the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

HALF_LIFE = 20
_KEEP = 0.5 ** (1 / HALF_LIFE)
FIXED_US = 60_000.0
SLOPE_US = 20.0
"""Before anything was measured: a small Spark job, and an answer that is read off panes, written and logged."""
_PRIOR_WORK = (0.0, 1_000.0)


@dataclass(frozen=True, slots=True)
class PassCost:
    """Weighted sums of past passes, by work x and microseconds y; the prior's at first."""

    count: float = float(len(_PRIOR_WORK))
    x: float = sum(_PRIOR_WORK)
    y: float = sum(FIXED_US + SLOPE_US * x for x in _PRIOR_WORK)
    xx: float = sum(x * x for x in _PRIOR_WORK)
    xy: float = sum(x * (FIXED_US + SLOPE_US * x) for x in _PRIOR_WORK)

    def after(self, work: float, us: float) -> PassCost:
        """The same with one more pass.

        >>> cost = PassCost()
        >>> for work in [10, 400, 30, 250] * 40:
        ...     cost = cost.after(work, 5_000 + 7 * work)
        >>> round(cost.fixed_us, -2), round(cost.slope_us)
        (5000.0, 7)
        """
        return PassCost(
            _KEEP * self.count + 1,
            _KEEP * self.x + work,
            _KEEP * self.y + us,
            _KEEP * self.xx + work * work,
            _KEEP * self.xy + work * us,
        )

    @property
    def slope_us(self) -> float:
        """Microseconds a unit of work."""
        spread = self.count * self.xx - self.x * self.x
        if spread <= 1e-9 * self.xx * self.count:
            return 0.0
        slope = max(0.0, (self.count * self.xy - self.x * self.y) / spread)
        return min(slope, self.y / self.x)  # a fixed part below zero would promise too much

    @property
    def fixed_us(self) -> float:
        """Microseconds of a pass without work."""
        return max(0.0, (self.y - self.slope_us * self.x) / self.count)
