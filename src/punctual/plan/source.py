"""Where rows come from, as a program says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Format = Literal["JSON", "CSV", "PARQUET"]


@dataclass(frozen=True, slots=True)
class FileSource:
    """A folder, a glob or one file. The path is absolute once bound."""

    path: str
    format: Format
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RateSource:
    """Generated rows: ``ts`` and ``value`` = 0, 1, 2, ..."""

    rows: int
    per_us: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class FeedSource:
    """Rows that come from ``engine.feed`` or from a landed streaming DataFrame."""


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """A topic of a Kafka cluster."""

    servers: str
    topic: str
    format: Format


Source = FileSource | RateSource | FeedSource | KafkaSource


def told_apart_by(source: Source) -> tuple[str, ...]:
    """What rows are told apart by while they are read: their line, their number, or the file and their number in it.

    >>> told_apart_by(FileSource("/in", "CSV")), told_apart_by(FileSource("/in", "PARQUET"))
    (('line',), ('path', 'row'))
    """
    if isinstance(source, RateSource):
        return ("value",)
    return ("path", "row") if isinstance(source, FileSource) and source.format == "PARQUET" else ("line",)
