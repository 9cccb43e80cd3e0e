"""Static tables: read once, read again when their files change.

A changed table counts from the next batch on. One that cannot be read any more (gone, half written, broken) stays as it
was and says so, once for each state of its files; a program never starts with a table that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from punctual.engine.batch.isolate import reason
from punctual.errors import FeedError, Span
from punctual.plan.relation import Table
from punctual.ports.feeds.listing import absolute, list_files
from punctual.ports.feeds.static_tables import table_hash

Signature = tuple[tuple[str, int, int], ...]


class Tables:
    """The tables of a program by lower-case name, with a hash of their content for the manifest."""

    def __init__(self, read: Callable[[Table], pa.Table], report: Callable[[str], None]) -> None:
        self._read = read
        self._report = report
        self._declared: dict[str, Table] = {}
        self._signatures: dict[str, Signature] = {}
        self.content: dict[str, pa.Table] = {}
        self.hashes: dict[str, str] = {}

    def declare(self, tables: Sequence[tuple[Table, Span | None]]) -> list[FeedError]:
        """These tables, each with its place, are part of the program. New ones are read.

        Those that cannot be read are told, and then none of them counts.
        """
        new = {table.name.lower(): table for table, _span in tables}
        found: dict[str, tuple[Signature, str, pa.Table]] = {}
        errors: list[FeedError] = []
        for table, span in tables:
            try:
                found[table.name.lower()] = (_signature(table), table_hash(table.source.path), self._read(table))
            except FeedError as error:
                error.span = span
                errors.append(error)
        if errors:
            return errors
        # New mappings: another thread may be reading the ones that were there.
        self._signatures = {**self._signatures, **{name: signature for name, (signature, _h, _c) in found.items()}}
        self.hashes = {**self.hashes, **{name: content_hash for name, (_s, content_hash, _c) in found.items()}}
        self.content = {**self.content, **{name: content for name, (_s, _h, content) in found.items()}}
        self._declared = {**self._declared, **new}
        return []

    def refresh(self) -> bool:
        """Read what changed on disk; whether anything did. Looking costs a stat per file."""
        changed = False
        for name, table in self._declared.items():
            signature = _signature(table)
            if self._signatures.get(name) == signature:
                continue
            self._signatures[name] = signature
            try:
                content_hash = table_hash(table.source.path)
                if self.hashes[name] != content_hash:
                    self.content[name], self.hashes[name] = self._read(table), content_hash
                    changed = True
            except Exception as problem:
                why = reason(problem)
                self._report(f'table "{table.name}" changed and cannot be read, so it stays as it was: {why}')
        return changed


def _signature(table: Table) -> Signature:
    """Which files the table has; none where they cannot be listed, so that reading it says why."""
    try:
        return tuple((ref.path, ref.size, ref.mtime_ns) for ref in list_files(absolute(table.source.path)))
    except FeedError:
        return ()
