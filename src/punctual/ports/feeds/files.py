"""Files as a feed: a folder, a glob or one file, each file read once.

Files are planned in the order (modification time, name), cut into slices by number and size alone, so replays cut it in
the same places.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from punctual.clock import Micros
from punctual.config import AfterRead
from punctual.ports.feeds.compressed import damage
from punctual.ports.feeds.feed import Backlog, Lost
from punctual.ports.feeds.file_names import path_of
from punctual.ports.feeds.listed_files import ListedFiles
from punctual.ports.feeds.listing import absolute, list_files, still_there
from punctual.ports.feeds.releases import PartArrivals
from punctual.ports.feeds.slices import FileRef, FileSlice
from punctual.scan.open_part import Reading
from punctual.scan.parts import Weighed

MAX_BYTES = 2**30
"""What one batch reads at most, unless one file is larger."""
MAX_FILES = 1000


class Reader(Protocol):
    """How files become rows."""

    def unreadable(self, files: Sequence[FileRef]) -> Lost:
        """Files that cannot be read at all, as far as their names, headers or footers tell."""
        ...

    @property
    def reading(self) -> Reading:
        """How tasks read parts of the others."""
        ...

    def parts(self, files: Sequence[FileRef]) -> Weighed | None:
        """The others cut into parts for tasks; None where Spark must read them."""
        ...

    def read(self, spark: SparkSession, files: Sequence[FileRef]) -> DataFrame:
        """The rows of the others, read by Spark: declared columns and ours; runs no job."""
        ...


class FilesFeed:
    """The files of a folder (not of those below it), of a glob, or one file.

    Files that are kept are known by their paths for as long as they are there. Files that are removed once they are
    read are forgotten then: a new file may have the old name.

    Parameters
    ----------
    path : str
    reader : Reader
        How its files become rows.
    after_read : {"keep", "archive", "delete"}
        What becomes of a file that was read and committed.
    """

    def __init__(
        self,
        path: str,
        reader: Reader,
        *,
        max_files: int = MAX_FILES,
        max_bytes: int = MAX_BYTES,
        after_read: AfterRead = "keep",
    ) -> None:
        self._path = absolute(path)
        self._reader = reader
        self._max_files = max_files
        self._max_bytes = max_bytes
        self._after_read = after_read
        self._listed = ListedFiles()
        self._taken: dict[str, FileRef | None] = {}
        """By path; which file it was, where a path may come again."""

    def look(self, now: Micros) -> Backlog:
        return self._listed.look(self._new_files, now)

    def _new_files(self) -> list[FileRef]:
        if self._after_read == "keep":
            return list_files(self._path, self._taken)
        # What was committed and is still there was left over by a crash.
        listed = list_files(self._path)
        for ref in listed:
            if self._taken.get(ref.path) == ref:
                self._remove(ref)
        return [ref for ref in listed if self._taken.get(ref.path) != ref]

    def plan(self, limit: int | None = None) -> FileSlice | None:
        return self._listed.plan(min(self._max_files, limit or self._max_files), self._max_bytes)

    def arrivals(self, planned: FileSlice) -> PartArrivals:
        return self._listed.arrivals(planned)

    def check(self, planned: FileSlice) -> tuple[FileSlice | None, Lost]:
        lost = self.changed(planned)
        kept = planned.without([path for path, _why in lost])
        if kept is not None:
            lost += [(path, f"unreadable file: {why}") for path, why in self._reader.unreadable(kept.files)]
        return planned.without([path for path, _why in lost]), lost

    def changed(self, planned: FileSlice) -> Lost:
        changed: Lost = []
        for ref in planned.files:
            try:
                status = os.stat(path_of(ref.path))
            except OSError as problem:
                changed.append((ref.path, f"vanished after it was planned: {problem.strerror}"))
                continue
            if (status.st_size, status.st_mtime_ns) != (ref.size, ref.mtime_ns):
                changed.append((ref.path, "changed after it was planned"))
        return changed

    def damage(self, part: str) -> str | None:
        return damage(path_of(part))

    @property
    def reading(self) -> Reading:
        return self._reader.reading

    def parts(self, planned: FileSlice) -> Weighed | None:
        return self._reader.parts(planned.files)

    def read(self, spark: SparkSession, planned: FileSlice) -> DataFrame:
        return self._reader.read(spark, planned.files)

    def taken(self, planned: FileSlice) -> None:
        keeps = self._after_read == "keep"
        self._taken.update((ref.path, None if keeps else ref) for ref in planned.files)
        self._listed.taken(planned.parts)

    def finish(self, planned: FileSlice) -> Lost:
        if self._after_read == "keep":
            return []
        failed = [(ref.path, why) for ref in planned.files if (why := self._remove(ref)) is not None]
        for path in set(planned.parts).difference(path for path, _why in failed):
            self._taken.pop(path, None)
        return failed

    def _remove(self, ref: FileRef) -> str | None:
        """Remove a file, unless another one has taken its place; why that failed, if it did."""
        path = path_of(ref.path)
        try:
            status = os.stat(path)
            if (status.st_size, status.st_mtime_ns) != (ref.size, ref.mtime_ns):
                return None
            if self._after_read == "delete":
                os.remove(path)
            else:
                _archive(path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            return problem.strerror or str(problem)
        return None

    def everything_taken(self) -> FileSlice:
        try:
            there = still_there(self._path, self._taken)
        except OSError:
            there = set()
        if there:  # where none is left, the folder may be one that is not mounted just now
            self._taken = {path: ref for path, ref in self._taken.items() if path in there}
        return FileSlice(tuple(ref or FileRef(path, 0, 0) for path, ref in sorted(self._taken.items())))


def _archive(path: str) -> None:
    """Move a file into the folder ``_archive`` beside it, under a name that no other file there has."""
    folder, name = os.path.split(path)
    archive = os.path.join(folder, "_archive")
    os.makedirs(archive, exist_ok=True)
    target, copies = os.path.join(archive, name), 0
    while os.path.exists(target):
        copies += 1
        target = os.path.join(archive, f"{name}.{copies}")
    os.rename(path, target)
