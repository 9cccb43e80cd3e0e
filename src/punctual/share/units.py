"""Which queries read the same cells.

Queries that agree on stream, enrichment, opaque predicate, group keys and compared columns share one unit: its
synopses are the union of what they read, its cuts the union of their constants, its windows the set of theirs. With
``sharing = off`` every query gets a unit of its own, for comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
WHOLE = ("U_TOPK", "EXPECTED_RANK", "PRFE", "STREAMS_ALIKE")
"""Rankings that need every row of a window."""


def share(
    queries: Iterable[WindowQuery], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
) -> SharedPlan:
    """The shared plan of the queries.

    ``steps`` says, by the query's name, of what all its instants are multiples; by default of its own bound.
    """
    step_of = {} if steps is None else steps
    groups: dict[object, list[WindowQuery]] = {}
    order: list[WindowQuery] = []
    for query in queries:
        key = (query.stream, query.joins, query.where.opaque, tuple(k.row for k in query.keys), _compared(query))
        groups.setdefault(key if sharing else query.name, []).append(query)
        order.append(query)
    found = {query.name: step_of.get(query.name, query.cadence.us) for query in order}
    units = tuple(_unit(members, "" if sharing else members[0].name, found) for members in groups.values())
    place = {query.name: index for index, members in enumerate(groups.values()) for query in members}
    readers = (_reader(query, place[query.name], units[place[query.name]], found[query.name]) for query in order)
    return SharedPlan(units, tuple(readers))


def _compared(query: WindowQuery) -> tuple[str, ...]:
    predicates = [query.where, *(aggregate.where for aggregate in query.aggregates)]
    return tuple(sorted({c.column for predicate in predicates for c in predicate.comparisons}))


def _unit(members: list[WindowQuery], owner: str, steps: Mapping[str, Micros]) -> Unit:
    first = members[0]
    synopses: dict[UnitSynopsis, None] = {ROWS: None}
    constants: dict[str, set[Constant]] = {column: set() for column in _compared(first)}
    for query in members:
        for aggregate in query.aggregates:
            synopses[_synopsis(aggregate)] = None
        for predicate in (query.where, *(aggregate.where for aggregate in query.aggregates)):
            for comparison in predicate.comparisons:
                constants[comparison.column].update(comparison.values)
    return Unit(
        stream=first.stream,
        joins=first.joins,
        mask=first.where.opaque,
        keys=tuple(key.row for key in first.keys),
        bands=tuple(_band(column, values) for column, values in constants.items()),
        synopses=(ROWS, *sorted((s for s in _largest(synopses) if s != ROWS), key=repr)),
        windows=tuple(sorted({(query.range_us, steps[query.name]) for query in members})),
        owner=owner,
    )


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


def _place(unit: Unit, aggregate: Aggregate) -> int:
    """Which synopsis of the unit an aggregate reads."""
    own = _synopsis(aggregate)
    for place, one in enumerate(unit.synopses):
        if one == own or (own.kind == one.kind == "world" and _score(own) == _score(one)):
            return place
    raise AssertionError("a unit keeps what its readers read")


def _synopsis(aggregate: Aggregate) -> UnitSynopsis:
    if aggregate.function == TOP.name:
        semantics, k, ascending, _margin, *numbers = aggregate.parameters
        assert isinstance(k, int)
        assert isinstance(ascending, int)
        most = ALL_ROWS if semantics in WHOLE else max(k, len(numbers)) if semantics == "PRF" else k
        return UnitSynopsis(TOP.synopsis, aggregate.argument, (most, ascending))
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
        Use(a.function, _place(unit, a), a.parameters, _conditions(unit, a.where))
        for a in query.aggregates
    )
    return Reader(query, index, step, _conditions(unit, query.where), uses)


def _conditions(unit: Unit, predicate: Predicate) -> Conditions:
    by_column: dict[str, list[Comparison]] = {}
    for comparison in predicate.comparisons:
        by_column.setdefault(comparison.column, []).append(comparison)
    return tuple(tuple(by_column.get(band.column, ())) for band in unit.bands)
