"""Streams that are not declared in SQL: any streaming DataFrame, landed as files; and queries that come and go."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from punctual.engine.engine import Engine
from punctual.errors import BindError, ProgramErrors, RunError
from punctual.ports.sinks.memory import MemorySink

pytestmark = pytest.mark.spark

SCHEMA = "t TIMESTAMP, k STRING, x DOUBLE"
QUERY = """
CREATE QUERY q AS SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 5 SECONDS;
"""
PATIENCE_S = 120


def rows(file: int) -> list[dict[str, Any]]:
    """Five seconds."""
    times = [f"2026-03-01T00:00:{5 * file + i / 4:09.6f}Z" for i in range(20)]
    return [{"t": t, "k": "abc"[i % 3], "x": i * 0.1 + file} for i, t in enumerate(times)]


def write(folder: Path, file: int) -> None:
    """A file for Spark's own file stream; it appears whole."""
    scratch = folder / f".{file}"
    scratch.write_text("".join(json.dumps(row) + "\n" for row in rows(file)))
    os.utime(scratch, (1_000_000 + file, 1_000_000 + file))
    os.replace(scratch, folder / f"{file}.json")


def file_stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def found(engine: Engine, query: str = "q") -> list[dict[str, Any]]:
    frame = engine.answers(query)
    return frame.drop(columns=["released", "deadline", "answered", "on_time"], errors="ignore").to_dict("records")


def tick_until(engine: Engine, happened: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < give_up, "rows never arrived"
        if engine.tick() is None:
            time.sleep(0.05)


def accepted(engine: Engine) -> int:
    return engine._opened().core.progress["s"].accepted


def fed(files: range) -> list[dict[str, Any]]:
    """The answers when the same rows are fed from Python."""
    with Engine(live=False) as engine:
        engine.sql(f"CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FEED; {QUERY}")
        engine.open()
        for file in files:
            engine.feed("s", rows(file))
            engine.tick()
        engine.end()
        return found(engine)


def test_a_file_stream_answers_as_fed_rows_do(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for file in range(3):
        write(source, file)
    state = str(tmp_path / "state")
    with Engine(state, live=False) as engine:
        engine.stream("s", file_stream(spark, source), event_time="t", key="k")
        engine.sql(QUERY)
        engine.open()
        tick_until(engine, lambda: accepted(engine) == 60)
        assert engine.catalog.streams["s"].keys == ("k",)
    # The stream goes on where it was: its own checkpoint is part of the state.
    write(source, 3)
    with Engine(state, live=False) as engine:
        engine.stream("s", file_stream(spark, source), event_time="t", key="k")
        engine.sql(QUERY)
        engine.open()
        tick_until(engine, lambda: accepted(engine) == 80)
        engine.end()
        assert accepted(engine) == 80
        answers = found(engine)
    assert answers == fed(range(4))


def test_spark_rate_source(spark: SparkSession) -> None:
    """Spark's own numbered rows: every number is in exactly one answer."""
    frame = spark.readStream.format("rate-micro-batch").options(
        rowsPerBatch=50, startTimestamp=1_772_323_200_000, advanceMillisPerBatch=1000
    ).load()
    with Engine(live=False) as engine:
        engine.open()
        engine.stream("s", frame, event_time="timestamp")
        engine.sql("CREATE QUERY q AS SELECT sum(value) AS v, count(*) AS n FROM s [RANGE 1 SECOND] PERIOD 1 SECOND")
        tick_until(engine, lambda: accepted(engine) >= 200)
        answers = found(engine)
    assert len(answers) >= 3
    seen = int(sum(a["n"] for a in answers))
    assert int(sum(a["v"] or 0 for a in answers)) == seen * (seen - 1) // 2


def test_a_foreign_stream_that_fails_is_reported_and_stops_nobody(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    write(source, 0)
    said: list[str] = []
    wrong = "CASE WHEN x > 1 THEN raise_error('broken') ELSE x END AS x"
    broken = file_stream(spark, source).selectExpr("t", "k", wrong)
    with Engine(options={"tick": "50 ms"}, report=said.append) as engine:
        engine.sql("CREATE STREAM other (t TIMESTAMP EVENT TIME, x DOUBLE) FROM FEED;")
        engine.start()
        engine.stream("s", broken, event_time="t")
        give_up = time.monotonic() + PATIENCE_S
        while not said and time.monotonic() < give_up:
            time.sleep(0.05)
        engine.feed("other", [{"t": "2026-03-01T00:00:00Z", "x": 1}])
        while engine._opened().core.progress["other"].accepted == 0 and time.monotonic() < give_up:
            time.sleep(0.05)
        assert engine._opened().core.progress["other"].accepted == 1
        engine.stop()
    assert len(said) == 1
    assert 'stream "s" has ended' in said[0]
    assert "broken" in said[0]


def test_wrong_streams(spark: SparkSession, tmp_path: Path) -> None:
    frame = file_stream(spark, tmp_path)
    with Engine(live=False) as engine:
        with pytest.raises(RunError, match="not-open"):
            engine.tick()
        with pytest.raises(BindError, match="unknown-column"):
            engine.stream("s", frame, event_time="when")
        engine.stream("s", frame, event_time="t")
        with pytest.raises(BindError, match="duplicate-name"):
            engine.stream("S", frame, event_time="t")
        engine.open()
        with pytest.raises(BindError, match="unknown-stream"):
            engine.feed("nobody", [])


@pytest.mark.usefixtures("spark")
def test_queries_come_and_go_while_it_runs(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    stream = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FEED;"
    later = QUERY.replace("QUERY q", "QUERY later")
    with Engine(state, live=False) as engine:
        engine.sql(stream + QUERY)
        engine.open()
        for file in range(2):
            engine.feed("s", rows(file))
            engine.tick()
        engine.sql(later)
        with pytest.raises(ProgramErrors) as refused:
            engine.sql("CREATE QUERY wrong AS SELECT nosuch(max(x)) AS y FROM s [RANGE 1 SECOND] PERIOD 1 SECOND")
        assert "nosuch" in refused.value.render()
        assert "wrong" not in engine.catalog.queries
        engine.feed("s", rows(2))
        engine.tick()
    with Engine(state, live=False) as engine:
        engine.sql(stream + QUERY + later)
        engine.open()
        engine.feed("s", rows(3))
        engine.tick()
        engine.sql("DROP QUERY q")
        engine.feed("s", rows(4))
        engine.tick()
        engine.end()
        logged = by_query(engine)
    whole = {(a["at"], a["k"]): (a["n"], a["total"]) for a in fed(range(5))}
    # Both were there for whole windows: the second reads the cells that the first had made.
    assert logged["later"] == {key: value for key, value in whole.items() if key[0].second >= 10}
    assert logged["q"] == {key: value for key, value in whole.items() if key[0].second <= 15}


def by_query(engine: Engine) -> dict[str, dict[Any, tuple[int, float]]]:
    """Everything in the log, also of queries that are gone: (instant, group) to (n, total)."""
    sink = MemorySink()
    for position, block in enumerate(engine.records(), start=1):
        sink.write(position, [block])
    frames = {query: sink.frame(query) for query in ("q", "later")}
    return {
        query: {(r["at"], r["k"]): (r["n"], r["total"]) for r in frame.to_pandas().to_dict("records")}
        for query, frame in frames.items()
        if frame is not None
    }
