"""Rows that Spark makes of windows before rounds are drawn for them: joins, and conditions that kernels do not know.

All that are made ready together are one job.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.engine.answers.read_here import of_tables
from punctual.engine.answers.row_rounds import WorkBounds, statement_work
from punctual.engine.held.holders import Holders
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job_group import JobGroup
from punctual.runtime.backend import Backend


def made_by_spark(
    jobs: Sequence[JobGroup], held: Holders, backend: Backend, bounds: WorkBounds
) -> list[Answered | None]:
    """The rows of each of these jobs of one instant; None where Spark cannot make them.

    The pass that answers such a query meets the same problem, and says whose it is.
    """
    works = [statement_work(job, int(job.due.instants[0]), held.rows, bounds, range(0)) for job in jobs]
    try:
        return [of_tables([table]) for table in backend.rows(works, held.running.tables).tables]
    except Exception:
        if not backend.alive():
            raise
        if len(jobs) == 1:
            return [None]
    return [one for job in jobs for one in made_by_spark([job], held, backend, bounds)]
