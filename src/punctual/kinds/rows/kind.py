"""Row queries: whatever Spark SQL can say over the rows of windows, where panes cannot answer it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.errors import InternalError
from punctual.estimate.quality_curve import curve_of
from punctual.kernel.panes.panes import Answered
from punctual.kinds.columns import of_type
from punctual.kinds.job import Job
from punctual.kinds.kind import Kind
from punctual.kinds.result import Result
from punctual.kinds.samples import sample_texts
from punctual.own_names import IDENTITY
from punctual.plan.expression import column_of
from punctual.plan.query import Output, Query
from punctual.plan.row_query import RowQuery, RowSampling
from punctual.plan.shared import Reader, RowNeeds, Unit
from punctual.runtime.backend import QueryTypes, RowTypeRequest
from punctual.sql.bind_from import BoundFrom
from punctual.sql.body_binder import BoundBody
from punctual.sql.problems import Problems
from punctual.sql.syntax.select import SelectSyntax


class RowsKind(Kind[RowQuery]):
    """Answered from retained rows, by Spark. Under QUALITY these may be samples, where an answer is then a part of the
    whole one."""

    body = RowQuery

    def claims(self, select: SelectSyntax, bound: BoundFrom) -> bool:
        """No SELECT by itself: a query is one of these where no other kind can answer it."""
        return False

    def bind(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
        raise InternalError("row queries are bound from their text")

    def needs(self, query: Query) -> RowNeeds:
        return RowNeeds(self.body_of(query).statement)

    def never_sampled(self, query: Query) -> str | None:
        sampling = self.body_of(query).statement.sampling
        return None if sampling is None else sampling.why_not

    def type_request(self, query: Query) -> RowTypeRequest:
        return RowTypeRequest(query, self.body_of(query).statement)

    def with_casts(self, query: Query, types: QueryTypes) -> Query:
        """The query with its columns, and how it may be sampled, which only Spark can say."""
        statement = replace(self.body_of(query).statement, sampling=types.sampling)
        if types.sampling == RowSampling():
            windows = (replace(one, columns=(*one.columns, IDENTITY)) for one in statement.windows)
            statement = replace(statement, windows=tuple(windows))
        outputs = tuple(Output(name, column_of(name)) for name in types.names)
        quality = query.quality
        if quality is not None and types.sampling is not None and types.sampling.by:
            quality = quality.by_key  # what an answer uses of each input is what it says
        return replace(query, outputs=outputs, quality=quality, body=RowQuery(statement))

    def finish(self, job: Job, answered: Answered, reply: list[pa.Array]) -> Result:
        """The rows as they came: Spark has put them in order."""
        outputs = [of_type(value, kind) for value, kind in zip(answered.values, job.types.outputs)]
        offsets = np.searchsorted(answered.instant, np.arange(job.due.instants.size + 1)).astype(np.int32)
        struct = pa.StructArray.from_arrays(outputs, names=list(job.types.names))
        listed = pa.ListArray.from_arrays(pa.array(offsets), struct)
        shares, quality = job.shares, job.query.quality
        if job.samples is None or shares is None or quality is None:
            return Result(listed)
        # What is there is as it is in the whole answer: nothing is off, some rows are missing. How many is what the
        # scans used, which may be less than was decided.
        sampled, curve = pa.array(shares < 1.0), curve_of(quality)
        return Result(
            listed,
            basis=pc.if_else(sampled, "sample", "exact"),
            quality=np.array([curve.quality(share) for share in shares.tolist()]),
            kept=shares,
            fields={"sample": pc.if_else(sampled, sample_texts(job, shares), pa.scalar(None, pa.string()))},
        )

    def describe(self, reader: Reader, unit: Unit) -> list[str]:
        raise InternalError("row queries read no unit")
