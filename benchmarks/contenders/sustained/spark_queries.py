"""Plain Structured Streaming: one query per window, all in one session, one file per batch of each.

Set up like ``benchmarks.contenders.spark_streaming``. Queries go their own pace, so files are counted as the mean over
the queries. With many queries some may not have got through the files of the warm-up when the patience for it is over:
then what follows is counted all the same.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.contenders.spark_streaming import session
from benchmarks.contenders.sustained.task import Answer, Task, Window, given_task, report
from benchmarks.processes import Meter
from punctual.runtime.jvm.java import find_java

SCHEMA = "ts TIMESTAMP, k STRING, v DOUBLE, n INT"
PATIENCE = 45
LOOK = 0.02


def main() -> None:
    task = given_task()
    os.environ["JAVA_HOME"] = str(find_java(os.environ).home)
    kept: list[list[pa.Table]] = [[] for _window in task.windows]
    with tempfile.TemporaryDirectory(prefix="sustained-spark-", dir=Path(task.folder).parent) as folder:
        spark = session(folder)
        for number, window in enumerate(task.windows):
            start(spark, task, window, kept[number], f"{folder}/checkpoint-{number}")
        total = len(task.files)
        wait(lambda: min(map(len, kept)) >= task.warm, PATIENCE)
        before = passed(kept, total)
        with Meter() as meter:
            wait(lambda: passed(kept, total) == total, task.seconds)
            files = passed(kept, total) - before
        answers = [rows_of(tables) for tables in kept]
        through = min(max((at for at, _average, _greatest in some), default=0) for some in answers)
        report(files, meter, through, chain.from_iterable(answers))
        sys.stdout.flush()
        os._exit(0)  # queries that are still running take long to stop; Spark's own hook ends the JVM


def start(spark: SparkSession, task: Task, window: Window, kept: list[pa.Table], checkpoint: str) -> None:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", task.together)
    rows = reader.format(task.kind.lower()).load(task.folder)
    span = f.window("ts", f"{window.length} seconds", f"{window.slide} seconds")
    frame = (
        rows.withWatermark("ts", "0 seconds")
        .groupBy(span.alias("w"))
        .agg(f.avg("v").alias("a"), f.max("v").alias("m"))
        .select(f.unix_seconds("w.end").alias("at"), "a", "m")
    )
    writer = frame.writeStream.outputMode("append").trigger(availableNow=True)
    writer.option("checkpointLocation", checkpoint).foreachBatch(_keeper(kept)).start()


def _keeper(kept: list[pa.Table]) -> Callable[[DataFrame, int], None]:
    def keep(frame: DataFrame, _batch: int) -> None:
        kept.append(frame.toArrow())

    return keep


def passed(kept: list[list[pa.Table]], total: int) -> float:
    """Files that were processed, mean of all queries. After its last file a query has a batch without rows."""
    return sum(min(len(tables), total) for tables in kept) / len(kept)


def wait(done: Callable[[], bool], seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end and not done():
        time.sleep(LOOK)


def rows_of(tables: list[pa.Table]) -> list[Answer]:
    return [tuple(row.values()) for table in list(tables) for row in table.to_pylist()]


if __name__ == "__main__":
    main()
