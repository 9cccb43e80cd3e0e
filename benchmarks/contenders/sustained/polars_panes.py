"""Polars: the files of a step become panes of a second, and one lazy query answers every window whose end was passed.

Files are scanned lazily with their schema. Times in JSON are read as text and parsed then: a schema that asks for them
as times took ten times as long. As with DuckDB panes are kept, since ``group_by_dynamic`` over rows would look at each
of them again for every window.
"""

from __future__ import annotations

import polars as pl

from benchmarks.contenders.sustained.task import Answer, Task, given_task, report, some_by_some

TEXT = {"ts": pl.String, "k": pl.String, "v": pl.Float64, "n": pl.Int32}
SECOND = 1_000_000


class Loop:
    """The state between two steps: panes, and the last instant that was answered."""

    def __init__(self, task: Task) -> None:
        self._kind = task.kind
        self._longest = max(window.length for window in task.windows)
        self._windows = pl.LazyFrame(
            {
                "length": [window.length for window in task.windows],
                "slide": [window.slide for window in task.windows],
            }
        )
        self._panes = pl.DataFrame(schema={"hi": pl.Int64, "s": pl.Float64, "n": pl.UInt32, "m": pl.Float64})
        self.through: int | None = None
        self.answers: list[Answer] = []

    def take(self, files: list[str]) -> None:
        micros = pl.col("ts").dt.epoch("us")
        panes = (
            self._scan(files)
            .group_by(((micros + (SECOND - 1)) // SECOND).alias("hi"))
            .agg(pl.col("v").sum().alias("s"), pl.len().cast(pl.UInt32).alias("n"), pl.col("v").max().alias("m"))
            .collect()
        )
        self._panes = pl.concat([self._panes, panes])
        first, last = self._panes.select(pl.col("hi").min(), pl.col("hi").max().alias("last")).row(0)
        before = first - 1 if self.through is None else self.through
        self.answers += self._answers(before, last).rows()
        self.through = last - 1
        self._panes = self._panes.filter(pl.col("hi") > self.through - self._longest)

    def _scan(self, files: list[str]) -> pl.LazyFrame:
        if self._kind == "PARQUET":
            return pl.scan_parquet(files)
        times = pl.col("ts").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us")
        return pl.scan_ndjson(files, schema=TEXT).with_columns(times)

    def _answers(self, before: int, last: int) -> pl.DataFrame:
        slide, length, instant = pl.col("slide"), pl.col("length"), pl.col("instant")
        return (
            self._windows.with_columns(pl.int_ranges((before // slide + 1) * slide, last, slide).alias("instant"))
            .explode("instant", empty_as_null=False)
            .with_columns(pl.int_ranges(instant - length + 1, instant + 1).alias("hi"))
            .explode("hi")
            .join(self._panes.lazy(), on="hi")
            .group_by("length", "slide", "instant")
            .agg((pl.col("s").sum() / pl.col("n").sum()).alias("a"), pl.col("m").max())
            .select("instant", "a", "m")
            .collect()
        )


def main() -> None:
    task = given_task()
    loop = Loop(task)
    files, meter = some_by_some(task, loop.take)
    assert loop.through is not None
    report(files, meter, loop.through, loop.answers)


if __name__ == "__main__":
    main()
