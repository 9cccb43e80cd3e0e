"""What executions and passes cost, as far as that is known.

Model
-----
A pass takes a fixed time (:class:`~punctual.estimate.pass_cost.PassCost`), time for what is answered from panes, and
one job for what is answered from rows. Of the job the core time is expected (``executions``); how long it takes on the
cores that there are was learned from past jobs: a latency that is no core time, a pace by the expected core time, and
the time to write the rows of answers, in which only one core works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.rows_took import RowsTook
from punctual.schedule.cohorts import Cohort


@dataclass(frozen=True, slots=True)
class Prices:
    """``executions`` are by query; ``panes`` and ``rows`` say how long things take on so many ``cores``."""

    executions: Mapping[str, ExecutionCost] = field(default_factory=dict)
    panes: PassCost = field(default_factory=PassCost)
    rows: RowsTook = field(default_factory=RowsTook)
    cores: float = 1.0

    def expected(self, cohort: Cohort) -> ExecutionCost | None:
        """Core time of an execution from rows; None where it is answered from panes, or nothing is known of it."""
        if cohort.queries[0] not in self.executions:  # queries that are answered from panes may be many
            return None
        known = [self.executions.get(query) for query in cohort.queries]
        several = [one for one in known if one is not None]
        if len(several) < len(known):
            return None
        return ExecutionCost(*map(sum, zip(*several)))

    def of(self, cohort: Cohort) -> ExecutionCost:
        """Core time that an execution takes up: what it keeps idle counts as well."""
        known = self.expected(cohort)
        if known is not None:
            pace, finish_us = self.rows.pace, self.cores * self.rows.row_us * known.rows
            return ExecutionCost(
                pace * known.fixed_us + self.cores * known.alone_fixed_us,
                pace * known.work_us + finish_us + self.cores * known.alone_work_us,
            )
        return ExecutionCost(0.0, self.cores * self.panes.slope_us * (cohort.shared + cohort.own))

    def latency_us(self, *, rows: bool) -> float:
        """How long a pass takes besides what is in it."""
        return self.panes.fixed_us + (self.rows.latency_us if rows else 0.0)
