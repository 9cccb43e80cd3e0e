"""CREATE QUERY: from syntax to a :class:`Query`, with everything wrong found at once.

FROM gives the scope, the clauses the header; the SELECT itself is bound by its kind (:mod:`punctual.sql.body_binder`).
Where panes cannot answer it, it is bound again as a row query, whose text is Spark's. A construct that this release
does not run is bound as far as its names go, and then refused by ``plan.not-yet``.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.catalog import Catalog
from punctual.plan.query import Input, Query
from punctual.sql.bind_cadence import bind_cadence, bind_range, check_slides
from punctual.sql.bind_clauses import check_clauses
from punctual.sql.bind_from import BoundFrom, bind_from
from punctual.sql.bind_nested import refuse_nested
from punctual.sql.bind_row_query import bind_row_query
from punctual.sql.bind_rows import check_rows
from punctual.sql.body_binder import BodyBinder, BoundBody, RowBody, binder_of
from punctual.sql.bound import CreateQuery
from punctual.sql.problems import Problems
from punctual.sql.syntax.clauses import DeadlineClause
from punctual.sql.syntax.select import SelectSyntax, unites
from punctual.sql.syntax.statement import CreateQuerySyntax


def bind_query(
    syntax: CreateQuerySyntax,
    text: str,
    catalog: Catalog,
    failed: frozenset[str],
    binders: Sequence[BodyBinder],
    row_body: RowBody,
    problems: Problems,
) -> CreateQuery | None:
    """The query, or None with the reasons in ``problems``."""
    if syntax.select is None:
        return bind_row_query(syntax, text, catalog, failed, row_body, problems)
    found = Problems()
    try:
        bound = _bind_select(syntax, syntax.select, text, catalog, failed, binders, found)
    finally:
        if not found.rows_are_needed:
            problems.take(found)
    return bind_row_query(syntax, text, catalog, failed, row_body, problems) if found.rows_are_needed else bound


def _bind_select(
    syntax: CreateQuerySyntax,
    select: SelectSyntax,
    text: str,
    catalog: Catalog,
    failed: frozenset[str],
    binders: Sequence[BodyBinder],
    problems: Problems,
) -> CreateQuery | None:
    """A query that panes may answer."""
    bound = bind_from(select, catalog, failed, problems)
    check_slides([item.syntax.window for item in bound.streams], problems)
    cadence = bind_cadence(select, bound, problems)
    binder = binder_of(select, bound, binders)
    check_clauses(select, bound, binder, problems)
    refuse_nested(select, catalog, failed, binders, problems)
    if bound.complete and not bound.streams:
        problems.not_yet("a query without a stream", bound.tables[0].syntax.span)
    body: BoundBody | None = None
    if binder is not None:
        body = binder.bind(select, bound, problems)
        if binder.without_rows is not None:
            problems.without_rows(binder.without_rows)
    else:
        _check_rows(select, bound, problems)
    if unites(select.source):  # which is our own syntax, and not Spark's
        problems.without_rows("over a UNION ALL in FROM")
    range_us = bind_range(bound, cadence)
    if problems or body is None or cadence is None or range_us is None:
        return None
    deadline = select.clause(DeadlineClause)
    query = Query(
        name=syntax.name.text,
        inputs=tuple(Input(item.stream.name, range_us) for item in bound.streams),
        cadence=cadence,
        outputs=body.outputs,
        body=body.body,
        order=body.order,
        limit=body.limit,
        deadline_us=deadline.duration.us if deadline else None,
        text=text[syntax.span.start : syntax.span.end],
        span=syntax.span,
    )
    return CreateQuery(query, syntax.span)


def _check_rows(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
    """A query whose answer is made of rows: panes cannot answer it."""
    if select.distinct is not None:
        problems.needs_rows("SELECT DISTINCT", select.distinct)
    if not bound.complete:
        return
    check_rows(select, bound, problems)
    if not any(item.syntax.model for item in bound.streams):
        problems.needs_rows("a query without aggregates", select.items[0].span)
