"""What the loop's commands change: batches are committed, applied and answered, and old ones are made a base.

The loop's thread owns everything here, except what :class:`HeldBatches` does on the holder's thread. A commit is
durable before anything follows from it, and everything that follows can be derived again after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from punctual.clock import Clock, Micros
from punctual.config import Options
from punctual.engine.answers.answering import AnsweredPass, Answering
from punctual.engine.answers.delivery import Delivery
from punctual.engine.answers.ended_answers import without_ended
from punctual.engine.answers.kind_memories import KindMemories
from punctual.engine.answers.last_answers import in_order
from punctual.engine.answers.pass_jobs import PassJobs
from punctual.engine.answers.rounds_ahead import RoundsAhead, ToDraw
from punctual.engine.answers.row_answers import RowBounds
from punctual.engine.answers.world_runs import WorldRuns
from punctual.engine.batch.batch_products import Reduced
from punctual.engine.batch.committed import Committed
from punctual.engine.batch.failing_clause import reason_to_stop
from punctual.engine.batch.ingest import BatchResult, Ingest, Snapshot
from punctual.engine.batch.progress import BatchRecord, Progress, added_letters, committed, end_of_input
from punctual.engine.batch.slice_arrivals import SliceArrivals, paced
from punctual.engine.costs import Costs
from punctual.engine.held.held_batches import Applied, HeldBatches
from punctual.engine.journal import Journal
from punctual.engine.ledger import Ledger
from punctual.engine.program.admitting import refuse_hopeless, short_deadlines
from punctual.engine.program.kernels import load_kernels
from punctual.engine.program.programs import Change, Programs
from punctual.engine.program.running_program import RunningProgram
from punctual.engine.program.tables import Tables
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.spent import BatchSpent
from punctual.kinds.world_run import WorldRun
from punctual.ports.answers import CannotEncode
from punctual.ports.feeds.feed import Feed
from punctual.ports.feeds.releases import Completed
from punctual.ports.feeds.slices import Slice
from punctual.ports.feeds.sources import Sources
from punctual.runtime.backend import Backend
from punctual.schedule.arrivals import Arrivals, AtOnce
from punctual.schedule.contract import Reach
from punctual.schedule.due import BEGINNING
from punctual.schedule.events import Pace
from punctual.schedule.firings import FiringGroup, Firings, OpenFrom, Release
from punctual.schedule.levels import with_decisions
from punctual.schedule.releases import due_instants
from punctual.schedule.stages.endings import Ending, ended
from punctual.schedule.stages.once import asked_now
from punctual.schedule.stages.open_instants import OpenInstants, reopened
from punctual.schedule.state import Rules, State
from punctual.store.manifest import Manifest
from punctual.store.products import Produced
from punctual.store.store import Store

Report = Callable[[str], None]
UNWRITABLE = "cast its columns to types that answers can have, for example: CAST(... AS STRING)"


class Core:
    """One program over one state.

    ``timed`` says whether answers carry wall-clock times: not in a replay at full speed. ``report`` is told what a
    person should know.
    """

    def __init__(
        self,
        backend: Backend,
        store: Store,
        options: Options,
        clock: Clock,
        report: Report,
        *,
        timed: bool,
        paced: bool = False,
    ) -> None:
        self.backend = backend
        self.store = store
        self.delivery = Delivery(store, clock, options.keep_answers_us)
        self.progress: Mapping[str, Progress] = committed(store)
        self.added: dict[str, int] = added_letters(store)
        """By stream, the dead letters that were found when batches were answered."""
        self.journal = Journal(store.journal)
        tables = Tables(backend.table, report)
        self.programs = Programs(store, self.journal, tables, options, report)
        self._jobs = PassJobs(self.programs)
        self._memories = KindMemories(store)
        self.held = HeldBatches(store, backend, clock, options.placement)
        self.costs = Costs(store.costs, backend, self.held, clock)
        """What reading and answering cost."""
        self._worlds = WorldRuns(backend, self.costs.rounds)
        self.ahead = RoundsAhead(clock, self.costs.rounds, self.delivery.rounds, self._to_draw, backend.core_time.take)
        self.ledger = Ledger(
            store.ledger, clock, options.keep_answers_us, backend.core_time, backend.cores, timed=timed
        )
        self._answering = Answering(
            backend, clock, self.delivery.last, self._memories, self.costs.accounts, self.costs.rows, timed=timed
        )
        self.sources = Sources(report, patient=timed)
        self.ingest = Ingest(backend, store, tables, self.sources, clock, self.costs.accounts, report)
        self._clock, self._timed, self._paced = clock, timed, paced
        self.report = report
        self._unapplied: dict[int, tuple[Manifest, Mapping[str, Progress]]] = {}
        self._started = clock.now()

    # -- the program -----------------------------------------------------------------------------------

    def accept(self, change: Change) -> RunningProgram:
        """Plan a program, and have its outputs; what is wrong with it is raised, and nothing has changed then.

        Its tables were declared before: they are read by Spark, and that is nothing to wait for here.
        """
        planned = self.programs.plan(change, self.progress)
        if self._timed:
            self._admit(planned, change.options.tick_us)
            load_kernels(planned.catalog.queries.values())
        self._remind(change.feeds)
        queries = list(change.catalog.queries.values())
        self.delivery.claim([query.name for query in queries], in_order(queries))
        return planned

    def _admit(self, planned: RunningProgram, tick_us: Micros) -> None:
        """Refuse queries that are new and can never be on time, and say what cannot be promised."""
        stood = {query.key for query in self.programs.state.queries.values()}
        refuse_hopeless(planned, stood, self.costs.ever_known(), self.backend.cores)
        for warning in short_deadlines(planned, stood, tick_us):
            self.report(warning)

    def _remind(self, feeds: Mapping[str, Feed]) -> None:
        """Tell new feeds what was taken from their streams before."""
        for manifest in self._manifests() if feeds else ():
            slices = manifest.read(BatchRecord).slices
            for name in feeds.keys() & slices.keys():
                feeds[name].taken(slices[name])

    def _manifests(self) -> list[Manifest]:
        """The base, if there is one, and the batches after it."""
        base = self.store.base()
        return ([base] if base is not None else []) + self.store.manifests()

    def install(self, change: Change, running: RunningProgram) -> Callable[[], None]:
        """Make this the running program, between two batches; what is returned is for the holder's thread to do."""
        progress = {**dict.fromkeys(running.catalog.streams, Progress()), **self.progress}
        self.programs.adopt(running, change.options, progress)
        self.sources.feeds |= change.feeds
        self.progress = progress
        options = change.options
        self.delivery.keep_us = self.ledger.keep_us = options.keep_answers_us
        scan = options.window_merge == "scan"
        rehold = self.held.rehold(running, self.programs.state.units, scan=scan, placement=options.placement)

        def installed() -> None:
            rehold()
            self.costs.rows.fixed = options.qos == "fixed-sampling"
            by_level = options.keep is None and options.qos in ("dynamic-sampling", "fixed-sampling")
            self._answering.cuts = self._timed and by_level

        return installed

    def reaches(self, progress: Mapping[str, Progress] | None = None) -> dict[str, Reach]:
        """How far streams have come."""
        found = self.progress if progress is None else progress
        return {name: Reach(p.through, p.least, p.greatest) for name, p in found.items()}

    # -- recovery --------------------------------------------------------------------------------------

    def recover(self, rules: Rules) -> State:
        """Bring the holders to the last batch that was fully answered, and the sinks to the log.

        Batches after it are applied again by the loop: what they release, without what the log has of it, is in the
        scheduler's state, with the settings that were decided for it. So is what a base keeps of its own batches, since
        it waits for further answers.
        """
        queries = self.programs.running.catalog.queries.values()
        closed, answered = self.delivery.open([query.name for query in queries], in_order(queries))
        cohorts, decided = self.programs.contracts.cohorts, self.journal.decided
        base = self.store.base()
        released: dict[str, Micros] = {}
        releases: list[Release] = []
        opened: list[OpenInstants] = []
        for manifest in self._manifests():
            record = manifest.read(BatchRecord)
            progress = {**dict.fromkeys(self.progress, Progress()), **record.progress}
            opened += [one for one in record.opened if one.batch >= closed]
            if manifest is base or manifest.batch < closed:
                self.held.load(manifest, progress, self.programs.state.units)
            else:
                self._unapplied[manifest.batch] = (manifest, progress)
                dues = tuple(due_instants(cohorts, self.reaches(progress), released))
                arrivals = self._at_once(released, progress, self._started)
                wall = min(record.wall, self._started)
                releases.append(Release(manifest.batch, dues, arrivals, answered=answered, committed=wall))
            released = {name: p.through for name, p in progress.items()}
        groups = with_decisions(reopened(opened, cohorts, answered, timed=self._timed), decided.levels)
        firings = Firings(ended(groups, decided.endings))
        self.held.drop(firings.oldest())()
        return State(
            rules,
            self.programs.contracts,
            self.programs.watermarks,
            self.reaches(),
            released,
            self.store.next_batch(),
            len(self.store.manifests()),
            unapplied=tuple(releases),
            firings=firings,
            decisions=decided.levels,
            endings=decided.endings,
            logged_before=closed,
            rates=self.programs.rates,
        )

    # -- a batch ---------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """What the next batch is read with."""
        programs, progress, change = self.programs, self.progress, self.programs.current()
        return Snapshot(
            programs.running,
            dict(self.sources.feeds),
            progress,
            programs.options,
            self._paced,
            lambda left_out: programs.plan_without(change, progress, left_out),
            programs.alone,
        )

    def commit(self, result: BatchResult, pace: Pace | None, *, asks: bool) -> Committed:
        """Make a batch that was read part of the state; ``asks`` says whether queries are asked that are asked once."""
        after = dict(self.progress)
        facts = result.reduced.facts
        for name, one in facts.items():
            after[name] = after[name].after(one, self.programs.running.catalog.streams[name].watermark_us)
        for lost in result.reduced.letters:
            if lost.row is None:  # a whole file; rows were counted where they were read
                after[lost.stream] = replace(after[lost.stream], dead=after[lost.stream].dead + 1)
        before = self.progress
        lag = self._lag(result, pace)
        asked = self._ask(after) if asks else False
        self._write(result.batch, result.planned, after, result.reduced, lag, result.shares)
        for name, planned in result.planned.items():
            self.sources.feeds[name].taken(planned)
            for path, why in self.sources.feeds[name].finish(planned):
                self.report(f'file "{path}" of stream "{name}" was read and stays where it is: {why}')
        through = {name: p.through for name, p in before.items()}
        return Committed(
            result.batch,
            self.reaches(),
            frozenset(name for name, one in facts.items() if one.accepted),
            self._arrived(through, result, pace),
            result.spent,
            max(lag.values(), default=0),
            asked,
        )

    def _lag(self, result: BatchResult, pace: Pace | None) -> dict[str, Micros]:
        """By stream, how long the oldest rows of a batch waited; in a paced replay how far behind it is."""
        if not self._timed:
            return {}
        now = self._clock.now()
        oldest = {name: arrivals.oldest for name, arrivals in result.arrivals.items()}
        if pace is not None:
            greatest = {name: facts.greatest for name, facts in result.reduced.facts.items()}
            oldest = {name: None if top is None else pace.time_of(top) for name, top in greatest.items()}
        return {name: max(0, now - at) for name, at in oldest.items() if at is not None}

    def complete(self, through: Mapping[str, Micros], *, ended: bool) -> Committed | None:
        """Commit that streams are complete without new rows (idle, end of input); None where nothing changes."""
        if ended:
            through = self.end_of_input()
        after = {n: p.complete(through[n]) if n in through else p for n, p in self.progress.items()}
        if after == self.progress:
            return None
        before = {name: p.through for name, p in self.progress.items()}
        batch, asked = self.store.next_batch(), self._ask(after)
        self._write(batch, {}, after, Reduced(), {}, {})
        arrivals = self._at_once(before, after, self._clock.now())
        return Committed(batch, self.reaches(), frozenset(), arrivals, BatchSpent(batch, 0, 0.0), asked=asked)

    def _ask(self, after: Mapping[str, Progress]) -> bool:
        """Decide the instants of queries that are asked once, before a batch is committed that releases them."""
        found = asked_now(self.programs.contracts, self.reaches(after))
        if found:
            self.programs.ask(found)
        return bool(found)

    def end_of_input(self) -> dict[str, Micros]:
        """Where every stream is complete once there are no more rows."""
        queries = self.programs.running.catalog.queries.values()
        return end_of_input(self.progress, {query.streams for query in queries})

    def _write(
        self,
        batch: int,
        slices: Mapping[str, Slice],
        after: dict[str, Progress],
        reduced: Reduced,
        lag_us: Mapping[str, Micros],
        shares: Mapping[str, int],
    ) -> None:
        shed = {name: one.shed for name, one in reduced.facts.items() if name in shares}
        record = replace(
            self._record(after, slices), lag_us=lag_us, shares=shares, shed_rows=shed,
            shed_through=self._shed_through(reduced),
        )  # fmt: skip
        manifest = self.store.commit(batch, record, reduced.sections, reduced.letters)
        self._unapplied[batch] = (manifest, after)
        self.progress = after

    def _shed_through(self, reduced: Reduced) -> dict[str, Micros]:
        """Rows of earlier batches are no later than a row of this one by more than the stream allows."""
        streams = self.programs.running.catalog.streams
        return {
            name: one.least + streams[name].watermark_us
            for name, one in reduced.facts.items()
            if one.least is not None and self.progress[name].shed
        }

    def _record(self, progress: Mapping[str, Progress], slices: Mapping[str, Slice]) -> BatchRecord:
        return BatchRecord(progress, dict(self.programs.tables.hashes), self._clock.now(), slices)

    def _at_once(
        self, before: Mapping[str, Micros], after: Mapping[str, Progress], at: Micros
    ) -> dict[str, Arrivals] | None:
        if not self._timed:
            return None
        return {name: AtOnce(before.get(name, BEGINNING), at) for name in after}

    def _arrived(
        self, before: Mapping[str, Micros], result: BatchResult, pace: Pace | None
    ) -> dict[str, Arrivals] | None:
        """When the rows of a batch could be read: when they were first seen, or when their paced time came."""
        found = self._at_once(before, self.progress, self._clock.now())
        if found is None:
            return None
        streams = self.programs.running.catalog.streams
        for name, arrivals in result.arrivals.items():
            facts = result.reduced.facts.get(name)
            if facts is not None:
                done = Completed(before[name], streams[name].watermark_us, facts.greatest, facts.tops)
                found[name] = SliceArrivals(paced(arrivals, done, pace) if pace is not None else arrivals, done)
        return found

    # -- for the holder's thread -------------------------------------------------------------------------

    def apply(self, batch: int) -> Callable[[], Applied]:
        """Let the holders have a committed batch."""
        manifest, progress = self._unapplied.pop(batch)
        work = self.held.apply(manifest, progress, self.programs.state.units)
        return lambda: replace(work(), executions=self._executions())

    def _executions(self) -> Mapping[str, ExecutionCost] | None:
        """What queries from rows will cost, for deadlines; where none count nobody asks."""
        return self.costs.executions() if self._timed else None

    def answer(self, groups: Sequence[FiringGroup], *, hurries: bool) -> Callable[[], AnsweredPass]:
        """Answer firings from what is held; where it ``hurries``, from what was drawn ahead as it is."""
        running, jobs = self.programs.running, self._jobs.of(groups)
        options = self.programs.options
        run = self._world_run().for_pass(shares=options.sharing)
        bounds = RowBounds(options.max_answer_rows, options.max_join_rows, run, self.ahead, hurries)

        def answered() -> AnsweredPass:
            found = self._answering.answer(self.held.with_sheds(jobs), self.held.holders, running.timing, bounds)
            return replace(found, executions=self._executions())

        return answered

    def _to_draw(self, groups: Sequence[FiringGroup]) -> ToDraw:
        """Firings that are to be made ready for draws ahead of their answers."""
        jobs = [one for job in self._jobs.of(groups) for one in job.each()]
        options, run = self.programs.options, self._world_run()
        bounds = RowBounds(options.max_answer_rows, options.max_join_rows, run)
        return ToDraw(jobs, lambda: self.held.holders, run, self.backend, bounds.of_works)

    def _world_run(self) -> WorldRun:
        return self._worlds.of(self.programs.options, self.programs.running.catalog.functions)

    def drop(self, open_from: OpenFrom) -> Callable[[], None]:
        """Forget what no window to come and no open firing can read."""
        work = self.held.drop(open_from)
        standing = frozenset(query.name for query in self.programs.running.catalog.queries.values())

        def forget() -> None:
            work()
            self._memories.forget(self.held.holders.oldest(self.held.progress))
            self._worlds.only(standing)

        return forget

    def export(self, batch: int) -> Callable[[], list[Produced]]:
        """All that is held, for a base."""
        return lambda: self.held.holders.export(batch)

    # -- what comes back ---------------------------------------------------------------------------------

    def deliver(
        self, found: AnsweredPass, closed_before: int, newest: int, endings: Sequence[Ending]
    ) -> tuple[int, tuple[tuple[str, str], ...]]:
        """The answers of a pass, into the log and to the sinks; dead letters of rules that break before them.

        What was cancelled meanwhile never comes. How many answers there are, and the queries whose answers cannot be
        written, with the reason: no query's answers stop another's.
        """
        answers = without_ended(found.blocks.only(self.programs.readers.__contains__), endings)
        for stream, letters in self._memories.write(newest).items():
            self.added[stream] = self.added.get(stream, 0) + letters
        failed: list[tuple[str, str]] = []
        try:
            count = self.delivery.deliver(closed_before, newest, answers) if answers else 0
        except CannotEncode as refused:
            reasons = refused.reasons
            answers = answers.only(lambda query: query not in reasons)
            failed = [(query, reason_to_stop(query, why, UNWRITABLE)) for query, why in reasons.items()]
            count = self.delivery.deliver(closed_before, newest, answers) if answers else 0
        queries = self.programs.running.catalog.queries.values()
        self.ledger.answered(answers, found.spent, {query.name for query in queries if query.quality is not None})
        return count, tuple(failed)

    def rebase(
        self, batch: int, sections: list[Produced], opened: tuple[OpenInstants, ...]
    ) -> Callable[[], None] | None:
        """One base in place of all batches through this one; what the holders have to load again, if anything.

        ``opened`` are the instants of these batches that wait for further answers.
        """
        progress = self.held.progress
        taken = {name: feed.everything_taken() for name, feed in self.sources.feeds.items()}
        sheds = self.held.sheds.known
        record = replace(self._record(progress, taken), added=dict(self.added), sheds=sheds, opened=opened)
        self.store.rebase(batch, record, sections)
        self.costs.save()
        return self.held.replaced(self.programs.running, self.programs.state.units)

    def close(self) -> None:
        """Leave a state that resumes."""
        try:
            self.costs.save()
            self.delivery.close()
            self.ledger.keep_up(now=True)
        finally:
            self.store.close()
