"""Static tables: all files of a path, read whole, by the same scan as streams."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from punctual.errors import FeedError
from punctual.ports.feeds.compressed import damage
from punctual.ports.feeds.file_names import path_of
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.listing import absolute, list_files
from punctual.ports.feeds.read_plan import Columns
from punctual.scan.block import arrow_type
from punctual.scan.open_part import open_part, origin_of


class TableFiles:
    """All files of a path, with the same columns as a feed gives.

    Raises
    ------
    FeedError
        ``feed.missing-path``, ``feed.no-files``, or ``feed.unreadable-file``: a table with a part missing would
        answer wrongly, so it is not read at all.
    """

    def __init__(
        self, columns: Columns, path: str, format: str, options: Sequence[tuple[str, str]] = ()  # noqa: A002
    ) -> None:
        self._files = list_files(absolute(path))
        if not self._files:
            hint = "a table is read when the program starts"
            raise FeedError("feed.no-files", f'path "{path}" has no files', hint=hint)
        self._reader = FileReader(columns, format, options)
        for bad, reason in self._reader.unreadable(self._files):
            raise FeedError("feed.unreadable-file", f'file "{bad}" cannot be read', detail=reason)

    def scanned(self) -> pa.Table | None:
        """The whole table, read here; None where Spark's own readers must read it."""
        parts = self._reader.parts(self._files)
        if parts is None:
            return None
        columns = self._reader.columns
        names = [name for name, _kind in columns]
        schema = pa.schema([(name, arrow_type(kind)) for name, kind in columns])
        batches: list[pa.RecordBatch] = []
        for part, _size in parts:
            try:
                for block in open_part(part, self._reader.reading, frozenset(names)):
                    arrays = [block.column(name) for name in names]
                    batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
            except (OSError, pa.ArrowException) as problem:
                bad = origin_of(part)
                detail = damage(bad) or str(problem)
                raise FeedError("feed.unreadable-file", f'file "{bad}" cannot be read', detail=detail) from problem
        return pa.Table.from_batches(batches, schema)

    def read(self, spark: SparkSession) -> DataFrame:
        """The rows, read by Spark; runs no job."""
        return self._reader.read(spark, self._files)


def table_hash(path: str) -> str:
    """A hash of names, sizes and bytes of all files of a path, whatever their order and times."""
    parts: list[tuple[str, str]] = []
    for ref in list_files(absolute(path)):
        with open(path_of(ref.path), "rb") as stream:
            parts.append((os.path.basename(ref.path), hashlib.file_digest(stream, "sha256").hexdigest()))
    whole = hashlib.sha256()
    for name, digest in sorted(parts):
        whole.update(f"{name}\0{digest}\n".encode())
    return whole.hexdigest()
