"""Static tables: read once, read again when their files change."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping

import pyarrow as pa

from punctual.connect.feeds.files import table_hash
from punctual.plan.relation import Table

Signature = tuple[tuple[str, int, int], ...]


class Tables:
    """The tables of a program by lower-case name, with a hash of their content for the journal."""

    def __init__(self, read: Callable[[Table], pa.Table]) -> None:
        self._read = read
        self._declared: dict[str, Table] = {}
        self._signatures: dict[str, Signature] = {}
        self.content: dict[str, pa.Table] = {}
        self.hashes: dict[str, str] = {}

    def declare(self, tables: Mapping[str, Table]) -> None:
        """These tables are part of the program; new ones are read."""
        for name, table in tables.items():
            if self._declared.get(name) != table:
                self._declared[name] = table
                self._signatures.pop(name, None)
        self.refresh()

    def refresh(self) -> bool:
        """Read what changed on disk; whether anything did. Looking costs a stat a file."""
        changed = False
        for name, table in self._declared.items():
            signature = _signature(table.source.path)
            if self._signatures.get(name) == signature:
                continue
            content_hash = table_hash(table.source.path)
            if self.hashes.get(name) != content_hash:
                self.content[name] = self._read(table)
                self.hashes[name] = content_hash
                changed = True
            self._signatures[name] = signature
        return changed


def _signature(path: str) -> Signature:
    if os.path.isdir(path):
        paths = [entry.path for entry in os.scandir(path)]
    else:
        paths = [path] if os.path.exists(path) else glob.glob(path)
    found = []
    for name in sorted(paths):
        status = os.stat(name)
        found.append((name, status.st_size, status.st_mtime_ns))
    return tuple(found)
