"""The rows of a window, from the files that retain them, in an order that does not depend on how they came."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from punctual.errors import InternalError, corrupt
from punctual.kernel.arrays.row_order import row_order
from punctual.own_names import TIME
from punctual.store.products import from_ipc

MOST_CHECKED = 4096
"""How many files a worker knows to be whole."""


@dataclass(frozen=True, slots=True)
class RetainedFile:
    """A section of the state that holds rows of a stream; ``path`` is absolute, event times are ``least`` to
    ``greatest``.

    ``crc`` is the CRC32 of the section as its manifest has it; None where nobody checks it.
    """

    path: str
    offset: int
    length: int
    least: int
    greatest: int
    crc: int | None = None


@dataclass(frozen=True, slots=True)
class WindowOrder:
    """Which rows a window has: those of the files whose event time is in ``(after, through]``."""

    files: tuple[RetainedFile, ...]
    after: int
    through: int


def window_rows(order: WindowOrder, columns: Sequence[tuple[str, pa.DataType]], event_time: str) -> pa.Table:
    """The rows of a window, with these columns as these types; ``event_time`` is the column that is made of the time.

    Rows of a file that lacks one of the columns are left out: it was written before anybody read the column, and what
    its rows have there nobody knows. The same rows are the same table, whatever files they are in.
    """
    if not columns:  # a table without columns has no rows
        raise InternalError("a window without columns")
    asked = pa.schema(list(columns))
    stored = [name for name in asked.names if name != event_time]
    found = []
    for file in order.files:
        rows = rows_between(file, order.after, order.through, stored)
        if rows.num_rows and rows.num_columns == len(stored) + 1:
            found.append(_typed(rows, asked, event_time))
    if not found:
        return asked.empty_table()
    whole = pa.concat_tables(found).combine_chunks()
    times = whole.column(TIME).to_numpy()
    wanted = whole.drop_columns([TIME])
    return wanted.take(pa.array(row_order(wanted.columns, times)))


def rows_between(file: RetainedFile, after: int, through: int, names: Sequence[str] | None = None) -> pa.Table:
    """Rows of a file whose event time is in ``(after, through]``: their times, and those of the columns that it has.

    Without names, all columns. Nothing is copied where all rows are wanted.
    """
    rows = stored_rows(file)
    if names is not None:
        rows = rows.select([TIME, *(name for name in names if name in rows.column_names)])
    if file.least > after and file.greatest <= through:
        return rows
    if file.greatest <= after or file.least > through:
        return rows.slice(0, 0)
    times = rows.column(TIME).to_numpy()
    return rows.filter(pa.array((times > after) & (times <= through)))


def stored_rows(file: RetainedFile) -> pa.Table:
    """All rows of a file, which stays mapped as long as they live; ``state.corrupt`` naming it when it is damaged."""
    if file.crc is not None:
        _check(file.path, file.offset, file.length, file.crc)
    try:
        rows = from_ipc(_section(file.path, file.offset, file.length))
    except (pa.ArrowException, OSError) as error:
        raise corrupt(file.path, f"it holds no rows: {error}") from error
    if TIME not in rows.column_names:
        raise corrupt(file.path, "its rows have no event time")
    return rows


@lru_cache(maxsize=MOST_CHECKED)
def _check(path: str, offset: int, length: int, crc: int) -> None:
    """See once that a section is as it was written: it never changes, and sliding windows read it again and again."""
    if zlib.crc32(_section(path, offset, length)) != crc:
        raise corrupt(path, "the checksum of its rows does not fit")


def _section(path: str, offset: int, length: int) -> pa.Buffer:
    try:
        with pa.memory_map(path) as file:
            whole = file.read_buffer()
    except FileNotFoundError as error:
        raise corrupt(path, "it is missing") from error
    except OSError as error:
        raise corrupt(path, f"it cannot be read: {error}") from error
    if offset + length > whole.size:
        raise corrupt(path, "it is shorter than its manifest says")
    return whole.slice(offset, length)


def _typed(rows: pa.Table, asked: pa.Schema, event_time: str) -> pa.Table:
    """The times of rows, and the columns that are asked for as the types that are asked for."""
    arrays = [rows.column(TIME)]
    for field in asked:
        if field.name == event_time:
            arrays.append(rows.column(TIME).cast(pa.timestamp("us", tz="UTC")).cast(field.type))
        else:
            arrays.append(rows.column(field.name).cast(field.type))
    return pa.Table.from_arrays(arrays, names=[TIME, *asked.names])
