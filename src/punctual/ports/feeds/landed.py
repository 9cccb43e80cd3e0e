"""Rows that were landed as files (:mod:`punctual.ports.feeds.landing`), in the order of their numbers.

Numbers never come again, so the greatest one that was taken stands for all of them. A file is deleted once it is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from punctual.clock import Micros
from punctual.ports.feeds.feed import Lost
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.files import MAX_FILES, FilesFeed
from punctual.ports.feeds.landing import file_name, number_of, write_rows
from punctual.ports.feeds.listing import list_files
from punctual.ports.feeds.read_plan import Columns
from punctual.ports.feeds.slices import FileRef, FileSlice
from punctual.scan.open_part import Reading
from punctual.scan.parts import Weighed


class LandedFeed(FilesFeed):
    """A folder of landed files of both formats."""

    def __init__(self, columns: Columns, folder: str, *, max_files: int = MAX_FILES) -> None:
        super().__init__(folder, _LandedReader(columns), max_files=max_files, after_read="delete")
        self._columns = columns
        self._last = -1
        self._next: int | None = None

    def put(self, rows: Any, now: Micros) -> None:
        """Land rows: they are durable when this returns, and arrived now."""
        if self._next is None:
            numbers = (number_of(name) for name in os.listdir(self._path))
            self._next = max((number for number in numbers if number is not None), default=-1) + 1
        number = max(self._next, self._last + 1)
        path = write_rows(self._path, number, rows, self._columns)
        self._next = number + 1
        self._listed.note(str(path), now)

    def _new_files(self) -> list[FileRef]:
        numbered = [(number, ref) for ref in list_files(self._path) if (number := number_of(ref.path)) is not None]
        for number, ref in numbered:
            if number <= self._last:  # left over by a crash after its batch was committed
                self._remove(ref)
        return [ref for number, ref in sorted(numbered, key=lambda one: one[0]) if number > self._last]

    def taken(self, planned: FileSlice) -> None:
        self._last = max([self._last, *(number for path in planned.parts if (number := number_of(path)) is not None)])
        self._listed.taken(planned.parts)

    def finish(self, planned: FileSlice) -> Lost:
        return [(ref.path, why) for ref in planned.files if (why := self._remove(ref)) is not None]

    def everything_taken(self) -> FileSlice:
        if self._last < 0:
            return FileSlice(())
        return FileSlice((FileRef(os.path.join(self._path, file_name(self._last, "json")), 0, 0),))


class _LandedReader:
    """Rows given as dicts or tuples are JSON lines, tables are Parquet."""

    def __init__(self, columns: Columns) -> None:
        self._json = FileReader(columns, "JSON")
        self._parquet = FileReader(columns, "PARQUET")

    def unreadable(self, files: Sequence[FileRef]) -> Lost:
        lines, tables = _by_format(files)
        return self._json.unreadable(lines) + self._parquet.unreadable(tables)

    @property
    def reading(self) -> Reading:
        return self._json.reading

    def parts(self, files: Sequence[FileRef]) -> Weighed | None:
        lines, tables = _by_format(files)
        rows, columns = self._json.parts(lines), self._parquet.parts(tables)
        return None if rows is None or columns is None else [*rows, *columns]

    def read(self, spark: SparkSession, files: Sequence[FileRef]) -> DataFrame:
        lines, tables = _by_format(files)
        if not tables:
            return self._json.read(spark, lines)
        if not lines:
            return self._parquet.read(spark, tables)
        return self._json.read(spark, lines).union(self._parquet.read(spark, tables))


def _by_format(files: Sequence[FileRef]) -> tuple[list[FileRef], list[FileRef]]:
    return (
        [ref for ref in files if ref.path.endswith(".json")],
        [ref for ref in files if ref.path.endswith(".parquet")],
    )
