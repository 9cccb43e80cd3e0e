"""How long jobs take that answer from rows, besides and by the core time that is expected of them.

Model
-----
A job keeps all cores busy for as long as the core time of its queries says, and takes a latency that is nobody's: its
own part, waiting for the slowest task. Both are measured with every job. The latency is smoothed. What jobs used of
what would be expected of them now is remembered for the last ones, and reckoned with cautiously: nine in ten were no
dearer. By what is expected now, and not by what was expected before: what costs have been learned of an error since is
not counted a second time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.estimate.linear_cost import ALPHA
from punctual.estimate.spent import RowsSpent

GUESSED_US = 50_000.0
REMEMBERED = 10
CAUTION = 0.9
LEAST_CAUTION = 1.03
"""No job is known better than this."""


@dataclass(frozen=True, slots=True)
class RowsTook:
    """``ratios`` are used by expected core time, the last one last."""

    latency_us: float = GUESSED_US
    ratios: tuple[float, ...] = ()

    def after(self, spent: RowsSpent, took_us: float, cores: float) -> RowsTook:
        """The same with one more job.

        >>> job = RowsTook().after(RowsSpent(1.2e6, 1e6), 0.7e6, 2.0)
        >>> round(job.latency_us), round(job.pace, 3)
        (100000, 1.236)
        """
        if spent.expected_us <= 0.0 or spent.used_us <= 0.0 or not spent.usual:
            return self
        latency = max(0.0, took_us - spent.used_us / cores)
        if self.ratios:
            latency = (1 - ALPHA) * self.latency_us + ALPHA * latency
        return RowsTook(latency, (*self.ratios, spent.used_us / spent.expected_us)[-REMEMBERED:])

    @property
    def pace(self) -> float:
        """By what expected core time is multiplied to be reckoned with."""
        if not self.ratios:
            return LEAST_CAUTION
        usual, high = np.quantile(self.ratios, (0.5, CAUTION))
        return float(max(LEAST_CAUTION * usual, high))
