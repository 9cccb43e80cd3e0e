"""A kind of query for tests: ``SELECT SAMPLE_OF(n, x)`` answers n rows of the window, those with the smallest hash.

It shows what a new kind takes: a body, a subclass of ``Kind``, and a line in the registry (``test_toy_kind.py`` adds
it). Panes keep rows in the order of a score for rankings already; here the score is the hash, and every row is certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.errors import BindError
from punctual.kernel.panes.panes import Answered
from punctual.kinds.columns import of_type
from punctual.kinds.job import Job
from punctual.kinds.kind import Kind
from punctual.kinds.result import Result
from punctual.plan.aggregates import Aggregate
from punctual.plan.expression import NULL, Expression, aggregate_name, cast, column_of, compose, struct
from punctual.plan.query import Body, Output, Query
from punctual.plan.rows import GroupedRows
from punctual.plan.shared import ROWS, NeededUse, Needs, Reader, Unit, UnitSynopsis
from punctual.runtime.backend import TypeRequest
from punctual.sql.bind_from import BoundFrom
from punctual.sql.bind_rows import bind_rows
from punctual.sql.body_binder import BoundBody
from punctual.sql.expressions.bind_row import row_expression
from punctual.sql.problems import Problems
from punctual.sql.syntax.select import SelectSyntax

FACTOR, MODULUS = 7919, 1009


@dataclass(frozen=True, slots=True)
class SampleOf(Body):
    """``size`` rows of the window; ``argument`` is a row expression, a whole number that is not negative."""

    rows: GroupedRows
    size: int
    argument: Expression

    def row(self, name: str) -> Expression:
        """What is kept of a row, its value under this name."""
        score = compose("(", self.argument, f") * {FACTOR} % {MODULUS}")
        certain = [("p", cast(compose("1"), "DOUBLE")), ("r", cast(NULL, "STRING"))]
        return struct([("s", score), *certain, (name, self.argument)])


class SampleOfKind(Kind[SampleOf]):
    body = SampleOf

    def claims(self, select: SelectSyntax, bound: BoundFrom) -> bool:
        first = select.items[0].expression
        return first is not None and any(call.name == "sample_of" for call in first.calls)

    def bind(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
        expression = select.items[0].expression
        assert expression is not None
        if not bound.complete:
            return None
        size, value = (expression.part(*argument) for argument in expression.calls[0].arguments)
        if not size.text.isdecimal():
            problems.add(BindError("bind.bad-argument", "a sample has so many rows", span=size.span))
            return None
        rows, _keys = bind_rows(select, bound, problems)
        body = SampleOf(rows, int(size.text), row_expression(value, bound.scope, "aggregate", problems))
        first = compose(column_of(aggregate_name(0)), "[0].x0", span=expression.span)
        return BoundBody(body, (Output("sample", first),))

    def needs(self, query: Query) -> Needs:
        body = self.body_of(query)
        sample = UnitSynopsis("world", body.row("x"), (body.size, 1))
        first = NeededUse("top", sample, ("PK", body.size, 1, 0.0, (), ("x",), ""), body.rows.where)
        return Needs(body.rows, (first, NeededUse("count", ROWS, (), body.rows.where)))

    def type_request(self, query: Query) -> TypeRequest:
        body = self.body_of(query)
        calls = Aggregate("collect_list", body.row("x0")), Aggregate("count", None)
        return TypeRequest(query, body.rows, calls, body.rows.conditions)

    def finish(self, job: Job, answered: Answered, reply: list[pa.Array]) -> Result:
        lists, count = answered.values[0].field("rows"), answered.values[1].to_numpy()
        sample = of_type(lists.flatten().flatten()[0], job.types.outputs[0])
        offsets = lists.offsets.to_numpy() - lists.offsets[0].as_py()
        rows = pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([sample], names=["sample"]))
        kept = np.diff(offsets) / np.maximum(count, 1)
        return Result(rows, basis="sample", kept=kept, fields={"of": pa.array(count)})

    def describe(self, reader: Reader, unit: Unit) -> list[str]:
        return [f"sample {self.body_of(reader.query).size} rows by hash"]
