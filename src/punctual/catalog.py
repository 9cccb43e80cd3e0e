"""The names of a program: streams, tables, queries, functions, options. Snapshots are immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from punctual.plan.query import Query
from punctual.plan.relation import Stream, Table
from punctual.plan.worlds import PythonFunction


@dataclass(frozen=True, slots=True)
class Catalog:
    """What has been declared so far. Keys are lower-case names, in the order of declaration."""

    streams: Mapping[str, Stream] = field(default_factory=lambda: MappingProxyType({}))
    tables: Mapping[str, Table] = field(default_factory=lambda: MappingProxyType({}))
    queries: Mapping[str, Query] = field(default_factory=lambda: MappingProxyType({}))
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    functions: Mapping[str, PythonFunction] = field(default_factory=lambda: MappingProxyType({}))
    """Those of Python; they have a name space of their own."""

    def with_stream(self, stream: Stream) -> Catalog:
        return replace(self, streams=MappingProxyType({**self.streams, stream.name.lower(): stream}))

    def with_table(self, table: Table) -> Catalog:
        return replace(self, tables=MappingProxyType({**self.tables, table.name.lower(): table}))

    def with_query(self, query: Query) -> Catalog:
        return replace(self, queries=MappingProxyType({**self.queries, query.name.lower(): query}))

    def with_option(self, name: str, value: str) -> Catalog:
        return replace(self, options=MappingProxyType({**self.options, name: value}))

    def with_function(self, function: PythonFunction) -> Catalog:
        return replace(self, functions=MappingProxyType({**self.functions, function.name.lower(): function}))

    def without_query(self, name: str) -> Catalog:
        kept = {key: query for key, query in self.queries.items() if key != name.lower()}
        return replace(self, queries=MappingProxyType(kept))

    def kind_of(self, name: str) -> str | None:
        """``stream``, ``table``, ``query`` or None: one name space for all of them."""
        key = name.lower()
        for kind, names in (("stream", self.streams), ("table", self.tables), ("query", self.queries)):
            if key in names:
                return kind
        return None
