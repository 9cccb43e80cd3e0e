"""Plain Structured Streaming: one join of two streams per query, all in one session that stays up.

    python -m benchmarks.contenders.stream_joins QUERIES FOLDER WARM

The first files are there from the start; the others come when these are done, and only they are measured.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.contenders.spark_streaming import session
from benchmarks.join_workload import condition
from benchmarks.processes import Meter
from punctual.runtime.jvm.java import find_java

DELAY = "1 second"


def joined(spark: SparkSession, folder: Path, query: int) -> DataFrame:
    def stream(name: str, value: str) -> DataFrame:
        rows = spark.readStream.schema(f"ts TIMESTAMP, k STRING, {value} DOUBLE").option("maxFilesPerTrigger", "1")
        return rows.parquet(str(folder / name)).withWatermark("ts", DELAY).alias(name)

    both = stream("a", "v").join(stream("b", "w"), f.expr(condition(query)))
    return both.select("a.k", "a.v", "b.w")


def main() -> None:
    queries, source, warm = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    os.environ["JAVA_HOME"] = str(find_java(os.environ).home)
    rows = [0] * queries
    total = [0] * queries

    def keeper(number: int):
        def keep(frame: DataFrame, _batch: int) -> None:
            found = frame.toArrow()
            rows[number] += found.num_rows
            sums = (1000 * (found["v"].to_numpy() + found["w"].to_numpy())).round().astype("int64")
            total[number] += int(sums.sum())

        return keep

    with tempfile.TemporaryDirectory(prefix="stream-joins-") as scratch:
        folder = Path(scratch) / "in"
        spark = session(scratch)

        def add(numbers: range) -> None:
            for number in numbers:
                for name in ("a", "b"):
                    (folder / name).mkdir(parents=True, exist_ok=True)
                    # Files appear whole: Spark forgets old ones once it has seen one with the time of its copying.
                    shutil.copy2(source / name / f"{number:04d}.parquet", folder / name / "_copied")
                    os.rename(folder / name / "_copied", folder / name / f"{number:04d}.parquet")

        add(range(warm))
        running = []
        for number in range(queries):
            writer = joined(spark, folder, number).writeStream.outputMode("append")
            writer = writer.option("checkpointLocation", f"{scratch}/checkpoint-{number}")
            running.append(writer.foreachBatch(keeper(number)).start())
        for query in running:
            query.processAllAvailable()
        with Meter() as meter:
            add(range(warm, len(os.listdir(source / "a"))))
            for query in running:
                query.processAllAvailable()
        for query in running:
            query.stop()
        spark.stop()
    print(json.dumps({"wall": meter.wall, "cpu": meter.cpu, "rows": rows, "total": total}))


if __name__ == "__main__":
    main()
