"""Spark SQL expressions on DuckDB: the translation that both the reference and the in-process data plane use.

sqlglot writes the DuckDB text; what it leaves meaning something else than in Spark is mended here: types of FLOOR,
CEIL and LENGTH, functions from numbers to timestamps. What DuckDB cannot mean as Spark does (a cast from a fraction to
an integer truncates there and rounds here, DIV of negative numbers, DECIMAL division) the cases leave to Spark's
own tests. Aggregates of floating point, percentiles and FIRST or LAST are not DuckDB's either: see ``aggregates.py``.
"""

from __future__ import annotations

from functools import cache

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

ARROW = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "HUGEINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "STRING": pa.string(),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    '"NULL"': pa.null(),
}
"""Types of DuckDB and of Spark's DDL by their Arrow type; TIMESTAMP means Spark's, an instant."""

MICROS_OF = {"timestamp_micros": 1, "timestamp_millis": 1_000, "timestamp_seconds": 1_000_000}


@cache
def _root() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def connect() -> duckdb.DuckDBPyConnection:
    """A session of one DuckDB in memory: it speaks UTC and gives NULL where Spark does without ANSI.

    A session is made in a millisecond, a database in forty; temporary tables and views belong to their session.
    """
    connection = _root().cursor()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET error_on_division_by_zero = false")
    return connection


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a type's name in DuckDB or in Spark's DDL.

    >>> arrow_type("DECIMAL(10,2)[]")
    ListType(list<item: decimal128(10, 2)>)
    """
    if name.endswith("[]"):
        return pa.list_(arrow_type(name[:-2]))
    if name.startswith("ARRAY<"):
        return pa.list_(arrow_type(name[len("ARRAY<") : -1]))
    if name.startswith("DECIMAL"):
        precision, _, scale = name[len("DECIMAL") :].strip("()").partition(",")
        return pa.decimal128(int(precision or 10), int(scale or 0))
    return ARROW[name]


def duck_type(data_type: pa.DataType) -> str:
    """DuckDB's name of an Arrow type."""
    if pa.types.is_list(data_type):
        return duck_type(data_type.value_type) + "[]"
    if pa.types.is_decimal(data_type):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if data_type == ARROW["TIMESTAMP"]:
        return "TIMESTAMPTZ"
    return next(name for name, known in ARROW.items() if known == data_type and name not in ("INT", "STRING"))


def parse(text: str) -> exp.Expression:
    """An expression or SELECT of Spark SQL."""
    tree = sqlglot.parse_one(text, dialect="spark")
    assert isinstance(tree, exp.Expression)
    return tree


def duck_sql(tree: exp.Expression) -> str:
    """The tree as DuckDB's text."""
    return tree.transform(_mended).sql(dialect="duckdb")


@cache
def duck_text(text: str) -> str:
    """Spark SQL text as DuckDB's."""
    return duck_sql(parse(text))


def _mended(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Floor | exp.Ceil) and not _wrapped(node):
        return exp.cast(node, "BIGINT")
    if isinstance(node, exp.Length | exp.Hour | exp.Minute | exp.Second) and not _wrapped(node):
        return exp.cast(node, "INT")
    if isinstance(node, exp.JSONFormat):  # DuckDB keeps NULLs and microseconds without being told
        node.set("options", None)
        return node
    if isinstance(node, exp.Anonymous) and node.name.lower() in MICROS_OF:
        size = exp.Literal.number(MICROS_OF[node.name.lower()])
        micros = exp.Mul(this=exp.paren(node.expressions[0]), expression=size)
        return exp.Anonymous(this="make_timestamptz", expressions=[exp.cast(micros, "BIGINT")])
    return node


def _wrapped(node: exp.Expression) -> bool:
    """Whether the transformation has been here: it visits the children of what it returns."""
    return isinstance(node.parent, exp.Cast)


def types_of(connection: duckdb.DuckDBPyConnection, select: str) -> list[pa.DataType]:
    """The Arrow types of a SELECT's columns; nothing is read."""
    described = connection.execute(f"DESCRIBE {select}").fetchall()
    if any(row[1].startswith("STRUCT") for row in described):
        return list(connection.sql(f"SELECT * FROM ({select}) LIMIT 0").to_arrow_table().schema.types)
    return [arrow_type(row[1]) for row in described]
