"""What is plain has a type without Spark; what Spark might refuse, or cast by a rule of its own, is left to it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from punctual.kinds import registry
from punctual.kinds.program import compile_program
from punctual.plan.expression import column_of, compose
from punctual.plan.relation import Column, Declared, Stream
from punctual.plan.source import FeedSource
from punctual.runtime.declared_types import declared_type
from punctual.runtime.plain_expressions import plain_type
from punctual.runtime.plain_types import PlainTypes, plain_types

DECLARED = (
    "k STRING, i INT, bi BIGINT, f FLOAT, d DOUBLE, b BOOLEAN, de DECIMAL(10,2), da DATE, "
    "a ARRAY<INT>, m MAP<STRING,INT>"
)
RELATIONS = f"""
CREATE STREAM s (t TIMESTAMP EVENT TIME, {DECLARED}) FROM FEED;
CREATE TABLE u ({DECLARED}) FROM FILES 'u' FORMAT JSON;
"""
TIME = pa.timestamp("us", tz="UTC")


def typed(select: str, relations: str = RELATIONS) -> PlainTypes:
    text = f"{relations}CREATE QUERY q AS {select} PERIOD 5 SECONDS;"
    program = compile_program(text, base=".")
    requests = [registry.kind_of(query).type_request(query) for query in program.catalog.queries.values()]
    return plain_types(program.declarations, requests, ())


def output(expression: str, rest: str = "") -> pa.DataType | None:
    found = typed(f"SELECT {expression} AS o, count(*) AS n FROM s [RANGE 10 SECONDS] {rest}")
    return found.queries["q"].outputs[0] if "q" in found.queries else None


OUTPUTS = {
    "count(*)": pa.int64(),
    "count(m)": pa.int64(),
    "first(m)": pa.map_(pa.string(), pa.int32()),
    "count(a)": pa.int64(),
    "sum(i)": pa.int64(),
    "sum(f)": pa.float64(),
    "sum(de)": pa.decimal128(20, 2),
    "avg(de)": pa.decimal128(14, 6),
    "avg(DISTINCT i)": pa.float64(),
    "stddev(de)": pa.float64(),
    "max(k)": pa.string(),
    "last(a)": pa.list_(pa.int32()),
    "approx_percentile(f, array(0.5, 1))": pa.list_(pa.float32()),
    "approx_percentile(da, 0.5)": pa.date32(),
    "approx_count_distinct(k, 0.05)": pa.int64(),
    "now()": TIME,
    "(max(i))": pa.int32(),
    "- max(i)": pa.int32(),
    "7": pa.int32(),
    "1.50": pa.decimal128(3, 2),
    "'x'": pa.string(),
    "NULL": pa.null(),
    "sum(d) / count(*)": pa.float64(),
    "sum(i) / count(*)": pa.float64(),
    "max(i) + max(bi)": pa.int64(),
    "max(bi) * max(f)": pa.float32(),
    "max(de) + max(d)": pa.float64(),
    "max(i) > 1 AND NOT max(b) OR max(k) IN ('a', 'b')": pa.bool_(),
    "CASE WHEN max(i) BETWEEN 1 AND 2 THEN 'few' ELSE 'many' END": pa.string(),
    "cast(max(i) AS DECIMAL(5,1))": pa.decimal128(5, 1),
    "coalesce(max(d), 0)": pa.float64(),
    # left to Spark
    "sum(k)": None,
    "sum(t)": None,
    "sum(b)": None,
    "count_if(i)": None,
    "min(a)": None,
    "count(DISTINCT a)": None,
    "approx_percentile(k, 0.5)": None,
    "approx_percentile(b, 0.5)": None,
    "approx_count_distinct(k, 0.5)": None,
    "max(de) + max(i)": None,
    "max(de) / 2": None,
    "max(k) + 1": None,
    "max(k) = 1": None,
    "max(da) < max(t)": None,
    "max(b) + 1": None,
    "NOT max(i)": None,
    "max(i) AND max(b)": None,
    "-max(k)": None,
    "cast(max(da) AS INT)": None,
    "coalesce(max(k), 1)": None,
    "sqrt(max(d))": None,
    "max(wrong(d))": None,
    "2147483648": None,
    "1L": None,
    "1e400": None,
    "'it\\'s'": None,
    "'a' 'b'": None,
    "DATE'2024-01-01'": None,
    "max(k) || 'x'": None,
}


@pytest.mark.parametrize(("expression", "expected"), OUTPUTS.items(), ids=OUTPUTS.keys())
def test_outputs(expression: str, expected: pa.DataType | None) -> None:
    assert output(expression) == expected


def test_everything_that_is_asked_has_its_type() -> None:
    found = typed(
        "SELECT u.k, s.i % 2 AS parity, max(s.d) AS top, count(*) AS n "
        "FROM s [RANGE 10 SECONDS] LEFT JOIN u ON s.k = u.k "
        "WHERE s.d > s.i GROUP BY u.k, s.i % 2 HAVING n > 3 ORDER BY top, now()"
    )
    assert found.complete
    types = found.queries["q"]
    assert types.keys == (pa.string(), pa.int32())
    assert types.outputs == (pa.string(), pa.int32(), pa.float64(), pa.int64())
    assert types.arguments == (pa.float64(), None)
    assert types.order == (pa.float64(), TIME)
    assert types.conditions == (pa.bool_(),)
    assert types.having == pa.bool_()


@pytest.mark.parametrize("select", [
    "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] JOIN u ON s.i = u.bi",
    "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] JOIN u ON s.a = u.a",
    "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] WHERE k > 1",
    "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY m",
    "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY a",
    "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] HAVING odd(n)",
    "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] ORDER BY odd(n)",
])  # fmt: skip
def test_one_odd_part_leaves_the_query_to_spark(select: str) -> None:
    found = typed(select)
    assert not found.queries
    assert [request.query.name for request in found.requests] == ["q"]


def test_only_the_odd_query_is_left() -> None:
    one = "CREATE QUERY p AS SELECT max(i) AS n FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;"
    found = typed("SELECT sqrt(max(i)) AS n FROM s [RANGE 10 SECONDS]", RELATIONS + one)
    assert list(found.queries) == ["p"]
    assert [request.query.name for request in found.requests] == ["q"]


def test_a_condition_that_is_none_keeps_its_type_for_whoever_refuses_it() -> None:
    assert typed("SELECT count(*) AS n FROM s [RANGE 10 SECONDS] WHERE i").queries["q"].conditions == (pa.int32(),)


DERIVED = {
    "TIMESTAMP AS (timestamp_millis(bi))": True,
    "DOUBLE AS (d * i)": True,
    "DOUBLE AS (CASE i WHEN 1 THEN 0.45 ELSE 0.25 END)": True,
    "STRING AS (concat(k, ' ', cast(t AS DATE)))": True,
    "DATE AS (i + 1)": False,
    "DOUBLE AS (sqrt(d))": False,
    "INT AS (da)": False,
}


@pytest.mark.parametrize(("column", "plain"), DERIVED.items(), ids=DERIVED.keys())
def test_derived_columns(column: str, plain: bool) -> None:
    given = "t TIMESTAMP EVENT TIME, k STRING, i INT, bi BIGINT, d DOUBLE, da DATE"
    stream = f"CREATE STREAM z ({given}, o {column}) FROM FEED;"
    found = typed("SELECT max(o) AS o FROM z [RANGE 10 SECONDS]", stream)
    assert (not found.relations) is plain
    assert found.queries["q"].outputs == (declared_type(column.split()[0]),), "its type is declared, whatever it is"


@pytest.mark.parametrize(("ddl", "expected"), {
    "ARRAY<ARRAY<INT>>": pa.list_(pa.list_(pa.int32())),
    "MAP<STRING,DECIMAL(5,2)>": pa.map_(pa.string(), pa.decimal128(5, 2)),
    "STRUCT<a: INT, B: MAP<STRING,ARRAY<DATE>>>": pa.struct(
        [("a", pa.int32()), ("B", pa.map_(pa.string(), pa.list_(pa.date32())))]
    ),
    "MAP<MAP<INT,INT>,INT>": None,
    "MAP<ARRAY<INT>,INT>": None,
    "STRUCT<a: INT, A: INT>": None,
    "STRUCT<`a b`: INT>": None,
    "STRUCT<>": None,
    "VARCHAR(5)": None,
    "INTERVAL DAY": None,
    "DECIMAL(39,0)": None,
    "ARRAY<INT": None,
}.items())  # fmt: skip
def test_declared_types(ddl: str, expected: pa.DataType | None) -> None:
    assert declared_type(ddl) == expected


def test_columns_that_spark_may_not_tell_apart() -> None:
    for names in (("x", "X"), ("straße", "STRASSE")):
        columns = (Column("t", "TIMESTAMP"), *(Column(name, "INT") for name in names))
        stream = Declared(Stream("s", columns, "t", 0, FeedSource()))
        assert plain_types([stream], (), ()).relations == (stream,)


def test_deep_brackets_are_left_to_spark() -> None:
    for depth, expected in ((20, pa.int32()), (80, None), (50_000, None)):
        assert plain_type(compose("(" * depth, column_of("x"), ")" * depth), {"x": pa.int32()}) == expected


def test_a_column_that_nobody_declared_has_no_type() -> None:
    query = "CREATE QUERY q AS SELECT max(i) AS o FROM s [RANGE 1 SECOND] PERIOD 1 SECOND;"
    program = compile_program(RELATIONS + query, base=".")
    expression = program.catalog.queries["q"].outputs[0].expression
    assert plain_type(expression, {}) is None
