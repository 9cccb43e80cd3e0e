"""Which queries read the same cells.

Queries that agree on stream, enrichment, opaque predicate, group keys and compared columns share one unit: its
synopses are the union of what they read, its cuts the union of their constants, its windows the set of theirs. With
``sharing = off`` every query gets a unit of its own, for comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from punctual.clock import Micros
from punctual.plan.expression import Expression
from punctual.plan.functions import SYNOPSES
from punctual.plan.query import Query
from punctual.plan.rows import Comparison, Constant, Predicate
from punctual.plan.shared import ROWS, BandColumn, Conditions, Needs, Reader, SharedPlan, Unit, UnitSynopsis, Use

EVERYTHING = 0
"""The size of a synopsis that keeps all there is."""
Member = tuple[Query, Needs]


def share_units(
    members: Sequence[Member], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
) -> SharedPlan:
    """The shared plan of queries with what each of them needs.

    ``steps`` says, by the query's name, of what all its instants are multiples; by default of its own bound.
    """
    step_of = {} if steps is None else steps
    groups: dict[object, list[Member]] = {}
    for query, needs in members:
        rows = needs.rows
        key = (query.streams, rows.joins, rows.where.opaque, rows.keys, _compared(needs))
        groups.setdefault(key if sharing else query.name, []).append((query, needs))
    found = {query.name: step_of.get(query.name, query.cadence.us) for query, _needs in members}
    units = tuple(_unit(several, "" if sharing else several[0][0].name, found) for several in groups.values())
    place = {query.name: index for index, several in enumerate(groups.values()) for query, _needs in several}
    served = [{_whatever_size(one): number for number, one in enumerate(unit.synopses)} for unit in units]
    readers = []
    for query, needs in members:
        index = place[query.name]
        uses = tuple(
            Use(u.function, served[index][_whatever_size(u.synopsis)], u.parameters, _conditions(units[index], u.where))
            for u in needs.uses
        )
        where = _conditions(units[index], needs.rows.where)
        readers.append(Reader(query, index, found[query.name], where, uses, needs.walk))
    return SharedPlan(units, tuple(readers))


def _predicates(needs: Needs) -> list[Predicate]:
    return [needs.rows.where, *(use.where for use in needs.uses)]


def _compared(needs: Needs) -> tuple[Expression, ...]:
    columns = {c.column for predicate in _predicates(needs) for c in predicate.comparisons}
    return tuple(sorted(columns, key=lambda column: column.sql))


def _unit(members: Sequence[Member], owner: str, steps: Mapping[str, Micros]) -> Unit:
    first, needed = members[0]
    synopses = {ROWS: None, **{use.synopsis: None for _query, needs in members for use in needs.uses}}
    constants: dict[Expression, set[Constant]] = {column: set() for column in _compared(needed)}
    for _query, needs in members:
        for predicate in _predicates(needs):
            for comparison in predicate.comparisons:
                constants[comparison.column].update(comparison.values)
    return Unit(
        stream=first.streams[0],
        joins=needed.rows.joins,
        mask=needed.rows.where.opaque,
        keys=needed.rows.keys,
        bands=tuple(_band(column, values) for column, values in constants.items()),
        synopses=(ROWS, *sorted((s for s in _largest(synopses) if s != ROWS), key=repr)),
        windows=tuple(sorted({(query.range_us, steps[query.name]) for query, _needs in members})),
        owner=owner,
        united=first.streams[1:],
    )


def _band(column: Expression, values: set[Constant]) -> BandColumn:
    labels = [value for value in values if isinstance(value, str)]
    if labels:
        return BandColumn(column, "label", tuple(sorted(labels)))
    return BandColumn(column, "number", tuple(sorted(value for value in values if not isinstance(value, str))))


def _largest(synopses: Iterable[UnitSynopsis]) -> list[UnitSynopsis]:
    """All synopses; of those that differ in size alone the one that keeps most, since it serves the others too."""
    kept: dict[UnitSynopsis, UnitSynopsis] = {}
    for one in synopses:
        known = kept.setdefault(_whatever_size(one), one)
        if _size(one) > _size(known):
            kept[_whatever_size(one)] = one
    return list(kept.values())


def _whatever_size(synopsis: UnitSynopsis) -> UnitSynopsis:
    """What synopses that serve each other agree on."""
    if not SYNOPSES[synopsis.kind].sized:
        return synopsis
    return replace(synopsis, parameters=(None, *synopsis.parameters[1:]))


def _size(synopsis: UnitSynopsis) -> float:
    if not SYNOPSES[synopsis.kind].sized:
        return 0
    return float("inf") if synopsis.parameters[0] == EVERYTHING else synopsis.parameters[0] or 0


def _conditions(unit: Unit, predicate: Predicate) -> Conditions:
    by_column: dict[Expression, list[Comparison]] = {}
    for comparison in predicate.comparisons:
        by_column.setdefault(comparison.column, []).append(comparison)
    return tuple(tuple(by_column.get(band.column, ())) for band in unit.bands)
