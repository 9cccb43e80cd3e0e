"""Plain Structured Streaming: one query per window, all in one session, over all files of a folder to their end.

Set up as one who knows Spark would for this machine: as many shuffle partitions as cores, no UI, the schema given,
timestamps as they are, a sink that hands each result to Arrow once and keeps it. The windows are the same: open on
the left, their ends at multiples of the slide (``startTime`` shifts Spark's, whose starts are).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.workload import Window, sliding
from punctual.runtime.jvm.java import find_java

SCHEMA = "ts TIMESTAMP, k STRING, v DOUBLE"


def session(folder: str) -> SparkSession:
    cores = len(os.sched_getaffinity(0))
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.driver.memory": "4g",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"file:{folder}/warehouse",
    }
    builder = SparkSession.builder.master(f"local[{2 * cores}]").appName("plain")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def windowed(rows: DataFrame, window: Window) -> DataFrame:
    start = -window.range_s % window.slide_s
    span = f.window("ts", f"{window.range_s} seconds", f"{window.slide_s} seconds", f"{start} seconds")
    return (
        rows.withWatermark("ts", "1 second")
        .groupBy(span.alias("w"), "k")
        .agg(f.avg("v").alias("a"), f.max("v").alias("m"))
        .select(f.unix_micros("w.end").alias("at"), "k", "a", "m")
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--windows", type=int, required=True)
    parser.add_argument("--files-per-tick", default="10")
    parser.add_argument("--keep", help="file for the answers of the first and last window")
    arguments = parser.parse_args()
    os.environ["JAVA_HOME"] = str(find_java(os.environ).home)
    windows = sliding(arguments.windows)
    kept: dict[int, list[pa.Table]] = {number: [] for number in range(len(windows))}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="plain-streaming-") as folder:
        spark = session(folder)
        started = time.perf_counter() - began
        queries = []
        for number, window in enumerate(windows):
            rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", arguments.files_per_tick)
            frame = windowed(rows.parquet(arguments.folder), window)
            writer = frame.writeStream.outputMode("append").trigger(availableNow=True)
            writer = writer.option("checkpointLocation", f"{folder}/checkpoint-{number}")
            queries.append(writer.foreachBatch(_keeper(kept[number])).start())
        for query in queries:
            query.awaitTermination()
        done = time.perf_counter() - began
        spark.stop()
    answers = {number: pa.concat_tables(tables) for number, tables in kept.items()}
    if arguments.keep:
        for number in {0, len(windows) - 1}:
            pq.write_table(answers[number], f"{arguments.keep}/{number}.parquet")
    rows_out = sum(table.num_rows for table in answers.values())
    print(json.dumps({"rows": rows_out, "opened": started, "done": done}))


def _keeper(kept: list[pa.Table]):
    def keep(frame: DataFrame, _batch: int) -> None:
        kept.append(frame.toArrow())

    return keep


if __name__ == "__main__":
    main()
