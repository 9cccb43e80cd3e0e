"""Every kind of query, once. Whoever has a query asks here who answers it."""

from __future__ import annotations

from typing import Any

from punctual.kinds.aggregates.kind import AggregatesKind
from punctual.kinds.kind import Kind
from punctual.kinds.ranking.kind import RankingKind
from punctual.kinds.rows.kind import RowsKind
from punctual.kinds.worlds.kind import WorldsKind
from punctual.plan.query import Query
from punctual.plan.shared import Needs, RowNeeds

KINDS: tuple[Kind[Any], ...] = (RankingKind(), WorldsKind(), AggregatesKind(), RowsKind())
"""In the order in which they are asked whether a SELECT is theirs."""


def kind_of(query: Query) -> Kind[Any]:
    """The kind of a query, by its body."""
    return next(kind for kind in KINDS if kind.body is type(query.body))


def needs_of(query: Query) -> Needs | RowNeeds:
    """What a query reads of cells or rows; the same object for the same query."""
    known = _NEEDS.get(id(query))
    if known is None or known[0] is not query:
        if len(_NEEDS) >= MAX_NEEDS:
            _NEEDS.clear()
        known = _NEEDS[id(query)] = (query, kind_of(query).needs(query))
    return known[1]


MAX_NEEDS = 16_384
_NEEDS: dict[int, tuple[Query, Needs | RowNeeds]] = {}
