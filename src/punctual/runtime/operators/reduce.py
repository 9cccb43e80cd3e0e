"""The one stage of a tick: rows of a stream in, partial cells and dead letters out.

Runs inside Spark's Python workers (``mapInArrow``) and, with the same bytes as a result, in process. A row that must
not count carries its reason; a row that came too late counts in the stream's late cells, so that answers
can say how many rows they lack. Rows are reduced in chunks, so memory does not grow with the partition.

Output rows are products (:mod:`punctual.store.products`), inline or, when they are large, in a file that this task
wrote.
"""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.panes.lift import lift, merge
from punctual.kernel.panes.spec import UnitSpec
from punctual.own_names import MARK, ORIGIN, ROW, TIME, WHY
from punctual.store.products import Cells, DeadRows, Facts, Kept, LateCells, Produced, Product, output, to_ipc

CHUNK_ROWS = 1_000_000
INLINE_BYTES = 4 << 20
LATE_REASON = "late"


@dataclass(frozen=True, slots=True)
class Reduce:
    """Reduce one stream's projected rows.

    ``units`` pairs each unit's name in the state with its specification; ``counted`` is False for a second branch of
    the same stream, whose rows were counted by the first. ``tops`` asks for the greatest event time of each origin.
    """

    stream: str
    units: tuple[tuple[str, UnitSpec], ...]
    late: UnitSpec | None
    shards: int
    incoming: str | None
    counted: bool = True
    tops: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partials: dict[Kept, list[pa.Table]] = {}
        dead: list[pa.Table] = []
        facts = Facts(self.stream)
        for chunk in _chunks(batches):
            why = chunk.column(WHY)
            good = chunk
            if why.null_count < len(why):
                bad = chunk.filter(pc.is_valid(why))
                good = chunk.filter(pc.is_null(why))
                if self.counted:
                    late = bad.filter(pc.equal(bad.column(WHY), LATE_REASON))
                    dead.append(bad.select([WHY, ROW, ORIGIN, TIME]))
                    facts = facts.plus(Facts(self.stream, 0, late.num_rows, bad.num_rows - late.num_rows))
                    if self.late is not None and late.num_rows:
                        cells = lift(self.late, _times(late), {}, self.shards)
                        partials.setdefault(LateCells(self.stream), []).append(cells)
            if not good.num_rows:
                continue
            times = _times(good)
            facts = facts.plus(self._facts(times, good))
            columns = {name: good.column(name).combine_chunks() for name in good.column_names if name[0] != MARK}
            for name, spec in self.units:
                cells = lift(spec, times, columns, self.shards)
                if cells.num_rows:
                    partials.setdefault(Cells(name), []).append(cells)
        for product, whole in self._whole(partials, dead):
            yield self._output(product, whole)
        if self.counted:
            yield output(Produced(facts, facts.accepted))

    def _facts(self, times: NDArray[np.int64], rows: pa.Table) -> Facts:
        """Of rows that are accepted."""
        tops: dict[str, int] = {}
        if self.tops and self.counted:
            found = rows.group_by(ORIGIN).aggregate([(TIME, "max")])
            tops = dict(zip(found.column(ORIGIN).to_pylist(), found.column(f"{TIME}_max").to_pylist()))
        return Facts(self.stream, times.size, 0, 0, int(times.min()), int(times.max()), tops)

    def _whole(self, partials: dict[Kept, list[pa.Table]], dead: list[pa.Table]) -> Iterator[tuple[Product, pa.Table]]:
        """Each product's chunks as one table."""
        specs: dict[Kept, UnitSpec] = {Cells(name): spec for name, spec in self.units}
        if self.late is not None:
            specs[LateCells(self.stream)] = self.late
        for product, tables in partials.items():
            yield product, tables[0] if len(tables) == 1 else merge(tables, specs[product])
        if dead:
            yield DeadRows(self.stream), pa.concat_tables(dead)

    def _output(self, product: Product, table: pa.Table) -> pa.RecordBatch:
        payload = to_ipc(table)
        if self.incoming is not None and len(payload) > INLINE_BYTES:
            return output(Produced(product, table.num_rows, write_payload(self.incoming, payload)))
        return output(Produced(product, table.num_rows, payload))


@dataclass(frozen=True, slots=True)
class InWorker:
    """A reduction inside a worker of Spark's, which does nothing else in its life."""

    reduce: Reduce

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.reduce(batches)
        _keep_what_is_loaded()


@cache
def _keep_what_is_loaded() -> None:
    """Take the kernels and libraries, loaded by now, out of the reach of the garbage collector; once per process.

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
    times: NDArray[np.int64] = table.column(TIME).to_numpy().astype(np.int64, copy=False)
    return times


def write_payload(folder: str, payload: pa.Buffer) -> str:
    """Write under a name that no other attempt of the task uses; the commit names the one that counts."""
    path = os.path.join(folder, f"{uuid.uuid4().hex}.arrow")
    with open(path, "wb") as file:
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())
    return path
