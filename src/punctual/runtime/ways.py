"""Which way a unit's rows go: all in the task that reads them, or through Spark's projection.

A unit goes the direct way when everything that it reads of a row is a column: of the stream as declared, or of a static
table found by plain keys. What Spark must compute (derived columns, conditions that are no comparisons, expressions in
GROUP BY and in aggregates) goes through Catalyst. EXPLAIN says which, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from punctual.own_names import joined_column, joined_flag
from punctual.plan.expression import Expression
from punctual.plan.functions import SYNOPSES
from punctual.plan.relation import Stream, Table
from punctual.plan.rows import Join
from punctual.plan.shared import Unit
from punctual.plan.source import FeedSource, FileSource
from punctual.plan.united import common_columns
from punctual.runtime.direct_values import direct_value
from punctual.scan.marks import MARKS
from punctual.scan.supported import why_spark_reads

EQUAL_ALIKE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "BINARY", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL")
"""Types whose values are equal to Arrow where they are to Spark: of numbers with a fraction, -0.0 and NaN are not."""


def why_catalyst(unit: Unit, streams: Mapping[str, Stream], tables: Mapping[str, Table]) -> str | None:
    """Why Spark must project the rows of a unit; None where it need not.

    Both mappings are by lower-case name.
    """
    return next(_reasons(unit, streams, tables), None)


def why_spark_reads_stream(stream: Stream) -> str | None:
    """Why Spark's own reader reads a stream's files; None where tasks do.

    A single file may still need Spark's: one of Parquet whose types are far from the declared ones.
    """
    columns = [(column.name, column.type) for column in stream.columns if column.derived is None]
    match stream.source:
        case FileSource(_path, file_format, options):
            return why_spark_reads(file_format, columns, options)
        case FeedSource():
            return why_spark_reads("JSON", columns, ())
        case _:
            return None


def streams_that_spark_reads(streams: Mapping[str, Stream]) -> frozenset[str]:
    """Of streams by name those whose files Spark's own reader reads."""
    return frozenset(name for name, stream in streams.items() if why_spark_reads_stream(stream) is not None)


def times_declared(stream: Stream) -> bool:
    """Whether which rows count can be told without Spark: what says so are columns as declared."""
    return not _derived(stream, _dated_by(stream)) and not _derived(stream, _parameters(stream))


def _dated_by(stream: Stream) -> set[str | None]:
    return {stream.event_time, stream.probability}


def _parameters(stream: Stream) -> set[str | None]:
    return {name for _column, law in stream.given_laws for name in law.parameters}


def _derived(stream: Stream, names: set[str | None]) -> bool:
    return any(column.derived is not None for column in stream.columns if column.name in names)


def _reasons(unit: Unit, streams: Mapping[str, Stream], tables: Mapping[str, Table]) -> Iterator[str]:
    if unit.united:
        yield "it unites streams"
        return
    stream = streams[unit.stream.lower()]
    if _derived(stream, _dated_by(stream)):
        yield "its event time or its probability is derived"
    if _derived(stream, _parameters(stream)):
        yield "a parameter of an uncertain column is derived"
    for join in unit.joins:
        yield from _join_reasons(join, stream, tables[join.table.lower()])
    types = row_types(stream, unit.joins, tables)
    for expression in _expressions(unit):
        if direct_value(expression, types) is None:
            derived = stream.column(expression.column) if expression.column is not None else None
            yield f"{expression.written} is {'derived' if derived is not None else 'an expression'}"
    if any(SYNOPSES[synopsis.kind].ordered for synopsis in unit.synopses):
        for column in common_columns([stream]):
            if column.derived is not None and not column.absent:
                yield f"rows of one time are ordered by {column.name}, which is derived"


def _expressions(unit: Unit) -> Iterator[Expression]:
    yield from unit.mask
    yield from unit.keys
    yield from (band.column for band in unit.bands)
    yield from (synopsis.argument for synopsis in unit.synopses if synopsis.argument is not None)


def _join_reasons(join: Join, stream: Stream, table: Table) -> Iterator[str]:
    for row, name in join.on:
        key = table.column(name)
        given = None if row.column is None else stream.column(row.column)
        if given is None or given.derived is not None or key is None:
            yield f"table {join.table} is joined by {row.written}"
        elif given.type != key.type or not key.type.startswith(EQUAL_ALIKE):
            yield f"table {join.table} is joined by {row.written}, {given.type} with {key.type}"


def row_types(stream: Stream, joins: Iterable[Join], tables: Mapping[str, Table]) -> dict[str, str]:
    """The declared types of the columns of an enriched row that need no Spark."""
    types = {column.name: column.type for column in stream.columns if column.derived is None}
    types |= dict.fromkeys(MARKS, "BIGINT")
    for join in joins:
        types |= {joined_column(join.alias, column.name): column.type for column in tables[join.table.lower()].columns}
        types[joined_flag(join.alias)] = "BOOLEAN"
    return types
