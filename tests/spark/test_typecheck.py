"""What ``check`` lets through runs, and what cannot run is refused there, at its place: checked by Spark's analyzer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.explain.look import look_at
from punctual.plan.functions import canonical
from punctual.sql.expressions.function_names import GENERATORS, GROUPING, OTHER_AGGREGATES
from tests.spark.command import lines

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

STREAM = """CREATE STREAM s (
    ts TIMESTAMP EVENT TIME, k STRING, x INT, d DOUBLE, b BOOLEAN, a ARRAY<INT>, st STRUCT<u: INT>, m MAP<STRING, INT>,
    p DOUBLE PROBABILITY
) FROM FILES 's' FORMAT JSON;
"""
WINDOW = "FROM s [RANGE 10 SECONDS]"

REFUSED: list[tuple[str, str, str]] = [
    *((f"SELECT {call} AS o {WINDOW}", "bind.type-mismatch", call) for call in (
        "max(a)", "min(st)", "max(struct(k, x))", "count(DISTINCT a)", "count(DISTINCT struct(k, x))",
        "approx_count_distinct(st)", "approx_count_distinct(m)", "sum(a)", "avg(b)", "var_pop(ts)", "sum(st)",
        "sum(ts - ts)", "avg(DISTINCT ts - ts)", "approx_percentile(b, 0.5)", "approx_percentile(a, 0.5)",
        "count_if(x)",
    )),
    (f"SELECT a, count(*) {WINDOW} GROUP BY a", "bind.type-mismatch", "a"),
    (f"SELECT count(*) {WINDOW} GROUP BY st", "bind.type-mismatch", "st"),
    (f"SELECT count(*) {WINDOW} GROUP BY map(k, x)", "bind.type-mismatch", "map(k, x)"),
    (f"SELECT k, count(*) {WINDOW} GROUP BY k ORDER BY last(a)", "bind.type-mismatch", "last(a)"),
    (f"SELECT TOP 2 k {WINDOW} ORDER BY a", "bind.type-mismatch", "a"),
    (f"SELECT count(*) {WINDOW} WHERE x", "bind.type-mismatch", "x"),
    (f"SELECT count(*) {WINDOW} WHERE b AND k", "bind.type-mismatch", "k"),
    (f"SELECT count(*) FILTER (WHERE x) {WINDOW}", "bind.type-mismatch", "x"),
    (f"SELECT count(*) {WINDOW} HAVING count(*)", "bind.type-mismatch", "count(*)"),
    (f"SELECT count(*) {WINDOW} WHERE b AND wrong(x) > 1", "bind.unknown-function", "wrong(x) > 1"),
    (f"SELECT count(*) FILTER (WHERE wrong(x)) {WINDOW}", "bind.unknown-function", "wrong(x)"),
    (f"SELECT count(*) {WINDOW} HAVING wrong(count(*)) > 1", "bind.unknown-function", "wrong(count(*)) > 1"),
    (f"SELECT count(make_ym_interval(x, 1)) {WINDOW}", "bind.bad-type", "count(make_ym_interval(x, 1))"),
    # Spark does not say where: whoever is refused alone.
    (f"SELECT max(make_time(x, 0, 0)) AS o {WINDOW}", "bind.refused-by-spark", "CREATE QUERY"),
    (f"SELECT make_ym_interval(1, 2) AS y, count(*) {WINDOW}", "bind.bad-type", "make_ym_interval(1, 2)"),
]

RUNS = {
    "bare": ("count(*) AS o", "WHERE b", 2),
    "both": ("count(*) AS o", "WHERE b AND x > 1", 1),
    "filtered": ("count(*) FILTER (WHERE b) AS o", "", 2),
    "ones": ("sum(1) FILTER (WHERE b) AS o", "", 2),
    "having": ("count(*) AS o", "HAVING max(b)", 4),
    "grouped": ("count(*) AS o", "GROUP BY b HAVING b", 2),
    "texts": ("sum(k) AS o", "", 3.5),
    "mean": ("avg(k) AS o", "", 1.75),
    "spread": ("var_pop(k) AS o", "", 0.5625),
    "different": ("sum(DISTINCT k) AS o", "", 3.5),
    "middle": ("approx_percentile(cast(k AS STRING), 0.5) AS o", "", 1.0),
    "middles": ("approx_percentile(k, array(0.0, 1.0)) AS o", "", [1.0, 2.5]),
    "seconds": ("avg(ts) AS o", "", 2.5),
    "nothing": ("sum(NULL) AS o", "", None),
    "nobody": ("approx_count_distinct(NULL) AS o", "", 0),
    "null_key": ("count(*) AS o", "GROUP BY NULL", 4),
    "nested": ("first(a) AS o", "", [1]),
    "pairs": ("count(DISTINCT concat(k, '/', x)) AS o", "", 3),
    "lasting": ("max(ts - TIMESTAMP'1970-01-01') AS o", "GROUP BY ts - ts", 4_000_000),
    "once": ("avg(CASE x WHEN 1 THEN 1e16 WHEN 2 THEN 28D WHEN 3 THEN 29D END) AS o", "", 3333333333333352.5),
}


def test_what_cannot_run_is_refused_at_its_place(tmp_path: Path) -> None:
    queries = [f"CREATE QUERY q{n} AS {body} PERIOD 5 SECONDS;" for n, (body, _c, _u) in enumerate(REFUSED)]
    text = "\n".join([STREAM, *queries])
    with pytest.raises(ProgramErrors) as refused:
        look_at(text, str(tmp_path), {}, types=True)
    told: dict[int, tuple[str, str]] = {}
    for error in refused.value.errors:
        assert error.span is not None, error.fact
        number = text.count("CREATE QUERY", 0, error.span.start + len("CREATE QUERY")) - 1
        assert number not in told, (error.fact, told[number])
        underlined = text[error.span.start : error.span.end]
        told[number] = (error.code, "CREATE QUERY" if underlined.startswith("CREATE QUERY") else underlined)
    for number, (body, code, underlined) in enumerate(REFUSED):
        assert told.get(number) == (code, underlined), body


def test_what_is_let_through_runs(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"ts": "1970-01-01T00:00:01Z", "k": "1", "x": 1, "b": True, "a": [1], "p": 1.0},
        {"ts": "1970-01-01T00:00:02Z", "k": "2.5", "x": 2, "b": True, "a": [2], "p": 1.0},
        {"ts": "1970-01-01T00:00:03Z", "k": "many", "x": 3, "b": False, "a": [3], "p": 1.0},
        {"ts": "1970-01-01T00:00:04Z", "k": None, "x": 4, "b": None, "a": None, "p": 1.0},
        {"ts": "1970-01-01T00:00:05.5Z", "k": "9", "x": 5, "b": True, "a": None, "p": 1.0},
    ]
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    program = STREAM + "".join(
        f"CREATE QUERY {name} AS SELECT {select} {WINDOW} {rest} PERIOD 5 SECONDS;\n"
        for name, (select, rest, _expected) in RUNS.items()
    )
    said: list[str] = []
    with Engine(out=str(tmp_path / "out"), base=str(tmp_path), live=False, report=said.append) as engine:
        engine.sql(program)
        engine.run_once()
        assert engine.stopped() == frozenset(), said
    answers = lines(tmp_path / "out")
    found = {name: [row["o"] for row in json.loads(answers[name].splitlines()[0])["rows"]] for name in RUNS}
    assert found == {name: [expected] for name, (_s, _r, expected) in RUNS.items()}


def test_generators_and_aggregates_of_spark_are_known(spark: SparkSession) -> None:
    """A function of Spark's that makes rows, or one value of many, and that nobody here knows would slip through."""
    utilities = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils  # type: ignore[union-attr]
    groups: dict[str, set[str]] = {}
    for info in utilities.listBuiltinFunctionInfos():
        groups.setdefault(info.getGroup(), set()).add(info.getName())
    tables = {"collations", "sql_keywords"}  # Spark lets them stand in FROM only
    assert groups["generator_funcs"] - tables <= GENERATORS
    unknown = {name for name in groups["agg_funcs"] if canonical(name) is None}
    assert unknown <= OTHER_AGGREGATES | GROUPING
