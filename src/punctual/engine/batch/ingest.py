"""Reading a batch: plan its slices, run its job, leave out what cannot be read. Runs on the reader's thread.

Each step is durable before the next begins, and each can be done again after a crash: a planned batch is run with the
same slices. Nothing here changes the engine: what was found is a value, which the loop commits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from punctual.clock import Clock
from punctual.config import Options
from punctual.engine.batch.batch_job import BatchJob, Slices
from punctual.engine.batch.batch_products import Reduced, letter
from punctual.engine.batch.progress import BatchPlan, Progress
from punctual.engine.program.running_program import RunningProgram
from punctual.engine.program.tables import Tables
from punctual.estimate.accounts import Accounts
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.spent import BatchSpent, ReadingParts
from punctual.kernel.sample.marks import SHARES
from punctual.plan.query import Query
from punctual.plan.shared import Needs, RowNeeds
from punctual.ports.feeds.feed import Backlog, Feed
from punctual.ports.feeds.releases import Arrivals
from punctual.ports.feeds.slices import Slice
from punctual.ports.feeds.sources import Sources
from punctual.runtime.backend import Backend
from punctual.share.sheddable import Shedding, ingest_shares
from punctual.store.letters import DeadLetter
from punctual.store.store import Store

READING = LinearCost.guessed(60_000.0, parts=2_000.0, kib=10.0)
"""A first guess, in microseconds."""
READING_SHED = LinearCost.guessed(60_000.0, parts=2_000.0, kib=4.0, kept_kib=8.0)
"""The same where streams are shed: all is looked at, and what is kept is parsed."""
LOOKED = READING_SHED.each("kib") / (READING_SHED.each("kib") + READING_SHED.each("kept_kib"))
"""Of the time for rows that are read whole, the part that shedding them would not save."""


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

    ``spent`` is the core time that reading it used; ``failed`` are queries that cannot be evaluated, with the reason:
    the batch was read without them. ``shares`` has the streams that were shed, in ten-thousandths.
    """

    batch: int
    planned: Mapping[str, Slice]
    arrivals: Mapping[str, Arrivals]
    reduced: Reduced
    running: RunningProgram
    spent: BatchSpent
    failed: tuple[tuple[str, str], ...] = ()
    shares: Mapping[str, int] = field(default_factory=dict)


class Ingest:
    """Reads one batch after the other."""

    def __init__(
        self,
        backend: Backend,
        store: Store,
        tables: Tables,
        sources: Sources,
        clock: Clock,
        accounts: Accounts,
        report: Callable[[str], None],
    ) -> None:
        self._backend = backend
        self._store = store
        self._tables = tables
        self._clock = clock
        self._accounts = accounts
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

    def read(self, now: Snapshot, limit: int | None, asked: Mapping[str, float]) -> BatchResult | None:
        """The next batch; None when there is nothing to read.

        ``limit`` is the most files to take from a stream, when less than the option says; ``asked`` has the streams
        that are to be shed, if they can be.
        """
        self._backend.core_time.take()
        began = self._clock.thread_us()
        batch = self._store.next_batch()
        running = now.replan(frozenset()) if self._tables.refresh() else now.running
        plan = self._store.read_plan(batch, BatchPlan)
        if plan is None:
            plan = self._plan(now, limit, asked)
            if plan is None:
                return None
            if self._left:
                return None
            self._store.write_plan(batch, plan)
        # After a crash the program may be another one: it sheds nothing that it may not, as nothing is committed yet.
        shares = ingest_shares(running.shedding, {one: part / SHARES for one, part in plan.shares.items()}, None)
        planned = {name: part for name, part in plan.slices.items() if name in now.feeds}
        arrivals = {name: now.feeds[name].arrivals(part) for name, part in planned.items()}
        letters: list[DeadLetter] = []
        slices: dict[str, Slice | None] = {}
        for name, whole in planned.items():
            slices[name], lost = now.feeds[name].check(whole)
            letters += [letter(name, why, batch, origin=path) for path, why in lost]
        work = Slices(batch, slices, now.options.earliest, plan.horizon, now.paced, shares)
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
        used_us = self._clock.thread_us() - began + self._backend.core_time.take()
        spent = self._spent(batch, planned, shares, running.shedding, reduced, used_us)
        return BatchResult(batch, planned, arrivals, reduced, running, spent, tuple(failed.items()), shares)

    def _spent(
        self,
        batch: int,
        planned: Mapping[str, Slice],
        shares: Mapping[str, int],
        sheddable: Mapping[str, Shedding],
        reduced: Reduced,
        used_us: float,
    ) -> BatchSpent:
        """What reading used, and what was expected of so many files and bytes."""
        size = sum(part.size for part in planned.values())
        counts = {"parts": float(sum(len(part.parts) for part in planned.values())), "kib": size / 1024}
        name, guess = f"ingest {'+'.join(sorted(planned))}", READING
        kept = {stream: part.size * shares.get(stream, SHARES) / SHARES / 1024 for stream, part in planned.items()}
        if shares:
            name, guess, counts["kept_kib"] = f"{name} shed", READING_SHED, sum(kept.values())
        predicted = self._accounts.predict(name, counts)
        self._accounts.learn(name, counts, used_us, guess)
        rows = sum(facts.accepted for facts in reduced.facts.values())
        shed = sum(facts.shed for facts in reduced.facts.values())
        may_go = sum(kept[one] for one in kept.keys() & sheddable.keys() if sheddable[one].why_not is None)
        costs = self._accounts.costs
        parts = _parts(costs[name], counts, may_go, None if shares else costs.get(f"{name} shed"))
        if predicted is None:
            return BatchSpent(batch, rows, used_us, bytes=size, shed=shed, parts=parts)
        return BatchSpent(batch, rows, used_us, predicted.median_us, predicted.high_us, size, shed, parts)

    def _plan(self, now: Snapshot, limit: int | None, shares: Mapping[str, float]) -> BatchPlan | None:
        wall = self._clock.now()
        self.waiting = self._sources.look(wall)
        slices = self._sources.plan(limit)
        if not slices:
            return None
        asked = ingest_shares(now.running.shedding, shares, now.options.keep)
        # What Spark's own readers read is not shed: they do not show lines.
        read = {name: now.feeds[name].parts(part) is not None for name, part in slices.items() if name in asked}
        return BatchPlan(
            slices, wall + now.options.max_ahead_us, {name: asked[name] for name, ours in read.items() if ours}
        )


def _parts(
    cost: LinearCost, counts: Mapping[str, float], kept_kib: float, when_shed: LinearCost | None
) -> ReadingParts:
    """What the time of a batch is for; of its rows so much is read that need not be.

    ``when_shed`` is what shed batches cost, if there were any. Against that it is seen what shedding saves, which may
    be nothing.
    """
    expected = cost.expected_us(counts)
    if expected <= 0.0:
        return ReadingParts()
    fixed = cost.fixed_us + cost.each("parts") * counts["parts"]
    if "kept_kib" in cost.names:
        saved = cost.each("kept_kib") * kept_kib
    elif when_shed is not None and kept_kib:
        saved = expected - when_shed.expected_us({**counts, "kept_kib": counts["kib"] - kept_kib})
    else:
        saved = (1 - LOOKED) * cost.each("kib") * kept_kib
    return ReadingParts(fixed / expected, max(0.0, saved) / expected)
