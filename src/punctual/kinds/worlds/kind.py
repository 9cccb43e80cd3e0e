"""Queries over possible worlds: uncertain attributes, and rows that may not exist, by Monte Carlo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from punctual.clock import Micros
from punctual.errors import InternalError, PunctualError
from punctual.kernel.arrays.row_order import row_order
from punctual.kernel.draw.warm_draw import warm_draw
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job import Job
from punctual.kinds.kind import Kind
from punctual.kinds.result import Result
from punctual.kinds.world_run import RowsOfRounds, WorldRun
from punctual.kinds.worlds.answers import world_result
from punctual.kinds.worlds.bind import bind_worlds, is_over_worlds
from punctual.kinds.worlds.by_rows.bind import bind_worlds_by_rows
from punctual.kinds.worlds.by_rows.row_drawing import RowDrawing
from punctual.kinds.worlds.by_rows.windows import is_in_worlds
from punctual.kinds.worlds.closed import closed_forms
from punctual.kinds.worlds.describe import described, way
from punctual.kinds.worlds.rounds.panes import may_keep
from punctual.kinds.worlds.rounds.settle import FewerRounds
from punctual.kinds.worlds.rounds.window_drawing import WindowDrawing
from punctual.kinds.worlds.types import WorldTypes
from punctual.plan.query import Query
from punctual.plan.relation import Stream
from punctual.plan.shared import Reader, RowNeeds, Unit
from punctual.plan.worlds import Called, Worlds
from punctual.runtime.backend import QueryTypes, RowTypeRequest
from punctual.schedule.contract import Knob
from punctual.sql.bind_from import BoundFrom
from punctual.sql.body_binder import BoundBody, WrittenRows
from punctual.sql.parse_rows import RowsSyntax
from punctual.sql.problems import Problems
from punctual.sql.syntax.clauses import AnswersClause, ConfidenceClause, RoundsClause
from punctual.sql.syntax.select import SelectSyntax


@cache
def _load_kernels() -> None:
    """Once in a process: Numba reads machine code of a kernel, and much of itself, when one is called first."""
    row_order([pa.array([1.0, 2.0]), pa.array(["a", None])], np.zeros(2, np.int64))
    warm_draw()


class _DrawnInTime(Kind[Worlds]):
    """What gives way, and what is drawn before an answer is due."""

    body = Worlds

    def knob(self, query: Query) -> Knob | None:
        return None if self.body_of(query).by_rows else FewerRounds()

    def never_sampled(self, query: Query) -> str | None:
        if self.body_of(query).by_rows:
            return "Spark answers it in all of its rounds"
        return None if query.stages or query.deadline_us is not None else "without DEADLINE no answer is late"

    def instead_of_rows(self, query: Query) -> str | None:
        return "rounds give way, and no rows"

    def draws_ahead(self, query: Query) -> bool:
        """What Spark answers its jobs draw. Groups of what is drawn are only known once all rounds are, and Spark calls
        functions of Python."""
        body = self.body_of(query)
        if body.by_rows:
            return bool(query.stages)
        called = any(isinstance(one, Called) for one in body.aggregates)
        return bool(query.stages) and not body.drawn_keys and not called

    def load_kernels(self) -> None:
        _load_kernels()

    def drawn_by_jobs(self, query: Query) -> bool:
        return self.body_of(query).by_rows

    def drawing_by_jobs(self, query: Query, at: Micros, asked: RowsOfRounds) -> RowDrawing:
        return RowDrawing(self.body_of(query), at, asked, answers=len(query.due_us))

    def rounds_at_first(self, query: Query, number: int) -> int:
        return self.body_of(query).effort.at_first(number)

    def drawing(self, query: Query, rows: Answered, at: Micros, run: WorldRun) -> WindowDrawing:
        return WindowDrawing(self.body_of(query), rows.values, at, run, query.name, answers=len(query.due_us))


class WorldsKind(_DrawnInTime):
    """Answered from retained rows, in many worlds."""

    clauses = frozenset((RoundsClause, ConfidenceClause, AnswersClause))
    of_rows = "Worlds"

    def joins_windows(self, *, sampled: bool) -> bool:
        return True

    def claims(self, select: SelectSyntax, bound: BoundFrom) -> bool:
        return select.top is None and is_over_worlds(select, bound)

    def bind(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
        return bind_worlds(select, bound, problems)

    def claims_rows(self, rows: RowsSyntax, streams: Sequence[Stream]) -> bool:
        return is_in_worlds(rows, streams)

    def bind_rows(self, written: WrittenRows, problems: Problems) -> BoundBody | None:
        return bind_worlds_by_rows(written, problems)

    def needs(self, query: Query) -> RowNeeds:
        return RowNeeds(self.body_of(query).statement)

    def type_request(self, query: Query) -> RowTypeRequest:
        return RowTypeRequest(replace(query, quality=None), self.body_of(query).statement)

    def refusals(self, query: Query, types: QueryTypes) -> list[PunctualError]:
        return WorldTypes(self.body_of(query), types.outputs).errors(query.span)

    def finish(self, job: Job, answered: Answered, reply: list[pa.Array]) -> Result:
        return world_result(job, self.body_of(job.query), answered)

    def way(self, query: Query) -> str:
        return way(self.body_of(query))

    def describe_rows(self, query: Query) -> list[str]:
        lines = described(self.body_of(query), [output.name for output in query.outputs])
        known = not self.body_of(query).by_rows and closed_forms(self.body_of(query)) is not None
        if may_keep(query) and not known:
            lines.append("kept   the first rounds, by panes, for windows that overlap, where that spares work")
        if self.draws_ahead(query) and not known:
            lines.append("live   more rounds while there is time, until shortly before each deadline")
        return lines

    def describe(self, reader: Reader, unit: Unit) -> list[str]:
        raise InternalError("queries over worlds read no unit")
