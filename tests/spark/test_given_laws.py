"""Distributions that rows give, on Spark: every way gives a row the reason that its rules say.

``tests/runtime/test_given_laws.py`` asks the same of the direct way, lists included, without a JVM.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.plan.uncertain import GivenBy
from punctual.runtime.ways import times_declared, why_spark_reads_stream
from tests.runtime import given_rows
from tests.runtime.given_rows import DERIVED, LISTS, NUMBERS
from tests.runtime.test_given_laws import stream
from tests.spark.backends import Shared

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("columns", "declared", "by_spark"),
    [(NUMBERS, True, False), (DERIVED, False, False), (LISTS, True, True)],
    ids=["direct", "projected", "read by Spark"],
)
def test_rows_are_judged_alike(
    spark: SparkSession, tmp_path: Path, columns: str, declared: bool, by_spark: bool
) -> None:
    assert times_declared(stream(columns)) == declared
    assert (why_spark_reads_stream(stream(columns)) is not None) == by_spark
    rows = [*given_rows.every_pair(), *(row | {"id": row["id"] + 1000} for row in given_rows.drawn(3, 300))]
    given_rows.check(tmp_path, columns, rows, Shared())


def test_a_frame_may_have_uncertain_columns(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.schema("t TIMESTAMP, kmh DOUBLE, sd DOUBLE, xs ARRAY<STRING>, ws ARRAY<FLOAT>").json(
        str(tmp_path)
    )
    with Engine(live=False) as engine:
        with pytest.raises(ProgramErrors, match="uncertain-role"):
            engine.stream("s", frame, event_time="t", uncertain={"T": "EMPIRICAL BY kmh"})
        laws = {"kmh": "NORMAL(kmh, sd)", "wait": "UNIFORM(sd, sd)", "state": "DISCRETE(xs, ws)"}
        engine.stream("s", frame, event_time="t", uncertain=laws)
        columns = {column.name: column for column in engine.catalog.streams["s"].columns}
    assert list(columns) == ["t", "kmh", "sd", "xs", "ws", "wait", "state"]
    assert columns["kmh"].uncertain == GivenBy("NORMAL", ("kmh", "sd"))
    assert (columns["wait"].type, columns["state"].type) == ("DOUBLE", "STRING")
    assert (columns["kmh"].derived is None, columns["wait"].derived is None) == (True, False)
