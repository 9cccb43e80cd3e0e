"""How much a piece of driver code asks of Spark: jobs, and calls to the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import sleep
from typing import Any
from uuid import uuid4

from py4j.clientserver import ClientServerConnection
from py4j.java_gateway import GatewayConnection
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.sql import SparkSession


@dataclass
class Count:
    """Filled in when the block ends."""

    jobs: int = -1
    calls: int = -1


@contextmanager
def counting(spark: SparkSession) -> Iterator[Count]:
    """Count the jobs that start and the calls that are made while the block runs.

    Releases of Java objects are not counted: they happen when Python's collector gets round to them.

    Job numbers are handed out in order, so a job of ours before and one after tell how many ran between them;
    nothing depends on what Spark still remembers of its jobs.
    """
    count = Count()
    first = _job_number(spark)
    kinds = (ClientServerConnection, GatewayConnection)
    sends = [kind.send_command for kind in kinds]
    made = 0

    def counted(send: Any) -> Any:
        def send_command(*args: Any, **kwargs: Any) -> Any:
            nonlocal made
            made += not str(args[1]).startswith(MEMORY_COMMAND_NAME)
            return send(*args, **kwargs)

        return send_command

    for kind, send in zip(kinds, sends):
        kind.send_command = counted(send)
    try:
        yield count
    finally:
        for kind, send in zip(kinds, sends):
            kind.send_command = send
    count.calls = made
    count.jobs = _job_number(spark) - first - 1


def _job_number(spark: SparkSession) -> int:
    context = spark.sparkContext
    before, group = context.getLocalProperty("spark.jobGroup.id"), f"counting {uuid4()}"
    context.setLocalProperty("spark.jobGroup.id", group)
    try:
        context.parallelize([0], 1).count()
        # Spark's status hears of a job a little later, on a thread of its own: later still on busy cores.
        while not (numbers := context.statusTracker().getJobIdsForGroup(group)):
            sleep(0.01)
        return max(numbers)
    finally:
        context.setLocalProperty("spark.jobGroup.id", before)
