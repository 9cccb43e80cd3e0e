"""Look at a program: check it and plan it, without reading data or running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from punctual.catalog import Catalog
from punctual.clock import SECOND, Micros
from punctual.config import Options, parse_options
from punctual.errors import PlanError, ProgramErrors
from punctual.estimate.known_costs import KnownCosts
from punctual.estimate.quality_curve import curve_of
from punctual.explain.answered_from import answered_from
from punctual.explain.epochs import epochs_text
from punctual.explain.schedule import Schedule
from punctual.explain.sharing import explain_json, explain_query, explain_sharing
from punctual.kinds.program import compile_program, share, typecheck
from punctual.kinds.registry import kind_of
from punctual.plan.query import Bound, Once, Query
from punctual.plan.shared import SharedPlan
from punctual.runtime.backend import TypeReport
from punctual.runtime.spark import SparkBackend
from punctual.runtime.ways import streams_that_spark_reads
from punctual.schedule.contract import Contract
from punctual.schedule.due import FOREVER, Timetable
from punctual.schedule.qos.admission import short_deadline
from punctual.share.cadence.marginal import Ride, Rides
from punctual.share.from_rows import NOBODY, FromRows
from punctual.sql.bound import Explain
from punctual.sql.program import Program, RefusedProgram


@dataclass(frozen=True, slots=True)
class Look:
    """A program's names and its shared plan."""

    catalog: Catalog
    plan: SharedPlan
    timing: Schedule
    explain_statements: tuple[Explain, ...] = ()
    costs: KnownCosts | None = None
    """What a state or an engine knows of costs, where there is one."""
    from_rows: FromRows = NOBODY
    """Which aggregates are answered from rows."""
    stands: Mapping[str, bool] = field(default_factory=dict)
    """By row query whether its plan is made once and run again, where Spark was asked."""
    epochs: str = ""
    """How queries with ANSWERS are planned, where epochs are."""
    tick_us: Micros = SECOND
    """How often a live program looks for rows."""

    def answered_from(self) -> dict[str, str]:
        """What each query is answered from, in a few words."""
        return answered_from(self.plan, self.stands)

    def warnings(self) -> list[str]:
        """Deadlines that a live program cannot promise, a sentence each."""
        asked = [_contract(query) for query in self.catalog.queries.values()]
        return [warning for warning in (short_deadline(one, self.tick_us) for one in asked) if warning is not None]

    def sharing(self) -> str:
        """EXPLAIN SHARING."""
        work = "work" if self.timing.operator == "scan" else "answers"
        return explain_sharing(self.plan, self.catalog, self._rides(), work, self.costs)

    def schedule(self) -> str:
        """EXPLAIN SCHEDULE."""
        return "\n\n".join(text for text in (self.timing.text(), self.epochs) if text)

    def to_json(self) -> dict[str, Any]:
        return explain_json(self.plan, self.catalog, self.timing, self._rides())

    def explanations(self) -> list[str]:
        """What the program's own EXPLAIN statements say."""
        return [self._explained(statement) for statement in self.explain_statements]

    def _rides(self) -> list[Ride]:
        return Rides(self.timing.plans, self.timing.asked, self.timing.operator, self.timing.rates).all()

    def _explained(self, statement: Explain) -> str:
        match statement.kind:
            case "query":
                assert statement.query is not None
                known = self.costs or KnownCosts()
                return explain_query(self.catalog, statement.query, known, from_rows=self.from_rows)
            case "sharing":
                return self.sharing()
            case "schedule":
                return self.schedule()


def _contract(query: Query) -> Contract:
    """What a query asks for, as far as its deadlines go."""
    return Contract(
        query.name,
        query.streams,
        query.range_us,
        Timetable.once(None),
        FOREVER if isinstance(query.cadence, Once) else query.cadence.us,
        deadline_us=query.deadline_us,
        fixed=not isinstance(query.cadence, Bound),
        curve=None if query.quality is None else curve_of(query.quality),
        stages=query.stages,
    )


def look_at(
    text: str, base: str, options: Mapping[str, str], *, types: bool, costs: KnownCosts | None = None
) -> Look:
    """Compile and plan; with ``types`` they are checked too: by Spark, in a JVM, where that is not plain.

    Where something is wrong the types of the rest are checked all the same, so that all errors are shown at once.
    ``costs`` are those that a state knows.
    """
    try:
        program = compile_program(text, base=base)
    except RefusedProgram as refused:
        raise ProgramErrors((*refused.errors, *_checked(refused.bound).errors), text) from None
    settings = parse_options({**program.catalog.options, **options})
    found = _checked(program) if types else TypeReport({}, ())
    if found.errors:
        raise ProgramErrors(found.errors, text)
    asked = tuple(s for s in program.statements if isinstance(s, Explain))
    catalog = replace(program.catalog, queries=_with_sampling(program.catalog.queries, found))
    try:
        look = replace(plan_look(catalog, settings, asked), costs=costs)
    except PlanError as error:
        raise ProgramErrors([error], text) from None
    return replace(look, stands={n: one.stands for n, one in found.queries.items() if one.stands is not None})


def _with_sampling(queries: Mapping[str, Query], found: TypeReport) -> dict[str, Query]:
    """The queries, of which those with QUALITY know how they may be sampled where Spark was asked."""
    return {
        name: kind_of(query).with_casts(query, found.queries[query.name])
        if query.quality is not None and query.name in found.queries
        else query
        for name, query in queries.items()
    }


def _checked(program: Program) -> TypeReport:
    """What the data plane and the types say of a program, and against it."""
    backend = SparkBackend(at_once=False)
    try:
        return typecheck(backend, program.declarations, list(program.catalog.queries.values()), ())
    finally:
        backend.close()


def plan_look(catalog: Catalog, settings: Options, asked: tuple[Explain, ...] = ()) -> Look:
    """The shared plan and the schedule of a program's names, as an engine would plan them at its start."""
    queries = catalog.queries.values()
    bare = share(queries, sharing=settings.sharing)
    timing = Schedule.of(bare, settings.cadence, scan=settings.window_merge == "scan", rates={})
    steps = {name: step for plan in timing.plans for name, step in plan.steps().items()}
    from_rows = FromRows.asked(settings)
    chosen = from_rows.of(bare, streams_that_spark_reads(catalog.streams))
    plan = share(queries, sharing=settings.sharing, steps=steps, rows_of=catalog.streams, chosen=chosen)
    epochs = epochs_text(settings, queries)
    return Look(catalog, plan, timing, asked, from_rows=from_rows, epochs=epochs, tick_us=settings.tick_us)
