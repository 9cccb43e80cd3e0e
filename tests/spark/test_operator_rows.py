"""The rows of operators by Spark's counters: those of windows and joins as DuckDB counts them, after every run."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from punctual.plan.operators import OperatorRows
from punctual.runtime.row_queries.row_plans import PASSING_PER_LOOK, RowPlans
from tests.spark.row_programs import LABELS, SECOND, Retained, random_rows, retained, row_query, types_of, work

pytestmark = pytest.mark.spark

A, B = "s [RANGE 10 SECONDS] AS a", "r [RANGE 20 SECONDS] AS b"
TEXTS = {
    "join": f"SELECT a.k, a.v, b.w FROM {A} JOIN {B} ON a.k = b.k WHERE b.w > 1",
    "semi": f"SELECT a.k, a.v FROM {A} LEFT SEMI JOIN {B} ON a.k = b.k",
    "groups": f"SELECT a.k, count(*) AS c FROM {A} GROUP BY a.k",
    "table": f"SELECT a.k, u.label FROM {A} JOIN u ON a.k = u.id",
    "top": f"SELECT b.k, b.w FROM {B} ORDER BY b.w DESC LIMIT 3",
}
ANEW = f"SELECT a.k, b.w FROM {A} LEFT JOIN {B} ON a.v < b.w"


def of_kind(execution: OperatorRows | None, kind: str) -> list[float]:
    assert execution is not None
    return [rows for node, rows in zip(execution.operators.nodes(), execution.rows) if node.kind == kind]


def windows_read(execution: OperatorRows | None) -> dict[int | None, float]:
    assert execution is not None
    return {node.window: rows for node, rows in zip(execution.operators.nodes(), execution.rows) if node.kind == "read"}


def windows(rows: Retained, at: int) -> duckdb.DuckDBPyConnection:
    """The rows of both windows as views ``a`` and ``b``."""
    connection = duckdb.connect()
    for name, label, seconds in (("s", "a", 10), ("r", "b", 20)):
        connection.register(name, rows.tables[name])
        after = f"epoch_us(ts) > {at - seconds * SECOND} AND epoch_us(ts) <= {at}"
        connection.sql(f"CREATE VIEW {label} AS SELECT * FROM {name} WHERE {after}")
    connection.register("u", LABELS)
    return connection


def counted(connection: duckdb.DuckDBPyConnection, what: str) -> float:
    return float(connection.sql(f"SELECT count(*) FROM {what}").fetchall()[0][0])


def test_rows_of_operators_are_those_of_each_run(spark: SparkSession, tmp_path: Path) -> None:
    plans = RowPlans(spark, 2)
    queries = {name: row_query(text, name) for name, text in TEXTS.items()}
    types = types_of(spark, *queries.values())
    for run, (seed, at) in enumerate([(1, 20), (2, 20), (3, 9)]):
        kept = retained(tmp_path, random_rows(seed))
        works = [work(query, types[name], kept, at * SECOND) for name, query in queries.items()]
        found = plans.run(works, {"u": LABELS})
        assert (found.jobs, found.planned) == (1, [run == 0] * len(works))
        executions = dict(zip(queries, found.executions))
        duck = windows(kept, at * SECOND)
        a, b = counted(duck, "a"), counted(duck, "b")
        assert of_kind(executions["join"], "join") == [counted(duck, "a JOIN b ON a.k = b.k WHERE b.w > 1")]
        assert counted(duck, "b WHERE w > 1") in of_kind(executions["join"], "select")
        assert of_kind(executions["semi"], "semijoin") == [counted(duck, "a SEMI JOIN b ON a.k = b.k")]
        assert of_kind(executions["groups"], "aggregate")[0] == counted(duck, "(SELECT DISTINCT k FROM a)")
        assert of_kind(executions["table"], "table") == [LABELS.num_rows]
        assert of_kind(executions["top"], "limit")[0] == of_kind(executions["top"], "answer")[0] == min(b, 3)
        assert windows_read(executions["join"]) == {0: a, 1: b}


def test_plans_that_run_once_are_looked_at_seldom(spark: SparkSession, tmp_path: Path) -> None:
    plans, query = RowPlans(spark, 2), row_query(ANEW, "theta")
    types, kept = types_of(spark, query)["theta"], retained(tmp_path, random_rows(4))
    looked = []
    for _run in range(PASSING_PER_LOOK + 1):
        found = plans.run([work(query, types, kept, 20 * SECOND)], {})
        (execution,) = found.executions
        assert found.planned == [True]
        looked.append(execution is not None)
    assert looked == [True, *[False] * (PASSING_PER_LOOK - 1), True]
    duck = windows(kept, 20 * SECOND)
    assert of_kind(execution, "pairs") == [counted(duck, "a LEFT JOIN b ON a.v < b.w")]
