"""Answers over samples: what is said of their error, what they rest on, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.estimate.quality_curve import curve_of
from punctual.kernel.sample.estimates import Interval
from punctual.kinds.aggregates.arithmetic import computed, is_arithmetic
from punctual.kinds.aggregates.moments import COUNTED, ENDS
from punctual.kinds.aggregates.weighted import Weighted
from punctual.kinds.columns import answer_column
from punctual.kinds.error_texts import interval_texts, json_objects
from punctual.kinds.job import Job
from punctual.kinds.result import Result
from punctual.kinds.samples import sample_texts
from punctual.plan.aggregates import Aggregates
from punctual.plan.expression import Expression, aggregate_name, key_name
from punctual.plan.query import Output
from punctual.plan.rows import EVERY_ROW

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
CONFIDENCE = 0.95


def asks_for_replicates(job: Job, body: Aggregates, answered: Weighted) -> bool:
    """Whether there is an expression whose error only Catalyst can tell, by the replicates of its columns."""
    numbers = [
        _has_interval(job, body, place) and not _is_computed(job, body, job.query.outputs[place].expression)
        for place in _estimates(job, body)
    ]
    return bool(answered.sampled.any()) and not answered.whole_groups and any(numbers)


def replicated_column(job: Job, body: Aggregates, answered: Weighted, name: str) -> pa.Array:
    """The column of this name for all rows, and then again without each group of the sample."""
    whole = answer_column(job, answered, name)
    for number, call in enumerate(body.calls):
        if name == aggregate_name(number):
            return pa.concat_arrays([whole, answered.replicate_columns(number, call.function, whole.type)])
    return pa.concat_arrays([whole] * (1 + answered.replicates))


def not_rounded(job: Job, body: Aggregates, answered: Weighted, expression: Expression, value: pa.Array) -> pa.Array:
    """The value of an expression, by estimates as they are where it is plain arithmetic that gives a DOUBLE.

    Catalyst has estimates in the types of their columns. Whole numbers of few rows are rounded by a tenth of what they
    are: `count_if(a) / count(*)` of one and two rows at a share of 0.3 would be 3 / 7.
    """
    if expression.column is not None or not pa.types.is_floating(value.type):
        return value
    if not answered.sampled.any() or answered.whole_groups or not _is_estimated(job, body, expression):
        return value
    found = _computed(job, body, answered, expression, replicated=False)[:, 0]
    better: Bools = answered.sampled & np.isfinite(found) & value.is_valid().to_numpy(zero_copy_only=False)
    return pc.if_else(pa.array(better), pa.array(np.where(better, found, 0.0)).cast(value.type, safe=False), value)


def _is_estimated(job: Job, body: Aggregates, expression: Expression) -> bool:
    """Whether an expression is plain arithmetic of estimates."""
    calls = _calls(body, expression)
    ends = any(body.calls[number].function in ENDS for number in calls)
    return bool(calls) and not ends and _is_computed(job, body, expression)


def sampled_result(
    job: Job,
    body: Aggregates,
    answered: Weighted,
    listed: pa.ListArray,
    reply: Sequence[pa.Array],
    rows: pa.Array | None,
) -> Result:
    """The result of a job, of which some answers may rest on samples."""
    count = job.due.instants.size
    sampled = np.zeros(count, np.bool_)
    np.logical_or.at(sampled, answered.instant, answered.sampled)
    for lost in () if answered.shed is None else answered.shed.rows.values():
        sampled |= lost > 0
    if job.shares is not None:
        sampled = job.shares < 1.0
    if not sampled.any():
        return Result(listed)
    order = np.arange(answered.instant.size) if rows is None else rows.to_numpy()
    offsets = listed.offsets.to_numpy()
    errors = [
        interval_texts(output.name, *said, order, np.diff(offsets).astype(np.int64))
        for output, said in _said(job, body, answered, reply)
    ]
    error = _nothing_where(~sampled, json_objects(errors, count))
    kept = _kept(job, answered, sampled, count)
    quality = job.query.quality
    assert quality is not None, "only queries with QUALITY are sampled"
    curve = curve_of(quality)
    drawn = sample_texts(job, kept, _shares(job, answered, count), _acts_on_estimates(job, body, answered))
    return Result(
        listed,
        error,
        basis=pc.if_else(pa.array(sampled), "sample", "exact"),
        quality=np.array([curve.quality(share) for share in kept.tolist()]),
        kept=kept,
        fields={"sample": _nothing_where(~sampled, drawn)},
    )


def _kept(job: Job, answered: Weighted, sampled: Bools, count: int) -> F64:
    """The share of input that each answer rests on."""
    if job.shares is not None:
        return job.shares
    seen, meant = np.zeros(count), np.zeros(count)
    for share, rows in _rows_meant(answered, count).items():
        seen += share * rows
        meant += rows
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(meant > 0, seen / meant, 1.0)
    return np.where(sampled, np.round(mean, 12), 1.0)


def _rows_meant(answered: Weighted, count: int) -> dict[float, F64]:
    """By share, how many rows each window has that were drawn with it, as far as is known.

    Rows that were found tell it; where there are none of a share, the batches do that may have had rows in the window.
    """
    shed = {} if answered.shed is None else answered.shed.rows
    nothing = np.zeros(count)
    found = {}
    for share in sorted(answered.rows_seen.keys() | shed.keys()):
        seen = answered.rows_seen.get(share, nothing)
        found[share] = np.where(seen > 0, seen / share, shed.get(share, nothing))
    return found


def _shares(job: Job, answered: Weighted, count: int) -> list[list[float]] | None:
    """The different shares at which rows of each window were drawn; None where samples of inputs say it."""
    if job.shares is not None:
        return None
    meant = _rows_meant(answered, count)
    return [[share for share, rows in meant.items() if rows[number] > 0] for number in range(count)]


def _acts_on_estimates(job: Job, body: Aggregates, answered: Weighted) -> list[str]:
    """The clauses that choose rows by estimates, or from some of the groups."""
    chosen = ["HAVING"] if body.having is not None and not answered.whole_groups else []
    estimated = any(any(name == aggregate_name(i) for i in range(len(body.calls)) for name in o.expression.names)
                    for o in job.query.order)  # fmt: skip
    return [*chosen, *(["LIMIT"] if job.query.limit is not None and estimated else [])]


Said = tuple[float | None, pa.Array | None, pa.Array | None]
"""Of all rows in the order of groups: the confidence, the low and the high ends; without any: there is no interval."""


def _said(job: Job, body: Aggregates, answered: Weighted, reply: Sequence[pa.Array]) -> Iterator[tuple[Output, Said]]:
    """What there is to say of each column that is made of aggregates."""
    if answered.whole_groups:
        return
    replies = iter(reply)
    asked = {place: next(replies) for place, output in enumerate(job.query.outputs) if output.expression.column is None}
    for place in _estimates(job, body):
        output = job.query.outputs[place]
        calls = _calls(body, output.expression)
        if place not in asked:
            yield output, _of_call(body, answered, calls[0])
        elif not answered.sampled.any() or not _has_interval(job, body, place):
            yield output, (None, None, None)
        else:
            yield output, _of_expression(job, body, answered, place, asked[place])


def _estimates(job: Job, body: Aggregates) -> list[int]:
    """The places of the columns that are made of aggregates."""
    return [place for place, output in enumerate(job.query.outputs) if _calls(body, output.expression)]


def _calls(body: Aggregates, expression: Expression) -> list[int]:
    return [number for number in range(len(body.calls)) if aggregate_name(number) in expression.names]


def _has_interval(job: Job, body: Aggregates, place: int) -> bool:
    """Whether anything can be said of the error of a column: it is a number, and nothing in it is a least or greatest
    value, of which nobody knows how far it is from that of all rows."""
    calls = _calls(body, job.query.outputs[place].expression)
    return _is_number(job.types.outputs[place]) and all(body.calls[number].function not in ENDS for number in calls)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_computed(job: Job, body: Aggregates, expression: Expression) -> bool:
    """Whether an expression is plain arithmetic of numbers, so that its replicates can do without Catalyst."""
    kinds = {aggregate_name(number): kind for number, kind in enumerate(job.types.aggregates)}
    kinds |= {key_name(number): kind for number, kind in enumerate(job.types.keys)}
    return all(name in kinds and _is_number(kinds[name]) for name in expression.names) and is_arithmetic(expression)


def _all_rows(body: Aggregates, number: int) -> bool:
    """Whether a call counts every row of its window."""
    call, rows = body.calls[number], body.rows
    everything = call.function in COUNTED and call.argument is None and call.where == EVERY_ROW
    return everything and not rows.keys and not rows.joins


def _of_call(body: Aggregates, answered: Weighted, number: int) -> Said:
    call = body.calls[number]
    if call.function in ENDS:
        # What was seen bounds it from one side, for certain; where no row can be missing it is the value itself.
        seen = answered.values[number]
        beyond = pc.if_else(pa.array(answered.sampled), pa.scalar(None, seen.type), seen)
        return (1.0, beyond, seen) if call.function == "min" else (1.0, seen, beyond)
    found = answered.interval(number, call.function, all_rows=_all_rows(body, number))
    if call.function in COUNTED:  # a count that is known is a whole number, however it was weighted
        found = Interval(found.low.round(6), found.high.round(6), found.known)
    missing: Bools = answered.values[number].is_null().to_numpy(zero_copy_only=False)
    return _ends(found, answered.sampled & missing)


def _of_expression(job: Job, body: Aggregates, answered: Weighted, place: int, reply: pa.Array) -> Said:
    """The interval of a column that is computed; the value that the answer says is in it."""
    expression, rows = job.query.outputs[place].expression, answered.instant.size
    calls, said = _calls(body, expression), _doubles(reply)
    value = _doubles(not_rounded(job, body, answered, expression, reply.slice(0, rows)))
    if _is_computed(job, body, expression):
        found = _computed(job, body, answered, expression)
    else:
        found = said.reshape(-1, rows).T
    interval = answered.jackknifed(found[:, 0], found[:, 1:], calls, all_rows=all(_all_rows(body, n) for n in calls))
    exact = interval.low == interval.high
    low = np.where(exact, value, np.minimum(interval.low, value))
    high = np.where(exact, value, np.maximum(interval.high, value))
    return _ends(Interval(low, high, interval.known), answered.sampled & np.isnan(value))


def _computed(
    job: Job, body: Aggregates, answered: Weighted, expression: Expression, *, replicated: bool = True
) -> F64:
    """Arithmetic of estimates as they are, and of each of their replicates: ``[rows, 1 + replicates]``."""
    names = {aggregate_name(number): number for number in range(len(body.calls))}
    columns = {}
    for name in expression.names:
        if name in names:
            number = names[name]
            columns[name] = answered.not_rounded(number, body.calls[number].function, replicated=replicated)
        else:
            columns[name] = _doubles(answer_column(job, answered, name))[:, None]
    return computed(expression, columns)


def _doubles(values: pa.Array) -> F64:
    """Numbers; NULL is NaN."""
    found: F64 = pc.fill_null(values.cast(pa.float64(), safe=False), float("nan")).to_numpy(zero_copy_only=False)
    return found


def _ends(found: Interval, without: Bools) -> Said:
    """Rows ``without`` a value (their estimate does not fit its type) have no interval either."""
    if not (found.known & ~without).any():
        return None, None, None
    low, high = (pa.array(end, mask=np.isnan(end) | without) for end in (found.low, found.high))
    return CONFIDENCE, low, high


def _nothing_where(exact: Bools, texts: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(exact), pa.scalar(None, pa.string()), texts)
