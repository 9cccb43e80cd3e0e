"""Programs of the kinds of query that there are: compiled, typed, and planned together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from punctual.catalog import Catalog
from punctual.clock import Micros
from punctual.kinds import registry
from punctual.plan.query import Query
from punctual.plan.relation import Declared, Stream, Table
from punctual.plan.row_query import RowQuery
from punctual.plan.shared import SharedPlan
from punctual.runtime.backend import Backend, TypeReport
from punctual.share.from_rows import from_rows
from punctual.share.units import share_units
from punctual.sql import program as sql

EMPTY = Catalog()


def compile_program(text: str, catalog: Catalog = EMPTY, *, base: str) -> sql.Program:
    """Parse and bind a program: :func:`punctual.sql.program.compile_program` with every kind of query.

    Examples
    --------
    >>> program = compile_program('''
    ...     CREATE STREAM s (ts TIMESTAMP EVENT TIME, x DOUBLE) FROM FEED;
    ...     CREATE QUERY q AS SELECT avg(x) AS mean FROM s [RANGE 1 HOUR] PERIOD 1 MINUTE;
    ... ''', base=".")
    >>> [output.name for output in program.catalog.queries["q"].outputs]
    ['mean']
    """
    return sql.compile_program(text, catalog, base=base, binders=registry.KINDS, row_body=RowQuery)


def typecheck(
    backend: Backend, relations: Sequence[Declared], queries: Sequence[Query], known: Sequence[Stream | Table]
) -> TypeReport:
    """Types of the queries, and every error that only the data plane and the types can show. Reads no data."""
    found = backend.typecheck(relations, [registry.kind_of(query).type_request(query) for query in queries], known)
    refused = [
        error
        for query in queries
        if query.name in found.queries
        for error in registry.kind_of(query).refusals(query, found.queries[query.name])
    ]
    return TypeReport(found.queries, (*found.errors, *refused))


def share(
    queries: Iterable[Query],
    *,
    sharing: bool = True,
    steps: Mapping[str, Micros] | None = None,
    rows_of: Mapping[str, Stream] | None = None,
    chosen: Collection[str] | None = None,
) -> SharedPlan:
    """The shared plan of the queries: :func:`punctual.share.units.share_units` of what each of them needs.

    With ``rows_of``, streams by name in lower case, aggregates are answered from the rows of these; where some are
    ``chosen``, by name, the others are not.
    """
    members = [(query, registry.needs_of(query)) for query in queries]
    if rows_of is not None:
        members = from_rows(members, rows_of, chosen)
    return share_units(members, sharing=sharing, steps=steps)
