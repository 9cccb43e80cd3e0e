"""Reducing rows that Spark projected: the second half of the way through Catalyst.

A row that must not count carries its reason. Rows are reduced in chunks, so memory does not grow with the partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from punctual.own_names import MARK, ORIGIN, ROW, TIME, WHY
from punctual.runtime.operators.order import Order
from punctual.runtime.operators.reduction import DEAD, Reduce, Reduction
from punctual.runtime.operators.scan_rows import SHED

CHUNK_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class ReduceProjected:
    """Projected rows in, products out."""

    reduce: Reduce

    def run(self, order: Order, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reduce all rows of a task."""
        reduction = Reduction(self.reduce, order.incoming)
        tops = order.streams[self.reduce.stream].tops
        for chunk in chunks(batches):
            why = chunk.column(WHY)
            good = chunk
            if why.null_count < len(why):
                refused = chunk.filter(pc.is_valid(why)).select([WHY, ROW, ORIGIN, TIME]).cast(DEAD)
                told = pc.equal(refused.column(WHY), SHED)
                reduction.shed(sum(map(int, refused.filter(told).column(ROW).to_pylist())))
                reduction.refuse(refused.filter(pc.invert(told)))
                good = chunk.filter(pc.is_null(why))
            times = good.column(TIME).to_numpy()
            reduction.count(times, top_times(good) if tops else {})
            columns = {name: good.column(name).combine_chunks() for name in good.column_names if name[0] != MARK}
            reduction.lift(times, columns)
        yield from reduction.outputs()


def top_times(rows: pa.Table) -> dict[str, int]:
    """The greatest event time by origin."""
    found = rows.group_by(ORIGIN).aggregate([(TIME, "max")])
    return dict(zip(found.column(ORIGIN).to_pylist(), found.column(f"{TIME}_max").to_pylist()))


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together, so that kernels are not called for a few rows each."""
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
