"""What tests on Spark share beside the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from punctual.runtime import tick, work_orders


@pytest.fixture(scope="module")
def small_tasks(spark: SparkSession) -> Iterator[None]:
    """How many tasks share a slice goes by size; here every part is large enough for a task of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work_orders, "BYTES_PER_TASK", 1)
        patch.setattr(tick, "UNCUT_BYTES", 1)
        yield
