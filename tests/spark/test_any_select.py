"""Whatever Spark SQL can say over windows: every query of a list through one engine, against plain Spark SQL.

What is expected is the same text in a session of its own, where each window is a view of a DataFrame that is filtered
by time. Nothing of the package is asked for that but the options of its session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.runtime.row_queries.row_session import row_session
from tests.spark.backends import Shared
from tests.spark.row_programs import random_rows

pytestmark = pytest.mark.spark

START = 1_700_000_000 * SECOND
STEP = 20 * SECOND
A, B = "s [RANGE 10 SECONDS] AS a", "r [RANGE 20 SECONDS] AS b"
S, R = "s [RANGE 10 SECONDS]", "r [RANGE 20 SECONDS]"
DECLARED = {
    "s": "ts TIMESTAMP, k STRING, v DOUBLE, n INT, a ARRAY<INT>",
    "r": "ts TIMESTAMP, k STRING, w DOUBLE",
}

JOINS = {
    "natural": f"SELECT * FROM {A} NATURAL JOIN {B}",
    "natural_left": f"SELECT k, n, w FROM {A} NATURAL LEFT JOIN {B}",
    "using": f"SELECT k, a.v, b.w FROM {A} JOIN {B} USING (k)",
    "using_all": f"SELECT a.*, b.w FROM {A} FULL OUTER JOIN {B} USING (k)",
    "using_star": f"SELECT * FROM {A} JOIN {B} USING (k, ts)",
    "using_two": f"SELECT count(*) AS c FROM {A} JOIN {B} USING (k, ts)",
    "semi": f"SELECT * FROM {A} LEFT SEMI JOIN {B} ON a.k = b.k AND b.w > 1",
    "anti": f"SELECT * FROM {A} LEFT ANTI JOIN {B} USING (k)",
    "bare_semi": f"SELECT k, n FROM {S} SEMI JOIN {R} USING (k)",
    "full": f"SELECT a.k, b.k AS l, a.n, b.w FROM {A} FULL JOIN {B} ON a.k = b.k AND a.n = 2",
    "cross": f"SELECT a.k, b.k AS l FROM {A} CROSS JOIN {B} WHERE a.v < b.w",
    "three": f"SELECT a.k, b.w, c.n FROM {A} JOIN {B} ON a.k = b.k LEFT JOIN s [RANGE 3 SECONDS] AS c ON c.k = b.k",
    "with_subquery": f"SELECT a.k, a.v, x.m FROM {A} JOIN (SELECT k, max(w) AS m FROM {R} GROUP BY k) AS x USING (k)",
    "in_brackets": f"SELECT a.k, b.w FROM ({A} JOIN {B} ON a.k = b.k) WHERE b.w > 0.5",
    "one_in_brackets": f"SELECT k, v FROM ({S}) WHERE v > 0",
    "right_in_brackets": f"SELECT a.k, b.w, c.n FROM {A} LEFT JOIN ({B} JOIN s [RANGE 3 SECONDS] AS c ON b.k = c.k) "
    "ON a.k = b.k",
    "lateral": f"SELECT a.k, a.v, m FROM {A}, LATERAL (SELECT max(b.w) AS m FROM {B} WHERE b.k = a.k)",
    "left_lateral": f"SELECT a.k, t.w FROM {A} LEFT JOIN LATERAL "
    f"(SELECT b.w FROM {B} WHERE b.k = a.k AND b.w > 1) AS t",
    "values": f"SELECT a.k, x.z FROM {A} JOIN (VALUES ('a', 1), ('b', 2)) AS x(k, z) ON a.k = x.k",
    "values_first": f"SELECT x.z, a.v FROM VALUES ('a', 1), ('c', 2) AS x(k, z) LEFT JOIN {A} ON a.k = x.k",
    "range": f"SELECT g.id, a.k FROM range(3) AS g JOIN {A} ON a.n = g.id",
    "quoted": "SELECT `x y`.k FROM `s` [RANGE 10 SECONDS] AS `x y` JOIN R [RANGE 20 SECONDS] AS b ON `x y`.k = b.k",
    "own_names": f"SELECT s.k, r.w FROM {S} JOIN {R} ON s.k = r.k",
}
COLUMNS = {
    "star": f"SELECT * FROM {S}",
    "star_except": f"SELECT * EXCEPT (a, v) FROM {S}",
    "star_of": f"SELECT a.*, b.w FROM {A} JOIN {B} ON a.k = b.k",
    "star_in_struct": f"SELECT struct(*) AS x FROM {R}",
    "star_counted": f"SELECT count(*) AS c, count(DISTINCT k, n) AS d FROM {S}",
    "star_hashed": f"SELECT xxhash64(*) AS h FROM {R}",
    "distinct": f"SELECT DISTINCT k, n FROM {S}",
    "row_number": f"SELECT k, v FROM {S} WHERE a[0] = 1",
    "map": f"SELECT k, map(k, n, 'z', 1) AS m FROM {S} WHERE k IS NOT NULL AND k <> 'z'",
    "struct": f"SELECT named_struct('k', k, 'n', n).n AS n, array(v, n) AS l FROM {S}",
    "interval": f"SELECT max(ts) - min(ts) AS d, min(ts) + INTERVAL 1 HOUR AS t FROM {S}",
    "lambda": f"SELECT transform(a, x -> x + n) AS t, filter(a, x -> x > 1) AS f FROM {S}",
    "binary": f"SELECT CAST(k AS BINARY) AS b, decode(CAST(k AS BINARY), 'UTF-8') AS t FROM {S}",
    "constant": f"SELECT 1 AS one, 'x' AS x FROM {S}",
}
SETS = {
    "union": f"SELECT k FROM {S} UNION SELECT k FROM {R}",
    "union_all": f"SELECT k, v FROM {S} UNION ALL SELECT k, w FROM {R}",
    "except_all": f"SELECT k FROM {R} EXCEPT ALL SELECT k FROM {S}",
    "intersect_all": f"SELECT k FROM {R} INTERSECT ALL SELECT k FROM {S}",
    "minus": f"SELECT k FROM {R} MINUS SELECT k FROM {S}",
    "brackets": f"(SELECT k FROM {S} UNION SELECT k FROM {R}) EXCEPT (SELECT k FROM s [RANGE 3 SECONDS])",
    "table": f"WITH x AS (SELECT k FROM {S}) SELECT k FROM {R} UNION ALL TABLE x",
}
NESTED = {
    "with_nested": f"WITH x AS (WITH y AS (SELECT k, v FROM {S}) SELECT k, max(v) AS m FROM y GROUP BY k) "
    "SELECT * FROM x WHERE m > 0",
    "with_twice": f"WITH x AS (SELECT k, n FROM {S}) "
    "SELECT p.k, q.n FROM x AS p JOIN x AS q ON p.k = q.k AND p.n < q.n",
    "with_columns": f"WITH x (key, total) AS (SELECT k, sum(v) FROM {S} GROUP BY k) SELECT key, total FROM x",
    "with_inside": f"SELECT k FROM (WITH x AS (SELECT k FROM {S}) SELECT DISTINCT k FROM x) AS y",
    "recursive": "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 3) "
    f"SELECT t.i, a.k FROM t JOIN {A} ON a.n = t.i",
    "exists": f"SELECT a.k FROM {A} WHERE EXISTS (SELECT 1 FROM {B} WHERE b.k = a.k AND b.w > a.v)",
    "not_in": f"SELECT a.k FROM {A} WHERE a.k NOT IN (SELECT b.k FROM {B} WHERE b.w > 2 AND b.k IS NOT NULL)",
    "scalar_selected": f"SELECT a.k, (SELECT max(b.w) FROM {B} WHERE b.k = a.k) AS m FROM {A}",
    "scalar_in_having": f"SELECT k, count(*) AS c FROM {S} GROUP BY k HAVING count(*) > (SELECT 1 + min(n) FROM {S})",
    "from_first": f"FROM {S} SELECT k, v WHERE v > 0",
}
AGGREGATES = {
    "sets": f"SELECT k, sort_array(collect_set(n)) AS s, sort_array(collect_list(v)) AS l FROM {S} GROUP BY k",
    "percentiles": f"SELECT percentile(v, 0.3) AS p, percentile(v, array(0.1, 0.9)) AS q, median(n) AS m FROM {S}",
    "within": f"SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY v) AS c, "
    f"percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC) AS d FROM {S}",
    "listagg": f"SELECT n, listagg(k, ',') WITHIN GROUP (ORDER BY k) AS l, "
    f"string_agg(DISTINCT k, '+') WITHIN GROUP (ORDER BY k DESC) AS g FROM {S} GROUP BY n",
    "correlations": f"SELECT corr(v, n) AS c, covar_pop(v, n) AS p, covar_samp(v, n) AS q, regr_slope(v, n) AS s, "
    f"regr_intercept(v, n) AS i, regr_r2(v, n) AS r, regr_count(v, n) AS x FROM {S}",
    "shapes": f"SELECT skewness(v) AS s, kurtosis(v) AS k, mode(n) AS m, histogram_numeric(n, 3) AS h FROM {S}",
    "by": f"SELECT max_by(k, struct(v, k)) AS m, min_by(k, struct(v, k)) AS l, any_value(1) AS o FROM {S}",
    "bits": f"SELECT bit_or(n) AS o, bit_xor(n) AS x, bool_or(v > 1) AS b, "
    f"bitmap_count(bitmap_construct_agg(bitmap_bit_position(n))) AS c FROM {S}",
    "sketches": f"SELECT hll_sketch_estimate(hll_sketch_agg(n)) AS h, approx_count_distinct(k) AS d FROM {S}",
    "filters": f"SELECT k, collect_set(n) FILTER (WHERE n > 5) AS s, count_if(v > 0) AS c FROM {S} GROUP BY k",
    "rollup": f"SELECT k, n, count(*) AS c, grouping(k) AS g FROM {S} GROUP BY ROLLUP (k, n)",
    "cube": f"SELECT k, n, sum(v) AS s FROM {S} GROUP BY CUBE (k, n)",
    "grouping_sets": f"SELECT k, n, count(*) AS c FROM {S} GROUP BY GROUPING SETS ((k), (n), ())",
    "group_by_all": f"SELECT k, mode(n) AS m FROM {S} GROUP BY ALL",
    "pivot": f"SELECT * FROM (SELECT k, n, v FROM {S}) PIVOT (sum(v) FOR n IN (1 AS one, 2 AS two))",
    "pivot_of_window": f"SELECT * FROM {R} PIVOT (count(w) AS c FOR k IN ('a', 'b'))",
    "unpivot": f"SELECT * FROM (SELECT k, v, CAST(n AS DOUBLE) AS n FROM {S}) UNPIVOT (x FOR name IN (v, n))",
}
ROWS = {
    "explode": f"SELECT k, explode(a) AS e FROM {S}",
    "lateral_view": f"SELECT k, e FROM {S} LATERAL VIEW explode(a) t AS e WHERE e > 1",
    "lateral_view_outer": f"SELECT k, p, e FROM {A} LATERAL VIEW OUTER posexplode(a.a) t AS p, e",
    "lateral_function": f"SELECT a.k, t.e FROM {A}, LATERAL explode(a.a) AS t(e)",
    "stack": f"SELECT stack(2, k, v, 'x', CAST(n AS DOUBLE)) AS (name, value) FROM {S}",
    "json": f"SELECT json_tuple(to_json(struct(k, n)), 'k', 'n') AS (k, n) FROM {S}",
    "ranks": f"SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, n, a) AS r, "
    f"lag(v) OVER (PARTITION BY k ORDER BY v, n, a) AS before FROM {S}",
    "named_window": f"SELECT k, sum(v) OVER w AS s, count(*) OVER w AS c FROM {S} WINDOW w AS (PARTITION BY k)",
    "frame": f"SELECT ts, sum(n) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 2 SECONDS PRECEDING AND CURRENT ROW) AS s "
    f"FROM {S}",
    "over_groups": f"SELECT k, rank() OVER (ORDER BY count(*) DESC) AS r FROM {S} GROUP BY k",
    "qualify": f"SELECT k, v FROM {S} QUALIFY row_number() OVER (PARTITION BY k ORDER BY v DESC, n, a) = 1",
    "pipes": f"FROM {S} |> WHERE v > 0 |> AGGREGATE count(*) AS c, max(n) AS m GROUP BY k |> WHERE c > 0",
    "pipes_after": f"SELECT k, v FROM {S} |> EXTEND v * 2 AS double |> DROP v |> ORDER BY double, k |> LIMIT 5",
    "pipes_limit": f"FROM {S} |> SELECT k, v |> LIMIT 1000",
    "pipes_between": f"FROM {S} |> ORDER BY n |> SELECT k, v |> WHERE v > 0",
    "pipe_join": f"FROM {A} |> JOIN {B} USING (k) |> SELECT k, n, w",
    "top": f"SELECT k, v FROM {S} ORDER BY v DESC NULLS LAST, k, n LIMIT 4 OFFSET 1",
}
QUERIES = JOINS | COLUMNS | {f"set_{name}": text for name, text in SETS.items()} | NESTED | AGGREGATES | ROWS


def declared(name: str) -> str:
    columns = DECLARED[name].replace("ts TIMESTAMP", "ts TIMESTAMP EVENT TIME")
    return f"CREATE STREAM {name} ({columns}) FROM FEED;"


def fed(rows: dict[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of both streams as they are fed, in the order of their times."""
    found = {}
    for name, table in rows.items():
        columns = [column.to_pylist() for column in table.columns]
        times = [int(at.replace(tzinfo=UTC).timestamp()) * SECOND for at in columns[0]]
        found[name] = sorted(((START + at, *rest) for at, *rest in zip(times, *columns[1:])), key=lambda row: row[0])
    return found


WINDOW = re.compile(r"(`?\w+`?) \[RANGE (\d+) SECONDS\](?: AS (\w+|`[^`]+`))?")


def show_windows(session: SparkSession, rows: dict[str, list[tuple[Any, ...]]], at: int) -> None:
    """Every window of the queries as a view."""
    windows = {(m[1].strip("`").lower(), int(m[2])) for text in QUERIES.values() for m in WINDOW.finditer(text)}
    for stream, seconds in windows:
        inside = [
            (datetime.fromtimestamp(row[0] // SECOND), *row[1:])
            for row in rows[stream]
            if at - seconds * SECOND < row[0] <= at
        ]
        frame = session.createDataFrame(inside, DECLARED[stream]).coalesce(1)
        frame.createOrReplaceTempView(f"plain_{stream}_{seconds}")


def plain(session: SparkSession, text: str) -> list[str]:
    """The rows of a text over these views."""

    def view(match: re.Match[str]) -> str:
        return f"plain_{match[1].strip('`').lower()}_{match[2]} AS {match[3] or match[1]}"

    try:
        return shown(session.sql(WINDOW.sub(view, text)).collect())
    except PySparkException as refusal:
        return [f"plain Spark refuses it: {refusal}"]


def shown(rows: list[Any]) -> list[str]:
    """Rows as texts, in any order; the last digits of doubles depend on the order in which they are added."""
    return sorted(repr([_cell(cell) for cell in row]) for row in rows)


def _cell(cell: Any) -> Any:
    """A value of Spark's, or of Arrow's, as a plain one: maps as sorted pairs, structs as lists."""
    if isinstance(cell, float):
        return f"{cell:.9g}"
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=None)
    if isinstance(cell, dict):
        return sorted([key, _cell(value)] for key, value in cell.items())
    if isinstance(cell, list | tuple):
        found = [_cell(one) for one in cell]
        return sorted(found) if cell and all(type(one) is tuple for one in cell) else found
    return bytes(cell) if isinstance(cell, bytearray) else cell


def of_arrow(cell: Any) -> Any:
    """A value of Arrow's with its structs as lists; maps are lists of pairs there."""
    if isinstance(cell, dict):
        return [of_arrow(value) for value in cell.values()]
    return [one if type(one) is tuple else of_arrow(one) for one in cell] if isinstance(cell, list) else cell


def created(engine: Engine, queries: Mapping[str, str]) -> list[str]:
    """Create queries as one program; what is wrong with those that are refused, and without them."""
    left, problems = dict(queries), []
    while left:
        text, ends = "", {}
        for name, select in left.items():
            text += f"CREATE QUERY {name} AS {select} PERIOD 20 SECONDS;\n"
            ends[len(text)] = name
        try:
            engine.sql(text)
        except ProgramErrors as refused:
            problems.append(str(refused))
            for error in refused.errors:
                assert error.span is not None
                left.pop(next(name for end, name in ends.items() if error.span.start < end), None)
        else:
            break
    return problems


def test_every_select_answers_as_plain_spark(spark: SparkSession, tmp_path: Path) -> None:
    rows = fed(random_rows(7, count=90, seconds=42))
    with Engine(str(tmp_path), clock=ManualClock(START), backend=Shared, live=False) as engine:
        engine.sql("".join(map(declared, DECLARED)))
        engine.open()
        problems = created(engine, QUERIES)
        for name, several in rows.items():
            engine.feed(name, [(iso(row[0]), *row[1:]) for row in several])
        engine.tick()
        engine.end()
        answers: dict[str, dict[int, list[str]]] = {}
        for block in engine.records():
            table = block.table
            instants = table.column("at").cast(pa.int64()).to_pylist()
            for at, found in zip(instants, table.column("rows").to_pylist()):
                answers.setdefault(block.query, {})[at] = shown([of_arrow(row) for row in found])
        problems += [f"{name} stopped" for name in engine.stopped()]
    session = row_session(spark)
    for at in range(START + STEP, START + 2 * STEP + 1, STEP):
        show_windows(session, rows, at)
        for name, text in QUERIES.items():
            expected = plain(session, text)
            found = answers.get(name, {}).get(at)
            if found != expected:
                problems.append(f"{name} at {at - START}:\n  {found}\n  {expected}")
    assert not problems, "\n".join(problems)


def test_what_does_not_repeat_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    queries = {
        "sample": f"SELECT * FROM {S} TABLESAMPLE (10 PERCENT)",
        "sample_of_two": f"SELECT a.k FROM {A} JOIN {B} TABLESAMPLE (5 ROWS) USING (k)",
        "piped": f"FROM {S} |> TABLESAMPLE (5 ROWS)",
        "chance": f"SELECT k, rand() AS r FROM {S}",
        "hidden": f"SELECT a.k FROM {A} WHERE a.v > (SELECT max(b.w) + `rand`() FROM {B})",
    }
    with Engine(str(tmp_path), clock=ManualClock(START), backend=Shared, live=False) as engine:
        engine.sql("".join(map(declared, DECLARED)))
        engine.open()
        said = "".join(created(engine, queries))
    assert said.count("bind.not-repeatable") == len(queries)
