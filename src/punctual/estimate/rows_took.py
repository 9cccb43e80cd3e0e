"""How long jobs take that answer from rows, besides and by the core time that is expected of them.

Model
-----
A job keeps all cores busy for as long as its core time says, and takes a latency that is nobody's: planning, waiting
for the slowest task. Both are measured with every job. The latency is smoothed. What jobs used of what was expected is
remembered for the last ones, and reckoned with cautiously: nine in ten were no dearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.estimate.linear_cost import ALPHA

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

    def after(self, expected_us: float, used_us: float, took_us: float, cores: float) -> RowsTook:
        """The same with one more job: what was expected and used is core time.

        >>> job = RowsTook().after(1e6, 1.2e6, 0.7e6, 2.0)
        >>> round(job.latency_us), round(job.pace, 3)
        (100000, 1.236)
        """
        if expected_us <= 0.0 or used_us <= 0.0:
            return self
        latency = max(0.0, took_us - used_us / cores)
        if self.ratios:
            latency = (1 - ALPHA) * self.latency_us + ALPHA * latency
        return RowsTook(latency, (*self.ratios, used_us / expected_us)[-REMEMBERED:])

    @property
    def pace(self) -> float:
        """By what expected core time is multiplied to be reckoned with."""
        if not self.ratios:
            return LEAST_CAUTION
        usual, high = np.quantile(self.ratios, (0.5, CAUTION))
        return float(max(LEAST_CAUTION * usual, high))
