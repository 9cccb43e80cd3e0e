"""The rows of an answer, gathered and ordered in the worker: the last stage of a slot (``mapInArrow``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.errors import RunError
from punctual.kernel.arrays.order import ranks
from punctual.kernel.panes.keys import order
from punctual.runtime.operators.in_worker import keep_what_is_loaded
from punctual.runtime.operators.slot_order import current_slot_order
from punctual.store.products import Produced, RowAnswer, output, to_ipc


class TooManyRowsError(RunError):
    """An answer has more rows than it may. ``rows`` were counted: there may be more, nobody waited for them."""

    def __init__(self, query: str, rows: int, limit: int) -> None:
        super().__init__(
            "run.too-many-rows",
            f'an answer of query "{query}" has {rows} rows or more, and may have {limit}',
            hint="let the query select fewer rows, or raise max_answer_rows",
        )
        self.query = query
        self.rows = rows
        self.limit = limit


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Makes one product of a slot's rows; ``ordered`` says whether they come in the order that the query gives."""

    slot: str
    ordered: bool

    @property
    def __name__(self) -> str:
        """What Spark's plans call it."""
        return f"answer_{self.slot}"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        asked = current_slot_order().slots.get(self.slot)
        if asked is None:
            for _batch in batches:
                pass
            return
        kept: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            kept.append(batch)
            rows += batch.num_rows
            if rows > asked.max_rows:
                # The job goes on without them, for the other slots; the driver learns how many there were by now.
                yield output(Produced(RowAnswer(self.slot), rows))
                return
        yield output(self._answer(kept, rows))
        keep_what_is_loaded()

    def _answer(self, kept: list[pa.RecordBatch], rows: int) -> Produced:
        if not rows:
            return Produced(RowAnswer(self.slot))
        table = pa.Table.from_batches(kept)
        return Produced(RowAnswer(self.slot), rows, to_ipc(table if self.ordered else in_order(table)))


def in_order(table: pa.Table) -> pa.Table:
    """The rows by all columns from the first on, in Spark's ascending order; nested values by their text.

    >>> in_order(pa.table({"a": [2.0, float("nan"), None, 2.0], "b": ["y", "", "", "x"]})).column("b").to_pylist()
    ['', 'x', 'y', '']
    """
    columns = [column.combine_chunks() for column in table.columns if not pa.types.is_null(column.type)]
    if not columns:
        return table
    keys = [pa.array(ranks(column)) if pa.types.is_nested(column.type) else column for column in columns]
    return table.take(pa.array(np.argsort(order(keys))))
