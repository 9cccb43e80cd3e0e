"""Row groups of Parquet files as blocks.

A group is read in batches of bounded size. Columns that somebody wants or that may hold values which do not fit are
read at once, each batch of them together; others when they are asked for, as for the text of a dead letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from punctual.scan.arrow_block import ArrowBlock
from punctual.scan.block import Block, Columns, Faults, arrow_type
from punctual.scan.parquet.exact_cast import Cast, exact_cast
from punctual.scan.parquet.kinds import as_read, flat_kinds
from punctual.scan.parts import ParquetPart
from punctual.scan.sieve import Sieve
from punctual.scan.written.row_text import row_texts

BLOCK_ROWS = 1 << 18
BLOCK_BYTES = 64 << 20
"""A block has at most so many rows, and about so many bytes as the file counts them."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A declared column: its name in the file, its kind there, and how its values change; all None if it is missing."""

    name: str
    declared: str
    in_file: str | None
    own: str
    cast: Cast | None


def read_parquet(
    part: ParquetPart, columns: Columns, wanted: frozenset[str], sieve: Sieve | None = None
) -> Iterator[Block]:
    """The rows of a part's groups, in order.

    Parameters
    ----------
    part : ParquetPart
        Of a file that is :func:`~punctual.scan.parquet.kinds.supported`.
    columns : sequence of (name, type)
        Declared columns.
    wanted : frozenset of str
        Names of those that will be asked for.
    sieve : Sieve, optional
        Which rows are read; they are numbered from the first of the file.
    """
    # INT96 counts nanoseconds of a day: as microseconds its years are those of Spark.
    file = pq.ParquetFile(part.path, coerce_int96_timestamp_unit="us")
    scanned = _columns(file.metadata, part, columns)
    row = sum(file.metadata.row_group(number).num_rows for number in range(part.first)) if sieve is not None else 0
    for number in range(part.first, part.last):
        for block in _Group(file, number, scanned, wanted).blocks():
            yield block if sieve is None else sieve.numbered(block, row, part.path)
            row += block.rows


def _columns(metadata: pq.FileMetaData, part: ParquetPart, columns: Columns) -> dict[str, _Column]:
    kinds = flat_kinds(metadata)
    found: dict[str, _Column] = {}
    for in_file, (name, declared) in zip(part.names, columns):
        own = None if in_file is None else kinds[in_file]
        cast = None if own is None else exact_cast(own, declared)
        if in_file is not None and cast is None:
            raise ValueError(f'column "{in_file}" of {part.path} is left to Spark')
        found[name] = _Column(name, declared, in_file, own or "", cast)
    return found


class _Group:
    """One row group: the batches of its columns."""

    def __init__(self, file: pq.ParquetFile, number: int, columns: dict[str, _Column], wanted: frozenset[str]) -> None:
        self._file = file
        self._number = number
        self._columns = columns
        self._present = [column for column in columns.values() if column.in_file is not None]
        self._checked = [column for column in self._present if column.cast is not None and not column.cast.always]
        eager = [column.in_file for column in self._present if column.name in wanted or column in self._checked]
        self._eager = [name for name in eager if name is not None]
        self._streams: dict[str, _Stream] = {}

    def blocks(self) -> Iterator[Block]:
        rows, batch_rows = self._size()
        stream = _Stream(self._file, self._number, self._eager, batch_rows)
        for start in range(0, rows, batch_rows):
            count = min(batch_rows, rows - start)
            yield self._block(start, count, stream.read(start, count) if self._eager else {})

    def _size(self) -> tuple[int, int]:
        """Rows of the group and of a batch."""
        group = self._file.metadata.row_group(self._number)
        chunks = map(group.column, range(group.num_columns))
        bytes_read = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in self._eager)
        rows = group.num_rows
        return rows, max(1, min(BLOCK_ROWS, rows * BLOCK_BYTES // max(1, bytes_read)))

    def _block(self, start: int, rows: int, read: dict[str, pa.Array]) -> Block:
        made: dict[str, pa.Array] = {}

        def own(column: _Column) -> pa.Array:
            """A column as Spark would read it."""
            assert column.in_file is not None
            if column.name not in made:
                values = read[column.in_file] if column.in_file in read else self._late(column.in_file, start, rows)
                made[column.name] = as_read(values, column.own)
            return made[column.name]

        def declared(name: str) -> pa.Array:
            column = self._columns[name]
            if column.cast is None:
                return pa.nulls(rows, arrow_type(column.declared))
            return column.cast.change(own(column))

        block = ArrowBlock(rows, declared)
        misfits = {column.name: _misfit(own(column), block.column(column.name)) for column in self._checked}
        bad = np.zeros(rows, bool)
        for mask in misfits.values():
            if mask is not None:
                bad |= mask
        if bad.any():
            at = np.flatnonzero(bad)
            places = pa.array(at)
            texts = row_texts([(column.name, own(column).take(places)) for column in self._present])
            block.faults = Faults(at, self._reasons(misfits, at), texts)
        return block

    def _late(self, in_file: str, start: int, rows: int) -> pa.Array:
        """A column that was not read with the others; blocks mostly ask in order, so it is read once for all."""
        if in_file not in self._streams:
            self._streams[in_file] = _Stream(self._file, self._number, [in_file], self._size()[1])
        return self._streams[in_file].read(start, rows)[in_file]

    def _reasons(self, misfits: dict[str, np.ndarray | None], at: np.ndarray) -> pa.Array:
        facts = [
            pc.if_else(pa.array(mask[at]), f'column "{name}" is not {self._columns[name].declared}', None)
            for name, mask in misfits.items()
            if mask is not None
        ]
        return pc.binary_join_element_wise(*facts, "; ", null_handling="skip")


def _misfit(own: pa.Array, declared: pa.Array) -> np.ndarray | None:
    """Where there was a value and now is none; None where all fit."""
    if own.null_count == declared.null_count:
        return None
    lost = pc.and_not(declared.is_null(), own.is_null())
    return np.asarray(lost.to_numpy(zero_copy_only=False))


class _Stream:
    """Some columns of a row group, batch by batch; going back starts anew."""

    def __init__(self, file: pq.ParquetFile, number: int, names: list[str], batch_rows: int) -> None:
        self._file = file
        self._number = number
        self._names = names
        self._batch_rows = batch_rows
        self._rewind()

    def _rewind(self) -> None:
        self._batches = self._file.iter_batches(
            self._batch_rows, row_groups=[self._number], columns=self._names, use_threads=False
        )
        self._held: list[pa.RecordBatch] = []
        self._at = 0

    def read(self, start: int, rows: int) -> dict[str, pa.Array]:
        """The columns of some rows by their names in the file."""
        if start < self._at:
            self._rewind()
        held = sum(batch.num_rows for batch in self._held)
        while self._at + held < start + rows:
            batch = next(self._batches)
            # Batches before the start are of no use to this caller, nor to later ones.
            if self._at + held + batch.num_rows <= start:
                self._at, self._held, held = self._at + held + batch.num_rows, [], 0
                continue
            self._held.append(batch)
            held += batch.num_rows
        table = pa.Table.from_batches(self._held).slice(start - self._at, rows)
        result = {name: _one(table.column(name)) for name in self._names}
        self._drop(start + rows)
        return result

    def _drop(self, end: int) -> None:
        while self._held and self._at + self._held[0].num_rows <= end:
            self._at += self._held.pop(0).num_rows


def _one(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
