"""Retained files merged into fewer, inside a task: young files are small and many, and every window opens them all.

Rows that no window reaches any more are left out. Which files are merged is decided by who gives the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.last_rows import last_rows
from punctual.own_names import TIME
from punctual.runtime.operators.order import Order
from punctual.runtime.operators.row_files import RowFiles
from punctual.runtime.operators.window_rows import RetainedFile, rows_between, stored_rows
from punctual.store.products import Produced, output

BEGINNING, END = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class LastRows:
    """What windows by rows need of the past: the last ``rows`` of each value of the ``keys``.

    ``columns`` are those of its windows, as files have them: rows that lack one are in none of these windows.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class MergeWork:
    """Files of one stream that become one, in the folder ``merge_into``; several where they are large, or where they
    have other columns: which rows lack a column must stay known.

    Rows at or before ``after`` are dropped, but for the last ones that are in ``keep``. Those are in files of their
    own: later rows soon make them old, and windows by time do not open them.
    """

    stream: str
    files: tuple[RetainedFile, ...]
    after: int
    merge_into: str
    keep: tuple[LastRows, ...] = ()


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
    kept = _kept(work) if work.keep else {}
    by_columns: dict[tuple[tuple[str, ...], bool], RowFiles] = {}
    for file in work.files:
        young = rows_between(file, work.after, END)
        parts = [(young, False)]
        if file in kept:
            parts.append((rows_between(file, BEGINNING, work.after).filter(pa.array(kept[file])), True))
        columns = tuple(sorted(young.column_names))
        for rows, sifted in parts:
            files = by_columns.get((columns, sifted))
            if files is None:
                files = by_columns[columns, sifted] = RowFiles(work.stream, work.merge_into, sifted=sifted)
            files.add(rows.select(list(columns)))
    for files in by_columns.values():
        yield from files.products()


def _kept(work: MergeWork) -> Mapping[RetainedFile, NDArray[np.bool_]]:
    """Of each file that has rows of the past, which of them are kept."""
    past = [file for file in work.files if file.least <= work.after]
    kept: dict[RetainedFile, NDArray[np.bool_]] = {}
    for need in work.keep:
        having = [file for file in past if set(need.columns) <= set(stored_rows(file).column_names)]
        read = [key for key in need.keys if key != TIME]
        tables = [rows_between(file, BEGINNING, work.after, read) for file in having]
        if not tables:
            continue
        whole = pa.concat_tables(tables).combine_chunks()
        last = last_rows(whole.column(TIME).to_numpy(), need.rows, [whole.column(key) for key in need.keys])
        ends = np.cumsum([table.num_rows for table in tables])
        for file, chosen in zip(having, np.split(last, ends[:-1])):
            kept[file] = kept[file] | chosen if file in kept else chosen
    return kept
