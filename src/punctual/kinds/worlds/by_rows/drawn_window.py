"""The rows of a window in every round, as Spark gets them: the same draws that the kernels make.

A task has the whole window, so what is missing is found among its rows as it is on the driver (``kinds/worlds``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.clock import Micros
from punctual.kernel.arrays.state import I64
from punctual.kernel.draw.bundle_values import Bundle
from punctual.kinds.worlds.rounds.panes import rounds_at_once
from punctual.kinds.worlds.world_rows import Remarks, WorldRows
from punctual.own_names import MARKED, REJECTED, ROUND
from punctual.plan.drawn_rows import DrawnRows
from punctual.plan.row_query import RowStatement, RowWindow, SparkText
from punctual.plan.uncertain import FoundBy
from punctual.plan.worlds import Attribute, Effort, Existence, Worlds


@dataclass(frozen=True, slots=True)
class DrawnWindow(DrawnRows):
    """The rows of a window of a stream.

    ``columns`` are those of the rows as they are read, by whose numbers attributes and existence say what they need;
    ``reach_us`` is how far back rows are read that may help to find values, the window is ``range_us`` of it.
    """

    names: tuple[str, ...]
    rounds: int
    stream: str
    columns: tuple[str, ...]
    range_us: Micros
    reach_us: Micros
    attributes: tuple[Attribute, ...] = ()
    existence: tuple[Existence, ...] = ()

    @property
    def may_be_remarked(self) -> bool:
        """Whether an answer may have something to say of its rows: of what is missing, or of rules that break."""
        missing = any(isinstance(one.law, FoundBy) for one in self.attributes)
        return missing or any(one.rule is not None for one in self.existence)

    def draw(self, rows: pa.Table, at: Micros, seed: int, rounds: range) -> Iterator[pa.RecordBatch]:
        """Round after round, and in a round row after row, in their order."""
        if rows.num_rows:
            window = self._window(rows, at, seed)
            step = rounds_at_once(rows.num_rows)
            for block in (rounds[first : first + step] for first in range(0, len(rounds), step)):
                yield self._block(window, block)

    def remarks(self, rows: pa.Table, at: Micros, seed: int) -> Remarks:
        """What an answer has to say of these rows."""
        return self._window(rows, at, seed).remarks if rows.num_rows else Remarks()

    def _window(self, rows: pa.Table, at: Micros, seed: int) -> WorldRows:
        arrays = [_whole(rows.column(name)) for name in self.columns]
        reached = RowStatement(SparkText(), (RowWindow(self.stream, self.reach_us, self.columns),))
        return WorldRows(Worlds(reached, Effort(1), self.range_us, self.attributes, self.existence), arrays, at, seed)

    def _block(self, window: WorldRows, rounds: range) -> pa.RecordBatch:
        every = np.arange(window.size)
        there = np.broadcast_to(window.inside[:, None], (window.size, len(rounds)))
        exists = window.existing(every, rounds)
        number, row = np.nonzero((there if exists is None else there & exists).T)
        drawn = {one.name: place for place, one in enumerate(self.attributes)}
        found = [pa.array(number + rounds.start, pa.int64())]
        for name in self.names:
            stored = window.given[self.columns.index(name)]
            if name in drawn:
                bundle = window.attributes[drawn[name]].bundle(every, rounds)
                found.append(_drawn(bundle, row, number, window).cast(stored.type, safe=False))
            else:
                found.append(stored.take(pa.array(row)))
        return pa.RecordBatch.from_arrays(found, names=[ROUND, *self.names])


@dataclass(frozen=True, slots=True)
class EveryRound(DrawnRows):
    """Every round once, whether or not it has a row: a world without rows is one, too.

    Beside it the remarks on the window that is drawn, where there is one.
    """

    rounds: int
    of: DrawnWindow | None = None
    names: tuple[str, ...] = ()

    @property
    def made(self) -> tuple[str, ...]:
        return ROUND, MARKED, REJECTED

    def draw(self, rows: pa.Table, at: Micros, seed: int, rounds: range) -> Iterator[pa.RecordBatch]:
        found = Remarks() if self.of is None else self.of.remarks(rows, at, seed)
        columns = [np.asarray(rounds), *(np.full(len(rounds), one) for one in (found.marked, found.rejected))]
        yield pa.RecordBatch.from_arrays([pa.array(one, pa.int64()) for one in columns], names=[*self.made])


def _drawn(bundle: Bundle, row: I64, number: I64, window: WorldRows) -> pa.Array:
    """The values of rows in rounds."""
    place = (row, number if bundle.values.shape[1] > 1 else np.zeros(1, np.int64))
    mask = None
    if bundle.known is not None:
        mask = ~bundle.known[row, number if bundle.known.shape[1] > 1 else np.zeros(1, np.int64)]
    values = np.ascontiguousarray(bundle.values[place])
    if bundle.kind == "text":
        return window.codes.texts.take(pa.array(values, pa.int64(), mask=mask))
    return pa.array(values, mask=mask)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
