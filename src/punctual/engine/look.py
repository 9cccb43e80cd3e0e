"""Look at a program: judge it and plan it, without reading data or running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from punctual.catalog import Catalog
from punctual.config import parse_options
from punctual.engine.explain import explain_json, explain_query, explain_schedule, explain_sharing
from punctual.errors import ProgramErrors
from punctual.plan.shared import SharedPlan
from punctual.runtime.backend import Declared
from punctual.runtime.spark import SparkBackend
from punctual.share.units import share
from punctual.sql.bound import CreateStream, CreateTable, Explain
from punctual.sql.program import Program, compile_program


@dataclass(frozen=True, slots=True)
class Look:
    """A program's names and its shared plan."""

    catalog: Catalog
    plan: SharedPlan
    explanations: tuple[str, ...]
    """What the program's own EXPLAIN statements say."""

    def sharing(self) -> str:
        return explain_sharing(self.plan, self.catalog)

    def schedule(self) -> str:
        return explain_schedule(self.plan)

    def to_json(self) -> dict[str, Any]:
        return explain_json(self.plan)


def look_at(text: str, base: str, options: Mapping[str, str], *, judge: bool) -> Look:
    """Compile and plan; with ``judge`` functions and types are judged too, which starts a JVM."""
    program = compile_program(text, base=base)
    settings = parse_options({**program.catalog.options, **options})
    if judge:
        backend = SparkBackend()
        try:
            found = backend.judge(declarations(program), list(program.catalog.queries.values()), ())
        finally:
            backend.close()
        if found.errors:
            raise ProgramErrors(found.errors, text)
    plan = share(program.catalog.queries.values(), sharing=settings.sharing)
    asked = [s for s in program.statements if isinstance(s, Explain)]
    return Look(program.catalog, plan, tuple(_explained(s, plan, program.catalog) for s in asked))


def _explained(statement: Explain, plan: SharedPlan, catalog: Catalog) -> str:
    match statement.kind:
        case "query":
            return explain_query(catalog, statement.query or "")
        case "sharing":
            return explain_sharing(plan, catalog)
        case "schedule":
            return explain_schedule(plan)


def declarations(program: Program) -> list[Declared]:
    """The streams and tables that a program declares, with the places of their columns."""
    found = []
    for statement in program.statements:
        if isinstance(statement, CreateStream):
            spans = _spans(statement)
            found.append(Declared(statement.stream, spans, statement.span))
        elif isinstance(statement, CreateTable):
            found.append(Declared(statement.table, _spans(statement), statement.span))
    return found


def _spans(statement: CreateStream | CreateTable) -> tuple[Any, ...]:
    return tuple(d or c for c, d in zip(statement.column_spans, statement.derived_spans))
