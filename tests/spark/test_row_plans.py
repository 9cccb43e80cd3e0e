"""Row queries on Spark: the answers are DuckDB's over the same text, and a prepared plan answers with new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from punctual.plan.query import Query
from punctual.runtime.backend import RowWork
from punctual.runtime.operators.answer_rows import TooManyRowsError
from punctual.runtime.row_queries import planned_unions, row_plans
from punctual.runtime.row_queries.planned_unions import RECURS
from punctual.runtime.row_queries.row_plans import RowPlans
from tests.spark.row_programs import (
    LABELS,
    SECOND,
    Retained,
    as_rows,
    duck_answer,
    in_any_order,
    random_rows,
    retained,
    row_query,
    types_of,
    work,
)

pytestmark = pytest.mark.spark

A, B = "s [RANGE 10 SECONDS] AS a", "r [RANGE 20 SECONDS] AS b"
TABLES = {"u": LABELS}

SAME_AS_DUCKDB = {
    "inner": f"SELECT a.k, a.v, b.w FROM {A} JOIN {B} ON a.k = b.k",
    "comma": f"SELECT a.k, b.w FROM {A}, {B} WHERE a.k = b.k AND a.v > b.w",
    "left": f"SELECT a.k, a.n, b.w FROM {A} LEFT JOIN {B} ON a.k = b.k AND b.w > 1",
    "right": f"SELECT a.n, b.k, b.w FROM {A} RIGHT JOIN {B} ON a.k = b.k AND a.n = 2",
    "full": f"SELECT a.k, b.k AS l, b.w FROM {A} FULL OUTER JOIN {B} ON a.k = b.k AND a.v = b.w",
    "full_using": f"SELECT k, count(*) AS c FROM {A} FULL OUTER JOIN {B} USING (k) GROUP BY k",
    "semi": f"SELECT a.k, a.v FROM {A} LEFT SEMI JOIN {B} ON a.k = b.k AND a.v = b.w",
    "anti": f"SELECT a.k, a.v FROM {A} LEFT ANTI JOIN {B} ON a.k = b.k AND a.v = b.w",
    "cross": f"SELECT count(*) AS c, sum(a.v * b.w) AS t FROM {A} CROSS JOIN {B}",
    "theta": f"SELECT a.k, b.k AS l, a.v, b.w FROM {A} JOIN {B} ON a.v < b.w",
    "left_theta": f"SELECT a.k, a.v, b.w FROM {A} LEFT JOIN {B} ON a.v < b.w",
    "itself": "SELECT x.k, y.n FROM s [RANGE 5 SECONDS] AS x JOIN s [RANGE 15 SECONDS] AS y ON x.k = y.k AND x.n > y.n",
    "table": f"SELECT a.k, u.label, a.v FROM {A} LEFT JOIN u ON a.k = u.id",
    "grouped_table": f"SELECT u.label, count(*) AS c FROM {A} JOIN u ON a.k = u.id JOIN {B} ON b.k = a.k "
    "GROUP BY u.label",
    "plain": "SELECT * FROM r [RANGE 7 SECONDS]",
    "distinct": f"SELECT DISTINCT a.k, a.n FROM {A}",
    "except": "SELECT k FROM s [RANGE 10 SECONDS] EXCEPT SELECT k FROM r [RANGE 3 SECONDS]",
    "intersect": "SELECT k, v FROM s [RANGE 10 SECONDS] INTERSECT SELECT k, w FROM r [RANGE 20 SECONDS]",
    "union": "SELECT k FROM s [RANGE 10 SECONDS] UNION SELECT k FROM r [RANGE 20 SECONDS]",
    "union_all": "SELECT k, v FROM s [RANGE 10 SECONDS] UNION ALL SELECT k, w FROM r [RANGE 20 SECONDS]",
    "with": f"WITH m AS (SELECT a.k, max(a.v) AS v FROM {A} GROUP BY a.k), "
    f"t AS (SELECT k, v FROM m WHERE v > 0) SELECT t.k, t.v, b.w FROM t JOIN {B} ON t.k = b.k",
    "twice": "WITH m AS (SELECT k, v FROM s [RANGE 10 SECONDS]) SELECT x.k, y.v FROM m AS x JOIN m AS y ON x.k = y.k",
    "scalar": f"SELECT a.k, a.v FROM {A} WHERE a.v > (SELECT avg(b.w) FROM {B})",
    "correlated": f"SELECT a.k, a.v FROM {A} WHERE a.v >= (SELECT max(b.w) FROM {B} WHERE b.k = a.k)",
    "exists": f"SELECT a.k, a.v FROM {A} WHERE EXISTS (SELECT 1 FROM {B} WHERE b.k = a.k AND b.w > a.v)",
    "in": f"SELECT a.k, a.v FROM {A} WHERE a.k IN (SELECT b.k FROM {B} WHERE b.w > 1)",
    "not_in": f"SELECT a.k, a.v FROM {A} WHERE a.k NOT IN (SELECT b.k FROM {B} WHERE b.k IS NOT NULL AND b.w > 2)",
    "window": "SELECT k, v, sum(v) OVER (PARTITION BY k) AS t, "
    "rank() OVER (PARTITION BY k ORDER BY v NULLS FIRST) AS r FROM s [RANGE 10 SECONDS]",
    "derived": f"SELECT t.k, t.c FROM (SELECT a.k, count(*) AS c FROM {A} GROUP BY a.k) AS t WHERE t.c > 1",
    "global": f"SELECT count(*) AS c, sum(a.n) AS t, count(DISTINCT a.k) AS d FROM {A}",
    "median": f"SELECT a.k, median(a.v) AS m, count(a.v) AS c FROM {A} GROUP BY a.k",
    "windowed_subquery": f"SELECT k, max(m) - min(m) AS d, count(*) AS c FROM (SELECT a.k, sum(a.v) AS m FROM {A} "
    "GROUP BY a.k) [RANGE 4 SECONDS] AS x GROUP BY k",
    "united": "SELECT DISTINCT k FROM s [RANGE 3 SECONDS] UNION ALL r [RANGE 9 SECONDS]",
    "having": f"SELECT a.k, count(*) AS c FROM {A} JOIN {B} ON a.k = b.k GROUP BY a.k HAVING count(*) > 3",
}
"""Texts that DuckDB understands as Spark does."""

ORDERED = {
    "order": f"SELECT a.k, a.v FROM {A} ORDER BY a.v DESC NULLS LAST, a.k ASC NULLS FIRST",
    "order_hidden": f"SELECT a.k, a.n FROM {A} ORDER BY a.v NULLS FIRST, a.k NULLS FIRST, a.n NULLS FIRST",
    "order_full": f"SELECT a.v, b.w FROM {A} FULL OUTER JOIN {B} ON a.k = b.k "
    "ORDER BY a.v NULLS FIRST, b.w NULLS FIRST",
    "top": f"SELECT a.k, a.v FROM {A} ORDER BY a.v DESC NULLS LAST, a.k NULLS FIRST LIMIT 3",
    "page": f"SELECT a.k, a.v, a.n FROM {A} ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3 NULLS FIRST LIMIT 4 OFFSET 2",
    # Two partitions, which a LIMIT shuffles without an exchange in the plan.
    "union_of_full": f"SELECT a.v, b.w FROM {A} FULL OUTER JOIN {B} ON a.k = b.k UNION ALL "
    "SELECT v, v FROM s [RANGE 10 SECONDS] ORDER BY 1 NULLS FIRST, 2 NULLS FIRST LIMIT 7",
    "union_top": "SELECT k, v FROM s [RANGE 10 SECONDS] UNION ALL SELECT k, w FROM r [RANGE 20 SECONDS] "
    "ORDER BY v NULLS FIRST, k NULLS FIRST LIMIT 5",
}
INSTANTS = (9 * SECOND, 20 * SECOND, 29 * SECOND)
SOME = ("left", "union", "full", "inner", "semi", "having", "comma", "itself")


@pytest.fixture(scope="module")
def plans(spark: SparkSession) -> RowPlans:
    return RowPlans(spark, 2)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> list[Retained]:
    """Several orders: random rows, others, and none."""
    folder = tmp_path_factory.mktemp("rows")
    empty = {name: table.slice(0, 0) for name, table in random_rows(0).items()}
    return [retained(folder, rows) for rows in (random_rows(1), random_rows(2), empty, random_rows(3, 15))]


@contextmanager
def counted(spark: SparkSession, group: str) -> Iterator[dict[str, int]]:
    """How many jobs and stages ran inside."""
    context, found = spark.sparkContext, {}
    context.setLocalProperty("spark.jobGroup.id", group)
    try:
        yield found
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        tracker = context.statusTracker()
        jobs = tracker.getJobIdsForGroup(group)
        infos = [tracker.getJobInfo(job) for job in jobs]
        found["jobs"] = len(jobs)
        found["stages"] = sum(len(info.stageIds) for info in infos if info is not None)


def answers(plans: RowPlans, works: list[RowWork], tables: dict[str, pa.Table] | None = None) -> list[list[Any]]:
    return [as_rows(table) for table in plans.run(works, TABLES if tables is None else tables).tables]


def test_answers_are_those_of_duckdb_with_every_order(
    spark: SparkSession, plans: RowPlans, kept: list[Retained]
) -> None:
    """All queries together, again and again with other rows: nothing of an earlier run is left."""
    queries = {name: row_query(text, name) for name, text in (SAME_AS_DUCKDB | ORDERED).items()}
    types = types_of(spark, *queries.values())
    wrong = []
    for number, rows in enumerate(kept):
        for at in INSTANTS[: 1 + (number == 0)]:
            works = [work(query, types[name], rows, at) for name, query in queries.items()]
            for (name, query), found in zip(queries.items(), answers(plans, works)):
                expected = duck_answer(query, rows, at, TABLES)
                same = found == expected if name in ORDERED else in_any_order(found) == in_any_order(expected)
                if not same:
                    wrong.append((number, at, name, found, expected))
    assert wrong == []


def test_answers_have_the_same_bytes_alone_and_together(
    spark: SparkSession, plans: RowPlans, kept: list[Retained]
) -> None:
    queries = {name: row_query(text, name) for name, text in SAME_AS_DUCKDB.items() if name in SOME}
    types = types_of(spark, *queries.values())
    works = [work(query, types[name], kept[0], at) for at in INSTANTS for name, query in queries.items()]
    together = plans.run(works, TABLES).tables
    alone = [RowPlans(spark, 2).run([one], TABLES).tables[0] for one in works[:3]]
    assert together[:3] == alone
    assert together == plans.run(works[::-1], TABLES).tables[::-1]
    assert len({table.num_rows for table in together}) > 1


def test_what_only_spark_says(spark: SparkSession, plans: RowPlans, tmp_path: Path) -> None:
    table = random_rows(0)["s"]
    row = table.schema.empty_table().to_pylist()
    for second, key, value, number, array in [
        (1, "x", 2.0, 1, [3, 1]), (1, "x", 1.0, 1, [1]), (2, "y", 1.0, 2, []), (2, None, None, None, None),
    ]:
        row.append({"ts": second * SECOND, "k": key, "v": value, "n": number, "a": array})
    rows = retained(tmp_path, {"s": pa.Table.from_pylist(row, table.schema), "r": random_rows(0)["r"].slice(0, 0)})
    window = "s [RANGE 10 SECONDS]"
    expected: dict[str, tuple[str, list[Any]]] = {
        "explode": (f"SELECT k, e FROM {window} LATERAL VIEW explode(a) t AS e", [("x", 1), ("x", 1), ("x", 3)]),
        "explode_outer": (f"SELECT k, explode_outer(a) AS e FROM {window}",
                          [(None, None), ("x", 1), ("x", 1), ("x", 3), ("y", None)]),
        "pivot": (f"SELECT * FROM (SELECT k, n, v FROM {window}) PIVOT (sum(v) FOR n IN (1, 2))",
                  [(None, None, None), ("x", 3.0, None), ("y", None, 1.0)]),
        "sets": (f"SELECT k, sort_array(collect_set(v)) AS s FROM {window} GROUP BY k",
                 [(None, []), ("x", [1.0, 2.0]), ("y", [1.0])]),
        "maps": (f"SELECT k, map(k, n) AS m FROM {window} WHERE k = 'y'", [("y", [("y", 2)])]),
        "arrays": (f"SELECT a FROM {window} WHERE k = 'x' ORDER BY v", [([1],), ([3, 1],)]),
        "now": (f"SELECT k, now() AS t FROM {window} WHERE ts < now() - INTERVAL 2 SECONDS AND k = 'x'", []),
        "ties": (f"SELECT k, v FROM {window} ORDER BY n LIMIT 2", [(None, None), ("x", 1.0)]),
        "no_order": (f"SELECT v, k FROM {window} LIMIT 3", [(None, None), (1.0, "x"), (1.0, "y")]),
        "all": (f"SELECT n, v FROM {window} ORDER BY ALL ASC", [(None, None), (1, 1.0), (1, 2.0), (2, 1.0)]),
        "null": (f"SELECT NULL AS z, k FROM {window} WHERE n = 2", [(None, "y")]),
        "names": (f"SELECT k AS `a b`, n AS `c.d`, v AS `e``f` FROM {window} WHERE n = 2", [("y", 2, 1.0)]),
        "rollup": (f"SELECT n, count(*) AS c FROM {window} GROUP BY ROLLUP (n)",
                   [(None, 1), (None, 4), (1, 2), (2, 1)]),
        "nobody": (f"SELECT k FROM {window} WHERE v > 100", []),
        "first": (f"SELECT k, first(n) AS f FROM {window} GROUP BY k", [(None, None), ("x", 1), ("y", 2)]),
        "listed": (f"SELECT x, k FROM {window} CROSS JOIN (VALUES (1), (2)) AS v(x) WHERE n = 2", [(1, "y"), (2, "y")]),
    }
    queries = {name: row_query(text, name) for name, (text, _rows) in expected.items()}
    types = types_of(spark, *queries.values())
    works = [work(query, types[name], rows, 2 * SECOND) for name, query in queries.items()]
    for _run in range(2):
        found = dict(zip(queries, answers(plans, works)))
        assert found == {name: rows for name, (_text, rows) in expected.items()}
    assert types["names"].names == ("a b", "c.d", "e`f")
    later = work(queries["now"], types["now"], rows, 4 * SECOND)
    assert [row[0] for row in answers(plans, [later, works[0]])[0]] == ["x", "x"]


NEVER = [
    f"SELECT a.k FROM {A} WHERE a.n >= 2 AND a.n <=> -1",
    f"SELECT a.k FROM {A} LIMIT 0",
    f"SELECT a.k, b.w FROM {A} JOIN {B} ON false",
    f"SELECT a.k FROM {A} WHERE 1 = 0 EXCEPT SELECT b.k FROM {B}",
    f"SELECT a.k, sum(a.n) OVER (ORDER BY a.k) AS n FROM {A} WHERE false",
    f"SELECT a.k FROM {A} WHERE a.k IN (SELECT id FROM u WHERE false)",
]


def test_conditions_that_never_hold(spark: SparkSession, plans: RowPlans, kept: list[Retained]) -> None:
    """Spark finds out that such a query has no rows, and makes no task for it: it has an answer all the same."""
    queries = [row_query(text, f"q{number}") for number, text in enumerate(NEVER)]
    types = types_of(spark, *queries)
    for _run in range(2):
        works = [work(query, types[query.name], kept[0], 15 * SECOND) for query in queries]
        assert [table.num_rows for table in plans.run(works, TABLES).tables] == [0] * len(NEVER)


def test_all_that_is_due_is_one_job_of_one_stage(spark: SparkSession, kept: list[Retained]) -> None:
    plans = RowPlans(spark, 2)
    texts = [
        f"SELECT a.k, a.v, b.w + {i} AS w FROM s [RANGE {3 + i} SECONDS] AS a JOIN {B} ON a.k = b.k" for i in range(24)
    ]
    queries = [row_query(text, f"q{i}") for i, text in enumerate(texts)]
    types = types_of(spark, *queries)
    with counted(spark, "first") as first:
        plans.run([work(query, types[query.name], kept[0], INSTANTS[1]) for query in queries], {})
    with counted(spark, "again") as again:
        found = answers(plans, [work(query, types[query.name], kept[1], INSTANTS[2]) for query in queries])
    assert first == again == {"jobs": 1, "stages": 1}
    for query, rows in zip(queries, found):
        assert in_any_order(rows) == in_any_order(duck_answer(query, kept[1], INSTANTS[2], {}))


def test_many_instants_of_a_query_share_jobs(spark: SparkSession, kept: list[Retained]) -> None:
    plans = RowPlans(spark, 2)
    query = row_query(SAME_AS_DUCKDB["left"])
    types = types_of(spark, query)["q"]
    instants = [second * SECOND for second in range(11)]
    with counted(spark, "instants") as count:
        found = answers(plans, [work(query, types, kept[0], at) for at in instants])
    assert count == {"jobs": 1, "stages": 1}
    assert [in_any_order(rows) for rows in found] == [
        in_any_order(duck_answer(query, kept[0], at, {})) for at in instants
    ]
    with counted(spark, "one fewer") as count:
        assert answers(plans, [work(query, types, kept[0], at) for at in instants[1:]]) == found[1:]
    assert count == {"jobs": 1, "stages": 1}


def test_a_plan_is_made_once(spark: SparkSession, kept: list[Retained], monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run of the same shape analyses and plans nothing; one that cannot stand is planned and answers anew."""
    made: list[bool] = []
    real = row_plans.stands
    monkeypatch.setattr(row_plans, "stands", lambda frame: made.append(real(frame)) or made[-1])
    plans = RowPlans(spark, 2)
    queries = [row_query(SAME_AS_DUCKDB[name], name) for name in ("inner", "scalar")]
    types = types_of(spark, *queries)
    for rows in kept[:2]:
        found = answers(plans, [work(query, types[query.name], rows, INSTANTS[1]) for query in queries])
        for query, one in zip(queries, found):
            assert in_any_order(one) == in_any_order(duck_answer(query, rows, INSTANTS[1], {}))
    # Each query alone, then the union of those that stand.
    assert made == [True, False, True]


def test_queries_that_are_alike_are_one_job(spark: SparkSession, kept: list[Retained]) -> None:
    """The same text under several names, at one instant: each has its answer, and there is one job."""
    plans, names = RowPlans(spark, 2), ("one", "two", "three")
    queries = [row_query(SAME_AS_DUCKDB["inner"], name) for name in names]
    types = types_of(spark, *queries)
    for _run in range(2):
        with counted(spark, f"alike {_run}") as count:
            found = answers(plans, [work(query, types[query.name], kept[0], INSTANTS[1]) for query in queries])
        assert count == {"jobs": 1, "stages": 1}
        expected = in_any_order(duck_answer(queries[0], kept[0], INSTANTS[1], {}))
        assert expected
        assert [in_any_order(rows) for rows in found] == [expected] * 3


def test_some_of_the_slots_of_a_plan_are_asked(
    spark: SparkSession, kept: list[Retained], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three are answered by the plan of all three, and by one of their own once they are asked for often."""
    made: list[bool] = []
    real = row_plans.stands
    monkeypatch.setattr(row_plans, "stands", lambda frame: made.append(real(frame)) or made[-1])
    plans, rows = RowPlans(spark, 2), kept[0]
    queries = [row_query(SAME_AS_DUCKDB[name], name) for name in ("inner", "median", "global")]
    types = types_of(spark, *queries)

    def planned(asked: Sequence[Query]) -> int:
        made.clear()
        found = answers(plans, [work(query, types[query.name], rows, INSTANTS[1]) for query in asked])
        for query, one in zip(asked, found):
            assert in_any_order(one) == in_any_order(duck_answer(query, rows, INSTANTS[1], {}))
        return len(made)

    assert planned(queries) == 4  # each alone, then all of them
    assert [planned(queries[1:]) for _again in range(RECURS + 1)] == [0] * (RECURS - 1) + [1, 0]
    monkeypatch.setattr(planned_unions, "MOST_EMPTY", 1.5)
    assert planned(queries[2:]) == 1, "plans with two slots and three are too large for one"


def test_windows_that_empty_slots_share_are_read_again(spark: SparkSession, kept: list[Retained]) -> None:
    """Slots that nobody asked leave nothing behind which the next job would take for their rows."""
    plans, names = RowPlans(spark, 2), [f"a{n}" for n in range(4)] + ["b0", "b1"]
    texts = {"a": f"SELECT DISTINCT a.k, a.n + # AS x FROM {A}", "b": f"SELECT DISTINCT b.k, b.w + # AS x FROM {B}"}
    queries = [row_query(texts[name[0]].replace("#", name[1]), name) for name in names]
    types = types_of(spark, *queries)
    for asked, rows in ((queries, kept[0]), (queries[:4], kept[1]), (queries, kept[1]), (queries, kept[0])):
        found = answers(plans, [work(query, types[query.name], rows, INSTANTS[1]) for query in asked])
        for query, one in zip(asked, found):
            assert in_any_order(one) == in_any_order(duck_answer(query, rows, INSTANTS[1], {}))
            assert one


def test_a_table_with_other_content_is_seen(spark: SparkSession, kept: list[Retained]) -> None:
    plans = RowPlans(spark, 2)
    query = row_query(SAME_AS_DUCKDB["table"])
    types = types_of(spark, query)["q"]
    for labels in (LABELS, LABELS, pa.table({"id": ["c"], "label": ["other"]})):
        found = answers(plans, [work(query, types, kept[0], INSTANTS[1])], {"u": labels})
        assert in_any_order(found[0]) == in_any_order(duck_answer(query, kept[0], INSTANTS[1], {"u": labels}))


def test_too_many_rows_are_said_and_the_job_goes_on(spark: SparkSession, plans: RowPlans, kept: list[Retained]) -> None:
    many = row_query(SAME_AS_DUCKDB["theta"], "many")
    few = row_query(SAME_AS_DUCKDB["global"], "few")
    types = types_of(spark, many, few)
    all_rows = len(duck_answer(many, kept[0], INSTANTS[1], {}))
    assert all_rows > 3
    with pytest.raises(TooManyRowsError) as refused:
        plans.run([
            work(few, types["few"], kept[0], INSTANTS[1]),
            work(many, types["many"], kept[0], INSTANTS[1], all_rows - 1),
        ], {})
    assert (refused.value.query, refused.value.rows, refused.value.limit) == ("many", all_rows, all_rows - 1)
    assert len(answers(plans, [work(many, types["many"], kept[0], INSTANTS[1], all_rows)])[0]) == all_rows


def test_a_runaway_join_ends_early(spark: SparkSession, plans: RowPlans, tmp_path: Path) -> None:
    """Four hundred million rows are not waited for."""
    rows = {name: pa.concat_tables([table] * 500) for name, table in random_rows(4, 40, 1).items()}
    query = row_query(f"SELECT a.v, b.w FROM {A} CROSS JOIN {B}")
    types = types_of(spark, query)["q"]
    with pytest.raises(TooManyRowsError) as refused:
        plans.run([work(query, types, retained(tmp_path, rows), 5 * SECOND, 1_000)], {})
    assert 1_000 < refused.value.rows < 10_000_000
