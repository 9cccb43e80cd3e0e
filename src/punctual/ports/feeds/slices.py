"""Slices: what a batch reads of a stream. They are written into its plan and its manifest."""

from __future__ import annotations

import msgspec

from punctual.clock import Micros


class FileRef(msgspec.Struct, frozen=True):
    """A file as it was when it was planned; ``path`` is absolute."""

    path: str
    size: int
    mtime_ns: int


class FileSlice(msgspec.Struct, frozen=True, tag="files", tag_field="slice"):
    """The files of one batch, in the order in which they count as arrived."""

    files: tuple[FileRef, ...]

    def only(self, paths: frozenset[str] | set[str]) -> FileSlice:
        """The same slice with only those files: how a failing batch is narrowed down to its bad file."""
        return FileSlice(tuple(ref for ref in self.files if ref.path in paths))


class RateSlice(msgspec.Struct, frozen=True, tag="rate", tag_field="slice"):
    """Row numbers from ``start`` up to, not including, ``end``, of a stream whose row 0 is at ``origin_us``."""

    start: int
    end: int
    origin_us: Micros


Slice = FileSlice | RateSlice
