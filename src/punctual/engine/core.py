"""The engine without threads: plan a batch, run it, commit it, answer what it released.

Each step is durable before the next begins, and each can be done again after a crash: a planned batch is run with the
same slices, a committed batch is answered in the same parts, an answered part is skipped. The core decides nothing from
measured time except what it writes into the batch's plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from punctual.catalog import Catalog
from punctual.clock import SECOND, Clock, Micros
from punctual.config import Options
from punctual.engine.answering import Answering
from punctual.engine.arrivals import Arrivals
from punctual.engine.broken_rules import BrokenRules
from punctual.engine.cadences import Cadences, Timing, own_bounds
from punctual.engine.cuts import Cuts
from punctual.engine.delivery import Delivered, Delivery
from punctual.engine.intake import Intake
from punctual.engine.journal import Journal
from punctual.engine.memory import Memory
from punctual.engine.passes import Asked, without
from punctual.engine.progress import BatchPlan, BatchRecord, Progress, committed, end_of_input
from punctual.engine.reading import Reading, Slices
from punctual.engine.reduced import Reduced, letter
from punctual.engine.registration import registered
from punctual.engine.releases import due
from punctual.engine.standing import Standing, query_key, stand
from punctual.engine.state import ProgramState
from punctual.engine.tables import Tables
from punctual.estimate.window_work import Rates
from punctual.plan.query import WindowQuery
from punctual.plan.shared import Reader, SharedPlan
from punctual.runtime.backend import Backend, QueryTypes
from punctual.schedule.due import Due, Listed, parts
from punctual.store.letters import DeadLetter
from punctual.store.manifest import Manifest
from punctual.store.store import Store

INSTANTS_A_PART = 100_000
"""A pass is cut so that no part answers many more instants than this: memory stays flat over long gaps."""
INSTANTS_A_GO = 10_000
"""A live stream that was silent for long catches up by so many instants, then rows are looked for again."""
REPLAN_US = 60 * SECOND
"""How often a live engine looks whether its cadence plans still fit what it measures."""
BATCHES_A_BASE = 64
"""So many batches are kept apart before they are compacted into a base."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a step did, for the loop and the status."""

    batch: int
    rows: int
    answers: int


class Core:
    """One program over one state. Not safe for threads: the engine's loop owns it.

    ``judged`` says whether answers carry wall-clock times: not in a replay at full speed. ``report`` is told what a
    person should know.
    """

    def __init__(
        self,
        backend: Backend,
        store: Store,
        options: Options,
        clock: Clock,
        *,
        judged: bool,
        report: Callable[[str], None],
    ) -> None:
        self.backend = backend
        self.store = store
        self.options = options
        self.delivery = Delivery(store, clock, options.keep_answers_us)
        self.tables = Tables(backend.table, report)
        self.intakes: dict[str, Intake] = {}
        self.progress = committed(store)
        self.program = store.program(ProgramState) or ProgramState()
        journal = Journal(store.journal)
        self.cadences = Cadences(journal)
        self._cuts = Cuts(journal)
        self._broken = BrokenRules(store)
        self.answering = Answering(backend, clock, self.delivery.displayed, self._broken, judged=judged)
        self._measured_rates: dict[str, Rates] = {}
        self._planned = clock.monotonic()
        self._clock = clock
        self._judged = judged
        self._gives_way = judged and options.qos != "best-effort"
        self._report = report
        self._standing: Standing | None = None
        self._memory: Memory | None = None
        self._answered: dict[str, Micros] = {}
        self._arrivals = Arrivals(report, patient=judged)

    @property
    def standing(self) -> Standing:
        """The program that runs."""
        assert self._standing is not None, "no program was installed"
        return self._standing

    @property
    def memory(self) -> Memory:
        """The cells of its units."""
        assert self._memory is not None, "no program was installed"
        return self._memory

    # -- the program -------------------------------------------------------------------------------

    def install(self, standing: Standing, intakes: Mapping[str, Intake]) -> None:
        """Make this the standing program, at a batch boundary. What still fits of the old one is kept.

        An output that somebody else wrote is the one thing that can refuse it; nothing has changed then.
        """
        self.delivery.claim([query.name for query in standing.catalog.queries.values()])
        running = self._memory is not None
        crowded = self._memory.crowding() if self._memory is not None else frozenset[str]()
        self._standing = standing
        self._memory = self._remembering(standing, crowded)
        large = frozenset[str]().union(*(self._memory.too_large(manifest) for manifest in self._manifests()))
        if large:
            self._memory = self._remembering(standing, crowded | large)
        for name, intake in intakes.items():
            self.intakes[name] = intake
            for planned in self._taken(name):
                intake.taken(planned)
        for name in standing.catalog.streams:
            self.progress.setdefault(name, Progress())
        self.cadences.adopt(standing.timing)
        self._register()
        if running:
            self._reload()

    def _remembering(self, standing: Standing, crowded: frozenset[str]) -> Memory:
        scan = self.options.window_merge == "scan"
        clock = self._clock.monotonic
        return Memory(standing, self.store, self.backend, self.options.placement, crowded, scan, clock)

    def _reload(self) -> None:
        """Fill memory from the store, as of the last commit."""
        for manifest in self._manifests():
            for section in manifest.sections:
                self.memory.add(section, self.program.units)
        self.memory.seal(self.progress)
        self.memory.drop(self.progress)

    def _manifests(self) -> list[Manifest]:
        """The base, if there is one, and the batches after it."""
        base = self.store.base()
        return ([base] if base else []) + self.store.manifests()

    def _register(self) -> None:
        """Record which queries stand, since when, and from where their windows are covered."""
        program = registered(self.standing, self.program, self.progress)
        if self.program.number == 0 or program != self.program:
            self.program = replace(program, number=self.program.number + 1)
            self.store.save_program(self.program.number, self.program)

    def stopped(self, catalog: Catalog | None = None) -> frozenset[str]:
        """Queries that failed and no longer run; one that means something else in ``catalog`` starts anew."""
        declared = {q.name: query_key(q) for q in (catalog.queries.values() if catalog is not None else ())}
        return frozenset(
            name
            for name, query in self.program.queries.items()
            if query.stopped is not None and declared.get(name, query.key) == query.key
        )

    def stand(
        self, catalog: Catalog, types: Mapping[str, QueryTypes], left_out: frozenset[str] = frozenset()
    ) -> Standing:
        """Plan a program, without these queries and those that were stopped before."""
        stopped = self.stopped(catalog) | left_out
        return stand(
            catalog, types, self.tables.content, sharing=self.options.sharing, timed=self._timed, stopped=stopped
        )

    def _timed(self, plan: SharedPlan) -> Timing:
        keys = {reader.query.name: query_key(reader.query) for reader in plan.readers}
        known = frozenset(query.key for query in self.program.queries.values())
        settled = self._memory is not None  # at the start, committed batches may still be unanswered
        return self.cadences.propose(
            plan, keys, known, self.options, self.progress, self._rates(), settled=settled
        )

    def replan(self, left_out: frozenset[str]) -> Standing:
        """The standing program without these queries and those that were stopped before."""
        return self.stand(self.standing.catalog, self.standing.types, left_out)

    def _alone(self, query: WindowQuery) -> Standing:
        """A program of this query only, for trying it."""
        catalog = replace(self.standing.catalog, queries={query.name.lower(): query})
        return stand(catalog, self.standing.types, self.tables.content, sharing=True, timed=own_bounds)

    def _mark(self, failed: Sequence[tuple[str, str]]) -> None:
        """Queries that failed stay stopped, also after a crash: recorded before anything rests on it."""
        if not failed:
            return
        for name, why in failed:
            self.program = self.program.stop(name, why)
            self._report(why)
        self.store.save_program(self.program.number, self.program)

    # -- recovery ----------------------------------------------------------------------------------

    def _taken(self, stream: str) -> Iterator[Any]:
        for manifest in self._manifests():
            slices = manifest.read(BatchRecord).slices
            if stream in slices:
                yield slices[stream]

    def recover(self) -> None:
        """Bring memory to the last commit; answer what was committed but not answered; mend the sinks."""
        newest = self.progress
        queries = self.standing.catalog.queries.values()
        stable = frozenset(query.name for query in queries if query.top is not None and query.top.margin)
        batch, delivered = self.delivery.open([query.name for query in queries], stable)
        base = self.store.base()
        for manifest in self._manifests():
            for section in manifest.sections:
                self.memory.add(section, self.program.units)
            self.progress = {**{name: Progress() for name in newest}, **manifest.read(BatchRecord).progress}
            self.memory.seal(self.progress)
            if manifest is base or manifest.batch < batch:
                self._answered = {name: p.through for name, p in self.progress.items()}
                self.memory.drop(self.progress)
            else:
                self._pass(manifest.batch, delivered if manifest.batch == batch else {})
        self.progress = {**newest, **committed(self.store)}  # with what the passes have found

    # -- a batch -----------------------------------------------------------------------------------

    def tick(self, *, limit: int | None = None) -> Settled | None:
        """Run the next batch and answer what it released; None when there is nothing to read.

        ``limit`` is the most files to take from a stream, when less than the option says.
        """
        batch = self.store.next_batch()
        if self.tables.refresh():
            self.install(self.replan(frozenset()), {})
        plan = self.store.read_plan(batch, BatchPlan)
        if plan is None:
            plan = self._plan(limit)
            if plan is None:
                return None
            self.store.write_plan(batch, plan)
        planned = {name: s for name, s in plan.slices.items() if name in self.intakes}
        letters: list[DeadLetter] = []
        slices: dict[str, Any] = {}
        for name, whole in planned.items():
            slices[name], lost = self.intakes[name].check(whole)
            letters += [letter(name, why, batch, origin=path) for path, why in lost]
        work = Slices(batch, slices, plan.horizon)
        reduced = self._reduce(work)
        changed = [
            (name, path, why) for name, part in work.slices.items() for path, why in self.intakes[name].changed(part)
        ]
        if changed:
            # A file that changed while it was read may have been half of each: it does not count at all.
            letters += [letter(name, why, batch, origin=path) for name, path, why in changed]
            reduced = self._reduce(work.without(self.intakes, changed))
        for one in letters:
            self._report(f'file "{one.origin}" of stream "{one.stream}" was not read: {one.reason}')
        reduced.letters = letters + reduced.letters
        return self._commit(batch, planned, reduced)

    def _plan(self, limit: int | None) -> BatchPlan | None:
        now = self._clock.now()
        slices = self._arrivals.slices(self.intakes, now, limit)
        return BatchPlan(slices, now + self.options.max_ahead_us) if slices else None

    def _reduce(self, work: Slices) -> Reduced:
        reading = Reading(
            self.backend, self.store, self.intakes, self.tables.content, self.progress, self.replan, self._alone
        )
        reduced, culprits = reading.reduce(self.standing, work)
        for stream, path, why in culprits.files:
            self._report(f'file "{path}" of stream "{stream}" cannot be read: {why}')
        if culprits.queries:
            self._mark(culprits.queries)
            self.install(self.replan(frozenset()), {})
        return reduced

    def _commit(self, batch: int, planned: Mapping[str, Any], reduced: Reduced) -> Settled:
        after = dict(self.progress)
        for name, facts in reduced.facts.items():
            after[name] = after[name].after(facts, self.standing.catalog.streams[name].watermark_us)
        for one in reduced.letters:
            if one.row is None:  # a whole file; rows were counted where they were read
                after[one.stream] = replace(after[one.stream], dead=after[one.stream].dead + 1)
        return self._settle(batch, planned, after, reduced)

    def _settle(self, batch: int, slices: Mapping[str, Any], after: dict[str, Progress], reduced: Reduced) -> Settled:
        manifest = self.store.commit(batch, self._record(after, slices), reduced.sections, reduced.letters)
        if self.options.placement == "auto" and self.memory.too_large(manifest):
            self.install(self.standing, {})  # reads what was committed, and leaves in the store what is large
        else:
            for section in manifest.sections:
                self.memory.add(section, self.program.units)
        for name, planned in slices.items():
            self.intakes[name].taken(planned)
            self.intakes[name].finish(planned)
        self.progress = after
        self.memory.seal(after)
        answers = self._pass(batch)
        if len(self.store.manifests()) >= BATCHES_A_BASE or self._is_crowded():
            self._compact(batch)
        self.delivery.checkpoint()
        return Settled(batch, sum(facts.accepted for facts in reduced.facts.values()), answers)

    def _is_crowded(self) -> bool:
        """Whether the driver holds more than it should, and may put it into the store's shards."""
        return self.options.placement == "auto" and self.memory.crowding() != self.memory.crowded

    def _record(self, progress: Mapping[str, Progress], slices: Mapping[str, Any]) -> BatchRecord:
        return BatchRecord(progress, dict(self.tables.hashes), self._clock.now(), slices)

    def advance(self, through: Mapping[str, Micros]) -> Settled | None:
        """Streams are complete through these instants without new rows (idle, end of input); journaled as a batch."""
        after = self._completed(through)
        if after == self.progress:
            return None
        return self._settle(self.store.next_batch(), {}, after, Reduced())

    def in_one_go(self, through: Mapping[str, Micros]) -> dict[str, Micros]:
        """How far streams that are complete so far are completed before others have their turn; nowhere where that
        would release no instant. Old rows in a live stream may release millions."""
        dues = [d for _reader, d in self._due(self._completed(through))]
        if sum(d.most for d in dues) <= INSTANTS_A_GO:
            return dict(through) if dues else {}
        _start, stop = next(parts(dues, INSTANTS_A_GO))
        return {name: min(at, stop) for name, at in through.items()}

    def end_of_input(self) -> dict[str, Micros]:
        """Where every stream is complete once there are no more rows."""
        return end_of_input(self.progress, {query.streams for query in self.standing.catalog.queries.values()})

    def _completed(self, through: Mapping[str, Micros]) -> dict[str, Progress]:
        return {n: p.complete(through[n]) if n in through else p for n, p in self.progress.items()}

    # -- a pass ------------------------------------------------------------------------------------

    def _due(self, progress: Mapping[str, Progress]) -> list[tuple[Reader, Due]]:
        return due(self.standing, self.program, progress, self._answered)

    def _pass(self, batch: int, delivered: Delivered | None = None) -> int:
        """Answer everything that is due after this batch, except what was delivered before a crash."""
        released = self._clock.now()
        ready = self._due(self.progress)
        failed: set[str] = set()
        count = passes = 0
        for start, stop in parts([d for _reader, d in ready], INSTANTS_A_PART):
            listed = {which: d.part(start, stop).listed() for which, d in {id(d): d for _r, d in ready}.items()}
            asked = [self._asked(r, listed[id(d)]) for r, d in ready if r.query.name not in failed]
            if delivered:
                asked = [without(a, delivered) for a in asked]
            timing = self.standing.timing
            asked = self._cuts.known(batch, [a for a in asked if a.due.instants.size])
            for some, work in self.answering.passes(asked, timing, released):
                still = [a for a in some if a.reader.query.name not in failed]
                if self._gives_way:
                    still = self._cuts.decide(batch, still, self._clock.now(), released, self.answering.cost, work)
                blocks, problems = self.answering.answer(still, self.memory, timing, released)
                self._mark(problems)
                failed |= {name for name, _why in problems}
                for name, letters in self._broken.write(batch).items():
                    self.progress[name] = replace(self.progress[name], dead=self.progress[name].dead + letters)
                if blocks:
                    count += self.delivery.deliver(batch, passes, blocks)
                    passes += 1
        self._answered = {name: p.through for name, p in self.progress.items()}
        self.memory.drop(self.progress)
        self._broken.forget(self.memory.oldest(self.progress))
        if failed:
            self.install(self.replan(frozenset()), {})
        self._drifted()
        return count

    def _asked(self, reader: Reader, instants: Listed) -> Asked:
        name = reader.query.name
        state = self.program.queries[name]
        return Asked(reader, self.standing.types[name], instants, state.covered_from, state.after)

    def _drifted(self) -> None:
        """Live, now and then: plan anew where measured costs are not those of the plans. Units stay as they are."""
        now = self._clock.monotonic()
        if not self._judged or self.options.window_merge != "scan" or now - self._planned < REPLAN_US:
            return
        self._planned = now
        in_use = self._rates()
        found = {**in_use, **self.answering.rates(in_use)}
        if found == in_use:
            return
        self._measured_rates = found
        timing = self._timed(self.standing.plan)
        if timing.steps == self.standing.timing.steps:
            self.cadences.adopt(timing)
            self._standing = replace(self.standing, timing=timing)
        else:
            self.install(self.replan(frozenset()), {})

    def _rates(self) -> dict[str, Rates]:
        return {**self.cadences.rates, **self._measured_rates}

    # -- upkeep ------------------------------------------------------------------------------------

    def _compact(self, batch: int) -> None:
        """One base in place of all batches so far, all of which are answered."""
        taken = {name: intake.everything_taken() for name, intake in self.intakes.items()}
        self.store.rebase(batch, self._record(self.progress, taken), self.memory.export(batch))
        forms = {name for names in self.program.forms.values() for name, _since in names}
        named = {name: unit for name, unit in self.program.units.items() if name in forms}
        if named != self.program.units:  # other units have no cells any more
            self.program = replace(self.program, number=self.program.number + 1, units=named)
            self.store.save_program(self.program.number, self.program)
        if self.memory.in_shards or self.memory.crowding() != self.memory.crowded:
            self.install(self.standing, {})

    def close(self) -> None:
        """Leave a state that resumes."""
        self.delivery.close()
        self.store.close()
