"""A job: a query and instants of it, as its kind sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kinds.drawing import Drawing
from punctual.kinds.drawn_sample import DrawnSample
from punctual.kinds.shed_span import ShedSpan
from punctual.kinds.world_run import WorldRun
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
    samples: Sequence[tuple[DrawnSample, ...]] | None = None
    """Of each instant the samples of the inputs that were drawn for it; None where none were."""
    used: NDArray[np.float64] | None = None
    """Of each instant the share of the input that it was answered from; None where that is what was decided."""
    last: AnswerBlock | None = None
    """The query's last answer, where the next ones depend on it and there is one."""
    sheds: tuple[ShedSpan, ...] = ()
    """Where rows of its stream may be that were shed while they were read."""
    worlds: WorldRun | None = None
    """What the run says of possible worlds."""
    drawings: Mapping[Micros, Drawing] = field(default_factory=dict)
    """By instant, rounds of the only query that were drawn ahead."""
    number: int = 0
    """Which answer of its instants this is: some queries give several."""

    @property
    def shares(self) -> NDArray[np.float64] | None:
        """The share of the input of each instant; None where nothing was decided about it."""
        if self.used is None and self.setting is not None:
            return np.full(self.due.instants.size, min(self.setting, 1.0))
        return self.used

    @property
    def query(self) -> Query:
        return self.reader.query
