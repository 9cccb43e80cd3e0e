"""Types of queries without Spark: expressions by DuckDB, aggregates by Spark's rules written down here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import duckdb
import pyarrow as pa

from punctual.own_names import joined_column
from punctual.plan.aggregates import Aggregate
from punctual.plan.expression import INSTANT, NULL, Expression, aggregate_name, cast, key_name
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.sql_text import quoted
from punctual.plan.united import MEANINGS
from punctual.runtime.backend import QueryTypes, RowTypeRequest, TypeReport, TypeRequest
from tests.inprocess.rows import row_types
from tests.reference.duck import duck_text, types_of

TIME = pa.timestamp("us", tz="UTC")
TYPES: dict[tuple[TypeRequest, Stream | Table, tuple[Stream | Table, ...]], QueryTypes] = {}
"""What was checked before: a program that is resumed at every step is checked again each time."""


def typecheck(
    connection: duckdb.DuckDBPyConnection,
    relations: Sequence[Declared],
    requests: Sequence[TypeRequest | RowTypeRequest],
    known: Sequence[Stream | Table],
) -> TypeReport:
    """The types of all requests; what is wrong is raised as DuckDB says it."""
    every = {r.name.lower(): r for r in (*known, *(d.relation for d in relations))}
    found = {}
    for request in requests:
        if isinstance(request, RowTypeRequest):
            found[request.query.name] = row_types(connection, request, every)
            continue
        tables = tuple(every[join.table.lower()] for join in request.rows.joins)
        stream = every[request.query.streams[0].lower()]
        known_types = TYPES.get((request, stream, tables))
        if known_types is None:
            known_types = _types(connection, request, stream, tables)
            TYPES[request, stream, tables] = known_types
        found[request.query.name] = known_types
    return TypeReport(found, ())


def _types(
    connection: duckdb.DuckDBPyConnection,
    request: TypeRequest,
    stream: Stream | Table,
    tables: Sequence[Stream | Table],
) -> QueryTypes:
    query = request.query
    rows = _frame(stream, str)
    if len(query.streams) > 1:
        meanings = ", ".join(f"CAST(NULL AS {t}) AS {quoted(name)}" for name, t in MEANINGS.items())
        rows = f"SELECT *, {meanings} FROM ({rows}) AS united"
    for number, (join, table) in enumerate(zip(request.rows.joins, tables)):
        frame = _frame(table, partial(joined_column, join.alias))
        rows = f"SELECT * FROM ({rows}) AS r{number} CROSS JOIN ({frame}) AS j{number}"
    keys = _described(connection, request.rows.keys, rows)
    written = [a.argument for a in request.aggregates if a.argument is not None]
    of = iter(_described(connection, written, rows))
    arguments = tuple(next(of) if a.argument is not None else None for a in request.aggregates)
    aggregates = tuple(result_type(a, t) for a, t in zip(request.aggregates, arguments))
    names = [*map(key_name, range(len(keys))), *map(aggregate_name, range(len(aggregates))), INSTANT]
    answer = pa.table({n: pa.nulls(0, t) for n, t in zip(names, (*keys, *aggregates, TIME))})
    connection.register("_answer_types", answer)
    over = "SELECT * FROM _answer_types"
    outputs = _described(connection, [o.expression for o in query.outputs], over)
    order = _described(connection, [o.expression for o in query.order], over)
    conditions = _described(connection, request.conditions, rows)
    having = _described(connection, [request.having], over)[0] if request.having is not None else None
    return QueryTypes(
        tuple(keys), aggregates, tuple(outputs), tuple(order), arguments, tuple(conditions), having
    )


def _frame(relation: Stream | Table, name: Callable[[str], str]) -> str:
    """An empty relation in Spark SQL, its columns renamed."""
    values = [(cast(NULL, c.type).sql, c) for c in relation.columns if c.derived is None]
    plain = ", ".join(f"{value} AS {quoted(name(c.name))}" for value, c in values)
    derived = "".join(
        f", {cast(c.derived, c.type).sql} AS {quoted(c.name)}" for c in relation.columns if c.derived is not None
    )
    return f"SELECT *{derived} FROM (SELECT {plain}) AS empty"


def _described(
    connection: duckdb.DuckDBPyConnection, expressions: Sequence[Expression], over: str
) -> list[pa.DataType]:
    if not expressions:
        return []
    columns = ", ".join(f"({one.sql}) AS c{number}" for number, one in enumerate(expressions))
    return types_of(connection, duck_text(f"SELECT {columns} FROM ({over}) AS source"))


def result_type(aggregate: Aggregate, argument: pa.DataType | None) -> pa.DataType:
    """The type that Spark gives to an aggregate.

    >>> result_type(Aggregate("sum", column_of("x")), pa.decimal128(10, 2))
    Decimal128Type(decimal128(20, 2))
    """
    match aggregate.function:
        case "collect_list":
            assert argument is not None
            return pa.list_(argument)
        case "count" | "count_if" | "approx_count_distinct":
            return pa.int64()
        case "sum" | "avg" if argument is not None and pa.types.is_decimal(argument):
            more, scale = (10, 0) if aggregate.function == "sum" else (4, 4)
            return pa.decimal128(min(38, argument.precision + more), argument.scale + scale)
        case "sum":
            return pa.float64() if pa.types.is_floating(argument) else pa.int64()
        case "avg" | "stddev_samp" | "stddev_pop" | "var_samp" | "var_pop":
            return pa.float64()
        case "approx_percentile" if isinstance(aggregate.parameters[0], tuple):
            return pa.list_(argument)
        case _:
            return argument
