"""A slice: what one batch reads of one stream, as it was when it was planned. Frozen values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from punctual.clock import Micros

BYTES_PER_ROW = 16
"""About what a generated row takes."""


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file as it was when it was listed; ``path`` is absolute, as ``file_names.text_of`` writes it."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FileSlice:
    """The files of one batch, in reading order.

    >>> planned = FileSlice((FileRef("/data/a.json", 12, 1_000),))
    >>> FileSlice.from_json(planned.to_json()) == planned
    True
    """

    files: tuple[FileRef, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """What the slice consists of, for finding a part that spoils a job."""
        return tuple(ref.path for ref in self.files)

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return sum(ref.size for ref in self.files)

    def only(self, parts: Collection[str]) -> FileSlice:
        """The slice with these parts alone."""
        wanted = set(parts)
        return FileSlice(tuple(ref for ref in self.files if ref.path in wanted))

    def without(self, parts: Collection[str]) -> FileSlice | None:
        """The slice without these parts; None when nothing is left."""
        unwanted = set(parts)
        kept = tuple(ref for ref in self.files if ref.path not in unwanted)
        return FileSlice(kept) if kept else None

    def to_json(self) -> dict[str, Any]:
        return {"files": [[ref.path, ref.size, ref.mtime_ns] for ref in self.files]}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> FileSlice:
        return FileSlice(tuple(FileRef(str(path), int(size), int(mtime)) for path, size, mtime in value["files"]))


@dataclass(frozen=True, slots=True)
class RateSlice:
    """Row numbers from ``start`` up to, not including, ``end``, of a stream whose row 0 is at ``origin_us``."""

    start: int
    end: int
    origin_us: Micros

    @property
    def parts(self) -> tuple[str, ...]:
        return ("generated rows",)

    @property
    def size(self) -> int:
        return BYTES_PER_ROW * (self.end - self.start)

    def only(self, parts: Collection[str]) -> RateSlice:
        return self

    def without(self, parts: Collection[str]) -> RateSlice | None:
        return None if parts else self

    def to_json(self) -> dict[str, int]:
        return {"start": self.start, "end": self.end, "origin_us": self.origin_us}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> RateSlice:
        return RateSlice(int(value["start"]), int(value["end"]), int(value["origin_us"]))


Slice = FileSlice | RateSlice


def slice_from_json(value: Mapping[str, Any]) -> Slice:
    """A slice as plans and manifests hold it."""
    return FileSlice.from_json(value) if "files" in value else RateSlice.from_json(value)
