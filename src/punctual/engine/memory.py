"""The cells of all units on the driver: fed by committed batches, read by passes, carried over a change of program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.engine.late import LateRows
from punctual.engine.passes import Asked, kernel_reader
from punctual.engine.progress import Progress
from punctual.engine.reduced import late_key
from punctual.engine.standing import Standing, longest_range, same_meaning
from punctual.kernel.window.panes import Answered, Panes
from punctual.plan.shared import Unit
from punctual.schedule.due import BEGINNING


class Memory:
    """Panes by unit, and those of late rows by stream."""

    def __init__(self, standing: Standing, shards: int) -> None:
        self._standing = standing
        self._shards = shards
        self._panes = [Panes(spec, shards) for spec in standing.specs]
        self._late = {name: LateRows(spec) for name, spec in standing.late.items()}
        self._keys = {standing.unit_key(index): index for index in range(len(standing.specs))}

    def add(self, key: str, cells: pa.Table, units: Mapping[str, Unit]) -> None:
        """Cells of a committed batch, kept under this key; ``units`` tells what older keys stand for."""
        if key.startswith("late:"):
            late = self._late.get(key.removeprefix("late:"))
            if late is not None:
                late.add(cells)
            return
        index = self._keys.get(key)
        if index is not None:
            self._panes[index].add(cells)
            return
        old = units.get(key)
        if old is None:
            return
        for place, unit in enumerate(self._standing.plan.units):
            if unit.identity == old.identity and same_meaning(key, self._standing.unit_key(place)):
                self._panes[place].add(cells)

    def seal(self, progress: Mapping[str, Progress]) -> None:
        """No row at or before a stream's completeness will count any more."""
        for unit, panes in zip(self._standing.plan.units, self._panes):
            panes.seal(progress[unit.stream.lower()].through)

    def answer(self, asked: Sequence[Asked]) -> tuple[list[Answered], list[NDArray[np.int64] | None]]:
        """Answers and counts of late rows, in the order asked; one call of the kernel a unit."""
        answered: list[Answered | None] = [None] * len(asked)
        late: list[NDArray[np.int64] | None] = [None] * len(asked)
        by_unit: dict[int, list[int]] = {}
        for number, one in enumerate(asked):
            by_unit.setdefault(one.reader.unit, []).append(number)
            counts = self._late[one.reader.query.stream.lower()]
            late[number] = counts.count(one.due.instants(), one.reader.query.range_us)
        for unit, numbers in by_unit.items():
            for number, result in zip(numbers, self._panes[unit].answer([kernel_reader(asked[n]) for n in numbers])):
                answered[number] = result
        return [result for result in answered if result is not None], late

    def drop(self, progress: Mapping[str, Progress]) -> None:
        """Forget panes that no window to come can read."""
        for index, (unit, panes) in enumerate(zip(self._standing.plan.units, self._panes)):
            panes.drop(self.horizon(index, progress[unit.stream.lower()]))
        for stream, late in self._late.items():
            readers = tuple(r for r in self._standing.plan.readers if r.query.stream.lower() == stream)
            late.drop(progress[stream].through - longest_range(readers))

    def horizon(self, index: int, progress: Progress) -> Micros:
        """A unit keeps what lies after this."""
        if progress.through == BEGINNING:
            return BEGINNING
        return progress.through - max(length for length, _step in self._standing.plan.units[index].windows)

    def export(self) -> list[tuple[str, pa.Table]]:
        """All live cells by key, for a compacted base."""
        units = [(self._standing.unit_key(i), panes.export()) for i, panes in enumerate(self._panes)]
        late = [(late_key(stream), late.export()) for stream, late in self._late.items()]
        return [(key, cells) for key, cells in (*units, *late) if cells is not None and cells.num_rows]

    @property
    def cells(self) -> int:
        return sum(panes.cells for panes in self._panes)

    @property
    def nbytes(self) -> int:
        return sum(panes.nbytes for panes in self._panes)
