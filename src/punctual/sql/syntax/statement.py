"""What a program says, as it says it: the syntax tree, with places, before any name is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.clock import Micros
from punctual.errors import Span
from punctual.sql.syntax.expression import Expression


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier without its quotes."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time above zero."""

    us: Micros
    span: Span


@dataclass(frozen=True, slots=True)
class UncertainSyntax:
    """``~ NORMAL(mean, sd)`` and its kin: the columns that the distribution reads, the condition after IF."""

    kind: str
    columns: tuple[Name, ...]
    condition: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class ColumnSyntax:
    """A declared column. ``roles`` maps EVENT TIME, WATERMARK, KEY, PROBABILITY and RULE to their places."""

    name: Name
    type: str
    type_span: Span
    roles: tuple[tuple[str, Span], ...] = ()
    watermark: Duration | None = None
    derived: Expression | None = None
    uncertain: UncertainSyntax | None = None

    def role(self, name: str) -> Span | None:
        return dict(self.roles).get(name)


@dataclass(frozen=True, slots=True)
class SourceSyntax:
    """FROM FILES, KAFKA, RATE or FEED with what belongs to each of them."""

    kind: Literal["FILES", "KAFKA", "RATE", "FEED"]
    span: Span
    address: Name | None = None
    topic: str | None = None
    format: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    rows: int = 0
    per_us: Micros = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class CreateRelationSyntax:
    """CREATE STREAM or CREATE TABLE."""

    kind: Literal["stream", "table"]
    name: Name
    columns: tuple[ColumnSyntax, ...]
    source: SourceSyntax
    span: Span


@dataclass(frozen=True, slots=True)
class CreateModelSyntax:
    """CREATE MODEL name AS FIT attribute ... BY keys FROM stream."""

    name: Name
    attribute: Name
    keys: tuple[Name, ...]
    stream: Name
    span: Span


@dataclass(frozen=True, slots=True)
class WindowSyntax:
    """A window in brackets."""

    kind: Literal["RANGE", "NOW", "ROWS", "PARTITION BY"]
    span: Span
    range: Duration | None = None
    slide: Duration | None = None
    slide_span: Span | None = None
    partition: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSyntax:
    """MODEL after a FROM item: the attributes it declares, and the expressions and columns that it reads."""

    attributes: tuple[Name, ...]
    expressions: tuple[Expression, ...]
    columns: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class FromSyntax:
    """One FROM item and how it is joined with those before it."""

    source: Name | SelectSyntax
    span: Span
    window: WindowSyntax | None = None
    model: ModelSyntax | None = None
    alias: Name | None = None
    how: Literal["first", "comma", "inner", "left", "other", "union"] = "first"
    how_span: Span | None = None
    on: Expression | None = None

    @property
    def label(self) -> str:
        if self.alias is not None:
            return self.alias.text
        return self.source.text if isinstance(self.source, Name) else ""


@dataclass(frozen=True, slots=True)
class ItemSyntax:
    """A SELECT item; ``expression`` is None for ``*`` and ``t.*``."""

    expression: Expression | None
    alias: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class OrderSyntax:
    """An ORDER BY item; what was not said is None."""

    expression: Expression
    ascending: bool
    nulls_first: bool | None


@dataclass(frozen=True, slots=True)
class TopSyntax:
    """TOP k, its semantics with their numbers, and whether keys are ranked; ``span`` underlines ``TOP k``.

    ``numbers`` is the place of the semantics' numbers.
    """

    k: int
    semantics: str
    parameters: tuple[float, ...]
    streams: bool
    exclusive: bool
    span: Span
    numbers: Span | None = None


@dataclass(frozen=True, slots=True)
class ClauseSyntax:
    """A clause after the query: its keyword, its place, its durations, the names it mentions, the share of STABLE."""

    keyword: str
    span: Span
    durations: tuple[Duration, ...] = ()
    names: tuple[Name, ...] = ()
    share: float | None = None


@dataclass(frozen=True, slots=True)
class SelectSyntax:
    """SELECT ... with all of its clauses; ``union`` is the SELECT after UNION ALL."""

    items: tuple[ItemSyntax, ...]
    sources: tuple[FromSyntax, ...]
    span: Span
    distinct: Span | None = None
    top: TopSyntax | None = None
    where: Expression | None = None
    groups: tuple[Expression, ...] = ()
    having: Expression | None = None
    order: tuple[OrderSyntax, ...] = ()
    limit: int | None = None
    clauses: tuple[ClauseSyntax, ...] = ()
    union: SelectSyntax | None = None
    union_span: Span | None = None

    def clause(self, keyword: str) -> ClauseSyntax | None:
        return next((clause for clause in self.clauses if clause.keyword == keyword), None)


@dataclass(frozen=True, slots=True)
class CreateQuerySyntax:
    """CREATE QUERY name AS SELECT ..."""

    name: Name
    select: SelectSyntax
    span: Span


@dataclass(frozen=True, slots=True)
class DropQuerySyntax:
    """DROP QUERY name."""

    name: Name
    span: Span


@dataclass(frozen=True, slots=True)
class SetSyntax:
    """SET option = value; the value is the text as written, without quotes."""

    name: Name
    value: Name
    span: Span


@dataclass(frozen=True, slots=True)
class ExplainSyntax:
    """EXPLAIN name, EXPLAIN SHARING, EXPLAIN SCHEDULE."""

    kind: Literal["query", "sharing", "schedule"]
    name: Name | None
    span: Span


StatementSyntax = (
    CreateRelationSyntax
    | CreateModelSyntax
    | CreateQuerySyntax
    | DropQuerySyntax
    | SetSyntax
    | ExplainSyntax
)
