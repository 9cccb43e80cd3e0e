"""The one stage of a tick: rows of a stream in, partial cells and dead letters out.

Runs inside Spark's Python workers (``mapInArrow``) and, with the same bytes as a result, in process. A row that must
not count carries its reason in ``_why``; a row that came too late counts in the stream's late cells, so that answers
can say how many rows they lack. Rows are reduced in chunks, so memory does not grow with the partition.

Output rows: ``unit`` (index, or one of the marks below), ``cells``, and the payload inline or, when it is large, the
path of a file that this task wrote.
"""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.panes.lift import lift, merge
from punctual.kernel.panes.spec import UnitSpec

CHUNK_ROWS = 1_000_000
INLINE_BYTES = 4 << 20
DEAD, FACTS, LATE = -1, -2, -3
"""Marks in place of a unit: dead letters, counters of the partition, cells of late rows."""
LATE_REASON = "late"

OUTPUT = pa.schema(
    [
        ("stream", pa.string()),
        ("unit", pa.int32()),
        ("cells", pa.int64()),
        ("payload", pa.binary()),
        ("path", pa.string()),
    ]
)
OUTPUT_DDL = "stream STRING, unit INT, cells BIGINT, payload BINARY, path STRING"


@dataclass(frozen=True, slots=True)
class Reduce:
    """Reduce one stream's projected rows.

    ``units`` pairs each unit's index in the tick with its specification; ``counted`` is False for a second branch of
    the same stream, whose rows were counted by the first.
    """

    stream: str
    units: tuple[tuple[int, UnitSpec], ...]
    late: UnitSpec | None
    shards: int
    incoming: str | None
    counted: bool = True

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partials: dict[int, list[pa.Table]] = {}
        specs = dict(self.units)
        if self.late is not None:
            specs[LATE] = self.late
        dead: list[pa.Table] = []
        facts = Facts()
        for chunk in _chunks(batches):
            why = chunk.column("_why")
            good = chunk
            if why.null_count < len(why):
                bad = chunk.filter(pc.is_valid(why))
                good = chunk.filter(pc.is_null(why))
                if self.counted:
                    late = bad.filter(pc.equal(bad.column("_why"), LATE_REASON))
                    dead.append(bad.select(["_why", "_row", "_origin", "_t"]))
                    facts.dead += bad.num_rows - late.num_rows
                    facts.late += late.num_rows
                    if self.late is not None and late.num_rows:
                        partials.setdefault(LATE, []).append(lift(self.late, _times(late), {}, self.shards))
            if not good.num_rows:
                continue
            times = _times(good)
            facts.see(times)
            columns = {name: good.column(name).combine_chunks() for name in good.column_names if name[0] != "_"}
            for index, spec in self.units:
                cells = lift(spec, times, columns, self.shards)
                if cells.num_rows:
                    partials.setdefault(index, []).append(cells)
        rows: list[tuple[int, int, pa.Table]] = []
        for index, tables in partials.items():
            whole = tables[0] if len(tables) == 1 else merge(tables, specs[index])
            rows.append((index, whole.num_rows, whole))
        if dead:
            whole = pa.concat_tables(dead)
            rows.append((DEAD, whole.num_rows, whole))
        for index, cells_count, table in rows:
            payload = to_ipc(table)
            path = None
            if self.incoming is not None and len(payload) > INLINE_BYTES:
                path, payload = write_payload(self.incoming, payload), None
            yield self._output(index, cells_count, payload, path)
        if self.counted:
            yield self._output(FACTS, facts.accepted, facts.to_json(), None)

    def _output(self, unit: int, cells: int, payload: bytes | pa.Buffer | None, path: str | None) -> pa.RecordBatch:
        values = (self.stream, unit, cells, None if payload is None else memoryview(payload), path)
        return pa.RecordBatch.from_arrays([pa.array([v], f.type) for v, f in zip(values, OUTPUT)], schema=OUTPUT)


@dataclass(frozen=True, slots=True)
class InWorker:
    """A reduction inside a worker of Spark's, which does nothing else in its life."""

    reduce: Reduce

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.reduce(batches)
        _keep_what_is_loaded()


@dataclass(slots=True)
class Facts:
    """Counters of one partition."""

    accepted: int = 0
    late: int = 0
    dead: int = 0
    least: int | None = None
    greatest: int | None = None

    def see(self, times: NDArray[np.int64]) -> None:
        self.accepted += times.size
        least, greatest = int(times.min()), int(times.max())
        self.least = least if self.least is None else min(self.least, least)
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)

    def add(self, other: Facts) -> None:
        """Count another partition's rows too."""
        self.accepted += other.accepted
        self.late += other.late
        self.dead += other.dead
        if other.least is not None and other.greatest is not None:
            self.least = other.least if self.least is None else min(self.least, other.least)
            self.greatest = other.greatest if self.greatest is None else max(self.greatest, other.greatest)

    def to_json(self) -> bytes:
        return orjson.dumps([self.accepted, self.late, self.dead, self.least, self.greatest])

    @staticmethod
    def from_json(data: bytes) -> Facts:
        return Facts(*orjson.loads(data))


def to_ipc(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_ipc(data: bytes | pa.Buffer) -> pa.Table:
    """The table of an Arrow IPC stream, without a copy."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


@cache
def _keep_what_is_loaded() -> None:
    """Take the kernels and libraries, loaded by now, out of the reach of the garbage collector; once a process.

    Spark's daemon collects garbage after every task, and looking through all of them takes longer than a small task.
    """
    gc.collect()
    gc.freeze()


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def _times(table: pa.Table) -> NDArray[np.int64]:
    times: NDArray[np.int64] = table.column("_t").to_numpy().astype(np.int64, copy=False)
    return times


def write_payload(folder: str, payload: pa.Buffer) -> str:
    """Write under a name that no other attempt of the task uses; the commit names the one that counts."""
    path = os.path.join(folder, f"{uuid.uuid4().hex}.arrow")
    with open(path, "wb") as file:
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())
    return path
