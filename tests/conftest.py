"""One Spark session for all tests that need a JVM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from punctual.runtime import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    started = session.start("local[2]", "punctual tests", {"spark.driver.memory": "1g"})
    yield started
    session.stop(started)
