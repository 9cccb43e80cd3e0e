"""Static tables: all files of a path, read whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from punctual.errors import FeedError
from punctual.ports.feeds.file_names import path_of
from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.listing import absolute, list_files
from punctual.ports.feeds.read_plan import Columns


def read_table(
    spark: SparkSession, columns: Columns, path: str, format: str, options: Sequence[tuple[str, str]] = ()  # noqa: A002
) -> DataFrame:
    """All files of a path with the same columns as a feed gives.

    Raises
    ------
    FeedError
        ``feed.missing-path``, ``feed.no-files``, or ``feed.unreadable-file``: a table with a part missing would
        answer wrongly, so it is not read at all.
    """
    files = list_files(absolute(path))
    if not files:
        raise FeedError("feed.no-files", f'path "{path}" has no files', hint="a table is read when the program starts")
    reader = FileReader(columns, format, options)
    for bad, reason in reader.unreadable(files):
        raise FeedError("feed.unreadable-file", f'file "{bad}" cannot be read', detail=reason)
    return reader.read(spark, files)


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
