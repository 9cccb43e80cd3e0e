"""The program that runs, and how it changes: planned, registered in the state, its queries stopped one by one.

A change takes effect between two batches. Planning is pure; everything that is durable about a program is written here
(its snapshot, its cadence plans) before anything follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from punctual.catalog import Catalog
from punctual.clock import Micros
from punctual.config import Options
from punctual.engine.batch.progress import Progress
from punctual.engine.journal import Journal
from punctual.engine.program.admitting import asked_contract
from punctual.engine.program.cadences import Cadences, PlansOf, Timing, own_bounds
from punctual.engine.program.program_state import ProgramState
from punctual.engine.program.registration import registered
from punctual.engine.program.running_program import RunningProgram, plan_program, query_key
from punctual.engine.program.tables import Tables
from punctual.errors import PlanError
from punctual.estimate.window_work import Rates
from punctual.kinds.registry import kind_of
from punctual.plan.query import Query
from punctual.plan.shared import Needs, Reader, RowNeeds, RowReader, SharedPlan
from punctual.ports.feeds.feed import Feed
from punctual.runtime.backend import QueryTypes
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Contract
from punctual.schedule.due import Timetable
from punctual.share.cadence.class_plans import class_plans
from punctual.share.from_rows import FromRows
from punctual.share.planner import ProgramPlanner
from punctual.store.products import Cells
from punctual.store.store import Store


@dataclass(frozen=True, slots=True)
class Change:
    """A program that was accepted: its names, the types of its queries, its options, and feeds that are new."""

    catalog: Catalog
    types: Mapping[str, QueryTypes]
    options: Options
    feeds: Mapping[str, Feed] = field(default_factory=dict)


class Programs:
    """The program of one state. ``report`` is told what a person should know."""

    def __init__(
        self, store: Store, journal: Journal, tables: Tables, options: Options, report: Callable[[str], None]
    ) -> None:
        self.options = options
        self.tables = tables
        self.cadences = Cadences(journal)
        self.state = store.program.read(ProgramState) or ProgramState()
        self._store = store
        self._report = report
        self._running: RunningProgram | None = None
        self._measured: dict[str, Rates] = {}
        self._planner = ProgramPlanner()
        self.readers: Mapping[str, Reader | RowReader] = {}
        """The queries that run, by name."""
        self.contracts = Contracts()
        """What the scheduler knows of them."""
        self._parts: dict[str, tuple[object, ...]] = {}

    @property
    def running(self) -> RunningProgram:
        """The program that runs."""
        assert self._running is not None, "no program was installed"
        return self._running

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def plan(self, change: Change, progress: Mapping[str, Progress]) -> RunningProgram:
        """Plan a program, without queries that were stopped before. What did not change is not planned again."""
        planner = self._planner
        return plan_program(
            change.catalog,
            change.types,
            self.tables.content,
            sharing=change.options.sharing,
            timed=lambda plan: self.timing(plan, change.options, progress, planner.class_plans),
            stopped=self.stopped(change.catalog),
            share=planner.share,
            from_rows=FromRows.asked(change.options),
        )

    def plan_without(
        self, change: Change, progress: Mapping[str, Progress], left_out: frozenset[str]
    ) -> RunningProgram:
        """Plan a program without these queries either, for trying; from any thread."""
        return plan_program(
            change.catalog,
            change.types,
            self.tables.content,
            sharing=change.options.sharing,
            timed=lambda plan: self.timing(plan, change.options, progress),
            stopped=self.stopped(change.catalog) | left_out,
            from_rows=FromRows.asked(change.options),
        )

    def timing(
        self,
        plan: SharedPlan,
        options: Options,
        progress: Mapping[str, Progress],
        plans_of: PlansOf = class_plans,
    ) -> Timing:
        """When the queries of a plan answer."""
        keys = {query.name: query_key(query) for query in plan.queries}
        known = frozenset(query.key for query in self.state.queries.values())
        # At the start, committed batches may still be unanswered: no cadence plan is forgotten then.
        settled = self.is_running
        return self.cadences.propose(
            plan, keys, known, options, progress, self.rates, settled=settled, class_plans=plans_of
        )

    @property
    def rates(self) -> dict[str, Rates]:
        """By class, the costs that plans are made for."""
        return {**self.cadences.rates, **self._measured}

    def retime(self, rates: Mapping[str, Rates], progress: Mapping[str, Progress]) -> RunningProgram | None:
        """Plan for these costs: the program with new instants, or None where its units have to change with them."""
        measured, self._measured = self._measured, dict(rates)
        try:
            timing = self.timing(self.running.plan, self.options, progress)
        except PlanError:  # no plan can be made for these costs: those in force stay
            self._measured = measured
            return self.running
        if timing.steps != self.running.timing.steps:
            return None
        self.cadences.adopt(timing)
        self._running = replace(self.running, timing=timing)
        self._changed()
        return self._running

    @property
    def watermarks(self) -> dict[str, Micros]:
        """By stream."""
        return {name: stream.watermark_us for name, stream in self.running.catalog.streams.items()}

    def current(self) -> Change:
        """The running program, as what could be planned anew."""
        return Change(self.running.catalog, self.running.types, self.options)

    def alone(self, query: Query, needs: Needs | RowNeeds) -> RunningProgram:
        """A program of this query only, or of a part of what it needs, for trying it."""
        catalog = replace(self.running.catalog, queries={query.name.lower(): query})
        rows = FromRows(every=query.name in self.running.lifted)
        return plan_program(
            catalog, self.running.types, self.tables.content, sharing=True, timed=own_bounds,
            needs=lambda _query: needs, from_rows=rows,
        )  # fmt: skip

    def adopt(self, running: RunningProgram, options: Options, progress: Mapping[str, Progress]) -> None:
        """From now on this program runs. Its cadence plans and its registration are durable when this returns."""
        self.options = options
        self._running = running
        self.cadences.adopt(running.timing)
        program = registered(running, self.state, progress, self._kept_units())
        if self.state.number == 0 or program != self.state:
            self._save(replace(program, number=self.state.number + 1))
        self._changed()

    def stopped(self, catalog: Catalog | None = None) -> frozenset[str]:
        """Queries that failed and no longer run; one that means something else in ``catalog`` starts anew."""
        declared = {q.name: query_key(q) for q in (catalog.queries.values() if catalog is not None else ())}
        return frozenset(
            name
            for name, query in self.state.queries.items()
            if query.stopped is not None and declared.get(name, query.key) == query.key
        )

    def stop(self, failed: Sequence[tuple[str, str]]) -> None:
        """Queries that failed stay stopped, also after a crash: recorded before anything rests on it."""
        new = [(name, why) for name, why in failed if name not in self.stopped()]
        program = self.state
        for name, why in new:
            program = program.stop(name, why)
            self._report(why)
        if new:
            self._save(program)
            self._changed()

    def ask(self, instants: Mapping[str, Micros]) -> None:
        """Queries that are asked once are asked at these instants: recorded before anything rests on it."""
        self._save(self.state.ask(instants))
        self._changed()

    def _kept_units(self) -> set[str]:
        """Names of the units that the store holds cells of."""
        base = self._store.base()
        manifests = ([base] if base is not None else []) + self._store.manifests()
        products = [section.product for manifest in manifests for section in manifest.sections]
        return {product.unit for product in products if isinstance(product, Cells)}

    def _save(self, program: ProgramState) -> None:
        self.state = program
        self._store.program.save(program.number, program)

    def _changed(self) -> None:
        """What is looked up with every pass is made once for every change, and only for what changed."""
        stopped = self.stopped()
        plan = self.running.plan
        readers: list[Reader | RowReader] = [*plan.readers, *plan.row_readers]
        every = {one.query.name: one for one in readers}
        order = (query.name for query in self.running.catalog.queries.values())
        self.readers = {name: every[name] for name in order if name in every and name not in stopped}
        timing, former, self._parts = self.running.timing, self._parts, {}
        contracts: list[Contract] = []
        for name, reader in self.readers.items():
            parts = (reader, timing.tables[name], timing.works[name], timing.classes[name], self.state.queries[name])
            same = name in former and all(one is other for one, other in zip(former[name], parts))
            contracts.append(self.contracts[name] if same else self._contract(reader))
            self._parts[name] = parts
        self.contracts = Contracts(contracts)

    def _contract(self, reader: Reader | RowReader) -> Contract:
        query, timing = reader.query, self.running.timing
        work = timing.works[query.name]
        known = self.state.queries[query.name]
        kind = kind_of(query)
        return replace(
            asked_contract(reader),
            table=timing.tables[query.name] if known.asked is None else Timetable.once(known.asked),
            after=known.after,
            sharing_class=timing.classes[query.name],
            shared=float(work.shared),
            own=float(work.own),
            meaning=known.key,
            in_order=kind.in_order(query),
            knob=kind.knob(query),
            ahead=kind.draws_ahead(query),
        )
