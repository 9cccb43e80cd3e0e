"""A job: firings of one query that are answered together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.panes.panes import Answered
from punctual.plan.query import Query
from punctual.plan.shared import Reader
from punctual.ports.answers import AnswerBlock
from punctual.runtime.backend import QueryTypes
from punctual.schedule.due import DueInstants

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A query and the instants that it answers."""

    reader: Reader
    types: QueryTypes
    due: DueInstants
    covered_from: Micros
    after: Micros
    """The query stands for instants after this one."""
    number: int = 0
    """Which answer of its instants this is: some queries give several."""
    released: I64 | None = None
    """When each instant was released; None in a replay at full speed, where the wall clock says nothing."""
    late: I64 | None = None
    """How many rows came too late for each window; None where none did."""
    setting: float | None = None
    """That of the knob, if it was decided that the query gives way."""
    last: AnswerBlock | None = None
    """The query's last answer, where the next ones depend on it and there is one."""

    @property
    def query(self) -> Query:
        return self.reader.query

    @staticmethod
    def joined(jobs: Sequence[Job]) -> Job:
        """Jobs of queries that are answered as one, for what such queries have in common."""
        return jobs[0] if len(jobs) == 1 else replace(jobs[0], due=DueInstants.joined([job.due for job in jobs]))


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredJobs:
    """Jobs that are answered as one, and what the cells gave: instants are counted through all of them.

    ``places`` are those of the jobs in their pass.
    """

    places: Sequence[int]
    jobs: Sequence[Job]
    answered: Answered

    def each(self) -> list[AnsweredJobs]:
        """Each job by itself."""
        if len(self.jobs) == 1:
            return [self]
        ends = np.cumsum([job.due.instants.size for job in self.jobs]).tolist()
        return [
            AnsweredJobs([place], [job], self.answered.part(end - job.due.instants.size, end))
            for place, job, end in zip(self.places, self.jobs, ends)
        ]
