"""EXPLAIN on an engine: by what it has learned of costs, and for queries that it does not run yet by their plans."""

from __future__ import annotations

from dataclasses import replace

from punctual.catalog import Catalog
from punctual.config import Options
from punctual.engine.core import Core
from punctual.errors import PlanError, ProgramErrors
from punctual.estimate.known_costs import KnownCosts
from punctual.estimate.row_costs import meaning_of
from punctual.explain.look import plan_look
from punctual.kinds.program import typecheck
from punctual.kinds.registry import kind_of, needs_of
from punctual.plan.query import Query
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import RowNeeds
from punctual.sql.bound import Explain
from punctual.sql.program import Program


def explained(core: Core | None, program: Program, options: Options, text: str) -> str:
    """What the EXPLAIN statements of a program say; without a core nothing was measured."""
    asked = tuple(statement for statement in program.statements if isinstance(statement, Explain))
    costs = KnownCosts()
    if core is not None:
        costs = core.costs.known()
        asked = tuple(_as_it_runs(core, program.catalog, statement, text) for statement in asked)
        for query in (statement.query for statement in asked if statement.query is not None):
            costs = _with_plan(core, program.catalog, query, costs, text)
    try:
        return "\n".join(replace(plan_look(program.catalog, options, asked), costs=costs).explanations())
    except PlanError as error:
        raise ProgramErrors([error], text) from None


def _as_it_runs(core: Core, catalog: Catalog, statement: Explain, text: str) -> Explain:
    """The same of a row query with QUALITY that knows how it may be sampled, which follows from its plan."""
    query = statement.query
    if query is None or query.quality is None or not isinstance(needs_of(query), RowNeeds):
        return statement
    report = typecheck(core.backend, (), [query], [*catalog.streams.values(), *catalog.tables.values()])
    if report.errors:
        raise ProgramErrors(report.errors, text)
    return replace(statement, query=kind_of(query).with_casts(query, report.queries[query.name]))


def _with_plan(core: Core, catalog: Catalog, query: Query, costs: KnownCosts, text: str) -> KnownCosts:
    """The same with the plan of a row query that was never answered."""
    needs = needs_of(query)
    if not isinstance(needs, RowNeeds) or not isinstance(needs.statement, RowStatement):
        return costs
    meaning, known = meaning_of(needs.statement), costs.rows.queries.get(query.name)
    if known is not None and known.meaning == meaning:
        return costs
    report = typecheck(core.backend, (), [query], [*catalog.streams.values(), *catalog.tables.values()])
    if report.errors:
        raise ProgramErrors(report.errors, text)
    tables = core.programs.tables.content
    operators = core.backend.row_operators(needs.statement, report.queries[query.name], tables)
    if operators is None:
        return costs
    return replace(costs, rows=costs.rows.with_plan(query.name, meaning, operators))
