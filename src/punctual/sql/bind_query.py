"""CREATE QUERY: from syntax to a :class:`Query`, with everything wrong found at once.

FROM gives the scope, the clauses the header; the SELECT itself is bound by its kind (:mod:`punctual.sql.body_binder`).
Where panes cannot answer it, it is bound again as a row query, whose text is Spark's. A construct that this release
does not run is bound as far as its names go, and then refused by ``plan.not-yet``.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.catalog import Catalog
from punctual.plan.quality import Quality
from punctual.plan.query import Cadence, Input, Query
from punctual.plan.source import told_apart_by
from punctual.sql.bind_cadence import bind_cadence, bind_range, check_slides
from punctual.sql.bind_clauses import check_clauses, stages_of
from punctual.sql.bind_from import BoundFrom, StreamItem, bind_from
from punctual.sql.bind_nested import refuse_nested
from punctual.sql.bind_quality import bind_deadline, bind_quality
from punctual.sql.bind_row_query import bind_row_query
from punctual.sql.bind_rows import check_rows
from punctual.sql.body_binder import BodyBinder, BoundBody, RowBody, binder_of
from punctual.sql.bound import CreateQuery
from punctual.sql.problems import Problems
from punctual.sql.syntax.select import SelectSyntax
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
        return bind_row_query(syntax, text, catalog, failed, binders, row_body, problems)
    found = Problems()
    try:
        bound = _bind_select(syntax, syntax.select, text, catalog, failed, binders, found)
    finally:
        if not found.rows_are_needed:
            problems.take(found)
    if found.rows_are_needed:
        return bind_row_query(syntax, text, catalog, failed, binders, row_body, problems)
    return bound


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
    inputs = [item.relation.alias for item in bound.streams] if bound.complete else None
    quality = bind_quality(select.clauses, inputs, problems)
    deadline_us = bind_deadline(select.clauses, cadence, problems)
    refuse_nested(select, catalog, failed, binders, problems)
    if bound.complete and not bound.streams:
        problems.not_yet("a query without a stream", bound.tables[0].syntax.span)
    joins_windows = binder is not None and binder.joins_windows(sampled=quality is not None)
    if bound.joined is not None and not joins_windows:
        problems.needs_rows("a join of two streams", bound.joined)
    body: BoundBody | None = None
    if binder is not None:
        body = binder.bind(select, bound, problems)
        if binder.without_rows is not None:
            problems.without_rows(binder.without_rows)
        # Spark knows more of names in joins, and has the last word.
        if bound.joined is not None and joins_windows and problems and binder.without_rows is None:
            problems.needs_rows("a join of two streams", bound.joined)
    else:
        _check_rows(select, bound, problems)
    if problems or body is None or cadence is None:
        return None
    query = Query(
        name=syntax.name.text,
        inputs=tuple(_input(item, bound, quality, cadence) for item in bound.streams),
        cadence=cadence,
        outputs=body.outputs,
        body=body.body,
        order=body.order,
        limit=body.limit,
        deadline_us=deadline_us,
        quality=quality,
        stages=stages_of(select.clauses),
        text=text[syntax.span.start : syntax.span.end],
        span=syntax.span,
    )
    return CreateQuery(query, syntax.span)


def _input(item: StreamItem, bound: BoundFrom, quality: Quality | None, cadence: Cadence) -> Input:
    """A window, with its name where samples of several, or a table of QUALITY, need it."""
    named = bound.joined is not None or (quality is not None and quality.inputs and len(bound.streams) == 1)
    name = item.relation.alias if named else ""
    return Input(item.stream.name, bind_range(item.syntax.window, cadence), name, told_apart_by(item.stream.source))


def _check_rows(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> None:
    """A query whose answer is made of rows: panes cannot answer it."""
    if select.distinct is not None:
        problems.needs_rows("SELECT DISTINCT", select.distinct)
    if not bound.complete:
        return
    check_rows(select, bound, problems)
    if not any(item.syntax.model for item in bound.streams):
        problems.needs_rows("a query without aggregates", select.items[0].span)
