"""How long jobs take that answer from rows, besides and by the core time that is expected of them.

Model
-----
A job keeps all cores busy for as long as the core time of its queries says, and takes a latency that is nobody's: its
own part, waiting for the slowest task. Both are measured with every job. The latency is smoothed. What jobs used of
what would be expected of them now is remembered for the last ones, and reckoned with cautiously: nearly all were no
dearer. Only the larger ones of them say anything of a job that may be late: small ones vary more. It is by what is
expected now, and not by what was expected before: what costs have been learned of an error since is not counted a
second time.

Once the job is done its answers are written, row after row, on one core while others stand idle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from punctual.estimate.linear_cost import ALPHA, LinearCost
from punctual.estimate.spent import RowsSpent

GUESSED_US = 50_000.0
FINISH = LinearCost.guessed(20_000.0, rows=2.0)
REMEMBERED = 16
CAUTION = 0.95
LEAST_CAUTION = 1.03
"""No job is known better than this."""


@dataclass(frozen=True, slots=True)
class RowsTook:
    """``jobs`` are the last ones, by used and expected core time; ``finish`` is how long writing answers takes."""

    latency_us: float = GUESSED_US
    jobs: tuple[tuple[float, float], ...] = ()
    finish: LinearCost = FINISH

    def after(self, spent: RowsSpent, took_us: float, cores: float) -> RowsTook:
        """The same with one more job.

        >>> job = RowsTook().after(RowsSpent(1.2e6, 1e6), 0.7e6, 2.0)
        >>> round(job.latency_us), round(job.pace, 3)
        (100000, 1.236)
        """
        finish = self.finish
        if spent.finish_us > 0.0:
            finish = finish.after({"rows": spent.answer_rows}, spent.finish_us)
        if spent.expected_us <= 0.0 or spent.used_us <= 0.0 or not spent.usual:
            return replace(self, finish=finish)
        latency = max(0.0, took_us - spent.used_us / cores)
        if self.jobs:
            latency = (1 - ALPHA) * self.latency_us + ALPHA * latency
        return RowsTook(latency, (*self.jobs, (spent.used_us, spent.expected_us))[-REMEMBERED:], finish)

    @property
    def row_us(self) -> float:
        """How long it takes to write a row of an answer.

        >>> took = RowsTook()
        >>> for rows in (20, 40_000, 30, 90_000) * 5:
        ...     took = took.after(RowsSpent(answer_rows=rows, finish_us=9_000 + 3 * rows), 0.0, 2.0)
        >>> round(took.row_us, 1)
        3.0
        """
        return self.finish.each("rows")

    @property
    def pace(self) -> float:
        """By what expected core time is multiplied to be reckoned with."""
        if not self.jobs:
            return LEAST_CAUTION
        large = max(expected for _used, expected in self.jobs) / 2
        ratios = [used / expected for used, expected in self.jobs if expected >= large]
        usual, high = np.quantile(ratios, (0.5, CAUTION))
        return float(max(LEAST_CAUTION * usual, high))
