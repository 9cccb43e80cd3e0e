"""The first half of the way through Catalyst: parts are read in the task, and their rows go to Spark as they are.

Besides the declared columns a row has its reason, text and origin, and the limits of the order: numbers that move with
every tick would have Spark compile its code again if they stood in the text of the plan. Where somebody wants to know
what a row stands for, it has its marks.

How many rows a task has shed goes the same way: in the text of one more row, whose reason is ``SHED``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.own_names import ORIGIN, RAW, REASON, own
from punctual.runtime.operators.order import Order
from punctual.scan.block import Block, Faults, arrow_type
from punctual.scan.marks import MARKS, marks_of
from punctual.scan.open_part import Reading, open_part, origin_of

LIMITS = {own(name): "BIGINT" for name in ("earliest", "horizon", "complete through")} | {own("tops"): "BOOLEAN"}
"""What rows carry of their order, and as which type."""
BATCH_ROWS = 65_536
SHED = own("shed")
"""The reason of a row that is none: its text says how many were shed."""


@dataclass(frozen=True, slots=True, eq=False)
class ScanRows:
    """The operator: one task's parts of one stream in, rows out."""

    stream: str
    reading: Reading
    marked: bool = False

    def run(self, order: Order, task: int) -> Iterator[pa.RecordBatch]:
        """The rows that a task of the order reads."""
        names = frozenset(name for name, _kind in self.reading.columns)
        limits = order.streams[self.stream]
        carried = (limits.earliest, limits.horizon, limits.complete_through, limits.tops)
        shed = 0
        for part in order.parts(task, self.stream):
            for block in open_part(part, self.reading, names, limits.sieve(self.stream)):
                shed += 0 if block.sifted is None else block.sifted.shed
                whole = self._batch(block, origin_of(part), carried, limits.share)
                for at in range(0, whole.num_rows, BATCH_ROWS):
                    yield whole.slice(at, BATCH_ROWS)
        if shed:
            yield self._batch(_Shed(shed, self.reading), "", carried, limits.share)

    def _batch(self, block: Block, origin: str, carried: tuple[int, int, int, bool], share: int) -> pa.RecordBatch:
        reasons, texts = pa.nulls(block.rows, pa.string()), pa.nulls(block.rows, pa.string())
        faults = block.faults
        if faults is not None and faults.rows.size:
            place = np.full(block.rows, -1, np.int64)
            place[faults.rows] = np.arange(faults.rows.size)
            chosen = pa.array(place, mask=place < 0)
            reasons, texts = faults.reasons.take(chosen), faults.texts.take(chosen)
        arrays = [block.column(name) for name, _kind in self.reading.columns]
        arrays += [reasons, texts, pa.repeat(origin, block.rows)]
        arrays += [pa.repeat(value, block.rows) for value in carried]
        arrays += [marks_of(block, share, name) for name in MARKS] if self.marked else []
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @property
    def schema(self) -> pa.Schema:
        """Of the rows."""
        declared = [(name, arrow_type(kind)) for name, kind in self.reading.columns]
        ours = [(name, pa.string()) for name in (REASON, RAW, ORIGIN)]
        limits = [(name, arrow_type(kind)) for name, kind in LIMITS.items()]
        marks = [(name, pa.int64()) for name in MARKS] if self.marked else []
        return pa.schema([*declared, *ours, *limits, *marks])


class _Shed:
    """A block of one row that says how many were shed."""

    rows = 1
    sifted = None

    def __init__(self, shed: int, reading: Reading) -> None:
        self._kinds = dict(reading.columns)
        self.faults = Faults(np.zeros(1, np.int64), pa.array([SHED]), pa.array([str(shed)]))

    def column(self, name: str) -> pa.Array:
        return pa.nulls(1, arrow_type(self._kinds[name]))
