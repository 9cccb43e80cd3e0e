"""The cells of all units: on the driver while they are few, in the store's shards where they are many. And rows.

Fed by committed batches, read by passes, carried over a change of program. Where a unit's cells live is decided when
the program is installed and when batches are compacted: by the option ``placement``, or by how many cells there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from punctual.clock import Micros
from punctual.engine.batch.progress import Progress, joint
from punctual.engine.held.late_rows import LateRows
from punctual.engine.held.remote_panes import RemotePanes, assemble
from punctual.engine.held.retained_rows import RetainedFiles, retained_streams
from punctual.engine.program.running_program import RunningProgram, same_meaning
from punctual.kernel.panes.panes import Panes
from punctual.kinds.job_group import AnsweredJobs, JobGroup
from punctual.plan.functions import SYNOPSES
from punctual.plan.relation import Stream
from punctual.plan.shared import Unit
from punctual.runtime.backend import Backend
from punctual.runtime.operators.shards import AnswerShards, Stored
from punctual.schedule.due import BEGINNING
from punctual.schedule.firings import OpenFrom
from punctual.schedule.late_counts import LateCounts
from punctual.store.manifest import Manifest, Section
from punctual.store.products import Cells, LateCells, MergedCells, Produced, RetainedRows, from_ipc, outputs, to_ipc
from punctual.store.store import Store

MANY_CELLS = 2_000_000
MANY_BYTES = 256 << 20
"""Above this a unit's cells stay in the store when placement is left to us."""
LARGE_BATCH = 32 << 20
"""A unit whose cells grow with their rows, and that has more of one batch, is left in the store from the start: merging
it takes many times as much."""


class Holders:
    """Cells by unit, and counts of late rows by stream.

    ``crowded`` are the keys of units that were found to have too many cells for the driver; ``scan`` is as in `Panes`;
    ``elapsed`` reads a clock that only goes forward. What ``former`` holds of the same units is taken over; the rest is
    loaded from the store.
    """

    def __init__(
        self, running: RunningProgram, store: Store, backend: Backend, placement: str,
        crowded: frozenset[str], scan: bool, elapsed: Callable[[], Micros], former: Holders | None = None,
    ) -> None:  # fmt: skip
        self.running = running
        self._store = store
        self._backend = backend
        self._placement = placement
        self.crowded = crowded
        self.scan = scan
        self._elapsed = elapsed
        self._keys = {running.unit_key(index): index for index in range(len(running.specs))}
        self.keys = {index: key for key, index in self._keys.items()}
        """By unit, its name in the state."""
        self._unit_of = {reader.query.name: reader.unit for reader in running.plan.readers}
        units = running.plan.units
        self._longest = [max(length for length, _step in unit.windows) for unit in units]
        self._units_of = {
            stream: [index for index, unit in enumerate(units) if stream in (name.lower() for name in unit.streams)]
            for stream in running.late
        }
        row_windows = [window for reader in running.plan.row_readers for window in reader.windows]
        self._by_rows = {window.stream.lower() for window in row_windows if window.rows is not None}
        """Streams that are read by windows which may begin at any time."""
        shards = store.identity.shards
        self._panes: dict[int, Panes] = {}
        self._remote: dict[int, RemotePanes] = {}
        known = former._known(scan) if former is not None else {}
        self._loading: set[int] = set()
        for key, index in self._keys.items():
            if placement == "cluster" or (placement == "auto" and key in crowded):
                self._remote[index] = RemotePanes(running.specs[index])
                self._loading.add(index)
            elif key in known:
                self._panes[index] = known[key]
            else:
                self._panes[index] = Panes(running.specs[index], shards, scan)
                self._loading.add(index)
        self.rows = RetainedFiles(retained_streams(running), store.directory)
        late: dict[str, LateRows] = former._late if former is not None else {}
        kept = {name for name, spec in running.late.items() if name in late and late[name].spec == spec}
        self._late: dict[str, LateRows] = {
            name: late[name] if name in kept else LateRows(spec) for name, spec in running.late.items()
        }
        self._loading_late = set(self._late) - kept

    def _known(self, scan: bool) -> dict[str, Panes]:
        """Cells on the driver by the key of their unit, for another memory that merges them in the same way."""
        if scan != self.scan:
            return {}
        return {key: self._panes[index] for key, index in self._keys.items() if index in self._panes}

    @property
    def streams(self) -> Mapping[str, Stream]:
        """The streams whose rows it holds, by name in lower case."""
        return self.running.catalog.streams

    def add(self, section: Section, units: Mapping[str, Unit]) -> None:
        """The cells of a committed section; ``units`` tells what older keys stand for."""
        self._add(section, units, set(self._keys.values()), set(self._late))

    def load(self, section: Section, units: Mapping[str, Unit]) -> None:
        """The same for what was not taken over from the memory before."""
        if self._loading or self._loading_late or isinstance(section.product, RetainedRows):
            self._add(section, units, self._loading, self._loading_late)

    def loaded(self) -> None:
        """Everything that was committed so far is held."""
        self._loading, self._loading_late = set(), set()

    def _add(self, section: Section, units: Mapping[str, Unit], wanted: set[int], wanted_late: set[str]) -> None:
        product = section.product
        if isinstance(product, RetainedRows):
            self.rows.add(section)
            return
        if isinstance(product, LateCells):
            if product.stream in wanted_late:
                self._late[product.stream].add(from_ipc(self._store.read(section)))
            return
        for index in self._readers_of(product.unit, units):
            if index not in wanted:
                continue
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
            for place, unit in enumerate(self.running.plan.units)
            if unit.identity == old.identity and same_meaning(key, self.running.unit_key(place))
        ]

    def seal(self, progress: Mapping[str, Progress]) -> None:
        """No row at or before a stream's completeness will count any more."""
        for index, unit in enumerate(self.running.plan.units):
            through = joint(progress, unit.streams).through
            if index in self._remote:
                self._remote[index].through = through
            else:
                self._panes[index].seal(through)
        self.rows.begin({name: one.least for name, one in progress.items()})

    def answer(self, jobs: Sequence[JobGroup]) -> tuple[list[AnsweredJobs], dict[int, Micros]]:
        """What the cells give for the jobs, those that are alike as one, and the time that each unit took.

        One call of the kernel a unit, one job for all that are in shards.
        """
        answered: list[AnsweredJobs] = []
        spent: dict[int, Micros] = {}
        by_unit: dict[int, list[int]] = {}
        for number, job in enumerate(jobs):
            if job.asked.unit is not None:
                by_unit.setdefault(job.asked.unit, []).append(number)
        for unit, numbers in by_unit.items():
            if unit in self._panes:
                began = self._elapsed()
                for one in self._panes[unit].answer_alike([jobs[n].readers(n) for n in numbers]):
                    answered.append(AnsweredJobs([jobs[numbers[place]] for place in one.readers], one.answered))
                spent[unit] = self._elapsed() - began
        remote = {
            unit: [one for number in numbers for one in jobs[number].each()]
            for unit, numbers in by_unit.items()
            if unit in self._remote
        }
        if remote:
            works = tuple(
                self._remote[unit].work([reader for one in single for reader in one.readers(0).each()])
                for unit, single in remote.items()
            )
            output = list(outputs(self._backend.run_tasks(AnswerShards(works, self._store.identity.shards, self.scan))))
            for place, (work, single) in enumerate(zip(works, remote.values())):
                results = assemble(work, output, place)
                answered += [AnsweredJobs([one], result) for one, result in zip(single, results)]
        return answered, spent

    def late_counts(self) -> dict[str, LateCounts]:
        """Late rows by stream, as they are now."""
        return {name: self._late[name].counts if name in self._late else LateCounts.none() for name in self.streams}

    def drop(self, progress: Mapping[str, Progress], open_from: OpenFrom) -> dict[str, Micros]:
        """Forget panes that no window to come and no open firing can read; by stream, from when on they can."""
        horizons, befores = self._horizons(progress), self._befores(progress, open_from)
        for index, before in enumerate(befores):
            if index in self._remote:
                self._remote[index].before = before
            else:
                self._panes[index].drop(before)
        of_rows = self._row_horizons(progress, open_from)
        self.rows.drop(of_rows)
        for stream, late in self._late.items():
            ends = [horizons[index] for index in self._units_of[stream]]
            late.drop(min([*ends, *self._late_horizons(stream, progress)]))
        read = {stream: [befores[index] for index in units] for stream, units in self._units_of.items()}
        for stream, before in of_rows.items():
            read.setdefault(stream, []).append(before)
        for stream in self._by_rows:
            read[stream].append(BEGINNING)
        return {stream: min(ends) for stream, ends in read.items() if ends}

    def _befores(self, progress: Mapping[str, Progress], open_from: OpenFrom) -> list[Micros]:
        """By unit, cells at or before this can be forgotten."""
        opened: dict[int, Micros] = {}
        for queries, start in open_from:
            for place in {self._unit_of[query] for query in queries if query in self._unit_of}:
                opened[place] = min(opened.get(place, start), start)
        return [min(end, opened.get(index, end)) for index, end in enumerate(self._horizons(progress))]

    def _row_horizons(self, progress: Mapping[str, Progress], open_from: OpenFrom) -> dict[str, Micros]:
        """By stream, rows after this may still be read: by windows to come, or by firings that are open."""
        opened: dict[str, Micros] = {}
        for queries, start in open_from:
            for query in queries:
                opened[query] = min(opened.get(query, start), start)
        found: dict[str, Micros] = {}
        for reader in self.running.plan.row_readers:
            through = joint(progress, reader.query.streams).through
            for window in reader.windows:
                ends = BEGINNING if through == BEGINNING else through - window.reach_us
                # An open firing's longest window begins at ``opened``: the others end with it.
                first = opened.get(reader.query.name)
                if first is not None:
                    ends = min(ends, first + reader.query.range_us - window.reach_us)
                name = window.stream.lower()
                found[name] = min(found.get(name, ends), ends)
        return found

    def _late_horizons(self, stream: str, progress: Mapping[str, Progress]) -> Iterator[Micros]:
        """Row queries count the late rows of a stream after this."""
        for reader in self.running.plan.row_readers:
            if stream in (name.lower() for name in reader.query.streams):
                through = joint(progress, reader.query.streams).through
                yield BEGINNING if through == BEGINNING else through - reader.query.range_us

    def oldest(self, progress: Mapping[str, Progress]) -> Micros:
        """Every unit keeps what lies after this, and perhaps more."""
        return min(self._horizons(progress), default=BEGINNING)

    def _horizons(self, progress: Mapping[str, Progress]) -> list[Micros]:
        """Each unit keeps what lies after this."""
        reached = [joint(progress, unit.streams).through for unit in self.running.plan.units]
        return [BEGINNING if at == BEGINNING else at - length for at, length in zip(reached, self._longest)]

    def export(self, batch: int) -> list[Produced]:
        """All live cells by key, for a compacted base; those in shards are merged there, by one job."""
        found: list[Produced] = []
        for index, panes in self._panes.items():
            cells = panes.export()
            if cells.num_rows:
                found.append(Produced(Cells(self.running.unit_key(index)), cells.num_rows, to_ipc(cells)))
        for stream, late in self._late.items():
            counts = late.export()
            if counts is not None:
                found.append(Produced(LateCells(stream), counts.num_rows, to_ipc(counts)))
        found += self.rows.export(
            lambda: self._store.incoming(batch), lambda operator: list(outputs(self._backend.run_tasks(operator)))
        )
        if self._remote:
            folder = self._store.incoming(batch)
            works = tuple(remote.merging(folder) for remote in self._remote.values())
            output = self._backend.run_tasks(AnswerShards(works, self._store.identity.shards))
            units = list(self._remote)
            for merged in outputs(output):
                assert isinstance(merged.product, MergedCells)
                name = self.running.unit_key(units[merged.product.work])
                found.append(Produced(Cells(name), merged.rows, merged.data))
        return found

    def crowding(self) -> frozenset[str]:
        """Keys of units that have too many cells for the driver, or cells that are too large."""
        return self.crowded | {self.running.unit_key(i) for i in self._panes if self._is_full(i)}

    def too_large(self, manifest: Manifest) -> frozenset[str]:
        """Keys of units on the driver whose part of a batch is too much for it."""
        sizes: dict[str, int] = {}
        for section in manifest.sections:
            if isinstance(section.product, Cells):
                sizes[section.product.unit] = sizes.get(section.product.unit, 0) + section.length
        large = {key for key, size in sizes.items() if size > LARGE_BATCH}
        return frozenset(key for key in large if self._keys.get(key) in self._panes and self._grows(self._keys[key]))

    def _is_full(self, index: int) -> bool:
        panes = self._panes[index]
        return panes.cells > MANY_CELLS or (self._grows(index) and panes.nbytes > MANY_BYTES)

    def _grows(self, index: int) -> bool:
        """Whether a unit's cells grow with the rows in them."""
        return any(SYNOPSES[synopsis.kind].grows for synopsis in self.running.plan.units[index].synopses)

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
