"""An engine that shares a Spark session is stopped in the middle of a job: the job ends too, others go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from punctual.runtime.spark import SparkBackend
from punctual.store.products import OUTPUT

pytestmark = pytest.mark.spark

PATIENCE_S = 120
LONG_S = 3_600
"""Nobody waits for a job of this length."""


@dataclass(frozen=True)
class Sleep:
    """A job over shards that takes long."""

    most_tasks: int = 1
    tasks: int = 1

    def run(self, _order: None, _task: int) -> Iterator[pa.RecordBatch]:
        time.sleep(LONG_S)
        yield OUTPUT.empty_table().to_batches()[0]


def running(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


def until(what: Any) -> None:
    for _turn in range(PATIENCE_S * 20):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


def test_closing_ends_the_jobs_of_the_engine_and_no_others(spark: SparkSession) -> None:
    ended: list[BaseException] = []
    backend = SparkBackend()

    def work() -> None:
        try:
            backend.run_tasks(Sleep())  # type: ignore[arg-type]
        except BaseException as problem:
            ended.append(problem)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    until(lambda: running(spark))
    backend.close()
    thread.join(PATIENCE_S)
    assert ended, "the job went on"
    until(lambda: not running(spark))
    assert spark.range(3).count() == 3
