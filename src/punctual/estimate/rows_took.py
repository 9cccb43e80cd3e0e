"""How long jobs take that answer from rows, besides and by the core time that is expected of them.

Model
-----
``T = latency + stretch * C / cores``. The latency is a job's own, whatever is in it. The stretch is how much longer the
core time ``C`` of its queries takes than if all cores were busy with it: tasks wait for the slowest of them, and for
Python. Both are learned with every job, small ones and large ones. How long the last jobs took by what would be
expected of them now is remembered, and reckoned with cautiously: nearly all were no longer. Only the larger ones of
them say anything of a job that may be late: small ones vary more. It is by what is expected now, and not by what was
expected before: what costs have been learned of an error since is not counted a second time.

Once the job is done its answers are written, row after row, on one core while others stand idle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.spent import RowsSpent

TIME = LinearCost.guessed(50_000.0, work=1.0)
FINISH = LinearCost.guessed(20_000.0, rows=2.0)
REMEMBERED = 16
CAUTION = 1.645
"""So many deviations above what is usual: one in twenty takes longer. There are too few jobs to count these."""
FAR_OFF = 4.5
"""What is further off than so many times the median error counts as this: three deviations, were it normal. The first
jobs of a process are slow, and so is one in which memory is collected."""
LEAST_CAUTION = 1.03
"""No job is known better than this."""


@dataclass(frozen=True, slots=True)
class RowsTook:
    """``jobs`` are the last ones: how long each took, and how long its expected core time is on all cores.

    ``time`` is how long a job takes by that, ``finish`` how long writing answers takes.
    """

    time: LinearCost = TIME
    jobs: tuple[tuple[float, float], ...] = ()
    finish: LinearCost = FINISH

    def after(self, spent: RowsSpent, took_us: float, cores: float) -> RowsTook:
        """The same with one more job.

        >>> took = RowsTook()
        >>> for work in (1e6, 8e6, 5e6, 3e6) * 5:
        ...     took = took.after(RowsSpent(work, work), 100_000 + 1.4 * work / 2, 2.0)
        >>> round(took.latency_us, -4), round(took.pace, 2)
        (80000.0, 1.45)
        """
        finish = self.finish
        if spent.finish_us > 0.0:
            finish = finish.after({"rows": spent.answer_rows}, spent.finish_us)
        if spent.expected_us <= 0.0 or spent.used_us <= 0.0 or not spent.usual:
            return replace(self, finish=finish)
        work_us = spent.expected_us / cores
        time = self.time.after({"work": work_us}, took_us)
        return RowsTook(time, (*self.jobs, (took_us, work_us))[-REMEMBERED:], finish)

    @property
    def latency_us(self) -> float:
        """How long a job takes besides what is in it."""
        return self.time.fixed_us

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
        large = max(work for _took, work in self.jobs) / 2
        ratios = [max(0.0, took - self.latency_us) / work for took, work in self.jobs if work >= large]
        usual = float(np.median(ratios))
        far = FAR_OFF * float(np.median(np.abs(np.array(ratios) - usual)))
        return max(LEAST_CAUTION * usual, usual + CAUTION * float(np.std(np.clip(ratios, usual - far, usual + far))))
