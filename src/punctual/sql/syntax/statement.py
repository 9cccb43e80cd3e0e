"""Statements as a program writes them: the syntax tree, with spans, before any name is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from punctual.clock import Micros
from punctual.errors import Span
from punctual.sql.syntax.expression import ExpressionSyntax
from punctual.sql.syntax.models import Fit
from punctual.sql.syntax.select import SelectSyntax
from punctual.sql.syntax.tokens import Token
from punctual.sql.syntax.written import Duration, Name


@dataclass(frozen=True, slots=True)
class GivenDistribution:
    """``~ NORMAL(mean, sd)``, ``~ UNIFORM(low, high)``, ``~ DISCRETE(values, weights)``: two columns say it."""

    kind: Literal["NORMAL", "UNIFORM", "DISCRETE"]
    columns: tuple[Name, ...]
    span: Span
    condition: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class MissingValue:
    """``~ EMPIRICAL BY k``, ``~ INTERPOLATED BY k WITHIN d``, ``~ NEAREST 10 BY (x, y)``: what stands in for NULL.

    ``condition`` (IF) says which values besides NULL count as missing.
    """

    kind: Literal["EMPIRICAL", "INTERPOLATED", "NEAREST"]
    columns: tuple[Name, ...]
    span: Span
    neighbours: int | None = None
    within: Duration | None = None
    condition: ExpressionSyntax | None = None


UncertainSyntax = GivenDistribution | MissingValue


@dataclass(frozen=True, slots=True)
class ColumnSyntax:
    """A declared column. ``roles`` maps EVENT TIME, WATERMARK, KEY, PROBABILITY and RULE to their spans."""

    name: Name
    type: str
    type_span: Span
    roles: tuple[tuple[str, Span], ...] = ()
    watermark: Duration | None = None
    derived: ExpressionSyntax | None = None
    uncertain: UncertainSyntax | None = None

    def role(self, name: str) -> Span | None:
        return dict(self.roles).get(name)


@dataclass(frozen=True, slots=True)
class FilesSyntax:
    """FROM FILES 'path' FORMAT JSON OPTIONS (key 'value')."""

    kind: ClassVar[str] = "FILES"
    path: Name
    format: str | None
    options: tuple[tuple[str, str], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class KafkaSyntax:
    """FROM KAFKA 'host:9092' TOPIC 'ticks' FORMAT JSON."""

    kind: ClassVar[str] = "KAFKA"
    servers: Name
    topic: str
    format: str | None
    options: tuple[tuple[str, str], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RateSyntax:
    """FROM RATE 1000 PER SECOND LIMIT 5 ROWS."""

    kind: ClassVar[str] = "RATE"
    rows: int
    per_us: Micros
    limit: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class FeedSyntax:
    """FROM FEED."""

    kind: ClassVar[str] = "FEED"
    span: Span


SourceSyntax = FilesSyntax | KafkaSyntax | RateSyntax | FeedSyntax


@dataclass(frozen=True, slots=True)
class CreateRelationSyntax:
    """CREATE STREAM or CREATE TABLE."""

    kind: Literal["stream", "table"]
    name: Name
    columns: tuple[ColumnSyntax, ...]
    source: SourceSyntax
    span: Span


@dataclass(frozen=True, slots=True)
class FitModelSyntax:
    """CREATE MODEL name AS FIT attribute ... BY keys FROM stream."""

    name: Name
    attribute: Name
    fit: Fit
    keys: tuple[Name, ...]
    stream: Name
    span: Span


@dataclass(frozen=True, slots=True)
class ReadModelSyntax:
    """CREATE MODEL name FROM FILES ...: segments that somebody else made."""

    name: Name
    files: FilesSyntax
    span: Span


@dataclass(frozen=True, slots=True)
class CreateQuerySyntax:
    """CREATE QUERY name AS ...: ``tokens`` are those after AS.

    ``select`` is None where they are more than a SELECT as panes could answer it: then only Spark can read them.
    """

    name: Name
    select: SelectSyntax | None
    tokens: tuple[Token, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DropSyntax:
    """DROP QUERY name, DROP MODEL name."""

    kind: Literal["query", "model"]
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


CreateSyntax = CreateRelationSyntax | FitModelSyntax | ReadModelSyntax | CreateQuerySyntax
StatementSyntax = CreateSyntax | DropSyntax | SetSyntax | ExplainSyntax
