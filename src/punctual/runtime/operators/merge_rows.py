"""Retained files merged into fewer, inside a task: young files are small and many, and every window opens them all.

Rows that no window reaches any more are left out. Which files are merged is decided by who gives the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from punctual.runtime.operators.order import Order
from punctual.runtime.operators.row_files import RowFiles
from punctual.runtime.operators.window_rows import RetainedFile, rows_between
from punctual.store.products import Produced, output

END = 2**63 - 1


@dataclass(frozen=True, slots=True)
class MergeWork:
    """Files of one stream that become one, in the folder ``merge_into``; several where they are large, or where they
    have other columns: which rows lack a column must stay known.

    Rows at or before ``after`` are dropped.
    """

    stream: str
    files: tuple[RetainedFile, ...]
    after: int
    merge_into: str


@dataclass(frozen=True, slots=True)
class MergeRows:
    """The operator: the works of one task in, `RetainedRows` out. Works are dealt out to ``tasks`` tasks in turn."""

    works: tuple[MergeWork, ...]
    tasks: int = 1

    @property
    def most_tasks(self) -> int:
        """How many tasks can share the work."""
        return len(self.works)

    def run(self, _order: Order | None, task: int) -> Iterator[pa.RecordBatch]:
        """What a task makes; all of its work is in the operator."""
        for work in self.works[task :: self.tasks]:
            yield from map(output, merged(work))


def merged(work: MergeWork) -> Iterator[Produced]:
    """The files of a work, merged and written; none where no row is left."""
    by_columns: dict[tuple[str, ...], RowFiles] = {}
    for file in work.files:
        rows = rows_between(file, work.after, END)
        columns = tuple(sorted(rows.column_names))
        files = by_columns.setdefault(columns, RowFiles(work.stream, work.merge_into))
        files.add(rows.select(list(columns)))
    for files in by_columns.values():
        yield from files.products()
