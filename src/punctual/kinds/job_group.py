"""Firings of several queries that are answered as one, and what the cells gave for them.

Model
-----
A *job group* are queries of one form (`punctual.kinds.asked`) at the same instants: an object for all of them, and an
entry in its arrays for each. Answers go through it query after query, and through several groups group after group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.panes import spec as kernel
from punctual.kernel.panes.panes import Answered
from punctual.kinds.asked import AskedTogether
from punctual.kinds.drawing import Drawing
from punctual.kinds.drawn_sample import DrawnSample
from punctual.kinds.job import Job
from punctual.kinds.shed_span import ShedSpan
from punctual.kinds.world_run import WorldRun
from punctual.ports.answers import AnswerBlock
from punctual.schedule.due import DueInstants

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class JobGroup:
    """Queries that are answered as one, and the instants that all of them answer."""

    asked: AskedTogether
    due: DueInstants
    number: int = 0
    """Which answer of its instants this is: some queries give several."""
    released: I64 | None = None
    """When each instant was released; None in a replay at full speed, where the wall clock says nothing."""
    late: NDArray[np.int64] | None = None
    """How many rows came too late for each window, a row for each query; None where none did."""
    lacking: NDArray[np.bool_] | None = None
    """The instants at which the only query may lack rows, though nothing else says so; None where there are none."""
    setting: float | None = None
    level: float | None = None
    """The quality that its setting follows from, where there is one."""
    budget_us: Micros | None = None
    """How long after the beginning of its pass it should be through, where that is known."""
    samples: Sequence[tuple[DrawnSample, ...]] | None = None
    """Of each instant of the only query the samples that were drawn for it; None where none were."""
    used: NDArray[np.float64] | None = None
    """The share of its input that each instant of the only query used, where less than all was to be, or could be."""
    last: AnswerBlock | None = None
    """The last answer of the only query, where the next ones depend on it and there is one."""
    sheds: tuple[ShedSpan, ...] = ()
    """Where rows may be that were shed before they came into cells."""
    worlds: WorldRun | None = None
    """What the run says of possible worlds."""
    drawings: Mapping[Micros, Drawing] = field(default_factory=dict)
    """By instant, rounds of the only query that were drawn ahead."""
    missing: tuple[ShedSpan, ...] = ()
    """Where rows may be that were shed before its queries were added, which need every row."""

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def size(self) -> int:
        """How many answers it has."""
        return len(self) * int(self.due.instants.size)

    @property
    def allowed(self) -> pa.Array:
        """How long after the release an answer of each query is due; null where there is no deadline."""
        return self.asked.deadlines[self.number]

    @property
    def streams(self) -> tuple[str, ...]:
        """What its queries read: those that are answered as one read the same."""
        return self.asked.asked[0].reader.query.streams

    def job(self) -> Job:
        """The job of the first query."""
        one = self.asked.asked[0]
        after = int(self.asked.after[0])
        return Job(
            one.reader, one.types, self.due, after, self.setting, self.samples, self.used, self.last, self.sheds,
            self.worlds, self.drawings, self.number,
        )  # fmt: skip

    def misses(self) -> NDArray[np.bool_]:
        """Which of its answers may miss rows that were shed, query after query."""
        found = np.zeros((len(self), self.due.instants.size), np.bool_)
        for span in self.missing:
            found |= span.reaches(self.due.instants, self.asked.readers.ranges[:, np.newaxis])
        return found.ravel()

    def readers(self, place: int) -> kernel.Readers:
        """What is asked of the cells by the group that has this place in its pass.

        Further answers of instants are answered by themselves: a job has one number.
        """
        family = -1 - place if self.asked.family is None or self.number else self.asked.family
        return replace(self.asked.readers, instants=self.due.instants, family=family)

    def only(self, chosen: NDArray[np.bool_]) -> JobGroup:
        """The same for some of its instants."""
        released = None if self.released is None else self.released[chosen]
        late = None if self.late is None else self.late[:, chosen]
        lacking = None if self.lacking is None else self.lacking[chosen]
        return replace(self, due=self.due.only(chosen), released=released, late=late, lacking=lacking)

    def each(self) -> list[JobGroup]:
        """Each query by itself."""
        if len(self) == 1:
            return [self]
        return [
            replace(self, asked=self.asked.only([n]), late=None if self.late is None else self.late[[n]])
            for n in range(len(self))
        ]


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredJobs:
    """Groups that are answered as one, and what the cells gave: instants are counted through all of them."""

    groups: Sequence[JobGroup]
    answered: Answered

    @property
    def place(self) -> int:
        """The place of the first query in its program."""
        return min(int(group.asked.places.min()) for group in self.groups)

    def joined(self) -> Job:
        """One job for what such queries have in common."""
        due = DueInstants.joined([group.due.repeated(len(group)) for group in self.groups])
        return replace(self.groups[0].job(), due=due)

    def each(self) -> list[AnsweredJobs]:
        """Each query by itself."""
        if len(self.groups) == 1 and len(self.groups[0]) == 1:
            return [self]
        found = []
        start = 0
        for one in (one for group in self.groups for one in group.each()):
            found.append(AnsweredJobs([one], self.answered.part(start, start + one.size)))
            start += one.size
        return found
