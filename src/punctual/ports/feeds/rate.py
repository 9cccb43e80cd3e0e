"""Generated rows, evenly spaced in time and repeatable: row i has value i and time ``origin + i * per // rows``."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from punctual.clock import Micros
from punctual.errors import FeedError
from punctual.ports.feeds.reading import jvm_strings
from punctual.ports.feeds.slices import RateSlice

BATCH_ROWS = 1_000_000
ROWS_A_PARTITION = 250_000
"""Fixed, so that the partition of a row does not depend on the machine."""


@dataclass(frozen=True, slots=True)
class RateFeed:
    """``rows`` rows every ``per_us`` microseconds, at most ``limit`` in all."""

    rows: int
    per_us: Micros
    limit: int | None = None

    def time_of(self, row: int, origin_us: Micros) -> Micros:
        """When a row happens.

        >>> RateFeed(rows=3, per_us=1_000_000).time_of(2, origin_us=0)
        666666
        """
        return origin_us + row * self.per_us // self.rows

    def plan(
        self, done: int, origin_us: Micros, now_us: Micros | None, max_rows: int = BATCH_ROWS
    ) -> RateSlice | None:
        """The rows after the first ``done`` that have happened by ``now_us``, or without it all up to the limit.

        Raises
        ------
        FeedError
            ``feed.endless`` when neither a time nor a limit ends the stream.
        """
        ends = [] if self.limit is None else [self.limit]
        if now_us is not None:
            # The largest i with i * per // rows <= passed is the one with i * per < (passed + 1) * rows.
            passed = now_us - origin_us
            ends.append(((passed + 1) * self.rows - 1) // self.per_us + 1 if passed >= 0 else 0)
        if not ends:
            raise FeedError(
                "feed.endless", "a RATE stream without LIMIT never ends", hint="add LIMIT n ROWS, or run without --once"
            )
        end = min([*ends, done + max_rows])
        return RateSlice(done, end, origin_us) if end > done else None

    def read(self, spark: SparkSession, planned: RateSlice) -> DataFrame:
        """``ts``, ``value`` and the columns of every feed, of which ``_origin`` is ``rate``; runs no job."""
        partitions = max(1, -(-(planned.end - planned.start) // ROWS_A_PARTITION))
        numbers = spark._jsparkSession.range(planned.start, planned.end, 1, partitions)
        expressions = [
            f"timestamp_micros({planned.origin_us}L + (id * {self.per_us}L) div {self.rows}L) AS ts",
            "id AS value",
            "CAST(NULL AS STRING) AS _reason",
            "CAST(NULL AS STRING) AS _raw",
            "'rate' AS _origin",
        ]
        return DataFrame(numbers.toDF().selectExpr(jvm_strings(spark, expressions)), spark)
