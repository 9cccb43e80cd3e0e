"""Spark as the data plane of tests."""

from __future__ import annotations

import pyarrow as pa
import pytest

from punctual.ports.feeds import stretches
from punctual.runtime.backend import Tick
from punctual.runtime.spark import SparkBackend


class Shared(SparkBackend):
    """Closing an engine leaves the session running."""

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
