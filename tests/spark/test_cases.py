"""Every run case on Spark, in several ways: a second check of what the kernels and the engine answer.

All cases are one program in one JVM, step by step together; what fails there is run again alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from punctual.ports.feeds import stretches
from punctual.runtime import tick, work_orders
from punctual.runtime.backend import Tick
from punctual.runtime.spark import SparkBackend
from tests.cqt.case import Case, read_cases
from tests.cqt.play import DATA
from tests.cqt.running import run_case
from tests.cqt.ways import Together, Way

pytestmark = pytest.mark.spark

CASES = read_cases(DATA / "run")
LANGUAGE = [case for case in read_cases(DATA / "language") if case.headers.get("needs") == "spark"]


class Shared(SparkBackend):
    """Spark as the other tests have it: closing an engine leaves the session running."""

    def __init__(self) -> None:
        super().__init__("local[2]")

    def close(self) -> None:
        pass


class Cut(Shared):
    """Slices cut into as many pieces as can be made of them: a part for every few rows, five tasks for those."""

    def tick(self, tick: Tick) -> pa.Table:
        self._slots = 5
        with_size = {"spark.sql.files.maxPartitionBytes": "48", "spark.sql.files.openCostInBytes": "1"}
        before = {name: self.spark.conf.get(name) for name in with_size}
        for name, value in with_size.items():
            self.spark.conf.set(name, value)
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(stretches, "STRETCH_BYTES", 48)
                return super().tick(tick)
        finally:
            for name, value in before.items():
                self.spark.conf.set(name, value)


WAYS = (
    Way("straight", Shared),
    Way("cut small, on shards", Cut, {"placement": "cluster"}),
    Way("resumed at every step", Shared, resume=True),
    Way("cut small, every window from rows", Cut, {"window_merge": "rows"}),
)
TOGETHER = {way.name: Together(CASES, way) for way in WAYS}
# Every step checks and plans all row queries again, which takes minutes; without Spark it is part of every run.
NAMES = [pytest.param(way.name, marks=[pytest.mark.long] if way.resume else []) for way in WAYS]


@pytest.fixture(scope="module", autouse=True)
def small_tasks(spark: SparkSession) -> Iterator[None]:
    """How many tasks share a slice goes by size; here every part is large enough for a task of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work_orders, "BYTES_PER_TASK", 1)
        patch.setattr(tick, "UNCUT_BYTES", 1)
        yield


@pytest.mark.parametrize("way", NAMES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_run(case: Case, way: str) -> None:
    TOGETHER[way].check(case)


@pytest.mark.parametrize("way", NAMES)
def test_one_program_of_all_cases(way: str) -> None:
    TOGETHER[way].run()
    if TOGETHER[way].crash is not None:
        raise AssertionError("cases that run together bring each other down") from TOGETHER[way].crash


@pytest.mark.parametrize("case", LANGUAGE, ids=lambda case: case.name)
def test_language(case: Case) -> None:
    run_case(case, Shared)
