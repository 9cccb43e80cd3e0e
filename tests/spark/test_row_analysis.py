"""Types and errors of row queries: Spark's own, at the places of the program."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from punctual.runtime.row_queries.row_analysis import typecheck_rows
from tests.spark.counting import counting
from tests.spark.row_programs import PROGRAM, row_query, type_request, types_of

pytestmark = pytest.mark.spark

W = "s [RANGE 10 SECONDS]"
J = "s [RANGE 10 SECONDS] AS a JOIN r [RANGE 5 SECONDS] AS b ON a.k = b.k"

REFUSED: list[tuple[str, str, str, str]] = [
    (f"SELECT kk FROM {W}", "bind.unknown-column", "kk", "did you mean k?"),
    (f"SELECT labl FROM {W} JOIN u ON s.k = u.id", "bind.unknown-column", "labl", "did you mean label?"),
    (f"SELECT wrong(k) FROM {W}", "bind.unknown-function", "wrong(k)", "function reference"),
    (f"SELECT k + array(1) AS x FROM {W}", "bind.type-mismatch", "k + array(1)", ""),
    (f"SELECT k FROM {W} WHERE v", "bind.type-mismatch", "", ""),
    (f"SELECT k FROM {W} GROUP BY", "parse.syntax", "GROUP BY", ""),
    (f"SELECT k FROM {W} WHERE v >> > 1", "parse.syntax", ">", ""),
    (f"SELECT a.k FROM {J} JOIN r ON r.k = a.k", "bind.missing-window", "r", "r [RANGE 20 MINUTES"),
    (f"SELECT a.k FROM {J} JOIN rr ON rr.k = a.k", "bind.unknown-stream", "rr", "did you mean r?"),
    (f"SELECT k FROM {W} JOIN parquet.`/tmp/x` USING (k)", "bind.unknown-stream", "parquet", ""),
    (f"SELECT x.k FROM {W} AS x JOIN stranger ON true", "bind.unknown-stream", "stranger", "streams and tables"),
    (f"SELECT a.k, b.k FROM {J}", "bind.duplicate-name", "k", "rename"),
    (f"SELECT k, `rand`() AS x FROM {W}", "bind.not-repeatable", "`rand`", ""),
    (f"SELECT k FROM {W} WHERE v > system.builtin.random()", "bind.not-repeatable", "random", ""),
    (f"SELECT `uuid`() AS x, l FROM (SELECT first(v) AS l FROM {W} GROUP BY k)", "bind.not-repeatable", "`uuid`", ""),
    (f"SELECT k, (SELECT max(`current_timestamp`()) FROM u) AS x FROM {W}", "bind.not-repeatable", "", ""),
    (f"SELECT k, TIMESTAMP'now' AS x FROM {W}", "bind.not-repeatable", "'now'", ""),
    (f"SELECT k FROM {W} TABLESAMPLE (10 PERCENT)", "bind.not-repeatable", "TABLESAMPLE", ""),
    (f"SELECT TRANSFORM(k) USING 'cat' AS x FROM {W}", "bind.not-repeatable", "TRANSFORM", ""),
    (f"WITH t AS (SELECT k FROM {W}) INSERT INTO u SELECT k, k FROM t", "parse.syntax", "", ""),
    (f"SELECT parse_json(k) AS x FROM {W}", "bind.bad-type", "x", "cast"),
    (f"SELECT k, sum(v) FROM {W}", "bind.refused-by-spark", "", ""),
    (f"SELECT m FROM (SELECT kk AS m FROM {W}) [RANGE 3 SECONDS] AS x", "bind.unknown-column", "kk", "did you mean k?"),
    (f"SELECT n FROM (SELECT k FROM {W}) [RANGE 3 SECONDS] AS x", "bind.unknown-column", "n", "n is a column of s,"),
    (f"SELECT m FROM (SELECT k + array(1) AS m FROM {W}) [RANGE 3 SECONDS] AS x", "bind.type-mismatch", "k + array(1)",
     ""),
    (f"SELECT m FROM (SELECT `rand`() AS m FROM {W}) [RANGE 3 SECONDS] AS x", "bind.not-repeatable", "`rand`", ""),
    (f"SELECT k FROM (SELECT k FROM {W} WHERE v >> > 1) [RANGE 3 SECONDS] AS x", "parse.syntax", ">", ""),
    (f"SELECT x.k FROM (SELECT k FROM r JOIN {W} USING (k)) [RANGE 3 SECONDS] AS x", "bind.missing-window", "r", ""),
    (f"SELECT DISTINCT v FROM {W} UNION ALL r [RANGE 1 SECOND]", "bind.unknown-column", "v", "v is a column of s,"),
    (f"SELECT k FROM {W} UNION SELECT k, w FROM r [RANGE 1 SECOND]", "bind.refused-by-spark", "", ""),
]


@pytest.fixture
def stranger(spark: SparkSession) -> None:
    """A table and a global view of the user's catalog."""
    spark.sql("CREATE TABLE IF NOT EXISTS stranger (id INT) USING parquet")
    spark.range(3).createOrReplaceGlobalTempView("everywhere")


@pytest.mark.usefixtures("stranger")
def test_what_is_wrong_is_said_at_its_place_and_all_at_once(spark: SparkSession) -> None:
    text, requests, starts = "", [], []
    for number, (one, *_expected) in enumerate(REFUSED):
        text += f"CREATE QUERY q{number} AS "
        starts.append(len(text))
        requests.append(type_request(row_query(one, f"q{number}", len(text))))
        text += one + ";\n"
    report = typecheck_rows(spark, (), requests, PROGRAM)
    assert report.queries == {}
    assert len(report.errors) == len(REFUSED)
    for (query, code, under, hint), error, start in zip(REFUSED, report.errors, starts):
        assert error.code == code, (query, error.render(text))
        assert error.span is not None, query
        assert start <= error.span.start < error.span.end <= start + len(query)
        assert not under or text[error.span.start : error.span.end] == under, error.render(text)
        assert hint in (error.hint or ""), (query, error.render(text))
        assert "\x1f" not in error.render(text)


@pytest.mark.usefixtures("stranger")
def test_no_relation_of_the_users_catalog_is_meant(spark: SparkSession, tmp_path: Path) -> None:
    for relation in ("stranger", "default.stranger", "spark_catalog.default.stranger", "global_temp.everywhere"):
        query = row_query(f"SELECT s.k, t.id FROM {W} CROSS JOIN {relation} AS t")
        (error,) = typecheck_rows(spark, (), [type_request(query)], PROGRAM).errors
        assert error.code == "bind.unknown-stream", relation
    spark.range(3).createOrReplaceTempView("u")
    try:
        assert types_of(spark, row_query(f"SELECT label FROM {W} JOIN u ON id = k"))["q"].names == ("label",)
    finally:
        spark.catalog.dropTempView("u")


def test_types_and_names(spark: SparkSession) -> None:
    query = row_query(
        f"SELECT a.*, b.w AS `x y`, count(*) OVER () AS c, struct(a.n, b.w) AS st, map('k', a.v) AS m, now() "
        f"FROM {J} ORDER BY a.v"
    )
    with counting(spark) as count:
        types = types_of(spark, query)["q"]
    assert count.jobs == 0
    assert types.names == ("ts", "k", "v", "n", "a", "x y", "c", "st", "m", "now()")
    assert types.outputs == (
        pa.timestamp("us", tz="UTC"), pa.string(), pa.float64(), pa.int32(), pa.list_(pa.int32()), pa.float64(),
        pa.int64(), pa.struct([("n", pa.int32()), ("w", pa.float64())]), pa.map_(pa.string(), pa.float64()),
        pa.timestamp("us", tz="UTC"),
    )
    assert [[name for name, _type in window.columns] for window in types.windows] == [
        ["ts", "k", "v", "n", "a"], ["ts", "k", "w"],
    ]
    assert [window.event_time for window in types.windows] == ["ts", "ts"]


def test_what_spark_takes_is_taken(spark: SparkSession) -> None:
    texts = (
        f"SELECT k, first(v) AS f, collect_list(n) AS l, any_value(n) AS y FROM {W} GROUP BY k",
        f"SELECT x FROM {W} LATERAL VIEW explode(a) t AS x",
        f"SELECT k, id FROM {W} CROSS JOIN range(3)",
        f"SELECT k, transform(a, e -> e + 1) AS t FROM {W}",
        f"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3) "
        f"SELECT k, i FROM {W} CROSS JOIN c",
        f"SELECT k, 'x\nSample' AS t FROM {W}",
        f"SELECT k FROM {W} WHERE k NOT IN (SELECT k FROM r [RANGE 2 SECONDS])",
        f"SELECT DATE'2026-01-01' AS d, TIMESTAMP'2026-01-01' AS t FROM {W}",
        f"SELECT k, v FROM {W} SORT BY v",
    )
    queries = [row_query(text, f"q{number}") for number, text in enumerate(texts)]
    assert len(types_of(spark, *queries)) == len(texts)


def test_whether_a_plan_is_made_once_is_known_before_anything_runs(spark: SparkSession) -> None:
    texts = {
        f"SELECT a.k, b.w FROM {J}": True,
        f"SELECT DISTINCT k FROM {W}": True,
        f"SELECT k FROM {W} WHERE v > (SELECT avg(w) FROM r [RANGE 5 SECONDS])": False,
    }
    queries = [row_query(text, f"q{number}") for number, text in enumerate(texts)]
    found = types_of(spark, *queries)
    assert [found[query.name].stands for query in queries] == list(texts.values())
