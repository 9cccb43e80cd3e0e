"""The program as it stands: catalog, shared plan, types, and how each stream is read. A change makes a new one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from punctual.catalog import Catalog
from punctual.engine.cadences import Timing
from punctual.kernel.panes.spec import UnitSpec
from punctual.plan.query import Join, WindowQuery
from punctual.plan.shared import SharedPlan, Unit
from punctual.runtime.backend import QueryTypes
from punctual.runtime.lower import Branch, branches, rows_only
from punctual.runtime.tick import unique_keys
from punctual.share.units import share


@dataclass(frozen=True, slots=True)
class Standing:
    """What runs.

    ``specs`` are the kernels' view of the plan's units, ``late`` that of late rows by stream; ``types`` are by query;
    ``timing`` says when each query answers.
    """

    catalog: Catalog
    plan: SharedPlan
    types: Mapping[str, QueryTypes]
    branches: Mapping[str, tuple[Branch, ...]]
    specs: tuple[UnitSpec, ...]
    late: Mapping[str, UnitSpec]
    timing: Timing

    def unit_key(self, index: int) -> str:
        """Under which name the state keeps the unit's cells."""
        return unit_key(self.plan.units[index], self.catalog)

    def unit_place(self, index: int) -> str:
        """What the unit is, whatever its windows, cuts and synopses."""
        unit = self.plan.units[index]
        return f"{unit.identity}-{_meaning(unit, self.catalog)}"


def unit_key(unit: Unit, catalog: Catalog) -> str:
    """A unit's name in the state: what decides its cells, the meaning of the stream's columns included."""
    return f"{unit.fingerprint}-{_meaning(unit, catalog)}"


def _meaning(unit: Unit, catalog: Catalog) -> str:
    streams = [catalog.streams[name.lower()] for name in unit.streams]
    meaning = "".join(repr((stream.columns, stream.event_time)) for stream in streams)
    return hashlib.blake2b(meaning.encode(), digest_size=8).hexdigest()


def same_meaning(key: str, other: str) -> bool:
    """Whether two units' names in the state speak of the same columns of their stream."""
    return key.partition("-")[2] == other.partition("-")[2]


@lru_cache(maxsize=16_384)
def query_key(query: WindowQuery) -> str:
    """What decides a query's answers; its place and layout in the program's text do not."""
    bare = replace(
        query,
        text="",
        span=None,
        conditions=(),
        having_span=None,
        keys=tuple(replace(k, span=None) for k in query.keys),
        aggregates=tuple(replace(a, conditions=(), span=None) for a in query.aggregates),
        outputs=tuple(replace(o, span=None) for o in query.outputs),
        order=tuple(replace(o, span=None) for o in query.order),
        top=None if query.top is None else replace(query.top, score_span=None),
    )
    # A query that ranks and unites nothing has the key that it had before there was either: states go on.
    meaning = repr(bare)
    for nothing in (", top=None", ", united=()", ", score_span=None", ", conditions=()"):
        meaning = meaning.replace(nothing, "")
    return hashlib.blake2b(meaning.encode(), digest_size=8).hexdigest()


def stand(
    catalog: Catalog,
    types: Mapping[str, QueryTypes],
    tables: Mapping[str, pa.Table],
    *,
    sharing: bool,
    timed: Callable[[SharedPlan], Timing],
    stopped: frozenset[str] = frozenset(),
) -> Standing:
    """Plan the program; ``tables`` are the static tables as they are now, ``stopped`` queries are left out.

    ``timed`` decides when the queries answer; panes are then cut where windows of those instants begin and end.
    """
    queries = [query for query in catalog.queries.values() if query.name not in stopped]
    timing = timed(share(queries, sharing=sharing))
    plan = share(queries, sharing=sharing, steps=timing.steps)
    by_stream: dict[str, list[tuple[int, Unit]]] = {name: [] for name in catalog.streams}
    for index, unit in enumerate(plan.units):
        for name in unit.streams:
            by_stream[name.lower()].append((index, unit))

    def unique(join: Join) -> bool:
        return unique_keys(tables[join.table.lower()], tuple(column for _row, column in join.on))

    reads = {name: branches(catalog.streams[name], units, unique, catalog.streams) for name, units in by_stream.items()}
    found = {index: spec for several in reads.values() for branch in several for index, spec in branch.units}
    late = {
        name: rows_only(sorted({window for _i, unit in units for window in unit.windows}))
        for name, units in by_stream.items()
        if units
    }
    return Standing(catalog, plan, types, reads, tuple(found[i] for i in range(len(plan.units))), late, timing)
