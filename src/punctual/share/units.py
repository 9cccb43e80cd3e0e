"""Which queries read the same cells.

Queries that agree on stream, enrichment, opaque predicate, group keys and compared columns share one unit: its
synopses are the union of what they read, its cuts the union of their constants, its windows the set of theirs. With
``sharing = off`` every query gets a unit of its own, for comparison.

A program is planned again whenever a query comes or goes; :class:`Units` keeps what did not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from punctual.clock import Micros
from punctual.plan.functions import FUNCTIONS, TOP
from punctual.plan.query import Aggregate, Comparison, Constant, Predicate, WindowQuery
from punctual.plan.shared import BandColumn, Conditions, Reader, SharedPlan, Unit, UnitSynopsis, Use

PERCENTILE_VALUES = 1024
"""Distinct values that a percentile's synopsis keeps exactly before it falls back to log buckets."""
DEFAULT_RSD = 0.05
"""Spark's relative standard deviation of approx_count_distinct."""
ROWS = UnitSynopsis("rows", None)
ALL_ROWS = 0
"""In place of k: candidates are not enough."""
Member = tuple[WindowQuery, Micros]
"""A query, and of what all its instants are multiples."""


def share(
    queries: Iterable[WindowQuery], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
) -> SharedPlan:
    """The shared plan of the queries.

    ``steps`` says, by the query's name, of what all its instants are multiples; by default of its own bound.
    """
    return Units().share(queries, sharing=sharing, steps=steps)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A unit, its index, what it was planned from, and its readers by the name of their query."""

    members: Sequence[Member]
    index: int
    unit: Unit
    readers: Mapping[str, Reader]


class Units:
    """Shared plans of programs that follow each other. Each is the plan that :func:`share` gives, only sooner.

    Where queries were added to a program, only the units that they join are planned. Otherwise all are, and what still
    holds of the program before is used.
    """

    def __init__(self) -> None:
        self._sharing = True
        self._members: tuple[Member, ...] = ()
        self._planned: dict[object, _Planned] = {}
        self._readers: dict[str, Reader] = {}

    def share(
        self, queries: Iterable[WindowQuery], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
    ) -> SharedPlan:
        """The shared plan of the queries; see :func:`share`."""
        step_of = {} if steps is None else steps
        members = tuple((query, step_of.get(query.name, query.cadence.us)) for query in queries)
        known = len(self._members) if sharing == self._sharing and _begins(members, self._members) else 0
        groups: dict[object, list[Member]] = {}
        for member in members[known:]:
            key = _key(member[0]) if sharing else member[0].name
            if key not in groups:
                groups[key] = [*self._planned[key].members] if known and key in self._planned else []
            groups[key].append(member)
        planned = dict(self._planned) if known else {}
        readers: dict[str, Reader] = dict(self._readers) if known else {}
        fresh: dict[str, Reader] = {}
        for key, several in groups.items():
            index = planned[key].index if key in planned else len(planned)
            planned[key] = _plan(self._planned.get(key), index, several, "" if sharing else several[0][0].name)
            fresh.update(planned[key].readers)
        readers.update({query.name: fresh[query.name] for query, _step in members[known:]})
        readers.update(fresh)
        self._sharing, self._members, self._planned, self._readers = sharing, members, planned, readers
        return SharedPlan(tuple(one.unit for one in planned.values()), tuple(readers.values()))


def _begins(members: Sequence[Member], first: Sequence[Member]) -> bool:
    """Whether these queries, the same objects at the same steps, are the first of the members."""
    return len(first) <= len(members) and all(a is b and s == t for (a, s), (b, t) in zip(first, members))


def _plan(before: _Planned | None, index: int, members: Sequence[Member], owner: str) -> _Planned:
    """One unit with its readers, with all that still holds of the plan before."""
    if before is not None and _begins(members, before.members):
        added = members[len(before.members) :]
        unit = _joined(before.unit, _unit(added, owner)) if added else before.unit
    else:
        unit = _unit(members, owner)
    kept = before.readers if before is not None and before.unit.synopses == unit.synopses else {}
    readers: dict[str, Reader] = {}
    for query, step in members:
        reader = kept.get(query.name)
        if reader is None or reader.query is not query or (reader.unit, reader.step) != (index, step):
            reader = _reader(query, index, unit, step)
        readers[query.name] = reader
    return _Planned(members, index, unit, readers)


def _key(query: WindowQuery) -> object:
    """What queries that share a unit agree on."""
    return (query.streams, query.joins, query.where.opaque, tuple(k.row for k in query.keys), _compared(query))


def _compared(query: WindowQuery) -> tuple[str, ...]:
    predicates = [query.where, *(aggregate.where for aggregate in query.aggregates)]
    return tuple(sorted({c.column for predicate in predicates for c in predicate.comparisons}))


def _unit(members: Sequence[Member], owner: str) -> Unit:
    first, _step = members[0]
    synopses: dict[UnitSynopsis, None] = {ROWS: None}
    constants: dict[str, set[Constant]] = {column: set() for column in _compared(first)}
    for query, _step in members:
        for aggregate in query.aggregates:
            synopses[_synopsis(query, aggregate)] = None
        for predicate in (query.where, *(aggregate.where for aggregate in query.aggregates)):
            for comparison in predicate.comparisons:
                constants[comparison.column].update(comparison.values)
    return Unit(
        stream=first.stream,
        joins=first.joins,
        mask=first.where.opaque,
        keys=tuple(key.row for key in first.keys),
        bands=tuple(_band(column, values) for column, values in constants.items()),
        synopses=_ordered(synopses),
        windows=tuple(sorted({(query.range_us, step) for query, step in members})),
        owner=owner,
        united=first.united,
    )


def _joined(one: Unit, other: Unit) -> Unit:
    """A unit for the readers of both, which agree on all that makes it one unit."""
    return replace(
        one,
        bands=tuple(_band(mine.column, {*mine.cuts, *its.cuts}) for mine, its in zip(one.bands, other.bands)),
        synopses=_ordered([*one.synopses, *other.synopses]),
        windows=tuple(sorted({*one.windows, *other.windows})),
    )


def _ordered(synopses: Iterable[UnitSynopsis]) -> tuple[UnitSynopsis, ...]:
    return (ROWS, *sorted((s for s in _largest(synopses) if s != ROWS), key=repr))


def _band(column: str, values: set[Constant]) -> BandColumn:
    labels = [value for value in values if isinstance(value, str)]
    if labels:
        return BandColumn(column, "label", tuple(sorted(labels)))
    return BandColumn(column, "number", tuple(sorted(value for value in values if not isinstance(value, str))))


def _largest(synopses: Iterable[UnitSynopsis]) -> list[UnitSynopsis]:
    """All synopses; of rankings by the same score the one that keeps most, since it answers the others too."""
    kept: dict[object, UnitSynopsis] = {}
    for one in synopses:
        same = _score(one) if one.kind == "world" else one
        known = kept.setdefault(same, one)
        if one.kind == "world" and known.parameters[0] != ALL_ROWS:
            least, most = sorted((known, one), key=lambda s: s.parameters[0] or 0)
            kept[same] = least if least.parameters[0] == ALL_ROWS else most
    return list(kept.values())


def _score(ranking: UnitSynopsis) -> object:
    """What rankings that share their rows agree on: all but k."""
    return ranking.argument, ranking.parameters[1:]


def _place(unit: Unit, query: WindowQuery, aggregate: Aggregate) -> int:
    """Which synopsis of the unit an aggregate reads."""
    own = _synopsis(query, aggregate)
    for place, one in enumerate(unit.synopses):
        if one == own or (own.kind == one.kind == "world" and _score(own) == _score(one)):
            return place
    raise AssertionError("a unit keeps what its readers read")


def _synopsis(query: WindowQuery, aggregate: Aggregate) -> UnitSynopsis:
    top = query.top
    if top is not None:
        most = ALL_ROWS if top.whole or aggregate.parameters[0] == "STREAMS_ALIKE" else top.ranks
        return UnitSynopsis(TOP.synopsis, top.kept, (most, int(top.ascending)))
    function = FUNCTIONS[aggregate.function]
    if aggregate.argument is None:
        return ROWS
    kind = function.synopsis
    if aggregate.distinct:
        assert function.distinct is not None, f"{function.name} with DISTINCT was bound"
        kind = function.distinct
    parameters: tuple[int | None, ...] = ()
    if kind == "values":
        parameters = (None if aggregate.distinct else PERCENTILE_VALUES,)
    elif kind == "distinct":
        rsd = aggregate.parameters[0] if aggregate.parameters else DEFAULT_RSD
        assert isinstance(rsd, int | float)
        parameters = (round(1e6 * rsd),)
    argument = aggregate.argument
    if aggregate.function == "count_if":
        argument = f"CASE WHEN {argument} THEN 1 END"
    return UnitSynopsis(kind, argument, parameters, aggregate.ignore_nulls)


def _reader(query: WindowQuery, index: int, unit: Unit, step: Micros) -> Reader:
    uses = tuple(
        Use(a.function, _place(unit, query, a), a.parameters, _conditions(unit, a.where))
        for a in query.aggregates
    )
    return Reader(query, index, step, _conditions(unit, query.where), uses)


def _conditions(unit: Unit, predicate: Predicate) -> Conditions:
    by_column: dict[str, list[Comparison]] = {}
    for comparison in predicate.comparisons:
        by_column.setdefault(comparison.column, []).append(comparison)
    return tuple(tuple(by_column.get(band.column, ())) for band in unit.bands)
