"""Retained rows on their way into files: gathered in a task, written when they are many or when there are no more.

A file is one Arrow stream: the event time in microseconds (``own_names.TIME``), then columns of the stream by their
names, each as its type. The event time as the stream's own column is not stored a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.sample.rule import hashes_of
from punctual.own_names import IDENTITY, TIME
from punctual.runtime.operators.task_files import write_payload
from punctual.store.products import Produced, RetainedRows, to_ipc

FILE_BYTES = 64 << 20
"""About how much a file holds at most, and a task of rows that are not yet written."""


@dataclass(frozen=True, slots=True)
class Retain:
    """What is kept of rows beside their event time: projected columns under their names in the stream, and a hash of
    the columns ``hashed``, where there are some."""

    columns: tuple[tuple[str, str], ...]
    hashed: tuple[str, ...] = ()


class RowFiles:
    """Rows of one stream, written to files of a folder; ``sifted`` is what is said of them."""

    def __init__(self, stream: str, folder: str, *, sifted: bool = False) -> None:
        self._stream = stream
        self._folder = folder
        self._sifted = sifted
        self._held: list[pa.Table] = []
        self._bytes = 0
        self._written: list[Produced] = []

    def add(self, rows: pa.Table) -> None:
        """Some rows more; all tables have the same columns."""
        if not rows.num_rows:
            return
        self._held.append(rows)
        self._bytes += rows.nbytes
        if self._bytes > FILE_BYTES:
            self._write()

    def products(self) -> Iterator[Produced]:
        """The files, once there are no more rows."""
        self._write()
        yield from self._written

    def _write(self) -> None:
        if not self._held:
            return
        whole = pa.concat_tables(self._held)
        step = -(-whole.num_rows // -(-self._bytes // FILE_BYTES))
        for at in range(0, whole.num_rows, step):
            some = whole.slice(at, step)
            ends = pc.min_max(some.column(TIME))
            columns = tuple(some.column_names)
            product = RetainedRows(
                self._stream, ends["min"].as_py(), ends["max"].as_py(), columns=columns, sifted=self._sifted
            )
            self._written.append(Produced(product, some.num_rows, write_payload(self._folder, to_ipc(some))))
        self._held.clear()
        self._bytes = 0


def retained(times: NDArray[np.int64], columns: Mapping[str, pa.Array], retain: Retain) -> pa.Table:
    """Rows as they are kept."""
    arrays = [pa.array(times), *(columns[projected] for projected, _name in retain.columns)]
    names = [TIME, *(name for _projected, name in retain.columns)]
    if retain.hashed:
        given = [pa.array(times) if name == TIME else columns[name] for name in retain.hashed]
        arrays.append(pa.array(hashes_of(given, times.size).view(np.int64)))
        names.append(IDENTITY)
    return pa.Table.from_arrays(arrays, names=names)
