"""What a tick asks of Spark: one job, and as many calls to the JVM for two hundred queries as for one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.engine.engine import Engine
from punctual.explain.look import look_at
from tests.spark.counting import Count, counting

pytestmark = pytest.mark.spark

MANY = 200
STREAM = "CREATE STREAM {} (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE, n INT) FROM FEED;\n"
FUNCTIONS = ("sum(x)", "avg(n)", "max(x) - min(x)", "count(*) * 2", "approx_percentile(x, 0.5)", "stddev(x) + 1")


def queries(stream: str, number: int) -> Iterator[str]:
    """Queries that differ in windows, thresholds, functions and groups."""
    for i, function in zip(range(number), itertools.cycle(FUNCTIONS)):
        by, key = ("GROUP BY k", "k, ") if i % 3 else ("", "")
        window = f"[RANGE {2 + i % 17} SECONDS SLIDE {1 + i % 5} SECONDS]"
        where = f"WHERE x > {i % 11}" if i % 2 else ""
        yield f"CREATE QUERY {stream}{i} AS SELECT {key}{function} AS v FROM {stream} {window} {where} {by};\n"


def rows(batch: int) -> list[dict[str, object]]:
    """Ten seconds of rows."""
    times = [f"2026-03-01T00:00:{10 * batch + i / 5:09.6f}Z" for i in range(50)]
    return [{"t": t, "k": "ab"[i % 2], "x": i * 0.7, "n": i} for i, t in enumerate(times)]


def cost_of_a_tick(spark: SparkSession, program: str, streams: list[str]) -> Count:
    """Jobs and calls of a batch that reads every stream and answers every query, once everything is warm."""
    with Engine(live=False) as engine:
        engine.sql(program)
        engine.open()
        for batch in range(2):
            for name in streams:
                engine.feed(name, rows(batch))
            assert engine.tick() is not None
        for name in streams:
            engine.feed(name, rows(2))
        with counting(spark) as count:
            settled = engine.tick()
        assert settled is not None
        assert settled.answers >= len(engine.catalog.queries)
        return count


def test_queries_are_free(spark: SparkSession) -> None:
    single = "CREATE QUERY q AS SELECT max(x) - min(x) AS v FROM s [RANGE 3 SECONDS SLIDE 1 SECOND];"
    one = cost_of_a_tick(spark, STREAM.format("s") + single, ["s"])
    some = cost_of_a_tick(spark, STREAM.format("s") + "".join(queries("s", 12)), ["s"])
    many = cost_of_a_tick(spark, STREAM.format("s") + "".join(queries("s", MANY)), ["s"])
    assert one.jobs == some.jobs == many.jobs == 1
    # More kinds of columns cost a few calls more; more queries none.
    assert some.calls == many.calls
    assert many.calls - one.calls <= 10
    assert many.calls < 200


def test_streams_share_the_job(spark: SparkSession) -> None:
    names = ["a", "b", "c"]
    one = cost_of_a_tick(spark, STREAM.format("a") + "".join(queries("a", 5)), ["a"])
    three = cost_of_a_tick(spark, "".join(STREAM.format(n) + "".join(queries(n, 5)) for n in names), names)
    assert one.jobs == three.jobs == 1
    assert three.calls - one.calls <= 2 * one.calls


def test_a_static_table_costs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    """A table travels when its content changes, and is looked up in the tasks."""
    tables = ""
    for name in ("first", "second"):
        (tmp_path / f"{name}.csv").write_text("id,label\n" + "".join(f"{i},{name}{i % 3}\n" for i in range(20)))
        tables += f"CREATE TABLE {name} (id INT, label STRING) FROM FILES '{tmp_path / name}.csv' FORMAT CSV;\n"

    def joined(table: str, number: int) -> str:
        return "".join(
            f"CREATE QUERY {table}{i} AS SELECT u.label, sum(x) AS v "
            f"FROM s [RANGE {2 + i} SECONDS SLIDE 1 SECOND] AS s, {table} AS u WHERE s.n = u.id GROUP BY u.label;\n"
            for i in range(number)
        )

    plain = "".join(queries("s", 4))
    one = cost_of_a_tick(spark, STREAM.format("s") + tables + plain + joined("first", 1), ["s"])
    many = cost_of_a_tick(spark, STREAM.format("s") + tables + plain + joined("first", 30), ["s"])
    both = cost_of_a_tick(spark, STREAM.format("s") + tables + plain + joined("first", 30) + joined("second", 3), ["s"])
    assert (one.jobs, many.jobs, both.jobs) == (1, 1, 1)
    assert one.calls == many.calls == both.calls


def test_a_plain_tick_makes_few_calls(spark: SparkSession) -> None:
    """The plan of the job stands: a tick sets its work order, runs, and fetches the products."""
    plain = "".join(
        f"CREATE QUERY q{i} AS SELECT k, sum(x) AS v, max(n) AS m FROM s [RANGE {2 + i} SECONDS SLIDE 1 SECOND] "
        f"WHERE x > {i} GROUP BY k;\n"
        for i in range(50)
    )
    tick = cost_of_a_tick(spark, STREAM.format("s") + plain, ["s"])
    assert tick.jobs == 1
    assert tick.calls <= 15


def test_a_tick_by_spark_runs_the_same_plan_again(spark: SparkSession) -> None:
    """Where an expression needs Spark the plan is made once all the same, and reads other rows when it is run again."""
    program = STREAM.format("s") + (
        "CREATE QUERY q AS SELECT upper(k) AS u, sum(x * 2) AS v FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] "
        "GROUP BY upper(k);\n"
    )
    tick = cost_of_a_tick(spark, program, ["s"])
    assert tick.jobs == 1
    assert tick.calls <= 30


def test_nothing_to_read_costs_nothing(spark: SparkSession) -> None:
    with Engine(live=False) as engine:
        engine.sql(STREAM.format("s") + "".join(queries("s", 20)))
        engine.open()
        engine.feed("s", rows(0))
        engine.tick()
        with counting(spark) as count:
            assert engine.tick() is None
        assert (count.jobs, count.calls) == (0, 0)


def test_a_small_pass_runs_no_job(spark: SparkSession) -> None:
    """Answers without new rows (an idle stream): expressions are evaluated inside the driver's JVM."""
    with Engine(live=False) as engine:
        engine.sql(STREAM.format("s") + "".join(queries("s", 30)))
        engine.open()
        engine.feed("s", rows(0))
        engine.tick()
        with counting(spark) as count:
            settled = engine.advance({"s": 1_772_323_200_000_000 + 20_000_000})
        assert settled is not None
        assert settled.answers > 30
        assert count.jobs == 0


def test_check_runs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,label\n1,one\n")
    text = STREAM.format("s") + "".join(queries("s", 50))
    text += "CREATE TABLE u (id INT, label STRING) FROM FILES 't.csv' FORMAT CSV;\n"
    text += "CREATE QUERY j AS SELECT u.label, count(*) AS n FROM s [RANGE 1 MINUTE], u WHERE s.n = u.id "
    text += "GROUP BY u.label PERIOD 1 MINUTE;"
    with counting(spark) as count:
        look = look_at(text, str(tmp_path), {}, types=True)
    assert len(look.catalog.queries) == 51
    assert count.jobs == 0


def test_adding_a_query_runs_no_job(spark: SparkSession) -> None:
    with Engine(live=False) as engine:
        engine.sql(STREAM.format("s") + "".join(queries("s", 5)))
        engine.open()
        engine.feed("s", rows(0))
        engine.tick()
        with counting(spark) as count:
            engine.sql("CREATE QUERY more AS SELECT sum(x) / 3 AS v FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]")
        assert count.jobs == 0
