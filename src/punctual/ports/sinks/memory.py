"""Answers kept in this process, for Python to look at.

Blocks are kept as they come; a frame is made when asked for. Nothing survives the process: opened without a
state, the engine fills the sink again from the answer log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from punctual.ports.answers import FIELDS, INSTANTS, AnswerBlock
from punctual.ports.sinks.sink import SinkState

_TIME = pa.timestamp("us", tz="UTC")


class MemorySink:
    """Blocks of answers by query.

    Parameters
    ----------
    keep : int, optional
        Forget the oldest blocks of a query while the others hold at least so many answers.
    """

    def __init__(self, *, keep: int | None = None) -> None:
        self._keep = keep
        self._position = 0
        self._blocks: dict[str, deque[AnswerBlock]] = {}
        self._counts: dict[str, int] = {}

    @property
    def position(self) -> int:
        return self._position

    def open(self, state: SinkState | None, oldest: int = 1) -> None:
        self._position = state.position if state is not None else 0

    def claim(self, queries: Sequence[str]) -> None:
        for query in queries:
            self._blocks.setdefault(query, deque())

    def write(self, position: int, blocks: Sequence[AnswerBlock]) -> None:
        if position <= self._position:
            return
        for block in blocks:
            kept = self._blocks.setdefault(block.query, deque())
            kept.append(block)
            count = self._counts.get(block.query, 0) + block.count
            while self._keep is not None and count - kept[0].count >= self._keep:
                count -= kept.popleft().count
            self._counts[block.query] = count
        self._position = position

    def checkpoint(self) -> SinkState:
        return SinkState(self._position)

    def close(self) -> None:
        """The blocks stay readable."""

    def blocks(self, query: str) -> list[AnswerBlock]:
        """The kept blocks of a query, oldest first."""
        return list(self._blocks.get(query, ()))

    def frame(self, query: str) -> pa.Table | None:
        """Every result row of a query: at, from, its columns, the other fields of the answer.

        Answers without result rows have no row here. A field whose name is also a column's is called
        ``answer_<name>``. None while there is no answer. Blocks of an earlier query of this name with
        other columns are left out.
        """
        blocks = self.blocks(query)
        if not blocks:
            return None
        schema = blocks[-1].table.schema
        answers = pa.concat_tables([block.table for block in blocks if block.table.schema.equals(schema)])
        answers = answers.combine_chunks()
        rows = answers.column("rows").combine_chunks()
        owner = pc.list_parent_indices(rows)
        columns = list(zip(blocks[-1].columns(), rows.flatten().flatten()))
        taken = {name for name, _ in columns}
        extra = answers.column_names[len(FIELDS) :]
        fields = {
            name: answers.column(name).cast(_TIME) if name in INSTANTS else answers.column(name)
            for name in [*(name for name, _ in FIELDS if name != "rows"), *extra]
        }
        named = {
            name: (f"answer_{name}" if name in taken else name, field.take(owner)) for name, field in fields.items()
        }
        first = [named.pop("at"), named.pop("from")]
        ordered = [*first, *columns, *named.values()]
        return pa.Table.from_arrays([array for _, array in ordered], names=[name for name, _ in ordered])
