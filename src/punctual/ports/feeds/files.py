"""Files as a feed: which come next, whether they are still what was planned, and how Spark reads them.

The engine owns what has been read; a feed looks at the outside world and remembers nothing that a restart could lose.
``plan`` cuts the order (modification time, name) into slices by number and size alone, so replays cut it in the same
places. Formats differ only in how a look at the files becomes read plans (:mod:`punctual.ports.feeds.reading`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession

from punctual.errors import FeedError
from punctual.ports.feeds.csv_rows import inspect_csv
from punctual.ports.feeds.json_rows import inspect_json
from punctual.ports.feeds.listing import list_files
from punctual.ports.feeds.parquet_rows import inspect_parquet
from punctual.ports.feeds.reading import Columns, Inspection, read_plans
from punctual.ports.feeds.slices import FileRef, FileSlice

MAX_BYTES = 2**30
"""What one batch reads at most, unless one file is larger."""

Inspect = Callable[[Sequence[FileRef], Columns, Sequence[tuple[str, str]]], Inspection]
FORMATS: dict[str, Inspect] = {"JSON": inspect_json, "CSV": inspect_csv, "PARQUET": inspect_parquet}


class FilesFeed:
    """The files of a folder (not of those below it), of a glob, or one file, each read once.

    Parameters
    ----------
    name : str
        The stream, for messages.
    columns : sequence of (name, type)
        Declared columns that are not derived, types as Spark's DDL.
    path : str
        An absolute path.
    format : {"JSON", "CSV", "PARQUET"}
    options : sequence of (key, value)
        Passed on to Spark's reader.
    """

    def __init__(
        self, name: str, columns: Columns, path: str, format: str, options: Sequence[tuple[str, str]] = ()  # noqa: A002
    ) -> None:
        self.name = name
        self.columns = tuple(columns)
        self.path = os.path.abspath(path)
        self.format = format.upper()
        self.options = tuple(options)
        self._inspect = FORMATS[self.format]
        # unreadable() and read() of one slice look at its files once.
        self._looked: tuple[FileSlice, Inspection] | None = None

    def check(self) -> None:
        """Raise ``feed.missing-path`` when there is nothing to read from or to watch."""
        list_files(self.path, _Everything())

    def plan(self, seen: set[str], *, max_files: int, max_bytes: int = MAX_BYTES) -> FileSlice | None:
        """The next files that are not in ``seen`` (paths), at least one if there is any; None when there is none."""
        chosen: list[FileRef] = []
        total = 0
        for ref in list_files(self.path, seen):
            total += ref.size
            if chosen and (len(chosen) >= max_files or total > max_bytes):
                break
            chosen.append(ref)
        return FileSlice(tuple(chosen)) if chosen else None

    def changed(self, planned: FileSlice) -> list[tuple[str, str]]:
        """Files that are not what they were when the slice was planned, with the reason."""
        found: list[tuple[str, str]] = []
        for ref in planned.files:
            try:
                status = os.stat(ref.path)
            except OSError as problem:
                found.append((ref.path, f"vanished after it was planned: {problem.strerror}"))
                continue
            if (status.st_size, status.st_mtime_ns) != (ref.size, ref.mtime_ns):
                found.append((ref.path, "changed after it was planned"))
        return found

    def unreadable(self, planned: FileSlice) -> list[tuple[str, str]]:
        """Files that cannot be read at all, as far as their names, headers or footers tell, with the reason."""
        return list(self._look(planned).unreadable)

    def read(self, spark: SparkSession, planned: FileSlice) -> DataFrame:
        """The rows of the readable files: declared columns, ``_reason``, ``_raw``, ``_origin``; runs no job."""
        return read_plans(spark, self._look(planned).plans, self.columns)

    def _look(self, planned: FileSlice) -> Inspection:
        if self._looked is None or self._looked[0] != planned:
            self._looked = (planned, self._inspect(planned.files, self.columns, self.options))
        return self._looked[1]


class _Everything:
    """A set that holds every path: what is asked is only whether the folder can be listed."""

    def __contains__(self, _path: object) -> bool:
        return True


def read_table(
    spark: SparkSession, columns: Columns, path: str, format: str, options: Sequence[tuple[str, str]] = ()  # noqa: A002
) -> DataFrame:
    """A static table: all files of a path with the same columns as a feed gives.

    Raises
    ------
    FeedError
        ``feed.missing-path``, ``feed.no-files``, or ``feed.unreadable-file``: a table with a part missing would
        answer wrongly, so it is not read at all.
    """
    planned = FileSlice(tuple(list_files(os.path.abspath(path))))
    if not planned.files:
        raise FeedError("feed.no-files", f'path "{path}" has no files', hint="a table is read when the program starts")
    feed = FilesFeed("", columns, path, format, options)
    for bad, reason in feed.unreadable(planned):
        raise FeedError("feed.unreadable-file", f'file "{bad}" cannot be read', detail=reason)
    return feed.read(spark, planned)


def table_hash(path: str) -> str:
    """A hash of names, sizes and bytes of all files of a path, whatever their order and times."""
    parts: list[tuple[str, str]] = []
    for ref in list_files(os.path.abspath(path)):
        with open(ref.path, "rb") as stream:
            parts.append((os.path.basename(ref.path), hashlib.file_digest(stream, "sha256").hexdigest()))
    whole = hashlib.sha256()
    for name, digest in sorted(parts):
        whole.update(f"{name}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
