"""What the engine and the data plane ask of a stream's source.

A feed lists its source, plans the next slice, says how tasks read it, and remembers what was taken. Nothing of that
memory is durable: it is rebuilt at start from the slices of committed batches. ``look`` may be called from another
thread while a batch is read; the other methods belong to one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from pyspark.sql import DataFrame, SparkSession

from punctual.clock import Micros
from punctual.ports.feeds.releases import Arrivals
from punctual.ports.feeds.slices import FileSlice, RateSlice
from punctual.scan.open_part import Reading
from punctual.scan.parts import Weighed

S = TypeVar("S", FileSlice, RateSlice)
Lost = list[tuple[str, str]]
"""Parts of a slice that are not read, each with the reason."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits to be read: files or generated rows, their bytes, and since when the oldest of them waits."""

    files: int = 0
    rows: int = 0
    size: int = 0
    oldest: Micros | None = None


class FeedOf(Protocol[S]):
    """The source of one stream."""

    def look(self, now: Micros) -> Backlog:
        """List the source: what is new arrived now. Raises a FeedError when the source is not there."""
        ...

    def plan(self, limit: int | None = None) -> S | None:
        """The next slice of what was listed, at most ``limit`` files of it; None when nothing waits."""
        ...

    def arrivals(self, planned: S) -> Arrivals:
        """When each part of a planned slice could first be read; asked before the slice is taken."""
        ...

    def check(self, planned: S) -> tuple[S | None, Lost]:
        """The slice without what cannot be read, and that."""
        ...

    def changed(self, planned: S) -> Lost:
        """Parts that are no longer what was planned."""
        ...

    def damage(self, part: str) -> str | None:
        """What is wrong with a part that spoiled a job, where that can be told without Spark."""
        ...

    @property
    def reading(self) -> Reading:
        """How tasks read its parts."""
        ...

    def parts(self, planned: S) -> Weighed | None:
        """The slice cut into parts for tasks; None where Spark's own readers must read it."""
        ...

    def read(self, spark: SparkSession, planned: S) -> DataFrame:
        """The rows of the slice, read by Spark: declared columns, and ours for reason, text and origin. Runs no job."""
        ...

    def taken(self, planned: S) -> None:
        """The slice is part of a committed batch: never plan it again."""
        ...

    def finish(self, planned: S) -> Lost:
        """Do with a committed slice what the program asks for (``after_read``); files for which that failed."""
        ...

    def everything_taken(self) -> S:
        """What was taken so far, as one slice."""
        ...


Feed: TypeAlias = FeedOf[Any]
