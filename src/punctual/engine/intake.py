"""A stream's way in: which slice comes next, what was taken already, and what became of it.

An intake is a feed with memory. Slices are written into the batch's plan and manifest; what was taken is rebuilt from
them at start. Three kinds: files (a folder, a glob, one file), rows landed from Python, rates.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

from punctual.clock import Micros
from punctual.config import Options
from punctual.errors import FeedError
from punctual.plan.relation import Stream
from punctual.plan.source import FeedSource, FileSource, RateSource
from punctual.ports.feeds.compressed import damage
from punctual.ports.feeds.files import FilesFeed
from punctual.ports.feeds.landed import LandedFeed
from punctual.ports.feeds.rate import RateFeed
from punctual.ports.feeds.slices import FileRef, FileSlice, RateSlice

Slice = Any
"""A slice of the intake's own feed."""


class Intake(Protocol):
    """What the engine asks of a stream's source."""

    def look(self) -> None:
        """Raise a FeedError when the source is not there."""
        ...

    def plan(self, now: Micros, limit: int | None) -> Slice | None:
        """The next slice, or None when there is nothing to read now."""
        ...

    def check(self, planned: Slice) -> tuple[Slice | None, list[tuple[str, str]]]:
        """The slice without what cannot be read, and that (path, reason)."""
        ...

    def changed(self, planned: Slice) -> list[tuple[str, str]]:
        """Files of the slice that are no longer what was planned (path, reason)."""
        ...

    def paths(self, planned: Slice) -> list[str]:
        """What the slice consists of, for finding a culprit."""
        ...

    def damage(self, path: str) -> str | None:
        """What is wrong with a file that spoiled a job, where that can be told without Spark."""
        ...

    def only(self, planned: Slice, paths: Sequence[str]) -> Slice:
        """The slice with these paths alone."""
        ...

    def without(self, planned: Slice, paths: Sequence[str]) -> Slice | None:
        """The slice without these paths."""
        ...

    def read(self, spark: Any, planned: Slice) -> Any:
        """The slice as a batch DataFrame."""
        ...

    def size(self, planned: Slice) -> int:
        """About how many bytes the slice has."""
        ...

    def taken(self, planned: Slice) -> None:
        """The slice is part of a committed batch: never plan it again."""
        ...

    def finish(self, planned: Slice) -> None:
        """Do with the files of a committed slice what the program asks for."""
        ...

    def everything_taken(self) -> Slice:
        """Everything that was taken, as one slice."""
        ...


class FileIntake:
    """Files of a source, each once, in the order of (modification time, name)."""

    def __init__(self, feed: FilesFeed | LandedFeed, options: Options) -> None:
        self._feed = feed
        self._options = options
        self._after_read = options.after_read
        self._seen: set[str] = set()

    def look(self) -> None:
        self._feed.check()

    def plan(self, now: Micros, limit: int | None) -> Slice | None:
        most = min(self._options.max_files_per_tick, limit or self._options.max_files_per_tick)
        return self._feed.plan(self._seen, max_files=most)

    def check(self, planned: Slice) -> tuple[Slice | None, list[tuple[str, str]]]:
        lost = [*self._feed.changed(planned)]
        gone = {path for path, _why in lost}
        kept = FileSlice(tuple(f for f in planned.files if f.path not in gone))
        lost += [(path, f"unreadable file: {why}") for path, why in self._feed.unreadable(kept)]
        return self.without(planned, [path for path, _why in lost]), lost

    def changed(self, planned: Slice | None) -> list[tuple[str, str]]:
        return [] if planned is None else self._feed.changed(planned)

    def paths(self, planned: Slice) -> list[str]:
        return [file.path for file in planned.files]

    def damage(self, path: str) -> str | None:
        return damage(path)

    def only(self, planned: Slice, paths: Sequence[str]) -> Slice:
        wanted = set(paths)
        return FileSlice(tuple(f for f in planned.files if f.path in wanted))

    def without(self, planned: Slice | None, paths: Sequence[str]) -> Slice | None:
        if planned is None or not paths:
            return planned
        unwanted = set(paths)
        kept: tuple[FileRef, ...] = tuple(f for f in planned.files if f.path not in unwanted)
        return FileSlice(kept) if kept else None

    def read(self, spark: Any, planned: Slice) -> Any:
        return self._feed.read(spark, planned)

    def size(self, planned: Slice) -> int:
        return sum(file.size for file in planned.files)

    def taken(self, planned: Slice) -> None:
        self._seen.update(file.path for file in planned.files)

    def finish(self, planned: Slice) -> None:
        if self._after_read == "keep":
            return
        for file in planned.files:
            if not os.path.exists(file.path):
                continue
            if self._after_read == "delete":
                os.remove(file.path)
            else:
                folder = os.path.join(os.path.dirname(file.path), "_archive")
                os.makedirs(folder, exist_ok=True)
                os.replace(file.path, os.path.join(folder, os.path.basename(file.path)))

    def everything_taken(self) -> Slice:
        # What is gone from the folder cannot come again under its old name unless it is new.
        self._seen = {path for path in self._seen if os.path.exists(path)}
        return FileSlice(tuple(FileRef(path, 0, 0) for path in sorted(self._seen)))


class LandedIntake(FileIntake):
    """Rows that were landed from Python or from a streaming DataFrame, in the order of their numbers."""

    def __init__(self, feed: LandedFeed, options: Options, folder: str) -> None:
        super().__init__(feed, options)
        self._after_read = "delete"
        self._folder = folder

    def next_number(self) -> int:
        """A number that no landed file has had."""
        names = [*(os.path.basename(path) for path in self._seen), *os.listdir(self._folder)]
        return max((int(name.split(".")[0]) for name in names if name[0].isdigit()), default=-1) + 1

    def everything_taken(self) -> Slice:
        # Files are deleted once they are read, and numbers never come again: the last one stands for all.
        last = max(self._seen, default=None)
        return FileSlice(() if last is None else (FileRef(last, 0, 0),))


class RateIntake:
    """Generated rows, numbered from 0."""

    def __init__(self, feed: RateFeed, *, live: bool) -> None:
        self._feed = feed
        self._live = live
        self._done = 0
        self._origin: Micros | None = None if live else 0

    def look(self) -> None:
        return None

    def plan(self, now: Micros, limit: int | None) -> Slice | None:
        if self._origin is None:
            self._origin = now // 1_000_000 * 1_000_000
        return self._feed.plan(self._done, self._origin, now if self._live else None)

    def check(self, planned: Slice) -> tuple[Slice | None, list[tuple[str, str]]]:
        return planned, []

    def changed(self, planned: Slice | None) -> list[tuple[str, str]]:
        return []

    def paths(self, planned: Slice) -> list[str]:
        return ["generated rows"]

    def damage(self, path: str) -> str | None:
        return None

    def only(self, planned: Slice, paths: Sequence[str]) -> Slice:
        return planned

    def without(self, planned: Slice | None, paths: Sequence[str]) -> Slice | None:
        return None if paths else planned

    def read(self, spark: Any, planned: Slice) -> Any:
        return self._feed.read(spark, planned)

    def size(self, planned: Slice) -> int:
        return 16 * int(planned.end - planned.start)

    def taken(self, planned: Slice) -> None:
        self._done = max(self._done, planned.end)
        self._origin = planned.origin_us

    def finish(self, planned: Slice) -> None:
        return None

    def everything_taken(self) -> Slice:
        return RateSlice(0, self._done, self._origin or 0)


def intake_for(stream: Stream, options: Options, folder: str, *, live: bool) -> Intake:
    """The intake of a stream; ``folder`` is where rows from Python land."""
    columns = [(c.name, c.type) for c in stream.columns if c.derived is None]
    match stream.source:
        case FileSource(path, file_format, reader_options):
            feed = FilesFeed(stream.name, columns, path, file_format, reader_options)
            return FileIntake(feed, options)
        case RateSource(rows, per_us, limit):
            if limit is None and not live:
                raise FeedError(
                    "feed.endless-rate",
                    f'stream "{stream.name}" never ends, so a run with --once would not either',
                    hint="say how many rows: FROM RATE 1000 PER SECOND LIMIT 60000 ROWS",
                )
            return RateIntake(RateFeed(rows, per_us, limit), live=live)
        case FeedSource():
            return LandedIntake(LandedFeed(stream.name, columns, folder), options, folder)
        case _:
            raise FeedError("feed.unknown-source", f'stream "{stream.name}" has a source that cannot be read')
