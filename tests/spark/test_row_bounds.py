"""Row queries on Spark at their bounds: windows that many read, windows that are large, joins that run away."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from punctual.clock import SystemClock
from punctual.engine.batch.state_faults import state_fault
from punctual.kernel.sample.budget import ScanBudget
from punctual.kernel.sample.draw import Draw
from punctual.runtime.backend import JobLimit, OverdueError, RowWork
from punctual.runtime.operators.task_files import write_payload
from punctual.runtime.row_queries import job_watch, row_plans
from punctual.runtime.row_queries.plan_graph import RunawayError
from punctual.runtime.row_queries.plan_nodes import plan_nodes
from punctual.runtime.row_queries.row_plans import RowPlans
from tests.spark.row_programs import SECOND, Retained, random_rows, retained, row_query, types_of, work
from tests.spark.test_row_plans import INSTANTS, SAME_AS_DUCKDB, TABLES, A, B, answers

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> list[Retained]:
    """Several orders: random rows, others, and none."""
    folder = tmp_path_factory.mktemp("rows")
    empty = {name: table.slice(0, 0) for name, table in random_rows(0).items()}
    return [retained(folder, rows) for rows in (random_rows(1), random_rows(2), empty)]


def test_what_reads_the_same_windows_reads_them_once(
    spark: SparkSession, kept: list[Retained], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows of different queries are cached relations, and answers have the bytes that they have alone."""
    unions: list[Any] = []
    real = row_plans.stands
    monkeypatch.setattr(row_plans, "stands", lambda frame: unions.append(frame) or real(frame))
    texts = {
        **{f"join {i}": f"SELECT a.k, a.v, b.w + {i} AS w FROM {A} JOIN {B} ON a.k = b.k" for i in range(3)},
        "sums": f"SELECT a.k, sum(a.v / 3) AS t, first(b.w) AS f FROM {A} JOIN {B} ON a.k = b.k GROUP BY a.k",
        "other key": f"SELECT a.k, a.v, b.w FROM {A} JOIN {B} ON a.v = b.w",
        "filtered": f"SELECT a.k, a.v, b.w FROM {A} JOIN {B} ON a.k = b.k WHERE a.v > 0.5",
        "no sort": f"SELECT sum(a.v / 7) AS t, a.k FROM {A} GROUP BY a.k",
        "no sort too": f"SELECT max(a.v / 7) AS t, a.k FROM {A} GROUP BY a.k",
    }
    queries = {name: row_query(text, name.replace(" ", "_")) for name, text in texts.items()}
    types = types_of(spark, *queries.values())
    plans, alone = RowPlans(spark, 2), RowPlans(spark, 2)
    for rows in kept:
        works = [work(query, types[query.name], rows, at) for query in queries.values() for at in INSTANTS[:2]]
        together = plans.run(works, {}).tables
        assert together == [alone.run([one], {}).tables[0] for one in works]
    depths = [(node.name, node.rest.startswith("window_"), node.depth) for node in plan_nodes(
        unions[len(queries)]._jdf.queryExecution().executedPlan()
    )]
    cached = [depth for name, _own, depth in depths if name == "InMemoryRelation"]
    read = [depth for name, own, depth in depths if name == "MapInArrow" and own]
    # One query joins by doubles, which are sorted in another way, so it alone reads such a window, at each instant.
    assert len(read) == len(cached) + 2


IN_SHARDS = {"inner", "comma", "left", "itself", "distinct", "derived", "median", "having", "doubles"}
WHOLE = {"global", "window", "cross", "theta", "full", "right", "union", "twice", "scalar", "plain", "grouped_table"}


def test_large_windows_are_answered_in_shards_with_the_same_bytes(
    spark: SparkSession, kept: list[Retained], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = {name: row_query(text, name) for name, text in SAME_AS_DUCKDB.items()}
    queries["doubles"] = row_query(f"SELECT a.k, sum(a.v / 3) AS t, first(b.w) AS f FROM {A} JOIN {B} ON a.k = b.k "
                                   "GROUP BY a.k", "doubles")  # fmt: skip
    types = types_of(spark, *queries.values())
    works = [work(query, types[name], kept[0], INSTANTS[1]) for name, query in queries.items()]
    plain = RowPlans(spark, 2).run(works, TABLES).tables
    asked: dict[str, int] = {}
    real = row_plans.in_shards

    def counting(one: RowWork, keys: Any, parts: int) -> list[RowWork]:
        asked[one.query] = 5
        return real(one, keys, 5)

    monkeypatch.setattr(row_plans, "LARGE_BYTES", 100)
    monkeypatch.setattr(row_plans, "in_shards", counting)
    found = RowPlans(spark, 2).run(works, TABLES).tables
    assert [name for name, one, other in zip(queries, plain, found) if one != other] == []
    assert set(asked) >= IN_SHARDS
    assert not WHOLE & set(asked)


def test_shards_of_a_sample_have_one_share_and_report_all_rows(
    spark: SparkSession, kept: list[Retained], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their scans know that there is no time left; each would use less by itself, and the answer has one share."""
    query = row_query(SAME_AS_DUCKDB["inner"], "inner")
    whole = work(query, types_of(spark, query)["inner"], kept[0], INSTANTS[1])
    draws = [Draw(0.6, "o", ("k",), number=number) for number in range(2)]
    plain = replace(whole, windows=tuple(replace(one, draw=draw) for one, draw in zip(whole.windows, draws)))
    late = ScanBudget(by=1, row_us=1.0, least=0.01)
    timed = replace(
        whole,
        windows=tuple(replace(one, draw=replace(draw, budget=late)) for one, draw in zip(whole.windows, draws)),
        left_us=(0.0, 1.0),
    )
    expected = RowPlans(spark, 2).run([plain], TABLES)
    real = row_plans.in_shards
    monkeypatch.setattr(row_plans, "LARGE_BYTES", 100)
    monkeypatch.setattr(row_plans, "in_shards", lambda one, keys, _parts: real(one, keys, 5))
    found = RowPlans(spark, 2).run([timed], TABLES)
    assert found.tables == expected.tables
    assert 0 < found.tables[0].num_rows < RowPlans(spark, 2).run([whole], TABLES).tables[0].num_rows
    (told,), (alone,) = found.draws, expected.draws
    assert replace(told[0], at=0) == replace(alone[0], at=0)
    assert 0 < told[1].kept <= alone[1].kept  # where a shard has no row of the first window nobody reads the second
    assert [(one.share, one.part) for one in told.values()] == [(0.6, 1.0)] * 2


def test_a_runaway_join_is_stopped_with_its_numbers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of millions of pairs that only an aggregate sees; nobody waits for them."""
    monkeypatch.setattr(job_watch, "FIRST_LOOK_S", 0.5)
    rows = retained(tmp_path, {n: pa.concat_tables([t] * 1_500) for n, t in random_rows(4, 40, 1).items()})
    limit = 1_000_000
    texts = {
        "cross": f"SELECT sum(a.v * b.w) AS t FROM {A} CROSS JOIN {B}",
        "equal": f"SELECT sum(a.v * b.w) AS t FROM {A} JOIN {B} ON a.k = b.k",
        "outer_theta": f"SELECT count(b.w) AS t FROM {A} LEFT JOIN {B} ON a.v > b.w + 100",
    }
    queries = {name: row_query(text, name) for name, text in texts.items()}
    few = row_query(SAME_AS_DUCKDB["global"], "few")
    types = types_of(spark, few, *queries.values())
    plans = RowPlans(spark, 2)
    spark.sparkContext.setInterruptOnCancel(True)
    small = work(few, types["few"], rows, 5 * SECOND)
    for name, query in queries.items():
        wide = replace(work(query, types[name], rows, 5 * SECOND), max_join_rows=limit)
        with pytest.raises(RunawayError) as refused:
            plans.run([small, wide], {})
        assert refused.value.query == name
        assert "and may" in refused.value.fact
        assert "1,000,000" in refused.value.fact
    assert answers(plans, [small])[0][0][0] == 60_000


def test_a_job_that_takes_too_long_is_ended(spark: SparkSession, tmp_path: Path) -> None:
    """Nobody waits for thousands of millions of pairs, and the next job is answered as ever."""
    rows = retained(tmp_path, {n: pa.concat_tables([t] * 1_500) for n, t in random_rows(4, 40, 1).items()})
    pairs = row_query(f"SELECT sum(a.v * b.w) AS t FROM {A} CROSS JOIN {B}", "pairs")
    few = row_query(SAME_AS_DUCKDB["global"], "few")
    types = types_of(spark, few, pairs)
    plans = RowPlans(spark, 2)
    spark.sparkContext.setInterruptOnCancel(True)
    small = work(few, types["few"], rows, 5 * SECOND)
    long = work(pairs, types["pairs"], rows, 5 * SECOND)
    clock = SystemClock()
    for wait in (2 * SECOND, 0):  # while it runs, and before it began
        with pytest.raises(OverdueError):
            plans.run([small, long], {}, JobLimit(clock.monotonic() + wait))
    assert answers(plans, [small])[0][0][0] == 60_000
    limit = JobLimit(clock.monotonic() + 3_600 * SECOND)
    for _job in range(2):  # which may be of several jobs
        assert plans.run([small], {}, limit).tables[0].num_rows == 1


def test_a_retained_file_that_is_gone_is_named(spark: SparkSession, tmp_path: Path) -> None:
    rows = retained(tmp_path, random_rows(1))
    query = row_query(SAME_AS_DUCKDB["inner"])
    asked = work(query, types_of(spark, query)["q"], rows, INSTANTS[1])
    path = Path(rows.files["r"][0].path)
    path.unlink()
    with pytest.raises(Exception, match=r"state\.corrupt") as told:
        RowPlans(spark, 2).run([asked], {})
    fault = state_fault(told.value)
    assert fault is not None
    assert fault.code == "state.corrupt"
    assert fault.fact == f'file "{path}" is damaged: it is missing'


def _written_to_a_full_disk(folder: str) -> str:
    def no_space(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real, os.fsync = os.fsync, no_space
    try:
        return write_payload(folder, pa.py_buffer(b"rows"))
    finally:
        os.fsync = real


def test_a_full_disk_is_told_by_a_task(spark: SparkSession, tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.raises(Exception, match="disk-full") as told:
        spark.sparkContext.parallelize([str(tmp_path)], 1).map(_written_to_a_full_disk).collect()
    fault = state_fault(told.value)
    assert fault is not None
    assert fault.code == "state.disk-full"
    assert str(tmp_path) in fault.fact
    assert list(tmp_path.iterdir()) == [], "the disk gets its space back"
