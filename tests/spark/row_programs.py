"""Row queries for tests: a small program, rows that are retained in files, and DuckDB over the query's own text."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from punctual.catalog import Catalog
from punctual.errors import Span
from punctual.own_names import TIME
from punctual.plan.query import Query
from punctual.plan.relation import Column, Stream, Table
from punctual.plan.row_query import RowQuery, RowStatement, WindowPlace
from punctual.plan.source import FeedSource, FileSource
from punctual.runtime.backend import QueryTypes, RowTypeRequest, RowWork
from punctual.runtime.operators.window_rows import RetainedFile, WindowOrder
from punctual.runtime.row_queries.row_analysis import typecheck_rows
from punctual.sql.bind_row_query import bind_row_query
from punctual.sql.problems import Problems
from punctual.sql.syntax.statement import CreateQuerySyntax
from punctual.sql.syntax.tokens import tokenize
from punctual.sql.syntax.written import Name
from punctual.store.products import to_ipc
from tests.reference.duck import connect, duck_text

SECOND = 1_000_000
TIMESTAMP = pa.timestamp("us", tz="UTC")


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(*part.split(" ", 1)) for part in text.split(", "))


S = Stream("s", _columns("ts TIMESTAMP, k STRING, v DOUBLE, n INT, a ARRAY<INT>"), "ts", SECOND, FeedSource())
R = Stream("r", _columns("ts TIMESTAMP, k STRING, w DOUBLE"), "ts", SECOND, FeedSource())
U = Table("u", _columns("id STRING, label STRING"), FileSource("u", "csv", ()))
PROGRAM: tuple[Stream | Table, ...] = (S, R, U)
CATALOG = Catalog().with_stream(S).with_stream(R).with_table(U)
ARROW = {
    "s": pa.schema([
        ("ts", TIMESTAMP), ("k", pa.string()), ("v", pa.float64()), ("n", pa.int32()), ("a", pa.list_(pa.int32())),
    ]),
    "r": pa.schema([("ts", TIMESTAMP), ("k", pa.string()), ("w", pa.float64())]),
}
LABELS = pa.table({"id": ["a", "b", None, "b"], "label": ["first", "second", "none", "again"]})


def row_query(text: str, name: str = "q", start: int = 0) -> Query:
    """The query of a text as a row query, be panes able to answer it or not; the text stands at ``start``."""
    program = " " * start + text + " PERIOD 1 SECOND"
    tokens, problem = tokenize(program)
    assert problem is None
    problems = Problems()
    place = Span(start, start + len(text))
    syntax = CreateQuerySyntax(Name(name, place), None, tokens, place)
    bound = bind_row_query(syntax, program, CATALOG, frozenset(), (), RowQuery, problems)
    assert bound is not None, problems.errors
    return bound.query


def statement_of(query: Query) -> RowStatement:
    """What Spark is to answer."""
    assert isinstance(query.body, RowQuery)
    return query.body.statement


def type_request(query: Query) -> RowTypeRequest:
    """What Spark is asked about a query."""
    return RowTypeRequest(query, statement_of(query))


@dataclass(frozen=True)
class Retained:
    """Rows of each stream, in memory and in a file."""

    tables: Mapping[str, pa.Table]
    files: Mapping[str, tuple[RetainedFile, ...]]

    def windows(self, query: Query, at: int) -> tuple[WindowOrder, ...]:
        windows = statement_of(query).windows
        return tuple(WindowOrder(self.files[one.stream], at - one.reach_us, at - one.back_us) for one in windows)


def retained(folder: Path, rows: Mapping[str, pa.Table]) -> Retained:
    """Keep rows in files, as a tick would."""
    files = {}
    for name, table in rows.items():
        times = table.column("ts").cast(pa.int64())
        data = to_ipc(table.drop_columns(["ts"]).add_column(0, TIME, times)).to_pybytes()
        path = folder / f"{name}.{len(list(folder.iterdir()))}.arrow"
        path.write_bytes(data)
        span = (min(times.to_pylist(), default=0), max(times.to_pylist(), default=0))
        files[name] = (RetainedFile(str(path), 0, len(data), *span),)
    return Retained(rows, files)


def random_rows(seed: int, count: int = 40, seconds: int = 30) -> dict[str, pa.Table]:
    """Rows of both streams with NULL keys, duplicates and ties; numbers that add up exactly."""
    rng = random.Random(seed)

    def columns(schema: pa.Schema) -> pa.Table:
        makers: dict[str, Any] = {
            "ts": lambda: rng.randrange(seconds) * SECOND,
            "k": lambda: rng.choice(["a", "b", "c", "é", "", None]),
            "v": lambda: rng.choice([0.5, 1.0, 2.25, -3.0, None]),
            "w": lambda: rng.choice([0.5, 1.0, 2.25, None]),
            "n": lambda: rng.choice([1, 2, 3, None]),
            "a": lambda: rng.choice([[], [1], [1, 2, 2], [None, 3], None]),
        }
        return pa.table({one.name: pa.array([makers[one.name]() for _ in range(count)], one.type) for one in schema})

    return {name: columns(schema) for name, schema in ARROW.items()}


def types_of(spark: SparkSession, *queries: Query) -> Mapping[str, QueryTypes]:
    """Types of queries that are right."""
    report = typecheck_rows(spark, (), [type_request(query) for query in queries], PROGRAM)
    assert report.errors == ()
    return report.queries


def work(query: Query, types: QueryTypes, rows: Retained, at: int, max_rows: int = 100_000) -> RowWork:
    """The query at an instant over retained rows."""
    return RowWork(query.name, statement_of(query), types, at, rows.windows(query, at), max_rows)


def duck_answer(query: Query, rows: Retained, at: int, tables: Mapping[str, pa.Table]) -> list[tuple[Any, ...]]:
    """DuckDB over the query's own text."""
    body = statement_of(query)
    connection = connect()
    for number, window in enumerate(body.windows):
        whole = rows.tables[window.stream]
        times = whole.column("ts").cast(pa.int64()).to_numpy()
        wanted = (times > at - window.reach_us) & (times <= at - window.back_us)
        connection.register(f"w{number}", whole.filter(pa.array(wanted)))
    for name, table in tables.items():
        connection.register(name, table)

    def view(place: WindowPlace) -> str:
        return f"w{place.window} AS {place.label}" if place.label else f"w{place.window}"

    parts = []
    for keyword, text in (("", body.select), (" ORDER BY", body.order), ("", body.tail)):
        if text:
            parts.append(keyword + "".join(piece for piece, _span in text.rendered(view, lambda _back: "")))
    return connection.execute(duck_text("".join(parts))).fetchall()


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of an answer."""
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def in_any_order(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows that are compared whatever their order."""
    return sorted(rows, key=repr)
