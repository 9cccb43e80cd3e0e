"""Answers of aggregates: expressions over keys and aggregates, HAVING, ORDER BY and LIMIT; a row for each group."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.panes.panes import Answered
from punctual.kinds.aggregates.sampled_answers import (
    asks_for_replicates,
    not_rounded,
    replicated_column,
    sampled_result,
)
from punctual.kinds.aggregates.weighted import Weighted
from punctual.kinds.arrange import arranged
from punctual.kinds.clause import Clause
from punctual.kinds.columns import answer_column, of_type
from punctual.kinds.job import Job
from punctual.kinds.result import Result
from punctual.plan.aggregates import Aggregates
from punctual.plan.expression import INSTANT, Expression, aggregate_name
from punctual.plan.query import Query
from punctual.runtime.backend import QueryTypes, Question

I64 = NDArray[np.int64]


def alike(query: Query, body: Aggregates, types: QueryTypes) -> Hashable:
    """All that `finish` reads of a query: numbers of its expressions may differ, names where nobody says them."""
    says_names = any(call.distinct or call.function.startswith("approx_") for call in body.calls)
    return (
        types.keys,
        types.outputs,
        tuple(output.expression.column for output in query.outputs),
        tuple(output.name for output in query.outputs) if says_names else (),
        body.having is None,
        tuple((o.expression.column, t, o.ascending, o.nulls_first) for o, t in zip(query.order, types.order)),
        query.limit,
    )


def question(job: Job, body: Aggregates, answered: Answered) -> tuple[Question, list[Clause]] | None:
    """What Catalyst must evaluate; None when all columns are keys and aggregates as they are."""
    query, types = job.query, job.types
    asked = [
        (o.expression, t, Clause(f'column "{o.name}"', o.expression.span))
        for o, t in zip(query.outputs, types.outputs)
        if o.expression.column is None
    ]
    if body.having is not None:
        asked.append((body.having, pa.bool_(), Clause("HAVING", body.having.span)))
    asked += [
        (o.expression, t, Clause("ORDER BY", o.expression.span))
        for o, t in zip(query.order, types.order)
        if o.expression.column is None
    ]
    if not asked:
        return None
    expressions, kinds, clauses = zip(*asked)
    used = frozenset[str]().union(*(expression.names for expression in expressions))
    if isinstance(answered, Weighted) and asks_for_replicates(job, body, answered):
        columns = {name: replicated_column(job, body, answered, name) for name in sorted(used or {INSTANT})}
    else:
        columns = {name: answer_column(job, answered, name) for name in sorted(used or {INSTANT})}
    return Question(expressions, kinds, columns), list(clauses)


def finish(job: Job, body: Aggregates, answered: Answered, reply: list[pa.Array]) -> Result:
    """The result rows of each answer, and what is said about their error."""
    query, types = job.query, job.types
    whole = answered.instant.size
    results = (one.slice(0, whole) for one in reply)  # what follows are replicates

    def value(expression: Expression) -> pa.Array:
        if expression.column is not None:
            return answer_column(job, answered, expression.column)
        said = next(results)
        return not_rounded(job, body, answered, expression, said) if isinstance(answered, Weighted) else said

    outputs = [of_type(value(o.expression), t) for o, t in zip(query.outputs, types.outputs)]
    having = next(results) if body.having is not None else None
    order = [value(item.expression) for item in query.order]
    instant = answered.instant.astype(np.int64)
    rows = arranged(query, instant, having, order)
    if rows is not None:
        outputs = [array.take(rows) for array in outputs]
        instant = instant[rows.to_numpy()]
    count = job.due.instants.size
    offsets = np.searchsorted(instant, np.arange(count + 1)).astype(np.int32)
    struct = pa.StructArray.from_arrays(outputs, names=[o.name for o in query.outputs])
    listed = pa.ListArray.from_arrays(pa.array(offsets), struct)
    if isinstance(answered, Weighted):
        return sampled_result(job, body, answered, listed, reply, rows)
    return Result(listed, _errors(query, answered, rows, offsets, count))


def _errors(
    query: Query, answered: Answered, rows: pa.Array | None, offsets: NDArray[np.int32], count: int
) -> pa.Array | None:
    """For each answer, the widest half-width of each approximate output, as JSON; None when all of them are exact."""
    errors: dict[str | None, pa.Array] = {
        aggregate_name(i): half for i, half in enumerate(answered.errors) if half is not None
    }
    if not errors:
        return None
    widths: dict[str, NDArray[np.float64]] = {}
    for output in query.outputs:
        half = errors.get(output.expression.column)
        if half is None or half.null_count == len(half):
            continue
        chosen = half if rows is None else half.take(rows)
        values = np.append(pc.fill_null(chosen, 0.0).to_numpy(zero_copy_only=False), 0.0)
        starts = np.minimum(offsets[:-1], values.size - 1)
        widest = np.maximum.reduceat(values, starts)
        widths[output.name] = np.where(offsets[:-1] < offsets[1:], widest, 0.0)
    if not widths:
        return None
    texts: list[str | None] = []
    for number in range(count):
        said = {name: float(width[number]) for name, width in widths.items() if width[number] > 0}
        texts.append(orjson.dumps(said).decode() if said else None)
    return pa.array(texts, pa.string())
