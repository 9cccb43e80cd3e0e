"""What is held of committed batches, on the holder's thread: applied in order, sealed, dropped, loaded again.

Methods are called by the loop; what they return is for the holder's thread to do, one after the other. So the loop
never waits, and nobody else touches what is held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from punctual.clock import Clock
from punctual.engine.batch.progress import BatchRecord, Progress
from punctual.engine.held.holders import Holders
from punctual.engine.held.shed_spans import ShedSpans
from punctual.engine.program.running_program import RunningProgram
from punctual.estimate.execution_cost import ExecutionCost
from punctual.kinds.job_group import JobGroup
from punctual.plan.shared import Unit
from punctual.runtime.backend import Backend
from punctual.schedule.firings import OpenFrom
from punctual.schedule.late_counts import LateCounts
from punctual.store.manifest import Manifest
from punctual.store.store import Store

Units = Mapping[str, Unit]
"""What the names of units in the store stand for."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A batch that is held: the late rows of each stream as of it, and whether too much is held on the driver.

    ``executions`` is what queries that read rows will cost now, where that is known.
    """

    batch: int
    late: Mapping[str, LateCounts]
    crowded: bool
    executions: Mapping[str, ExecutionCost] | None = None


class HeldBatches:
    """The memory of the running program, through the last batch that was applied."""

    def __init__(self, store: Store, backend: Backend, clock: Clock, placement: str) -> None:
        self._store = store
        self._backend = backend
        self._clock = clock
        self._placement = placement
        self._holders: Holders | None = None
        self.batch = -1
        self.progress: Mapping[str, Progress] = {}
        self.sheds = ShedSpans()

    @property
    def holders(self) -> Holders:
        """The cells of its units."""
        assert self._holders is not None, "no program was installed"
        return self._holders

    @property
    def installed(self) -> bool:
        """Whether a program was installed."""
        return self._holders is not None

    def rehold(self, running: RunningProgram, units: Units, *, scan: bool, placement: str) -> Callable[[], None]:
        """Hold what another program needs; what it has in common with the one before stays as it is."""

        def work() -> None:
            former = self._holders if placement == self._placement else None
            self._placement = placement
            crowded = former.crowding() if former is not None else frozenset[str]()
            self._hold(running, units, crowded, former, scan=scan)

        return work

    def _hold(
        self, running: RunningProgram, units: Units, crowded: frozenset[str], former: Holders | None, *, scan: bool
    ) -> None:
        elapsed = self._clock.monotonic
        manifests = self._manifests()
        memory = Holders(running, self._store, self._backend, self._placement, crowded, scan, elapsed, former)
        large = frozenset[str]().union(*(memory.too_large(manifest) for manifest in manifests))
        if large and self._placement == "auto":
            crowded |= large
            memory = Holders(running, self._store, self._backend, self._placement, crowded, scan, elapsed, former)
        for manifest in manifests:
            for section in manifest.sections:
                memory.load(section, units)
        memory.loaded()
        memory.seal(self.progress)
        self._holders = memory

    def _manifests(self) -> list[Manifest]:
        """The base, if there is one, and the batches after it that were applied."""
        base = self._store.base()
        later = [manifest for manifest in self._store.manifests() if manifest.batch <= self.batch]
        return ([base] if base is not None and self.batch >= base.batch else []) + later

    def load(self, manifest: Manifest, progress: Mapping[str, Progress], units: Units) -> None:
        """At the start: a batch that was fully answered."""
        for section in manifest.sections:
            self.holders.add(section, units)
        self.sheds.add(manifest.read(BatchRecord), self.progress)
        self.batch, self.progress = manifest.batch, progress
        self.holders.seal(progress)

    def apply(self, manifest: Manifest, progress: Mapping[str, Progress], units: Units) -> Callable[[], Applied]:
        """Hold one more batch."""

        def work() -> Applied:
            memory = self.holders
            self.sheds.add(manifest.read(BatchRecord), self.progress)
            self.batch, self.progress = manifest.batch, progress
            large = memory.too_large(manifest) if self._placement == "auto" else frozenset[str]()
            if large:  # reads what was committed, and leaves in the store what is large
                self._hold(memory.running, units, memory.crowding() | large, memory, scan=memory.scan)
            else:
                for section in manifest.sections:
                    memory.add(section, units)
            self.holders.seal(progress)
            return Applied(manifest.batch, self.holders.late_counts(), self._is_crowded())

        return work

    def _is_crowded(self) -> bool:
        """Whether the driver holds more than it should, and may put it into the store's shards."""
        return self._placement == "auto" and self.holders.crowding() != self.holders.crowded

    def drop(self, open_from: OpenFrom) -> Callable[[], None]:
        """Forget what no window to come and no open firing can read."""
        return lambda: self.sheds.drop(self.holders.drop(self.progress, open_from))

    def with_sheds(self, jobs: Sequence[JobGroup]) -> list[JobGroup]:
        """The same with where rows of their streams may be that were shed.

        While there is a query that needs every row nothing is shed: it was added after all that was.
        """
        if not self.sheds.known:
            return list(jobs)
        units, found = self.holders.running.plan.units, []
        for job in jobs:
            spans = self.sheds.of(job.streams)
            sampled = job.asked.unit is not None and units[job.asked.unit].sampled
            found.append(replace(job, sheds=spans) if sampled else replace(job, missing=spans))
        return found

    def replaced(self, running: RunningProgram, units: Units) -> Callable[[], None] | None:
        """After a base was made: files that are gone are read no more; None where nothing was read from files."""
        memory = self.holders
        if not memory.in_shards and not memory.rows and memory.crowding() == memory.crowded:
            return None
        return lambda: self._hold(running, units, memory.crowding(), memory, scan=memory.scan)
