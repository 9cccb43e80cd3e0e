"""The rows of a window reduced and answered in the worker: the last stage of a slot of aggregates (``mapInArrow``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.kernel.panes.lift import lift
from punctual.kernel.panes.panes import Panes
from punctual.kernel.panes.spec import Call, Reader, Selection, UnitSpec
from punctual.own_names import TIME
from punctual.runtime.operators.in_worker import keep_what_is_loaded
from punctual.runtime.operators.projected import chunks
from punctual.runtime.operators.shards import answered_table
from punctual.runtime.operators.slot_order import current_slot_order
from punctual.store.products import Produced, RowAnswer, output, to_ipc


@dataclass(frozen=True, slots=True, eq=False)
class AggregateRows:
    """Projected rows of a slot's windows in, one product out. ``schema`` is that of the rows."""

    slot: str
    spec: UnitSpec
    where: Selection
    range_us: int
    calls: tuple[Call, ...]
    schema: pa.Schema

    @property
    def __name__(self) -> str:
        """What Spark's plans call it."""
        return f"answer_{self.slot}"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        window = current_slot_order().window(self.slot, 0)
        if window is None:
            for _batch in batches:
                pass
            return
        answer = self.answered(batches, window.through)
        data = to_ipc(answer) if answer.num_rows else None
        yield output(Produced(RowAnswer(self.slot), answer.num_rows, data))
        keep_what_is_loaded()

    def answered(self, batches: Iterable[pa.RecordBatch], at: int) -> pa.Table:
        """What the cells of the rows give at the end of the window, as tasks give it for shards."""
        panes = Panes(self.spec, 1)
        panes.add(self._cells(self.schema.empty_table(), at))  # no rows, but their types
        for rows in chunks(batches):
            panes.add(self._cells(rows, at))
        panes.seal(0)
        (found,) = panes.answer([Reader(self.where, self.range_us, np.zeros(1, np.int64), self.calls)])
        return answered_table(found)

    def _cells(self, rows: pa.Table, at: int) -> pa.Table:
        """Time is counted from the instant: then every window is the same pane."""
        times = rows.column(TIME).to_numpy() - at
        columns = {name: rows.column(name).combine_chunks() for name in rows.column_names if name != TIME}
        return lift(self.spec, times, columns, 1)
