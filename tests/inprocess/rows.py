"""Answers from rows without Spark: DuckDB runs texts over the rows of windows.

The rows come through the very operator of Spark's workers, and aggregates are made by theirs. What Spark
alone can mean is tested on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import duckdb
import pyarrow as pa

from punctual.own_names import ROW_IDENTITY
from punctual.plan.relation import Stream, Table
from punctual.plan.row_query import SparkText, WindowPlace
from punctual.runtime.backend import Draws, QueryTypes, RowTypeRequest, RowWork, WindowTypes
from punctual.runtime.operators.aggregate_rows import AggregateRows
from punctual.runtime.operators.answer_rows import TooManyRowsError, in_order
from punctual.runtime.operators.read_window import in_rounds
from punctual.runtime.operators.window_rows import WindowOrder, drawn_rows
from punctual.runtime.row_queries.lifted_rows import RowAggregates, window_view
from punctual.runtime.row_queries.slots import windows_of
from tests.reference.duck import arrow_type, duck_text, types_of


def row_types(
    connection: duckdb.DuckDBPyConnection, request: RowTypeRequest, every: Mapping[str, Stream | Table]
) -> QueryTypes:
    """The columns of a row query by DuckDB."""
    body = request.statement
    windows = []
    for number, window in enumerate(body.windows):
        stream = every[window.stream.lower()]
        assert isinstance(stream, Stream)
        types = {column.name: arrow_type(column.type) for column in stream.columns} | {ROW_IDENTITY: pa.int64()}
        stored = tuple((name, types[name]) for name in window.columns)
        windows.append(WindowTypes.of(window, stored, stream.event_time))
        empty = pa.table({name: pa.nulls(0, kind) for name, kind in windows[-1].columns})
        connection.register(f"_w{number}", empty)
    for name in body.tables:
        connection.register(name, pa.table({c.name: pa.nulls(0, arrow_type(c.type)) for c in every[name].columns}))
    text = duck_text(_text(body.select, 0))
    names = tuple(row[0] for row in connection.execute(f"DESCRIBE {text}").fetchall())
    return QueryTypes((), (), tuple(types_of(connection, text)), (), (), names=names, windows=tuple(windows))


Now = Callable[[], int]
"""The monotonic clock, as scans see it."""
Done = Callable[[RowWork, Draws], None]
"""Told of each that is answered."""


def answer(
    connection: duckdb.DuckDBPyConnection, work: Sequence[RowWork], tables: Mapping[str, pa.Table], now: Now, done: Done
) -> tuple[list[pa.Table], list[Draws]]:
    """The rows of each, in their order, and what became of the draws of its windows; one after the other."""
    slots = [str(number) for number in range(len(work))]
    windows = windows_of(slots, {slot: number for number, slot in enumerate(slots)}, work, 1)
    tables_found, draws = [], []
    for one, slot in zip(work, slots):
        own: Draws = {}
        tables_found.append(_answer(connection, replace(one, windows=windows[slot]), tables, now, own))
        draws.append(own)
        done(one, own)
    return tables_found, draws


def _window(
    order: WindowOrder, columns: Sequence[tuple[str, pa.DataType]], event_time: str, now: Now, number: int, draws: Draws
) -> pa.Table:
    rows, (report,) = drawn_rows(order, columns, event_time, now)
    if report is not None:
        draws[number] = report
    return rows


def _answer(
    connection: duckdb.DuckDBPyConnection, work: RowWork, tables: Mapping[str, pa.Table], now: Now, draws: Draws
) -> pa.Table:
    body = work.statement
    if isinstance(body, RowAggregates):
        return _aggregated(connection, body, work, tables, now, draws)
    for number, (window, order) in enumerate(zip(work.types.windows, work.windows)):
        rows = _window(order, window.read, window.event_time, now, number, draws)
        if window.drawn is not None:
            schema = pa.schema(list(window.columns))
            rows = pa.Table.from_batches(in_rounds(window.drawn, rows, order), schema)
        connection.register(f"_w{number}", rows)
    for name in body.tables:
        connection.register(name, tables[name])
    columns = range(1, len(work.types.names) + 1)
    ties = ", ".join(f"{number} NULLS FIRST" for number in columns)
    text = _text(body.select, work.at)
    if body.order:
        text += f" ORDER BY {_text(body.order, work.at)}, {ties}"
    elif body.tail:
        text += f" ORDER BY {ties}"
    text += _text(body.tail, work.at)
    found = connection.sql(duck_text(text)).to_arrow_table()
    if found.num_rows > work.max_rows:
        raise TooManyRowsError(work.query, found.num_rows, work.max_rows)
    arrays = [column.cast(kind) for column, kind in zip(found.columns, work.types.outputs)]
    table = pa.Table.from_arrays(arrays, names=[f"c{number}" for number in columns])
    return table if body.order or body.tail else in_order(table)


def _aggregated(
    connection: duckdb.DuckDBPyConnection,
    asked: RowAggregates,
    work: RowWork,
    tables: Mapping[str, pa.Table],
    now: Now,
    draws: Draws,
) -> pa.Table:
    """What the kernels make of the rows of a query's windows, projected by DuckDB."""
    for name in asked.tables:
        connection.register(name, tables[name])
    for number, (window, order) in enumerate(zip(asked.rows.windows, work.windows)):
        columns = [(name, arrow_type(kind)) for name, kind in window.columns]
        rows = _window(order, columns, window.event_time, now, number, draws)
        connection.register(window_view(number), rows)
    rows = pa.concat_tables([connection.sql(duck_text(text)).to_arrow_table() for text in asked.rows.texts])
    operator = AggregateRows("", asked.rows.spec, asked.where, asked.range_us, asked.calls, rows.schema)
    return operator.answered(rows.to_batches(), work.at)


def _text(part: SparkText, at: int) -> str:
    def window(place: WindowPlace) -> str:
        return f"_w{place.window} AS {place.label}" if place.label else f"_w{place.window}"

    return "".join(text for text, _span in part.rendered(window, lambda back: f"timestamp_micros({at - back})"))
