"""What the scans of a job say of the samples that they drew: by accumulator, as their rows go on into Spark's plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark import AccumulatorParam, SparkContext

from punctual.kernel.sample.draw import DrawReport
from punctual.runtime.backend import Draws

Reports = dict[tuple[str, int], DrawReport]
"""By slot and window."""


class _Merged(AccumulatorParam):  # type: ignore[misc]
    def zero(self, value: Reports) -> Reports:
        return {}

    def addInPlace(self, value1: Reports, value2: Reports) -> Reports:  # noqa: N802 (the name is Spark's)
        return {**value1, **value2}


class ScanReports:
    """Those of one session."""

    def __init__(self, context: SparkContext) -> None:
        self.told: Any = context.accumulator({}, _Merged())

    def take(self, asked: Mapping[str, int]) -> dict[int, Draws]:
        """What was reported since this was last asked: by work and window, where each slot has one of the works."""
        taken: Reports = self.told.value
        self.told.value = {}
        found: dict[int, Draws] = {}
        for (slot, window), report in taken.items():
            if slot in asked:
                found.setdefault(asked[slot], {})[window] = report
        return found
