"""What a task makes of rows, however they came: partial cells of every unit, retained rows, dead letters, facts.

Output rows are products (:mod:`punctual.store.products`), inline or, when they are large, in a file that this task
wrote. Retained rows are always in files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.panes.lift import lift, merge
from punctual.kernel.panes.spec import UnitSpec
from punctual.own_names import ORIGIN, ROW, TIME, WHY
from punctual.runtime.operators.row_files import Retain, RowFiles, retained
from punctual.runtime.operators.task_files import write_payload
from punctual.store.products import Cells, DeadRows, Facts, Kept, LateCells, Produced, Product, output, to_ipc

INLINE_BYTES = 4 << 20
LATE_REASON = "late"
DEAD = pa.schema([(WHY, pa.string()), (ROW, pa.string()), (ORIGIN, pa.string()), (TIME, pa.int64())])


@dataclass(frozen=True, slots=True)
class Reduce:
    """How one stream's rows are reduced.

    ``units`` pairs each unit's name in the state with its specification; ``counted`` is False for a second branch of
    the same stream, whose rows were counted by the first. ``late`` counts rows that came too late. With ``retain``
    accepted rows are kept: it pairs projected columns with their names in the stream.
    """

    stream: str
    units: tuple[tuple[str, UnitSpec], ...]
    late: UnitSpec | None
    shards: int
    counted: bool = True
    retain: Retain | None = None


class Reduction:
    """The products of one task for one branch, made as rows come. Without a folder for files no rows are retained."""

    def __init__(self, reduce: Reduce, incoming: str | None) -> None:
        self._reduce = reduce
        self._incoming = incoming
        self._partials: dict[Kept, list[pa.Table]] = {}
        self._dead: list[pa.Table] = []
        self._facts = Facts(reduce.stream)
        self._rows: RowFiles | None = None
        if reduce.retain is not None and incoming is not None:
            self._rows = RowFiles(reduce.stream, incoming)

    def refuse(self, bad: pa.Table) -> None:
        """Rows that do not count, as ``DEAD``; those that came too late count in the stream's late cells, so that
        answers can say how many rows they lack."""
        if not self._reduce.counted or not bad.num_rows:
            return
        late = bad.filter(pc.equal(bad.column(WHY), LATE_REASON))
        self._dead.append(bad)
        self._facts = self._facts.plus(Facts(self._reduce.stream, 0, late.num_rows, bad.num_rows - late.num_rows))
        if self._reduce.late is not None and late.num_rows:
            cells = lift(self._reduce.late, late.column(TIME).to_numpy(), {}, self._reduce.shards)
            self._partials.setdefault(LateCells(self._reduce.stream), []).append(cells)

    def count(self, times: NDArray[np.int64], tops: Mapping[str, int]) -> None:
        """These rows are accepted; ``tops`` has the greatest event time by origin, where it was asked for."""
        if self._reduce.counted and times.size:
            least, greatest = int(times.min()), int(times.max())
            self._facts = self._facts.plus(
                Facts(self._reduce.stream, times.size, 0, 0, least, greatest, dict(tops))
            )

    def shed(self, rows: int) -> None:
        """So many rows were not read at all."""
        if self._reduce.counted and rows:
            self._facts = self._facts.plus(Facts(self._reduce.stream, shed=rows))

    def lift(self, times: NDArray[np.int64], columns: Mapping[str, pa.Array]) -> None:
        """Rows that count, with the columns that units name or that are retained."""
        if not times.size:
            return
        for name, spec in self._reduce.units:
            cells = lift(spec, times, columns, self._reduce.shards)
            if cells.num_rows:
                self._partials.setdefault(Cells(name), []).append(cells)
        if self._rows is not None and self._reduce.retain is not None:
            self._rows.add(retained(times, columns, self._reduce.retain))

    def outputs(self) -> Iterator[pa.RecordBatch]:
        """All that was made, once there are no more rows."""
        for product, whole in self._whole():
            yield self._output(product, whole)
        if self._rows is not None:
            yield from map(output, self._rows.products())
        if self._reduce.counted:
            yield output(Produced(self._facts, self._facts.accepted))

    def _whole(self) -> Iterator[tuple[Product, pa.Table]]:
        """Each product's chunks as one table."""
        specs: dict[Kept, UnitSpec] = {Cells(name): spec for name, spec in self._reduce.units}
        if self._reduce.late is not None:
            specs[LateCells(self._reduce.stream)] = self._reduce.late
        for product, tables in self._partials.items():
            yield product, tables[0] if len(tables) == 1 else merge(tables, specs[product])
        if self._dead:
            yield DeadRows(self._reduce.stream), pa.concat_tables(self._dead)

    def _output(self, product: Product, table: pa.Table) -> pa.RecordBatch:
        payload = to_ipc(table)
        if self._incoming is not None and len(payload) > INLINE_BYTES:
            return output(Produced(product, table.num_rows, write_payload(self._incoming, payload)))
        return output(Produced(product, table.num_rows, payload))
