"""What a kind of query does with a SELECT: the one thing that binding asks of it.

This room parses, looks up FROM, and binds what all kinds share: joins, predicates, row and answer expressions. Who
binds the rest is handed in, so that nothing here knows which kinds there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from punctual.plan.query import Body, Order, Output
from punctual.plan.relation import Stream
from punctual.plan.row_query import RowStatement, RowWindow
from punctual.sql.bind_from import BoundFrom
from punctual.sql.parse_rows import RowsSyntax
from punctual.sql.problems import Problems
from punctual.sql.row_texts import RowTexts
from punctual.sql.syntax.clauses import Clause
from punctual.sql.syntax.select import SelectSyntax


@dataclass(frozen=True, slots=True)
class BoundBody:
    """What a kind makes of a SELECT: the body, and the columns of its answers with their order."""

    body: Body
    outputs: tuple[Output, ...]
    order: tuple[Order, ...] = ()
    limit: int | None = None


RowBody = Callable[[RowStatement], Body]
"""The body of a query that is answered from rows."""


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """A query that panes cannot answer, as its author wrote it.

    ``source`` is the program, ``streams`` those of the windows in ``rows``. ``texts`` makes Spark's text of tokens, and
    ``windows`` gives the windows that stand in texts so far; ``tables`` are the static tables that it may name.
    """

    source: str
    rows: RowsSyntax
    streams: tuple[Stream, ...]
    texts: RowTexts
    windows: Callable[[], tuple[RowWindow, ...]]
    tables: tuple[str, ...]


class BodyBinder(Protocol):
    """Binds one kind of body."""

    @property
    def clauses(self) -> frozenset[type[Clause]]:
        """The types of its own clauses, besides those that every query may have."""
        ...

    @property
    def without_rows(self) -> str | None:
        """Where it is, said of what only rows could answer; None: such a SELECT is a row query."""
        ...

    def joins_windows(self, *, sampled: bool) -> bool:
        """Whether it binds joins of streams, of queries with QUALITY (``sampled``) or of others."""
        ...

    def claims(self, select: SelectSyntax, bound: BoundFrom) -> bool:
        """Whether a SELECT is of this kind. The first binder that claims it binds it."""
        ...

    def bind(self, select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
        """The body, or None with everything wrong in ``problems``. Names mean nothing where FROM is not complete."""
        ...

    def claims_rows(self, rows: RowsSyntax, streams: Sequence[Stream]) -> bool:
        """Whether a query that panes cannot answer is of this kind all the same."""
        ...

    def bind_rows(self, written: WrittenRows, problems: Problems) -> BoundBody | None:
        """The body of such a query, or None with everything wrong in ``problems``."""
        ...


def binder_of(select: SelectSyntax, bound: BoundFrom, binders: Sequence[BodyBinder]) -> BodyBinder | None:
    """The first binder that claims a SELECT."""
    return next((binder for binder in binders if binder.claims(select, bound)), None)
