"""Where a failing query fails: its expressions tried one at a time, and the one that fails underlined.

A query that cannot be evaluated is stopped, and its author must see why. Expressions over rows are tried as queries cut
down to one expression each; expressions over aggregates as questions of one expression each (``passes.apart``). Runs
only after a failure, so a job an expression is not too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from punctual.errors import RunError, Span
from punctual.plan.query import Predicate, WindowQuery

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a query: what it is called, and where it stands in the program's text."""

    name: str
    span: Span | None = None


def row_pieces(query: WindowQuery) -> list[tuple[Place, WindowQuery]]:
    """The query cut down to each of its row expressions.

    >>> from punctual.plan.query import Aggregate, Key, Period
    >>> q = WindowQuery("q", "s", 60, Period(60), (Key("`k`"),), (Aggregate("sum", "`x`"),), ())
    >>> [place.name for place, _piece in row_pieces(q)]
    ['GROUP BY', 'sum']
    """
    bare = replace(
        query, keys=(), aggregates=(), outputs=(), joins=(), where=Predicate(), having=None, order=(), limit=None
    )
    pieces = []
    for join in query.joins:
        pieces.append((Place(f'join with table "{join.table}"'), replace(bare, joins=(join,))))
    bare = replace(bare, joins=query.joins)
    for key in query.keys:
        pieces.append((Place("GROUP BY", key.span), replace(bare, keys=(key,))))
    for aggregate in query.aggregates:
        own = tuple(c for c in aggregate.where.comparisons if c not in query.where.comparisons)
        alone = replace(aggregate, where=Predicate(comparisons=own))
        pieces.append((Place(aggregate.function, aggregate.span), replace(bare, aggregates=(alone,))))
    if query.where != Predicate():
        spans = [condition.span for condition in query.conditions if condition.span is not None]
        here = Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None
        pieces.append((Place("WHERE", here), replace(bare, where=query.where)))
    return pieces


def first_failing(pieces: Iterable[tuple[Place, T]], fails: Callable[[T], Exception | None]) -> Place | None:
    """The place of the first piece that fails by itself.

    >>> first_failing([(Place("a"), 1), (Place("b"), 0)], lambda n: None if n else ValueError("zero")).name
    'b'
    """
    return next((place for place, piece in pieces if fails(piece) is not None), None)


def explain_stop(query: WindowQuery, place: Place | None, why: str) -> str:
    """Why a query was stopped, as its author reads it: the reason, and its own text underlined where it fails."""
    return RunError(
        "run.query-failed",
        f'query "{query.name}" was stopped: {why}',
        span=_inside(query, place),
        detail=f"its {place.name} fails; all other queries go on" if place else "all other queries go on",
        hint="mend the query and start again: it then answers what comes after",
    ).render(query.text)


def _inside(query: WindowQuery, place: Place | None) -> Span | None:
    """The place within the query's own text."""
    if place is None or place.span is None or query.span is None:
        return None
    return Span(place.span.start - query.span.start, place.span.end - query.span.start)

