"""Make the class archive of this machine once (``python -m punctual.runtime.prepare``); see ``runtime/jvm/archive.py``.

A session starts, does a little of everything that a tick does, so that its classes are loaded, and writes them down
when it ends. The file is written beside its place, put on disk and renamed, so a start at the same time, or after a
power cut, sees all or nothing.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from punctual.own_names import REASON
from punctual.ports.feeds.file_reader import FORMATS, FileReader
from punctual.ports.feeds.listing import list_files
from punctual.runtime import session
from punctual.runtime.jvm.archive import archive_stem, find_archive, sized
from punctual.runtime.jvm.java import find_java

PATIENCE_S = 300.0
"""How long the JVM may take to write the archive when it ends."""


def prepare() -> Path | None:
    """The archive's path, after making it if it is not there; None when this machine cannot make or use one."""
    stem = archive_stem(find_java(os.environ), os.environ)
    if stem is None:
        return None
    if (there := find_archive(stem)) is not None:
        return there
    making = stem.with_name(f"{stem.name}.{os.getpid()}.making")
    options = {session.JAVA_OPTIONS: f"-XX:ArchiveClassesAtExit={making}", "spark.driver.memory": "1g"}
    try:
        spark = session.start("local[2]", "prepare", options)
        try:
            _exercise(spark)
        finally:
            session.stop(spark, patience_s=PATIENCE_S)
        return keep(making, stem) if making.is_file() else None
    finally:
        making.unlink(missing_ok=True)


def keep(made: Path, stem: Path) -> Path:
    """Give an archive that was made its name, once all of it is on disk."""
    with open(made, "rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    return made.replace(sized(stem, size))


def _exercise(spark: SparkSession) -> None:
    """Ticks in small: a bare job; every format of Spark's, a filter, a stage in Python, a shuffle, rows from Arrow."""
    spark.sparkContext.parallelize(range(2), 2).mapPartitions(list).collect()
    columns = [("ts", "TIMESTAMP"), ("name", "STRING"), ("x", "DOUBLE")]
    with tempfile.TemporaryDirectory() as folder:
        row = {"ts": "2012-04-21T09:20:00Z", "name": "a", "x": 1.5}
        Path(folder, "json").write_text(json.dumps(row) + "\n")
        Path(folder, "csv").write_text("ts,name,x\n2012-04-21T09:20:00Z,a,1.5\n")
        pq.write_table(pa.table({"name": ["a"], "x": [1.5]}), Path(folder, "parquet"))
        rows = None
        for kind in FORMATS:
            part = FileReader(columns, kind).read(spark, list_files(str(Path(folder, kind.lower()))))
            rows = part if rows is None else rows.union(part)
        assert rows is not None
        good = rows.where(f"`{REASON}` IS NULL AND x > 1").select("ts", "name", "x")
        good.coalesce(2).mapInArrow(_same, "ts TIMESTAMP, name STRING, x DOUBLE").toArrow()
        good.groupBy("name").count().orderBy("name").collect()
    table = spark.createDataFrame(pa.table({"x": [1.0, 2.0]}))
    table.where("x > 1").selectExpr("x + 1 AS y").collect()


def _same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    if prepare() is None:
        print("Java cannot archive its classes here: starts are slower", file=sys.stderr)
