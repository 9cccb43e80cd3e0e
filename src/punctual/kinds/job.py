"""A job: firings of one query that are answered together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.panes import spec as kernel
from punctual.plan.query import Query
from punctual.plan.shared import Conditions, Reader
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

    def kernel_reader(self) -> kernel.Reader:
        """What is asked of the cells; the knob's setting is the last parameter of every call."""
        setting = () if self.setting is None else (self.setting,)
        calls = tuple(
            kernel.Call(use.function, use.synopsis, use.parameters + setting, _selection(use.conditions), data_type)
            for use, data_type in zip(self.reader.uses, self.types.aggregates)
        )
        return kernel.Reader(_selection(self.reader.where), self.query.range_us, self.due.instants, calls)


def _selection(conditions: Conditions) -> kernel.Selection:
    return tuple(
        tuple(kernel.Comparison(comparison.operator, comparison.values) for comparison in conjunction)
        for conjunction in conditions
    )
