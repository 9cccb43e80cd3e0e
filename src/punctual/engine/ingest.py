"""Reading a batch: plan its slices, run its job, leave out what cannot be read. Runs on the reader's thread.

Each step is durable before the next begins, and each can be done again after a crash: a planned batch is run with the
same slices. Nothing here changes the engine: what was found is a value, which the loop commits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from punctual.clock import Clock, Micros
from punctual.engine.arrivals import Arrivals
from punctual.engine.intake import Intake
from punctual.engine.progress import Progress
from punctual.engine.reading import Reading, Slices
from punctual.engine.reduced import Reduced, letter
from punctual.engine.standing import Standing
from punctual.engine.tables import Tables
from punctual.plan.query import Query
from punctual.plan.shared import Needs
from punctual.runtime.backend import Backend
from punctual.store.store import Store


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a batch is read with: as the engine stands when reading begins, and stands until the batch is committed."""

    running: Standing
    feeds: Mapping[str, Intake]
    progress: Mapping[str, Progress]
    max_ahead_us: Micros
    replan: Callable[[frozenset[str]], Standing]
    """The running program without these queries and with the tables as they are now."""
    alone: Callable[[Query, Needs], Standing]
    """A program of this query only, of which as much is read as these needs say."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """A batch that was read: its slices, what they were reduced to, and with which program.

    ``failed`` are queries that cannot be evaluated, with the reason: the batch was read without them.
    """

    batch: int
    planned: Mapping[str, Any]
    reduced: Reduced
    running: Standing
    failed: tuple[tuple[str, str], ...] = ()


class Ingest:
    """Reads one batch after the other."""

    def __init__(
        self,
        backend: Backend,
        store: Store,
        tables: Tables,
        clock: Clock,
        report: Callable[[str], None],
        *,
        patient: bool,
    ) -> None:
        self._backend = backend
        self._store = store
        self._tables = tables
        self._clock = clock
        self._report = report
        self._arrivals = Arrivals(report, patient=patient)
        self._left = False

    def leave(self) -> None:
        """Nobody wants another batch: what is being read ends before it is planned, or comes to nothing."""
        self._left = True

    def look(self) -> None:
        """See what has arrived; from any thread."""

    def read(self, now: Snapshot, limit: int | None) -> BatchResult | None:
        """The next batch; None when there is nothing to read.

        ``limit`` is the most files to take from a stream, when less than the option says.
        """
        batch = self._store.next_batch()
        running = now.replan(frozenset()) if self._tables.refresh() else now.running
        plan = self._store.read_plan(batch)
        if plan is None:
            plan = self._plan(now, limit)
            if plan is None:
                return None
            if self._left:
                return None
            self._store.write_plan(batch, plan)
        planned = {name: part for name, part in plan["slices"].items() if name in now.feeds}
        letters: list[dict[str, Any]] = []
        slices: dict[str, Any] = {}
        for name, whole in planned.items():
            slices[name], lost = now.feeds[name].check(whole)
            letters += [letter(name, why, batch, origin=path) for path, why in lost]
        work = Slices(batch, slices, plan["horizon"])
        reading = Reading(
            self._backend, self._store, now.feeds, self._tables.content, now.progress, now.replan, now.alone
        )
        reduced, culprits = reading.reduce(running, work)
        failed = dict(culprits.queries)
        changed = [
            (name, path, why) for name, part in work.slices.items() for path, why in now.feeds[name].changed(part)
        ]
        if changed:
            # A file that changed while it was read may have been half of each: it does not count at all.
            letters += [letter(name, why, batch, origin=path) for name, path, why in changed]
            running = now.replan(frozenset(failed)) if failed else running
            reduced, more = reading.reduce(running, work.without(now.feeds, changed))
            failed |= dict(more.queries)
        for one in letters:
            self._report(f'file "{one["origin"]}" of stream "{one["stream"]}" was not read: {one["reason"]}')
        for stream, path, why in culprits.files:
            self._report(f'file "{path}" of stream "{stream}" cannot be read: {why}')
        reduced.letters = letters + reduced.letters
        if failed:
            running = now.replan(frozenset(failed))
        return BatchResult(batch, planned, reduced, running, tuple(failed.items()))

    def _plan(self, now: Snapshot, limit: int | None) -> dict[str, Any] | None:
        wall = self._clock.now()
        slices = self._arrivals.slices(now.feeds, wall, limit)
        return {"slices": slices, "horizon": wall + now.max_ahead_us} if slices else None
