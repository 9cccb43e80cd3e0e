"""Answers from shards of the store: the driver's kernel, called by Spark tasks where a unit's cells are too many.

A task gets shard numbers, reads the cells of its shards from the store's files (mapped, so only its own pages are
touched), and answers the readers from them. Groups never span shards, so the driver has only to put the shards'
rows side by side. The same task can merge its cells into one file, which is how such units are compacted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from punctual.kernel.panes.panes import Answered, Panes
from punctual.kernel.panes.spec import Reader, UnitSpec
from punctual.runtime.operators.order import Order
from punctual.runtime.operators.task_files import write_payload
from punctual.store.products import MergedCells, Produced, ShardAnswers, from_ipc, output, to_ipc


@dataclass(frozen=True, slots=True)
class Stored:
    """Cells of a committed batch: a stretch of a file."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class ShardWork:
    """One unit's part: its cells, how far they are sealed and dropped, and who asks.

    With ``merge_into`` the cells are merged into files of that folder instead.
    """

    spec: UnitSpec
    sections: tuple[Stored, ...]
    through: int
    before: int
    readers: tuple[Reader, ...]
    merge_into: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AnswerShards:
    """The operator: the shards of one task in, answers or merged cells out. ``scan`` is as in `Panes`.

    Shards are dealt out to ``tasks`` tasks in turn.
    """

    works: tuple[ShardWork, ...]
    shards: int
    scan: bool = False
    tasks: int = 1

    @property
    def most_tasks(self) -> int:
        """How many tasks can share the work."""
        return self.shards

    def run(self, _order: Order | None, task: int) -> Iterator[pa.RecordBatch]:
        """What a task makes; all of its work is in the operator, since no two passes ask the same."""
        for shard in range(task, self.shards, self.tasks):
            for number, work in enumerate(self.works):
                yield from self._shard(number, work, shard)

    def _shard(self, number: int, work: ShardWork, shard: int) -> Iterator[pa.RecordBatch]:
        if not work.spec.keys and shard != 0:
            return
        panes = Panes(work.spec, self.shards, self.scan)
        for section in work.sections:
            cells = read_stored(section)
            own = cells.filter(pc.equal(cells.column("shard"), shard))
            if own.num_rows:
                panes.add(own)
        panes.seal(work.through)
        panes.drop(work.before)
        if work.merge_into is not None:
            merged = panes.export()
            if merged.num_rows:
                path = write_payload(work.merge_into, to_ipc(merged))
                yield output(Produced(MergedCells(number), merged.num_rows, path))
            return
        for place, answered in enumerate(panes.answer(work.readers)):
            if answered.instant.size:
                table = answered_table(answered)
                yield output(Produced(ShardAnswers(number, place), table.num_rows, to_ipc(table)))


def read_stored(section: Stored) -> pa.Table:
    """The cells of a section; the file stays mapped as long as they live."""
    with pa.memory_map(section.path) as file:
        whole = file.read_buffer()
    return from_ipc(whole.slice(section.offset, section.length))


def answered_table(answered: Answered) -> pa.Table:
    """An answer as a table: instant, keys, values, errors (those that are always exact have none)."""
    columns: dict[str, pa.Array] = {"instant": pa.array(answered.instant)}
    columns |= {f"k{i}": key for i, key in enumerate(answered.keys)}
    columns |= {f"v{i}": value for i, value in enumerate(answered.values)}
    columns |= {f"e{i}": error for i, error in enumerate(answered.errors) if error is not None}
    return pa.table(columns)
