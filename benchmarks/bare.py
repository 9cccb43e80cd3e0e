"""The bare Spark job that a tick is compared with: the same reader and columns, and a Python stage that only counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

SCHEMA = "ts TIMESTAMP, k STRING, v DOUBLE"


def bare_job(spark: SparkSession, paths: Sequence[str], parts: int = 1) -> int:
    """Rows of the files, counted by Python workers in one job of one stage."""
    frame = spark.read.schema(SCHEMA).parquet(*paths).selectExpr("unix_micros(ts) AS _t", "k", "v")
    counts = frame.coalesce(parts).mapInArrow(_count, "n BIGINT").toArrow()
    return sum(counts.column("n").to_pylist())


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})
