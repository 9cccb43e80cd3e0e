"""CREATE QUERY: from syntax to a :class:`Query`, with everything wrong found at once.

FROM gives the scope, the clauses the header; the SELECT itself is bound by its kind (:mod:`punctual.sql.body_binder`).
A construct that this release does not run is bound as far as its names go, and then refused by ``plan.not-yet``.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.catalog import Catalog
from punctual.errors import BindError, Span
from punctual.plan.query import Input, Query
from punctual.sql.bind_cadence import bind_cadence, bind_range
from punctual.sql.bind_from import BoundFrom, bind_from
from punctual.sql.bind_rows import check_names
from punctual.sql.body_binder import BodyBinder, BoundBody
from punctual.sql.bound import CreateQuery
from punctual.sql.problems import Problems, suggest
from punctual.sql.scope import Relation
from punctual.sql.statement import CreateQuerySyntax, SelectSyntax

RUNS = ("PERIOD", "FREQUENCY", "DEADLINE")
"""The clauses of every query that this release carries out."""


def bind_query(
    syntax: CreateQuerySyntax,
    text: str,
    catalog: Catalog,
    failed: frozenset[str],
    binders: Sequence[BodyBinder],
    problems: Problems,
) -> CreateQuery | None:
    """The query, or None with the reasons in ``problems``."""
    select = syntax.select
    bound = bind_from(select, catalog, failed, problems)
    cadence = bind_cadence(select, bound, problems)
    binder = next((one for one in binders if one.claims(select, bound)), None)
    _refuse_clauses(select, bound, binder, problems)
    _refuse_other_selects(select, catalog, failed, problems)
    if bound.complete and not bound.streams:
        problems.not_yet("a query without a stream", select.sources[0].span)
    body: BoundBody | None = None
    if binder is not None:
        body = binder.bind(select, bound, problems)
    else:
        _refuse_rows(select, bound, problems)
    range_us = bind_range(bound, cadence)
    if problems or body is None or cadence is None or range_us is None:
        return None
    deadline = select.clause("DEADLINE")
    query = Query(
        name=syntax.name.text,
        inputs=tuple(Input(item.stream.name, range_us) for item in bound.streams),
        cadence=cadence,
        outputs=body.outputs,
        body=body.body,
        order=body.order,
        limit=body.limit,
        deadline_us=deadline.durations[0].us if deadline else None,
        text=text[syntax.span.start : syntax.span.end],
        span=syntax.span,
    )
    return CreateQuery(query, syntax.span)


def _refuse_rows(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
    """A query whose answer is made of rows: its names are checked, and it is refused."""
    if select.distinct is not None:
        problems.not_yet("SELECT DISTINCT", select.distinct, "GROUP BY the same columns")
    if not bound.complete:
        return
    check_names(select, bound, problems)
    if not any(item.syntax.model for item in bound.streams):
        what = "SELECT *" if select.items[0].expression is None else "a query without aggregates"
        problems.not_yet(what, select.items[0].span, "for example: SELECT lane, count(*) ... GROUP BY lane")


def _refuse_clauses(select: SelectSyntax, bound: BoundFrom, binder: BodyBinder | None, problems: Problems) -> None:
    own = binder.clauses if binder is not None else frozenset[str]()
    for clause in select.clauses:
        for name in clause.names:
            _check_mentioned(clause.keyword, name.text, name.span, bound, problems)
        if clause.keyword in RUNS or clause.keyword in own:
            continue
        if clause.keyword == "STABLE":
            problems.add(BindError(
                "bind.stable-without-top", "STABLE is for rankings, and this query has no TOP", span=clause.span,
                hint="leave STABLE out, or rank: SELECT TOP 3 ... ORDER BY score",
            ))
        else:
            problems.not_yet(clause.keyword, clause.span)


def _check_mentioned(keyword: str, name: str, span: Span, bound: BoundFrom, problems: Problems) -> None:
    """ERROR ... ON names a column, QUALITY names FROM items."""
    relations: tuple[Relation, ...] = bound.scope.relations
    if keyword == "ERROR":
        known = [column.name for relation in relations for column in relation.columns]
        code, fact = "bind.unknown-column", f'there is no column "{name}"'
    else:
        known = [relation.alias for relation in relations]
        code, fact = "bind.unknown-stream", f'there is no FROM item "{name}"'
    if bound.complete and name.lower() not in {k.lower() for k in known}:
        problems.add(BindError(code, fact, span=span, hint=suggest(name, known, "names")))


def _refuse_other_selects(
    select: SelectSyntax, catalog: Catalog, failed: frozenset[str], problems: Problems
) -> None:
    for source in select.sources:
        if isinstance(source.source, SelectSyntax):
            bind_from(source.source, catalog, failed, problems)
    if select.union is not None:
        problems.not_yet("UNION ALL", select.union_span)
        bind_from(select.union, catalog, failed, problems)
