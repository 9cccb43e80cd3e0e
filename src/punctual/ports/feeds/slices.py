"""A slice of a files feed: which files a batch reads, and what they looked like when it was planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file as it was when it was planned; ``path`` is absolute."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FileSlice:
    """The files of one batch, in the order in which they count as arrived.

    >>> planned = FileSlice((FileRef("/data/a.json", 12, 1_000),))
    >>> FileSlice.from_json(planned.to_json()) == planned
    True
    """

    files: tuple[FileRef, ...]

    def to_json(self) -> dict[str, Any]:
        return {"files": [[ref.path, ref.size, ref.mtime_ns] for ref in self.files]}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> FileSlice:
        return FileSlice(tuple(FileRef(str(path), int(size), int(mtime)) for path, size, mtime in value["files"]))

    def only(self, paths: frozenset[str] | set[str]) -> FileSlice:
        """The same slice with only those files: how a failing batch is narrowed down to its bad file."""
        return FileSlice(tuple(ref for ref in self.files if ref.path in paths))
