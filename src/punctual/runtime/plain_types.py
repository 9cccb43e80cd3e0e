"""Types of plain programs: what Spark's analyzer would say of them, without a JVM.

A relation is plain where its columns are of plain types and nothing but plain expressions are derived; a query where
everything that is asked about it is. The rest is for the analyzer, and so is everything that might be refused: a
program that is wrong gets its errors from one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from punctual.own_names import ROW_IDENTITY, joined_column
from punctual.plan.aggregates import Aggregate
from punctual.plan.expression import INSTANT, Expression, aggregate_name, cast, key_name
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.row_query import RowWindow
from punctual.plan.united import MEANINGS
from punctual.runtime.backend import QueryTypes, RowTypeRequest, TypeRequest, WindowTypes
from punctual.runtime.declared_types import BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, declared_type
from punctual.runtime.plain_expressions import INTEGERS, is_number, is_scalar, plain_type

DEVIATIONS = (0.001, 0.39)
"""Relative standard deviations that Spark takes. For much less its analyzer has no memory, and more it refuses."""


@dataclass(frozen=True, slots=True)
class PlainTypes:
    """The types of plain queries, by name, and what is left for Spark's analyzer."""

    queries: Mapping[str, QueryTypes]
    relations: tuple[Declared, ...]
    requests: tuple[TypeRequest, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is left."""
        return not self.relations and not self.requests


def plain_types(
    relations: Sequence[Declared], requests: Sequence[TypeRequest], known: Sequence[Stream | Table]
) -> PlainTypes:
    """Types of new queries over new relations and those that are ``known`` to be right."""
    frames = {one.name.lower(): _columns(one) for one in (*known, *(d.relation for d in relations))}
    queries: dict[str, QueryTypes] = {}
    left: list[TypeRequest] = []
    for request in requests:
        types = _query(request, frames)
        if types is None:
            left.append(request)
        else:
            queries[request.query.name] = types
    odd = tuple(one for one in relations if not _is_plain(one.relation))
    return PlainTypes(queries, odd, tuple(left))


def plain_rows(
    relations: Sequence[Declared], requests: Sequence[RowTypeRequest], known: Sequence[Stream | Table]
) -> tuple[dict[str, QueryTypes], list[RowTypeRequest]]:
    """Types of queries that want columns of a window as they are, by name, and the requests that are left."""
    every = {one.name.lower(): one for one in (*known, *(declared.relation for declared in relations))}
    found: dict[str, QueryTypes] = {}
    left: list[RowTypeRequest] = []
    for request in requests:
        types = None
        if request.statement.plain is not None:
            types = _of_window(request.statement.plain, request.statement.windows[0], every)
        if types is None:
            left.append(request)
        else:
            found[request.query.name] = types
    return found, left


def _of_window(
    plain: Sequence[str], window: RowWindow, relations: Mapping[str, Stream | Table]
) -> QueryTypes | None:
    stream = relations[window.stream.lower()]
    columns = _columns(stream)
    if columns is None or not isinstance(stream, Stream):
        return None
    columns[ROW_IDENTITY] = pa.int64()
    if not columns.keys() >= {*plain, *window.columns}:
        return None
    seen = WindowTypes(tuple((name, columns[name]) for name in window.columns), stream.event_time)
    outputs = tuple(columns[name] for name in plain)
    return QueryTypes((), (), outputs, (), (), names=tuple(plain), windows=(seen,), stands=True)


def _columns(relation: Stream | Table) -> dict[str, pa.DataType] | None:
    """The columns whose types are plain; None where Spark could find two of one name.

    A derived column is cast to the type that it is declared with, whatever is derived.
    """
    for folded in (str.lower, str.upper, str.casefold):
        if len({folded(column.name) for column in relation.columns}) < len(relation.columns):
            return None
    found = ((column.name, declared_type(column.type)) for column in relation.columns)
    return {name: kind for name, kind in found if kind is not None}


def _is_plain(relation: Stream | Table) -> bool:
    types = _columns(relation)
    if types is None or len(types) < len(relation.columns):
        return False
    given = {column.name: types[column.name] for column in relation.columns if column.derived is None}
    derived = (cast(column.derived, column.type) for column in relation.columns if column.derived is not None)
    return all(plain_type(expression, given) is not None for expression in derived)


def _query(request: TypeRequest, frames: Mapping[str, dict[str, pa.DataType] | None]) -> QueryTypes | None:
    query = request.query
    row = _row(request, frames)
    if row is None:
        return None
    keys = _several(request.rows.keys, row)
    conditions = _several(request.conditions, row)
    arguments = tuple(None if a.argument is None else plain_type(a.argument, row) for a in request.aggregates)
    aggregates = _whole([_result(one, kind) for one, kind in zip(request.aggregates, arguments)])
    if keys is None or conditions is None or aggregates is None or not all(map(is_scalar, keys)):
        return None
    answer = {INSTANT: TIMESTAMP}
    answer |= {key_name(number): kind for number, kind in enumerate(keys)}
    answer |= {aggregate_name(number): kind for number, kind in enumerate(aggregates)}
    outputs = _several([output.expression for output in query.outputs], answer)
    order = _several([item.expression for item in query.order], answer)
    having = None if request.having is None else plain_type(request.having, answer)
    if outputs is None or order is None or (request.having is not None and having is None):
        return None
    return QueryTypes(keys, aggregates, outputs, order, arguments, conditions, having)


def _row(request: TypeRequest, frames: Mapping[str, dict[str, pa.DataType] | None]) -> dict[str, pa.DataType] | None:
    """The types of an enriched row's columns, None where its joins are not plain."""
    streams = request.query.streams
    first = frames.get(streams[0].lower())
    if first is None:
        return None
    row = dict(first)
    if len(streams) > 1:
        row |= {name: kind for name, ddl in MEANINGS.items() if (kind := declared_type(ddl)) is not None}
    for join in request.rows.joins:
        table = frames.get(join.table.lower())
        if table is None:
            return None
        row |= {joined_column(join.alias, name): kind for name, kind in table.items()}
        for expression, column in join.on:
            kind = plain_type(expression, row)
            if kind is None or not is_scalar(kind) or kind != table.get(column):
                return None
    return row


def _several(expressions: Sequence[Expression], columns: Mapping[str, pa.DataType]) -> tuple[pa.DataType, ...] | None:
    return _whole([plain_type(expression, columns) for expression in expressions])


def _whole(kinds: Sequence[pa.DataType | None]) -> tuple[pa.DataType, ...] | None:
    found = tuple(kind for kind in kinds if kind is not None)
    return found if len(found) == len(kinds) else None


def _result(aggregate: Aggregate, argument: pa.DataType | None) -> pa.DataType | None:
    """The type of a call over values of a type; None where Spark must judge it."""
    function = aggregate.function
    if argument is None:
        return pa.int64() if function == "count" and aggregate.argument is None else None
    match function:
        case "count" | "first" | "last" if not aggregate.distinct:
            return pa.int64() if function == "count" else argument
        case "collect_list":
            return pa.list_(argument)
    if not is_scalar(argument):
        return None
    match function:
        case "count":
            return pa.int64()
        case "min" | "max":
            return argument
        case "count_if":
            return pa.int64() if argument == BOOLEAN else None
        case "approx_count_distinct":
            return pa.int64() if all(_is_deviation(one) for one in aggregate.parameters) else None
        case "approx_percentile":
            kept = is_number(argument) or argument in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
            several = isinstance(aggregate.parameters[0], tuple)
            return (pa.list_(argument) if several else argument) if kept else None
    return _reckoned(function, argument) if is_number(argument) else None


def _is_deviation(parameter: object) -> bool:
    least, most = DEVIATIONS
    return isinstance(parameter, float) and least <= parameter <= most


def _reckoned(function: str, argument: pa.DataType) -> pa.DataType | None:
    """The type of a sum of numbers, or of what follows from sums."""
    match function:
        case "sum" | "avg" if pa.types.is_decimal(argument):
            digits, after = (10, 0) if function == "sum" else (4, 4)
            return pa.decimal128(min(38, argument.precision + digits), min(38, argument.scale + after))
        case "sum":
            return pa.int64() if argument in INTEGERS else pa.float64()
        case "avg" | "stddev_samp" | "stddev_pop" | "var_samp" | "var_pop":
            return pa.float64()
    return None
