"""Row queries without Spark: DuckDB runs their text over the rows of their windows.

The rows come through the very operator of Spark's workers. What Spark alone can mean is tested on Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from punctual.plan.relation import Stream, Table
from punctual.plan.row_query import SparkText, WindowPlace
from punctual.runtime.backend import QueryTypes, RowTypeRequest, RowWork, WindowTypes
from punctual.runtime.operators.answer_rows import TooManyRowsError, in_order
from punctual.runtime.operators.window_rows import window_rows
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
        types = {column.name: arrow_type(column.type) for column in stream.columns}
        windows.append(WindowTypes(tuple((name, types[name]) for name in window.columns), stream.event_time))
        empty = pa.table({name: pa.nulls(0, kind) for name, kind in windows[-1].columns})
        connection.register(f"_w{number}", empty)
    for name in body.tables:
        connection.register(name, pa.table({c.name: pa.nulls(0, arrow_type(c.type)) for c in every[name].columns}))
    text = duck_text(_text(body.select, 0))
    names = tuple(row[0] for row in connection.execute(f"DESCRIBE {text}").fetchall())
    return QueryTypes((), (), tuple(types_of(connection, text)), (), (), names=names, windows=tuple(windows))


def answer(
    connection: duckdb.DuckDBPyConnection, work: Sequence[RowWork], tables: Mapping[str, pa.Table]
) -> list[pa.Table]:
    """The rows of each, in their order."""
    return [_answer(connection, one, tables) for one in work]


def _answer(connection: duckdb.DuckDBPyConnection, work: RowWork, tables: Mapping[str, pa.Table]) -> pa.Table:
    body = work.statement
    for number, (window, order) in enumerate(zip(work.types.windows, work.windows)):
        connection.register(f"_w{number}", window_rows(order, window.columns, window.event_time))
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


def _text(part: SparkText, at: int) -> str:
    def window(place: WindowPlace) -> str:
        return f"_w{place.window} AS {place.label}" if place.label else f"_w{place.window}"

    return "".join(text for text, _span in part.rendered(window, f"timestamp_micros({at})"))
