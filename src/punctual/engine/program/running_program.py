"""The program as it stands: catalog, shared plan, types, and how each stream is read. A change makes a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from punctual.catalog import Catalog
from punctual.clock import Micros
from punctual.engine.program.cadences import Timing
from punctual.kernel.panes.spec import UnitSpec
from punctual.kinds.registry import needs_of
from punctual.own_names import IDENTITY, ROW_IDENTITY
from punctual.plan.fingerprint import fingerprint
from punctual.plan.query import Query
from punctual.plan.relation import Column, Stream
from punctual.plan.rows import Join
from punctual.plan.shared import AggregatedRows, Needs, RowNeeds, SharedPlan, Unit
from punctual.runtime.backend import QueryTypes
from punctual.runtime.lower import Branch, branches, rows_only
from punctual.runtime.row_queries.lifted_rows import LiftedRows, lifted_rows
from punctual.runtime.tick import unique_keys
from punctual.runtime.ways import streams_that_spark_reads
from punctual.share.from_rows import NOBODY, FromRows
from punctual.share.from_rows import from_rows as read_from_rows
from punctual.share.sheddable import Shedding, shedding
from punctual.share.units import Member, share_units
from punctual.store.products import Cells, Kept, LateCells


class Share(Protocol):
    """Which queries read the same cells."""

    def __call__(
        self, members: Sequence[Member], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
    ) -> SharedPlan: ...


@dataclass(frozen=True, slots=True)
class RunningProgram:
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
    retained: Mapping[str, tuple[str, ...]]
    """By stream, the columns that readers of rows may name; streams without such readers are not there."""
    lifted: Mapping[str, LiftedRows]
    """By query, what is done with the rows of its windows, where aggregates are answered from rows."""
    tables: Mapping[str, pa.Table]
    """The static tables that it was planned with."""

    @property
    def shedding(self) -> Mapping[str, Shedding]:
        """What may be shed of each stream that is read."""
        return shedding(self.plan)

    def unit_key(self, index: int) -> str:
        """Under which name the state keeps the unit's cells."""
        return unit_key(self.plan.units[index], self.catalog)

    def kept(self) -> dict[Kept, UnitSpec]:
        """Everything that a tick keeps of its rows, with its specification."""
        late: dict[Kept, UnitSpec] = {LateCells(stream): spec for stream, spec in sorted(self.late.items())}
        return late | {Cells(self.unit_key(index)): spec for index, spec in enumerate(self.specs)}

    def retained_meanings(self) -> dict[str, str]:
        """What the columns of the streams mean whose rows are retained."""
        return {name: stream_meaning(self.catalog.streams[name]) for name in self.retained}

    def unit_identity(self, index: int) -> str:
        """What the unit is, whatever its windows, cuts and synopses."""
        unit = self.plan.units[index]
        return f"{unit.identity}-{_meaning(unit, self.catalog)}"


def unit_key(unit: Unit, catalog: Catalog) -> str:
    """A unit's name in the state: what decides its cells, the meaning of the stream's columns included."""
    return f"{unit.fingerprint}-{_meaning(unit, catalog)}"


def _meaning(unit: Unit, catalog: Catalog) -> str:
    streams = [catalog.streams[name.lower()] for name in unit.streams]
    return fingerprint(*((_as_stored(stream), stream.event_time) for stream in streams))


def stream_meaning(stream: Stream) -> str:
    """What the columns of a stream mean."""
    return fingerprint(_as_stored(stream), stream.event_time)


def _as_stored(stream: Stream) -> tuple[Column, ...]:
    """The columns as the state has them: rows are kept as they were read, whatever is drawn from them."""
    return tuple(one if one.uncertain is None else replace(one, uncertain=None) for one in stream.columns)


def same_meaning(key: str, other: str) -> bool:
    """Whether two units' names in the state speak of the same columns of their stream."""
    return key.partition("-")[2] == other.partition("-")[2]


def query_key(query: Query) -> str:
    """What decides a query's answers; its place and layout in the program's text do not."""
    known = _KEYS.get(id(query))
    if known is None or known[0] is not query:
        if len(_KEYS) >= MAX_KEYS:
            _KEYS.clear()
        known = _KEYS[id(query)] = (query, fingerprint(query))
    return known[1]


MAX_KEYS = 16_384
_KEYS: dict[int, tuple[Query, str]] = {}
"""By the identity of the object: even a hash of a query looks at all of it, and every change asks for all of them."""


def plan_program(
    catalog: Catalog,
    types: Mapping[str, QueryTypes],
    tables: Mapping[str, pa.Table],
    *,
    sharing: bool,
    timed: Callable[[SharedPlan], Timing],
    stopped: frozenset[str] = frozenset(),
    needs: Callable[[Query], Needs | RowNeeds] = needs_of,
    share: Share = share_units,
    from_rows: FromRows = NOBODY,
) -> RunningProgram:
    """Plan the program; ``tables`` are the static tables as they are now, ``stopped`` queries are left out.

    ``needs`` says what a query reads: all of it, unless only a part is to be tried. ``timed`` decides when the queries
    answer; panes are then cut where windows of those instants begin and end. ``share`` may remember the program before.
    ``from_rows`` says which aggregates are answered from retained rows, at the instants that they have without it.
    """
    members = [(query, needs(query)) for query in catalog.queries.values() if query.name not in stopped]
    bare = share(members, sharing=sharing)
    timing = timed(bare)
    chosen = from_rows.of(bare, streams_that_spark_reads(catalog.streams))
    if chosen:
        members = read_from_rows(members, catalog.streams, chosen)
    plan = share(members, sharing=sharing, steps=timing.steps)
    keys = [unit_key(unit, catalog) for unit in plan.units]
    by_stream: dict[str, list[tuple[str, Unit]]] = {name: [] for name in catalog.streams}
    for key, unit in zip(keys, plan.units):
        for name in unit.streams:
            by_stream[name.lower()].append((key, unit))

    def unique(join: Join) -> bool:
        return unique_keys(tables[join.table.lower()], tuple(column for _row, column in join.on))

    windows = {name: plan.row_windows(name) for name in catalog.streams}
    retained = {name: retained_columns(plan, stream) for name, stream in catalog.streams.items() if windows[name]}
    reads = {
        name: branches(
            catalog.streams[name], units, unique, catalog.streams, catalog.tables, retained.get(name, ())
        )
        for name, units in by_stream.items()
    }
    specs = {key: spec for several in reads.values() for branch in several for key, spec in branch.units}
    ends = {
        name: {window for _key, unit in units for window in unit.windows}
        | {(reader.query.range_us, reader.step) for reader, _window in windows[name]}
        for name, units in by_stream.items()
    }
    late = {name: rows_only(sorted(several)) for name, several in ends.items() if several}
    specs_of = tuple(specs[key] for key in keys)
    lifted = {
        reader.query.name: lifted_rows(reader.statement, catalog.streams, catalog.tables)
        for reader in plan.row_readers
        if isinstance(reader.statement, AggregatedRows)
    }
    return RunningProgram(catalog, plan, types, reads, specs_of, late, timing, retained, lifted, tables)


def retained_columns(plan: SharedPlan, stream: Stream) -> tuple[str, ...]:
    """Columns of a stream that readers of rows name, in its order; the event time is retained anyway."""
    names = {column for _reader, window in plan.row_windows(stream.name.lower()) for column in window.columns}
    columns = tuple(column.name for column in stream.columns if column.name in names)
    return columns if names.isdisjoint((IDENTITY, ROW_IDENTITY)) else (*columns, IDENTITY)
