"""Reading a batch: plan its slices, run its job, leave out what cannot be read. Runs on the reader's thread.

Each step is durable before the next begins, and each can be done again after a crash: a planned batch is run with the
same slices. Nothing here changes the engine: what was found is a value, which the loop commits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from punctual.clock import Clock
from punctual.config import Options
from punctual.engine.batch.batch_job import BatchJob, Slices
from punctual.engine.batch.batch_products import Reduced, letter
from punctual.engine.batch.progress import BatchPlan, Progress
from punctual.engine.program.running_program import RunningProgram
from punctual.engine.program.tables import Tables
from punctual.plan.query import Query
from punctual.plan.shared import Needs, RowNeeds
from punctual.ports.feeds.feed import Backlog, Feed
from punctual.ports.feeds.releases import Arrivals
from punctual.ports.feeds.slices import Slice
from punctual.ports.feeds.sources import Sources
from punctual.runtime.backend import Backend
from punctual.store.letters import DeadLetter
from punctual.store.store import Store


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a batch is read with: as the engine stands when reading begins, and stands until the batch is committed."""

    running: RunningProgram
    feeds: Mapping[str, Feed]
    progress: Mapping[str, Progress]
    options: Options
    paced: bool
    replan: Callable[[frozenset[str]], RunningProgram]
    """The running program without these queries and with the tables as they are now."""
    alone: Callable[[Query, Needs | RowNeeds], RunningProgram]
    """A program of this query only, of which as much is read as these needs say."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """A batch that was read: its slices, when they arrived, what they were reduced to, and with which program.

    ``failed`` are queries that cannot be evaluated, with the reason: the batch was read without them.
    """

    batch: int
    planned: Mapping[str, Slice]
    arrivals: Mapping[str, Arrivals]
    reduced: Reduced
    running: RunningProgram
    failed: tuple[tuple[str, str], ...] = ()


class Ingest:
    """Reads one batch after the other."""

    def __init__(
        self,
        backend: Backend,
        store: Store,
        tables: Tables,
        sources: Sources,
        clock: Clock,
        report: Callable[[str], None],
    ) -> None:
        self._backend = backend
        self._store = store
        self._tables = tables
        self._clock = clock
        self._report = report
        self._sources = sources
        self.waiting: Mapping[str, Backlog] = {}
        """What waited to be read by stream, when somebody looked last."""
        self._left = False

    def leave(self) -> None:
        """Nobody wants another batch: what is being read ends before it is planned, or comes to nothing."""
        self._left = True

    def look(self) -> None:
        """See what has arrived; from any thread."""
        self.waiting = self._sources.look(self._clock.now())

    def read(self, now: Snapshot, limit: int | None) -> BatchResult | None:
        """The next batch; None when there is nothing to read.

        ``limit`` is the most files to take from a stream, when less than the option says.
        """
        batch = self._store.next_batch()
        running = now.replan(frozenset()) if self._tables.refresh() else now.running
        plan = self._store.read_plan(batch, BatchPlan)
        if plan is None:
            plan = self._plan(now, limit)
            if plan is None:
                return None
            if self._left:
                return None
            self._store.write_plan(batch, plan)
        planned = {name: part for name, part in plan.slices.items() if name in now.feeds}
        arrivals = {name: now.feeds[name].arrivals(part) for name, part in planned.items()}
        letters: list[DeadLetter] = []
        slices: dict[str, Slice | None] = {}
        for name, whole in planned.items():
            slices[name], lost = now.feeds[name].check(whole)
            letters += [letter(name, why, batch, origin=path) for path, why in lost]
        work = Slices(batch, slices, now.options.earliest, plan.horizon, now.paced)
        job = BatchJob(
            self._backend, self._store, now.feeds, self._tables.content, now.progress, now.replan, now.alone
        )
        reduced, culprits = job.reduce(running, work)
        failed = dict(culprits.queries)
        changed = [
            (name, path, why)
            for name, part in work.slices.items()
            if part is not None
            for path, why in now.feeds[name].changed(part)
        ]
        if changed:
            # A file that changed while it was read may have been half of each: it does not count at all.
            letters += [letter(name, why, batch, origin=path) for name, path, why in changed]
            running = now.replan(frozenset(failed)) if failed else running
            reduced, more = job.reduce(running, work.without(changed))
            failed |= dict(more.queries)
        for one in letters:
            self._report(f'file "{one.origin}" of stream "{one.stream}" was not read: {one.reason}')
        for stream, path, why in culprits.files:
            self._report(f'file "{path}" of stream "{stream}" cannot be read: {why}')
        reduced.letters = letters + reduced.letters
        if failed:
            running = now.replan(frozenset(failed))
        return BatchResult(batch, planned, arrivals, reduced, running, tuple(failed.items()))

    def _plan(self, now: Snapshot, limit: int | None) -> BatchPlan | None:
        wall = self._clock.now()
        self.waiting = self._sources.look(wall)
        slices = self._sources.plan(limit)
        return BatchPlan(slices, wall + now.options.max_ahead_us) if slices else None
