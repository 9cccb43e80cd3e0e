"""The rows of a window as a stage of a DataFrame (``mapInArrow``), by the order of the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.sample.draw import DrawReport
from punctual.runtime.operators.in_worker import keep_what_is_loaded
from punctual.runtime.operators.slot_order import current_slot_order
from punctual.runtime.operators.window_rows import WindowOrder, drawn_rows


class InRounds(Protocol):
    """Makes rows of every round out of those of a window."""

    def draw(self, rows: pa.Table, at: int, seed: int, rounds: range) -> Iterator[pa.RecordBatch]: ...


class Reports(Protocol):
    """Where a task says what became of its draws: an accumulator of Spark's."""

    def add(self, term: dict[tuple[str, int], DrawReport]) -> None: ...


BATCH_ROWS = 4096
"""A task looks between batches whether it is to end: a nested loop with each of so many rows does not take long."""


@dataclass(frozen=True, slots=True)
class ReadWindow:
    """Reads a window of a slot: these columns of its stream, or what is ``drawn`` from them in every round."""

    slot: str
    window: int
    columns: tuple[tuple[str, pa.DataType], ...]
    event_time: str
    reports: Reports | None = None
    drawn: InRounds | None = None

    @property
    def __name__(self) -> str:
        """What Spark's plans call it."""
        return f"window_{self.window}"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _task in batches:
            order = current_slot_order().window(self.slot, self.window)
            if order is not None:
                rows, reports = drawn_rows(order, self.columns, self.event_time)
                readers = [(one.slot, one.window) for one in order.readers] or [(self.slot, self.window)]
                told = {reader: report for reader, report in zip(readers, reports) if report is not None}
                if told and self.reports is not None:
                    self.reports.add(told)
                yield from rows.to_batches(BATCH_ROWS) if self.drawn is None else in_rounds(self.drawn, rows, order)
        keep_what_is_loaded()


def in_rounds(drawn: InRounds, rows: pa.Table, order: WindowOrder) -> Iterator[pa.RecordBatch]:
    """The rows of a window in the rounds that its order asks for."""
    if order.rounds is None:
        raise InternalError("a window whose rows are drawn, and nobody says how often")
    asked = order.rounds
    for batch in drawn.draw(rows, asked.at, asked.seed, range(asked.first, asked.first + asked.count)):
        yield from (batch.slice(start, BATCH_ROWS) for start in range(0, batch.num_rows, BATCH_ROWS))
