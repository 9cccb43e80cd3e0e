"""Units whose cells stay in the store: answered by Spark tasks over its shards, with the driver's own kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from punctual.clock import Micros
from punctual.kernel.panes.keys import order as spark_order
from punctual.kernel.panes.panes import Answered
from punctual.kernel.panes.spec import Call, Reader, SynopsisSpec, UnitSpec
from punctual.kernel.synopses.synopsis import make
from punctual.plan.functions import SYNOPSES
from punctual.runtime.operators.shards import ShardWork, Stored
from punctual.schedule.due import BEGINNING
from punctual.store.products import Produced, ShardAnswers


@dataclass(slots=True)
class RemotePanes:
    """Where a unit's cells lie, and how far they are complete and needed."""

    spec: UnitSpec
    sections: list[Stored] = field(default_factory=list)
    through: Micros = BEGINNING
    before: Micros = BEGINNING

    def work(self, readers: Sequence[Reader]) -> ShardWork:
        """What tasks do to answer these readers."""
        return ShardWork(self.spec, tuple(self.sections), self.through, self.before, tuple(readers))

    def merging(self, folder: str) -> ShardWork:
        """What tasks do to merge all cells into new files."""
        return replace(self.work(()), merge_into=folder)


def assemble(work: ShardWork, output: Sequence[Produced], number: int) -> list[Answered]:
    """The answers of one unit's readers from the rows of all shards, ordered as the driver's kernel orders them."""
    found: dict[int, list[pa.Table]] = {}
    for produced in output:
        product = produced.product
        if isinstance(product, ShardAnswers) and product.work == number:
            found.setdefault(product.reader, []).append(produced.table())
    return [assembled(reader.calls, work.spec, found.get(place, [])) for place, reader in enumerate(work.readers)]


def assembled(calls: Sequence[Call], spec: UnitSpec, tables: list[pa.Table]) -> Answered:
    """The answer of a reader from the tables that tasks made of it (``operators/shards.py``)."""
    if not tables:
        empty = np.empty(0, np.int64)
        values = [_nothing(call, spec.synopses[call.synopsis]) for call in calls]
        return Answered(empty, [pa.nulls(0) for _ in spec.keys], values, [None] * len(calls))
    whole = pa.concat_tables(tables).combine_chunks()
    columns = {name: _array(whole, name) for name in whole.column_names}
    instant = columns["instant"].to_numpy()
    keys = [columns[f"k{i}"] for i in range(len(spec.keys))]
    if keys:
        rows = pa.array(np.lexsort((spark_order(keys), instant)))
        columns = {name: array.take(rows) for name, array in columns.items()}
    return Answered(
        columns["instant"].to_numpy(),
        [columns[f"k{i}"] for i in range(len(spec.keys))],
        [columns[f"v{i}"] for i in range(len(calls))],
        [columns.get(f"e{i}") for i in range(len(calls))],
    )


def _nothing(call: Call, synopsis: SynopsisSpec) -> pa.Array:
    """The values of no windows, in the type that the kernel gives them."""
    if not SYNOPSES[synopsis.kind].own_type:
        return pa.nulls(0, call.type or pa.null())
    own, none = make(synopsis.kind, synopsis.parameters), np.empty(0, np.int64)
    values, _errors = own.finish(call.function, call.parameters, own.lift(none, 0, pa.nulls(0), none, ()), call.type)
    return values


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
