"""The whole of a tick in one operator: parts are read, rows judged, enriched and reduced, without leaving the task.

For units that read plain columns. Rows are gathered from blocks into chunks, so that kernels see many of them and
memory does not grow with the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.runtime.operators.enrich import Lookup, enrich
from punctual.runtime.operators.order import Order, StreamOrder
from punctual.runtime.operators.reduction import Reduce, Reduction
from punctual.runtime.operators.values import Value
from punctual.runtime.operators.verdict import Meanings, dead_rows, judge
from punctual.scan.block import Block
from punctual.scan.marks import MARKS, marks_of
from punctual.scan.open_part import Reading, open_part, origin_of
from punctual.scan.parts import Part
from punctual.scan.sieve import Sieve

CHUNK_ROWS = 1_000_000
CHUNK_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, eq=False)
class DirectBranch:
    """Units that are enriched alike.

    ``values`` pairs the name of a projected column with what it is of the enriched row.
    """

    reduce: Reduce
    values: tuple[tuple[str, Value], ...] = ()
    lookups: tuple[Lookup, ...] = ()

    def project(
        self, given: Mapping[str, pa.Array], times: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], dict[str, pa.Array]]:
        """Times and projected columns of the rows that are left after enrichment."""
        enriched = dict(given)
        for lookup in self.lookups:
            rows, added = enrich(lookup, enriched, self.named)
            if rows is not None:
                chosen = pa.array(rows)
                enriched = {name: column.take(chosen) for name, column in enriched.items()}
                times = times[rows]
            enriched |= added
        return times, {name: value.made(enriched, times.size) for name, value in self.values}

    @property
    def named(self) -> frozenset[str]:
        """The columns of the enriched row that it reads."""
        keys = {row for lookup in self.lookups for row, _column in lookup.on}
        return frozenset(keys).union(*(value.names for _name, value in self.values))


@dataclass(frozen=True, slots=True, eq=False)
class DirectStream:
    """One stream: how its parts are read, what its columns mean, and what its rows are reduced to."""

    stream: str
    reading: Reading
    meanings: Meanings
    branches: tuple[DirectBranch, ...]

    @property
    def wanted(self) -> frozenset[str]:
        """The declared columns that branches read."""
        return frozenset(name for name, _kind in self.reading.columns) & self._named

    @property
    def marks(self) -> frozenset[str]:
        """The columns of marks that branches read."""
        return self._named & frozenset(MARKS)

    @property
    def _named(self) -> frozenset[str]:
        return frozenset().union(*(branch.named for branch in self.branches))

    @property
    def needed(self) -> frozenset[str]:
        """Those, and the ones that say which rows count."""
        return self.wanted | self.meanings.names


@dataclass(frozen=True, slots=True, eq=False)
class ScanAndReduce:
    """The operator: one task's parts in, products out. ``opened`` reads a part."""

    streams: tuple[DirectStream, ...]
    opened: Callable[[Part, Reading, frozenset[str], Sieve | None], Iterator[Block]] = open_part

    def run(self, order: Order, task: int) -> Iterator[pa.RecordBatch]:
        """What a task of the order makes."""
        for one in self.streams:
            parts = order.parts(task, one.stream)
            if parts:
                limits = order.streams[one.stream]
                gathering = _Gathering(one, limits, order.incoming)
                for part in parts:
                    for block in self.opened(part, one.reading, one.needed, limits.sieve(one.stream)):
                        gathering.take(block, origin_of(part))
                yield from gathering.outputs()


class _Gathering:
    """One stream's rows in one task, gathered into chunks."""

    def __init__(self, stream: DirectStream, order: StreamOrder, incoming: str | None) -> None:
        self._stream = stream
        self._order = order
        self._reductions = [Reduction(branch.reduce, incoming) for branch in stream.branches]
        self._wanted = stream.wanted
        self._times: list[NDArray[np.int64]] = []
        self._columns: dict[str, list[pa.Array]] = {name: [] for name in self._wanted | stream.marks}
        self._rows = self._bytes = 0
        self._tops: dict[str, int] = {}

    def take(self, block: Block, origin: str) -> None:
        """The rows of a block: those that count wait for a chunk to be full."""
        if block.sifted is not None:
            for reduction in self._reductions:
                reduction.shed(block.sifted.shed)
        if not block.rows:
            return
        meanings = self._stream.meanings
        verdict = judge(block, meanings, self._order)
        good, times = verdict.good, verdict.times
        if good is not None:
            times = times[good]
            dead = dead_rows(block, verdict, meanings, self._stream.reading.columns, origin)
            for reduction in self._reductions:
                reduction.refuse(dead)
        if not times.size:
            return
        kept = None if good is None else pa.array(good)
        for name, held in self._columns.items():
            column = marks_of(block, self._order.share, name) if name in MARKS else block.column(name)
            held.append(column if kept is None else column.filter(kept))
            self._bytes += held[-1].nbytes
        self._times.append(times)
        self._rows += times.size
        if self._order.tops:
            self._tops[origin] = max(int(times.max()), self._tops.get(origin, int(times.max())))
        if self._rows >= CHUNK_ROWS or self._bytes >= CHUNK_BYTES:
            self._reduce()

    def outputs(self) -> Iterator[pa.RecordBatch]:
        """All that was made, once there are no more blocks."""
        self._reduce()
        for reduction in self._reductions:
            yield from reduction.outputs()

    def _reduce(self) -> None:
        if not self._rows:
            return
        times = np.concatenate(self._times)
        columns = {name: pa.concat_arrays(held) for name, held in self._columns.items()}
        for branch, reduction in zip(self._stream.branches, self._reductions):
            reduction.count(times, self._tops)
            reduction.lift(*branch.project(columns, times))
        self._times.clear()
        for held in self._columns.values():
            held.clear()
        self._rows = self._bytes = 0
        self._tops = {}
