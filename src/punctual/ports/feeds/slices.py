"""A slice: what one batch reads of one stream, as it was when it was planned. Written into its plan and manifest."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from punctual.clock import Micros

BYTES_PER_ROW = 16
"""About what a generated row takes."""


class FileRef(msgspec.Struct, frozen=True):
    """A file as it was when it was listed; ``path`` is absolute, as ``file_names.text_of`` writes it."""

    path: str
    size: int
    mtime_ns: int


class FileSlice(msgspec.Struct, frozen=True, tag="files", tag_field="slice"):
    """The files of one batch, in reading order."""

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


class RateSlice(msgspec.Struct, frozen=True, tag="rate", tag_field="slice"):
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


Slice = FileSlice | RateSlice
