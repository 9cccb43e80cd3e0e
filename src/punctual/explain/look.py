"""Look at a program: check it and plan it, without reading data or running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from punctual.catalog import Catalog
from punctual.config import Options, parse_options
from punctual.errors import PlanError, ProgramErrors
from punctual.explain.schedule import Schedule
from punctual.explain.sharing import explain_json, explain_query, explain_sharing
from punctual.kinds.program import compile_program, share, typecheck
from punctual.plan.shared import SharedPlan
from punctual.runtime.spark import SparkBackend
from punctual.share.cadence.marginal import Ride, Rides
from punctual.sql.bound import Explain


@dataclass(frozen=True, slots=True)
class Look:
    """A program's names and its shared plan."""

    catalog: Catalog
    plan: SharedPlan
    timing: Schedule
    explain_statements: tuple[Explain, ...] = ()

    def sharing(self) -> str:
        """EXPLAIN SHARING."""
        work = "work" if self.timing.operator == "scan" else "answers"
        return explain_sharing(self.plan, self.catalog, self._rides(), work)

    def schedule(self) -> str:
        """EXPLAIN SCHEDULE."""
        return self.timing.text()

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
                return explain_query(self.catalog, statement.query)
            case "sharing":
                return self.sharing()
            case "schedule":
                return self.schedule()


def look_at(text: str, base: str, options: Mapping[str, str], *, types: bool) -> Look:
    """Compile and plan; with ``types`` they are checked too: by Spark, in a JVM, where that is not plain."""
    program = compile_program(text, base=base)
    settings = parse_options({**program.catalog.options, **options})
    if types:
        backend = SparkBackend(at_once=False)
        try:
            found = typecheck(backend, program.declarations, list(program.catalog.queries.values()), ())
        finally:
            backend.close()
        if found.errors:
            raise ProgramErrors(found.errors, text)
    asked = tuple(s for s in program.statements if isinstance(s, Explain))
    try:
        return plan_look(program.catalog, settings, asked)
    except PlanError as error:
        raise ProgramErrors([error], text) from None


def plan_look(catalog: Catalog, settings: Options, asked: tuple[Explain, ...] = ()) -> Look:
    """The shared plan and the schedule of a program's names, as an engine would plan them at its start."""
    queries = catalog.queries.values()
    bare = share(queries, sharing=settings.sharing)
    timing = Schedule.of(bare, settings.cadence, scan=settings.window_merge == "scan", rates={})
    steps = {name: step for plan in timing.plans for name, step in plan.steps().items()}
    return Look(catalog, share(queries, sharing=settings.sharing, steps=steps), timing, asked)
