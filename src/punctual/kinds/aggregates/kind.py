"""Aggregates over the rows of windows, one row per answer and group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import pyarrow as pa

from punctual.errors import PunctualError
from punctual.kernel.panes.panes import Answered
from punctual.kinds.aggregates import answers, needs, type_rules
from punctual.kinds.aggregates.bind import aggregates, bind_aggregates
from punctual.kinds.aggregates.moments import moment_types, not_estimated
from punctual.kinds.aggregates.weighted import weighted
from punctual.kinds.clause import Clause
from punctual.kinds.describe import described_use
from punctual.kinds.job import Job
from punctual.kinds.kind import Kind
from punctual.kinds.result import Result
from punctual.kinds.shed_span import ShedWindows
from punctual.plan.aggregates import Aggregates
from punctual.plan.query import Query
from punctual.plan.shared import Needs, Reader, RowNeeds, Unit
from punctual.runtime.backend import QueryTypes, Question, TypeRequest
from punctual.share.from_rows import joined_from_rows
from punctual.share.sheddable import drawn_apart
from punctual.sql.bind_from import BoundFrom
from punctual.sql.body_binder import BoundBody
from punctual.sql.problems import Problems
from punctual.sql.syntax.select import SelectSyntax


class AggregatesKind(Kind[Aggregates]):
    """Windows that are answered by merging panes, or from rows. Under QUALITY the rows may be samples."""

    body = Aggregates

    def joins_windows(self, *, sampled: bool) -> bool:
        return sampled

    def claims(self, select: SelectSyntax, bound: BoundFrom) -> bool:
        return aggregates(select)

    def bind(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
        return bind_aggregates(select, bound, problems)

    def needs(self, query: Query) -> Needs | RowNeeds:
        body = self.body_of(query)
        of_cells = needs.needs(body, sampled=self._is_sampled(query))
        return joined_from_rows(query, of_cells) if body.rows.windows else of_cells

    def _is_sampled(self, query: Query) -> bool:
        """Whether its rows may be samples: then cells have a mark, and answers are estimates."""
        return query.quality is not None and not not_estimated(self.body_of(query))

    def never_sampled(self, query: Query) -> str | None:
        calls = not_estimated(self.body_of(query))
        return f"{' and '.join(calls)} cannot be told from a part of the rows" if calls else None

    def type_request(self, query: Query) -> TypeRequest:
        body = self.body_of(query)
        return TypeRequest(query, body.rows, body.calls, body.conditions, body.having)

    def refusals(self, query: Query, types: QueryTypes) -> list[PunctualError]:
        return [*super().refusals(query, types), *type_rules.refused_calls(self.body_of(query), types)]

    def with_casts(self, query: Query, types: QueryTypes) -> Query:
        body = self.body_of(query)
        cast = type_rules.with_casts(body, types)
        return query if cast is body else replace(query, body=cast)

    def alike(self, query: Query, types: QueryTypes) -> Hashable | None:
        return None if self._is_sampled(query) else answers.alike(query, self.body_of(query), types)

    def value_types(self, query: Query, types: QueryTypes) -> Sequence[pa.DataType]:
        further = moment_types(self.body_of(query)) if self._is_sampled(query) else []
        return (*types.aggregates, *further)

    def put_together(self, job: Job, answered: Answered) -> Answered:
        if not self._is_sampled(job.query):
            return answered
        body = self.body_of(job.query)
        apart = len(drawn_apart(job.query, body.rows))
        by_key = bool(body.rows.windows) and not apart
        shed = ShedWindows.of(job.sheds, job.due.instants, job.query.range_us) if job.sheds else None
        return weighted(
            body, answered, job.due.instants.size, 1 + apart,
            clustered=by_key, shares=job.shares, whole_groups=by_key and body.rows.has_whole_keys,
            shed=shed,
        )  # fmt: skip

    def question(self, job: Job, answered: Answered) -> tuple[Question, list[Clause]] | None:
        return answers.question(job, self.body_of(job.query), answered)

    def finish(self, job: Job, answered: Answered, reply: list[pa.Array]) -> Result:
        return answers.finish(job, self.body_of(job.query), answered, reply)

    def describe(self, reader: Reader, unit: Unit) -> list[str]:
        query, body = reader.query, self.body_of(reader.query)
        lines = [
            f"a{number}     {described_use(reader, use, self.describe_synopsis(unit.synopses[use.synopsis]))}"
            for number, use in enumerate(reader.uses)
        ]
        lines += [f"{o.name} = {o.expression.written}" for o in query.outputs if o.expression.column is None]
        if body.having is not None:
            lines.append(f"having {body.having.written}")
        if query.order:
            order = ", ".join(f"{o.expression.written}{'' if o.ascending else ' desc'}" for o in query.order)
            lines.append(f"order  {order}")
        if query.limit is not None:
            lines.append(f"limit  {query.limit}")
        return lines
