"""Where a failing query fails: its expressions tried one at a time, and the one that fails underlined.

A query that cannot be evaluated is stopped, and its author must see why. Row expressions are tried as needs cut down to
one expression each; answer expressions as questions of one expression each. Runs only after a failure, so a job an
expression is not too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from punctual.errors import RunError, Span
from punctual.kinds.clause import Clause
from punctual.plan.query import Query
from punctual.plan.rows import GroupedRows, Predicate
from punctual.plan.shared import Needs, RowNeeds

T = TypeVar("T")


def row_pieces(needs: Needs | RowNeeds) -> list[tuple[Clause, Needs]]:
    """What a query reads, cut down to each of its row expressions; a row query has none that a batch computes.

    >>> from punctual.plan.expression import column_of
    >>> from punctual.plan.shared import ROWS, NeededUse
    >>> needs = Needs(GroupedRows(keys=(column_of("k"),)), (NeededUse("sum", ROWS, (), Predicate()),))
    >>> [clause.name for clause, _piece in row_pieces(needs)]
    ['GROUP BY', 'sum']
    """
    if isinstance(needs, RowNeeds):
        return []
    rows = needs.rows
    pieces = [(Clause(f'join with table "{join.table}"'), Needs(GroupedRows((join,)), ())) for join in rows.joins]
    bare = GroupedRows(rows.joins)
    pieces += [(Clause("GROUP BY", key.span), Needs(replace(bare, keys=(key,)), ())) for key in rows.keys]
    for use in needs.uses:
        own = tuple(c for c in use.where.comparisons if c not in rows.where.comparisons)
        alone = replace(use, where=Predicate(comparisons=own))
        pieces.append((Clause(use.function, use.span), Needs(bare, (alone,))))
    if rows.where != Predicate():
        spans = [condition.span for condition in rows.conditions if condition.span is not None]
        here = Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None
        pieces.append((Clause("WHERE", here), Needs(replace(bare, where=rows.where), ())))
    return pieces


def first_failing(pieces: Iterable[tuple[Clause, T]], fails: Callable[[T], Exception | None]) -> Clause | None:
    """The clause of the first piece that fails by itself.

    >>> first_failing([(Clause("a"), 1), (Clause("b"), 0)], lambda n: None if n else ValueError("zero")).name
    'b'
    """
    return next((clause for clause, piece in pieces if fails(piece) is not None), None)


def explain_stop(query: Query, clause: Clause | None, why: str) -> str:
    """Why a query was stopped, as its author reads it: the reason, and its own text underlined where it fails."""
    return RunError(
        "run.query-failed",
        f'query "{query.name}" was stopped: {why}',
        span=_inside(query, clause),
        detail=f"its {clause.name} fails; all other queries go on" if clause else "all other queries go on",
        hint="mend the query and start again: it then answers what comes after",
    ).render(query.text)


def _inside(query: Query, clause: Clause | None) -> Span | None:
    """The place within the query's own text."""
    if clause is None or clause.span is None or query.span is None:
        return None
    return Span(clause.span.start - query.span.start, clause.span.end - query.span.start)


def reason_to_stop(query: str, fact: str, hint: str) -> str:
    """Why a query that asks for too much was stopped, as its author reads it."""
    text = f'query "{query}" was stopped: {fact}'
    return RunError("run.query-failed", text, detail="all other queries go on", hint=hint).render("")
