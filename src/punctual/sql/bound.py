"""Statements with every name looked up: what a program hands to the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from punctual.errors import Span
from punctual.plan.query import Query
from punctual.plan.relation import Stream, Table


@dataclass(frozen=True, slots=True)
class CreateStream:
    """A stream; ``column_spans`` are in the order of its columns."""

    stream: Stream
    column_spans: tuple[Span, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table; ``column_spans`` are in the order of its columns."""

    table: Table
    column_spans: tuple[Span, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class CreateQuery:
    """A standing query."""

    query: Query
    span: Span


@dataclass(frozen=True, slots=True)
class DropQuery:
    """The end of a standing query, by its name as created."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class SetOption:
    """An option whose name and value are right."""

    name: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Explain:
    """``query`` is set where ``kind`` is ``query``: the query as it stood where the statement is."""

    kind: Literal["query", "sharing", "schedule"]
    query: Query | None
    span: Span


Statement = CreateStream | CreateTable | CreateQuery | DropQuery | SetOption | Explain
