"""The cells of all units: on the driver while they are few, in the store's shards where they are many.

Fed by committed batches, read by passes, carried over a change of program. Where a unit's cells live is decided when
the program is installed and when batches are compacted: by the option ``placement``, or by how many cells there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.engine.late import LateRows
from punctual.engine.passes import Asked, kernel_reader
from punctual.engine.progress import Progress, joint
from punctual.engine.reduced import late_key
from punctual.engine.remote import RemotePanes, assemble
from punctual.engine.standing import Standing, same_meaning
from punctual.kernel.panes.panes import Answered, Panes
from punctual.plan.relation import Stream
from punctual.plan.shared import Unit
from punctual.runtime.backend import Backend
from punctual.runtime.operators.reduce import from_ipc, to_ipc
from punctual.runtime.operators.shards import MERGED, AnswerShards, Stored
from punctual.schedule.due import BEGINNING
from punctual.store.manifest import Manifest, Section
from punctual.store.store import Store

MANY_CELLS = 2_000_000
MANY_BYTES = 256 << 20
"""Above this a unit's cells stay in the store when placement is left to us."""
LARGE_BATCH = 32 << 20
"""A ranking that keeps more of one batch is left in the store from the start: merging it takes many times as much."""

SectionBytes = tuple[str, pa.Buffer | str, int]


class Memory:
    """Cells by unit, and counts of late rows by stream.

    ``crowded`` are the keys of units that were found to have too many cells for the driver; ``scan`` is as in `Panes`;
    ``elapsed`` reads a clock that only goes forward.
    """

    def __init__(
        self, standing: Standing, store: Store, backend: Backend, placement: str,
        crowded: frozenset[str], scan: bool, elapsed: Callable[[], Micros],
    ) -> None:  # fmt: skip
        self._standing = standing
        self._store = store
        self._backend = backend
        self._placement = placement
        self.crowded = crowded
        self.scan = scan
        self._elapsed = elapsed
        self._keys = {standing.unit_key(index): index for index in range(len(standing.specs))}
        shards = store.identity.shards
        self._panes: dict[int, Panes] = {}
        self._remote: dict[int, RemotePanes] = {}
        for key, index in self._keys.items():
            if placement == "cluster" or (placement == "auto" and key in crowded):
                self._remote[index] = RemotePanes(standing.specs[index])
            else:
                self._panes[index] = Panes(standing.specs[index], shards, scan)
        self._late = {name: LateRows(spec) for name, spec in standing.late.items()}

    @property
    def streams(self) -> Mapping[str, Stream]:
        """The streams whose rows it holds, by name in lower case."""
        return self._standing.catalog.streams

    def add(self, section: Section, units: Mapping[str, Unit]) -> None:
        """The cells of a committed section; ``units`` tells what older keys stand for."""
        key = section.unit
        if key.startswith("late:"):
            late = self._late.get(key.removeprefix("late:"))
            if late is not None:
                late.add(from_ipc(self._store.read(section)))
            return
        for index in self._readers_of(key, units):
            if index in self._remote:
                path = f"{self._store.directory}/{section.file}"
                self._remote[index].sections.append(Stored(path, section.offset, section.length))
            else:
                self._panes[index].add(from_ipc(self._store.read(section)))

    def _readers_of(self, key: str, units: Mapping[str, Unit]) -> list[int]:
        index = self._keys.get(key)
        if index is not None:
            return [index]
        old = units.get(key)
        if old is None:
            return []
        return [
            place
            for place, unit in enumerate(self._standing.plan.units)
            if unit.identity == old.identity and same_meaning(key, self._standing.unit_key(place))
        ]

    def seal(self, progress: Mapping[str, Progress]) -> None:
        """No row at or before a stream's completeness will count any more."""
        for index, unit in enumerate(self._standing.plan.units):
            through = joint(progress, unit.streams).through
            if index in self._remote:
                self._remote[index].through = through
            else:
                self._panes[index].seal(through)

    def answer(
        self, asked: Sequence[Asked]
    ) -> tuple[list[Answered], list[NDArray[np.int64] | None], dict[int, Micros]]:
        """Answers and counts of late rows, in the order asked, and the time that each unit took.

        One call of the kernel a unit, one job for all that are in shards.
        """
        answered: dict[int, Answered] = {}
        spent: dict[int, Micros] = {}
        late: list[NDArray[np.int64] | None] = []
        by_unit: dict[int, list[int]] = {}
        for number, one in enumerate(asked):
            by_unit.setdefault(one.reader.unit, []).append(number)
            late.append(self._late_rows(one))
        for unit, numbers in by_unit.items():
            if unit in self._panes:
                began = self._elapsed()
                results = self._panes[unit].answer([kernel_reader(asked[n]) for n in numbers])
                answered.update(zip(numbers, results))
                spent[unit] = self._elapsed() - began
        remote = {unit: numbers for unit, numbers in by_unit.items() if unit in self._remote}
        if remote:
            works = tuple(self._remote[u].work([kernel_reader(asked[n]) for n in ns]) for u, ns in remote.items())
            output = self._backend.shards(AnswerShards(works, self._store.identity.shards, self.scan))
            for place, (work, numbers) in enumerate(zip(works, remote.values())):
                answered.update(zip(numbers, assemble(work, output, place)))
        return [answered[number] for number in range(len(asked))], late, spent

    def _late_rows(self, asked: Asked) -> NDArray[np.int64] | None:
        """How many rows of its streams came too late for each answer; None where none did."""
        query = asked.reader.query
        counts = [self._late[name.lower()].count(asked.due.instants, query.range_us) for name in query.streams]
        some = [count for count in counts if count is not None]
        return np.sum(some, axis=0) if some else None

    def drop(self, progress: Mapping[str, Progress]) -> None:
        """Forget panes that no window to come can read."""
        for index, unit in enumerate(self._standing.plan.units):
            before = self.horizon(unit, joint(progress, unit.streams))
            if index in self._remote:
                self._remote[index].before = before
            else:
                self._panes[index].drop(before)
        for stream, late in self._late.items():
            units = [unit for unit in self._standing.plan.units if stream in (s.lower() for s in unit.streams)]
            late.drop(min(self.horizon(unit, joint(progress, unit.streams)) for unit in units))

    def oldest(self, progress: Mapping[str, Progress]) -> Micros:
        """Every unit keeps what lies after this, and perhaps more."""
        units = self._standing.plan.units
        return min((self.horizon(unit, joint(progress, unit.streams)) for unit in units), default=BEGINNING)

    @staticmethod
    def horizon(unit: Unit, progress: Progress) -> Micros:
        """A unit keeps what lies after this."""
        if progress.through == BEGINNING:
            return BEGINNING
        return progress.through - max(length for length, _step in unit.windows)

    def export(self, batch: int) -> list[SectionBytes]:
        """All live cells by key, for a compacted base; those in shards are merged there, by one job."""
        found: list[SectionBytes] = []
        for index, panes in self._panes.items():
            cells = panes.export()
            if cells.num_rows:
                found.append((self._standing.unit_key(index), to_ipc(cells), cells.num_rows))
        for stream, late in self._late.items():
            counts = late.export()
            if counts is not None:
                found.append((late_key(stream), to_ipc(counts), counts.num_rows))
        if self._remote:
            folder = self._store.incoming(batch)
            works = tuple(remote.merging(folder) for remote in self._remote.values())
            output = self._backend.shards(AnswerShards(works, self._store.identity.shards))
            units = list(self._remote)
            for row in output.to_pylist():
                assert row["reader"] == MERGED
                found.append((self._standing.unit_key(units[row["work"]]), row["path"], row["cells"]))
        return found

    def crowding(self) -> frozenset[str]:
        """Keys of units that have too many cells for the driver, or cells that are too large."""
        return self.crowded | {self._standing.unit_key(i) for i in self._panes if self._is_full(i)}

    def too_large(self, manifest: Manifest) -> frozenset[str]:
        """Keys of units on the driver whose part of a batch is too much for it."""
        sizes: dict[str, int] = {}
        for section in manifest.sections:
            sizes[section.unit] = sizes.get(section.unit, 0) + section.length
        large = {key for key, size in sizes.items() if size > LARGE_BATCH}
        return frozenset(key for key in large if self._keys.get(key) in self._panes and self._ranks(self._keys[key]))

    def _is_full(self, index: int) -> bool:
        panes = self._panes[index]
        return panes.cells > MANY_CELLS or (self._ranks(index) and panes.nbytes > MANY_BYTES)

    def _ranks(self, index: int) -> bool:
        """Whether a unit has rankings: only their cells grow with the rows in them."""
        return any(synopsis.kind == "world" for synopsis in self._standing.specs[index].synopses)

    @property
    def in_shards(self) -> bool:
        """Whether any unit's cells stay in the store."""
        return bool(self._remote)

    @property
    def cells(self) -> int:
        """Cells on the driver."""
        return sum(panes.cells for panes in self._panes.values())

    @property
    def nbytes(self) -> int:
        return sum(panes.nbytes for panes in self._panes.values())
