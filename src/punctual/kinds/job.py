"""A job: a query and instants of it, as its kind sees them."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.plan.query import Query
from punctual.plan.shared import Reader, RowReader
from punctual.ports.answers import AnswerBlock
from punctual.runtime.backend import QueryTypes
from punctual.schedule.due import DueInstants


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A query and the instants that it answers. It may stand for queries that are answered as one with it."""

    reader: Reader | RowReader
    types: QueryTypes
    due: DueInstants
    after: Micros
    """The query stands for instants after this one."""
    setting: float | None = None
    """That of the knob, if it was decided that the query gives way."""
    last: AnswerBlock | None = None
    """The query's last answer, where the next ones depend on it and there is one."""

    @property
    def query(self) -> Query:
        return self.reader.query
