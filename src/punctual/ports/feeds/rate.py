"""Generated rows, evenly spaced in time and repeatable: row i has value i and time ``origin + i * per // rows``."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from punctual.clock import SECOND, Micros
from punctual.errors import InternalError
from punctual.ports.feeds.feed import Backlog, Lost
from punctual.ports.feeds.releases import Arrivals, PartArrivals, RowArrivals
from punctual.ports.feeds.slices import BYTES_PER_ROW, RateSlice
from punctual.scan.open_part import Reading
from punctual.scan.parts import RatePart, Weighed

BATCH_ROWS = 1_000_000
ROWS_PER_PART = 250_000
GENERATED_BYTES = 8
"""What a row weighs against the bytes of files: a task makes a million of them in the time of some megabytes."""


class RateFeed:
    """``rows`` rows every ``per_us`` microseconds, at most ``limit`` in all.

    Live, row 0 happens at the whole second of the first look, and a row can be read once it has happened. Otherwise
    row 0 is at 1970 and all rows up to the limit are there at the start. ``timed`` says whether the event time of a row
    is when it happens.
    """

    def __init__(
        self,
        rows: int,
        per_us: Micros,
        limit: int | None = None,
        *,
        live: bool,
        timed: bool = True,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.rows = rows
        self.per_us = per_us
        self._limit = limit
        self._live = live
        self._timed = timed
        self._batch_rows = batch_rows
        self._done = 0
        self._happened = 0
        self._origin: Micros | None = None if live else 0
        self._started: Micros | None = None

    def time_of(self, row: int, origin_us: Micros) -> Micros:
        """When a row happens.

        >>> RateFeed(rows=3, per_us=1_000_000, live=True).time_of(2, origin_us=0)
        666666
        """
        return origin_us + row * self.per_us // self.rows

    def look(self, now: Micros) -> Backlog:
        if self._started is None:
            self._started = now
        if self._origin is None:
            self._origin = now // SECOND * SECOND
        ends = [] if self._limit is None else [self._limit]
        if self._live:
            # The largest i with i * per // rows <= passed is the one with i * per < (passed + 1) * rows.
            passed = now - self._origin
            ends.append(((passed + 1) * self.rows - 1) // self.per_us + 1 if passed >= 0 else 0)
        self._happened = min(ends)
        waiting = max(0, self._happened - self._done)
        if not waiting:
            return Backlog()
        oldest = self.time_of(self._done, self._origin) if self._live else self._started
        return Backlog(0, waiting, BYTES_PER_ROW * waiting, max(oldest, self._started))

    def plan(self, limit: int | None = None) -> RateSlice | None:
        end = min(self._happened, self._done + self._batch_rows)
        return RateSlice(self._done, end, self._origin or 0) if end > self._done else None

    def arrivals(self, planned: RateSlice) -> Arrivals:
        started = self._started or 0
        if self._live and self._timed:
            first = max(self.time_of(planned.start, planned.origin_us), started)
            return RowArrivals(self.rows, self.per_us, planned.origin_us, first)
        last = self.time_of(planned.end - 1, planned.origin_us) if self._live else started
        return PartArrivals(planned.parts, (max(last, started),))

    def check(self, planned: RateSlice) -> tuple[RateSlice | None, Lost]:
        return planned, []

    def changed(self, planned: RateSlice) -> Lost:
        return []

    def damage(self, part: str) -> str | None:
        return None

    @property
    def reading(self) -> Reading:
        return Reading((("ts", "TIMESTAMP"), ("value", "BIGINT")))

    def parts(self, planned: RateSlice) -> Weighed:
        starts = range(planned.start, planned.end, ROWS_PER_PART)
        ends = [*starts[1:], planned.end]
        return [
            (RatePart(start, end, planned.origin_us, self.rows, self.per_us), GENERATED_BYTES * (end - start))
            for start, end in zip(starts, ends)
        ]

    def read(self, spark: SparkSession, planned: RateSlice) -> DataFrame:
        raise InternalError("tasks generate rows; Spark never does")

    def taken(self, planned: RateSlice) -> None:
        self._done = max(self._done, planned.end)
        self._origin = planned.origin_us

    def finish(self, planned: RateSlice) -> Lost:
        return []

    def everything_taken(self) -> RateSlice:
        return RateSlice(0, self._done, self._origin or 0)
