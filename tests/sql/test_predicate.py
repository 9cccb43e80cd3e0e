"""Comparisons that go to the kernel keep exactly the rows that SQL keeps; the rest stays for Spark.

DuckDB decides, which compares numbers as Spark does for the literals used here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import duckdb
import pytest

from punctual.own_names import joined_column
from punctual.plan.expression import column_of
from punctual.plan.rows import Comparison
from tests.sql.programs import body_of, query

VALUES: dict[str, tuple[str, list[object]]] = {
    "lane": ("INT", [None, -3, -2, -1, 0, 1, 2, 3, 2**31 - 1, -(2**31)]),
    "big": ("BIGINT", [None, 0, 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]),
    "kmh": ("DOUBLE", [None, -1.5, -0.0, 0.0, 0.1, 1.0, 1.5, 2.0, 1e300]),
    "ratio": ("FLOAT", [None, 0.0, 0.5, 1.0, 1.5, 16777216.0]),
    "sensor": ("VARCHAR", [None, "", "a", "A", "b", "é"]),
}
COMPARE: dict[str, Callable[[object, object], object]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">": operator.gt, "<>": operator.ne,
}

KERNEL = [
    "lane > 1", "lane >= 1.5", "lane > 1.5", "lane < 1.5", "lane <= -1.5", "lane < -1.5", "lane = 1.0", "lane = 1.5",
    "lane <> 1", "lane != -1", "lane == 1", "1 < lane", "-1.5 >= lane", "lane BETWEEN -1 AND 1.5",
    "lane IN (1, 2, 2)", "lane IN (1.5, 2)", "lane IN (1.5)", "lane < 3000000000", "lane > 1e0", "lane = (2)",
    "lane > - 1", "s.lane = 1 AND (lane < 3 AND (lane > 0))", "big > 9007199254740992", "big = 9223372036854775807",
    "big < 1.5e2", "big <= 0.5", "kmh > 0", "kmh = 0.1", "kmh >= 1.5e0", "kmh IN (1, 1.5)", "kmh BETWEEN 0 AND 1",
    "kmh <> 1.5", "ratio > 0.25", "ratio = 1.5", "ratio <= 16777216", "sensor = 'a'", "sensor <> 'a'", "'é' = sensor",
    "sensor IN ('a', 'b')",
]
OPAQUE = [
    "lane <> 1.5", "lane > kmh", "lane + 1 > 2", "NOT lane = 1", "lane NOT IN (1, 2)", "lane = 1 OR lane = 2",
    "lane IN (1, NULL)", "lane = NULL", "lane > '1'", "lane NOT BETWEEN 1 AND 2", "lane <=> 1", "lane IS NULL",
    "sensor > 'a'", "sensor LIKE 'a%'", "sensor = 'it''s'", "sensor = 'a\\\\n'", "sensor = 1", "big > 1e17",
    "big < 99999999999999999999", "ratio = 16777217", "lane > 1L", "kmh > 1.1F", "loc.x = 1", "lane",
    "kmh = double('nan')",
    "CASE WHEN lane = 1 AND kmh = 2 THEN true ELSE false END",
]


def holds(comparison: Comparison, row: dict[str, object]) -> bool:
    value = row[comparison.column.written]
    if value is None:
        return False
    if comparison.operator == "in":
        return value in comparison.values
    return bool(COMPARE[comparison.operator](value, comparison.values[0]))


@pytest.mark.parametrize("condition", KERNEL)
def test_the_kernel_keeps_the_rows_that_sql_keeps(condition: str) -> None:
    where = body_of(query(f"SELECT count(*) FROM speed [NOW] AS s WHERE {condition} PERIOD 1 MINUTE")).rows.where
    assert where.opaque == ()
    (column,) = {comparison.column.written for comparison in where.comparisons}
    sql_type, values = VALUES[column]
    with duckdb.connect() as duck:
        duck.execute(f"CREATE TABLE s ({column} {sql_type})")
        duck.executemany("INSERT INTO s VALUES (?)", [(value,) for value in values])
        text = condition.replace("==", "=").replace("big > 9007199254740992", "big > 9007199254740992::BIGINT")
        rows = duck.execute(f"SELECT {column} FROM s WHERE {text}").fetchall()
    kept = [v for v in values if all(holds(c, {column: v}) for c in where.comparisons)]
    assert sorted(kept, key=repr) == sorted((row[0] for row in rows), key=repr)


@pytest.mark.parametrize("condition", OPAQUE)
def test_what_the_kernel_cannot_judge_stays_opaque(condition: str) -> None:
    where = body_of(query(f"SELECT count(*) FROM speed [NOW] AS s WHERE {condition} PERIOD 1 MINUTE")).rows.where
    assert (len(where.opaque), where.comparisons) == (1, ())


def test_types_of_constants_follow_the_column() -> None:
    found = query("SELECT count(*) FROM speed [NOW] WHERE kmh > 3 AND lane > 3 AND lane = 2.5 PERIOD 1 MINUTE")
    where = body_of(found).rows.where
    assert set(where.comparisons) == {
        Comparison(column_of("kmh"), ">", (3.0,)),
        Comparison(column_of("lane"), ">", (3,)),
        Comparison(column_of("lane"), "in", ()),
    }
    by_column = {c.column: c.values for c in where.comparisons if c.values}
    assert isinstance(by_column[column_of("kmh")][0], float)
    assert isinstance(by_column[column_of("lane")][0], int)


def test_two_ways_to_write_a_condition_are_one() -> None:
    start = "SELECT count(*) FROM speed [NOW] PERIOD 1 MINUTE WHERE"
    one = query(f"{start} lane IN (2, 1) AND abs( LANE ) > 1 AND kmh > 5")
    two = query(f"{start} 5 < kmh AND (Abs(lane) > 1 AND lane in (1,2,1))")
    assert body_of(one).rows.where == body_of(two).rows.where


def test_columns_of_tables_are_compared_too() -> None:
    where = body_of(query(
        "SELECT count(*) FROM speed [NOW] LEFT JOIN lanes l ON lane = id WHERE l.name = 'x' AND id < 3 PERIOD 1 MINUTE"
    )).rows.where
    name, number = (column_of(joined_column("l", column)) for column in ("name", "id"))
    assert set(where.comparisons) == {Comparison(name, "=", ("x",)), Comparison(number, "<", (3,))}
