"""The rows of a window as a stage of a DataFrame (``mapInArrow``), by the order of the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from punctual.runtime.operators.in_worker import keep_what_is_loaded
from punctual.runtime.operators.slot_order import current_slot_order
from punctual.runtime.operators.window_rows import window_rows


@dataclass(frozen=True, slots=True)
class ReadWindow:
    """Reads a window of a slot: these columns of its stream."""

    slot: str
    window: int
    columns: tuple[tuple[str, pa.DataType], ...]
    event_time: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _task in batches:
            order = current_slot_order().window(self.slot, self.window)
            if order is not None:
                yield from window_rows(order, self.columns, self.event_time).to_batches()
        keep_what_is_loaded()
