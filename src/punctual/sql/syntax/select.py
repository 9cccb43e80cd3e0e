"""SELECT as a program writes it: its items, the tree after FROM, and its clauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from punctual.errors import Span
from punctual.sql.syntax.clauses import Clause
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.models import ModelSyntax
from punctual.sql.syntax.written import Duration, Name

JoinKind = Literal[
    "comma", "inner", "left outer", "left semi", "left anti", "right outer", "full outer", "cross"
]
_Clause = TypeVar("_Clause", bound=Clause)


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """``[RANGE 20 MINUTES SLIDE 2 MINUTES]``; ``slide_span`` has the word SLIDE in it."""

    length: Duration
    slide: Duration | None
    slide_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class NowWindow:
    """``[NOW]``: the rows since the previous instant."""

    span: Span


@dataclass(frozen=True, slots=True)
class RowsWindow:
    """``[ROWS 10]`` or ``[PARTITION BY sensor ROWS 10]``."""

    rows: int
    partition: tuple[ExpressionSyntax, ...]
    span: Span


WindowSyntax = RangeWindow | NowWindow | RowsWindow


@dataclass(frozen=True, slots=True)
class FromItem:
    """A leaf of the tree: a stream, table or model by its name, or a subquery."""

    source: Name | SelectSyntax
    span: Span
    window: WindowSyntax | None = None
    model: ModelSyntax | None = None
    alias: Name | None = None

    @property
    def label(self) -> str:
        """The name that expressions call it by."""
        if self.alias is not None:
            return self.alias.text
        return self.source.text if isinstance(self.source, Name) else ""


@dataclass(frozen=True, slots=True)
class FromJoin:
    """Two sides and the condition after ON; ``words`` is the span of the words between them."""

    kind: JoinKind
    natural: bool
    left: FromSyntax
    right: FromSyntax
    on: ExpressionSyntax | None
    words: Span


@dataclass(frozen=True, slots=True)
class FromUnion:
    """``a UNION ALL b``, in brackets perhaps, and then with an alias of its own."""

    parts: tuple[FromSyntax, ...]
    span: Span
    alias: Name | None = None


FromSyntax = FromItem | FromJoin | FromUnion


def leaves(tree: FromSyntax) -> Iterator[FromItem]:
    """The leaves of a FROM tree in the order written."""
    match tree:
        case FromItem():
            yield tree
        case FromJoin():
            yield from leaves(tree.left)
            yield from leaves(tree.right)
        case FromUnion():
            for part in tree.parts:
                yield from leaves(part)


@dataclass(frozen=True, slots=True)
class ItemSyntax:
    """A SELECT item; ``expression`` is None for ``*`` and ``t.*``, ``star_of`` is the ``t``."""

    expression: ExpressionSyntax | None
    alias: Name | None
    span: Span
    star_of: Name | None = None


@dataclass(frozen=True, slots=True)
class OrderSyntax:
    """An ORDER BY item; what was not said is None."""

    expression: ExpressionSyntax
    ascending: bool
    nulls_first: bool | None


@dataclass(frozen=True, slots=True)
class TopSyntax:
    """TOP k, its semantics with their numbers, and whether keys are ranked; ``span`` underlines ``TOP k``.

    ``numbers`` is the span of the semantics' numbers.
    """

    k: int
    semantics: str
    parameters: tuple[float, ...]
    streams: bool
    exclusive: bool
    span: Span
    numbers: Span | None = None


@dataclass(frozen=True, slots=True)
class SelectSyntax:
    """SELECT ... with all of its clauses; ``union`` is the SELECT after UNION ALL."""

    items: tuple[ItemSyntax, ...]
    source: FromSyntax
    span: Span
    distinct: Span | None = None
    top: TopSyntax | None = None
    where: ExpressionSyntax | None = None
    groups: tuple[ExpressionSyntax, ...] = ()
    having: ExpressionSyntax | None = None
    order: tuple[OrderSyntax, ...] = ()
    limit: int | None = None
    clauses: tuple[Clause, ...] = ()
    union: SelectSyntax | None = None
    union_span: Span | None = None

    def clause(self, kind: type[_Clause]) -> _Clause | None:
        """The clause of that type, if the query has it."""
        return next((clause for clause in self.clauses if isinstance(clause, kind)), None)
