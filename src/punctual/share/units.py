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
from punctual.plan.expression import Expression
from punctual.plan.functions import SYNOPSES
from punctual.plan.query import Query
from punctual.plan.rows import Comparison, Constant, Predicate
from punctual.plan.shared import (
    ROWS,
    BandColumn,
    Conditions,
    Needs,
    Reader,
    RowNeeds,
    RowReader,
    SharedPlan,
    Unit,
    UnitSynopsis,
    Use,
)
from punctual.share.sheddable import drawn_apart, is_parted

EVERYTHING = 0
"""The size of a synopsis that keeps all there is."""
Member = tuple[Query, Needs | RowNeeds]
"""A query, and what it reads of cells or rows."""
Timed = tuple[Query, Needs, Micros]
"""A query, what it reads of cells, and of what all its instants are multiples."""


def share_units(
    members: Sequence[Member], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
) -> SharedPlan:
    """The shared plan of queries with what each of them needs.

    ``steps`` says, by the query's name, of what all its instants are multiples; by default of its own bound.
    """
    return Units().share(members, sharing=sharing, steps=steps)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A unit, its index, what it was planned from, and its readers by the name of their query."""

    members: Sequence[Timed]
    index: int
    unit: Unit
    readers: Mapping[str, Reader]


class Units:
    """Shared plans of programs that follow each other. Each is the plan that :func:`share_units` gives, only sooner.

    Where queries were added to a program, only the units that they join are planned. Otherwise all are, and what still
    holds of the program before is used.
    """

    def __init__(self) -> None:
        self._sharing = True
        self._members: tuple[Timed, ...] = ()
        self._planned: dict[object, _Planned] = {}
        self._readers: dict[str, Reader] = {}

    def share(
        self, members: Iterable[Member], *, sharing: bool = True, steps: Mapping[str, Micros] | None = None
    ) -> SharedPlan:
        """The shared plan of the queries; see :func:`share_units`."""
        step_of = {} if steps is None else steps
        steps_of = [(query, needs, step_of.get(query.name, query.cadence.us)) for query, needs in members]
        timed = tuple((query, needs, step) for query, needs, step in steps_of if isinstance(needs, Needs))
        rows = tuple(
            RowReader(query, step, needs.statement) for query, needs, step in steps_of if isinstance(needs, RowNeeds)
        )
        known = len(self._members) if sharing == self._sharing and _begins(timed, self._members) else 0
        groups: dict[object, list[Timed]] = {}
        for member in timed[known:]:
            key = _key(*member[:2]) if sharing else member[0].name
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
        readers.update({query.name: fresh[query.name] for query, _needs, _step in timed[known:]})
        readers.update(fresh)
        self._sharing, self._members, self._planned, self._readers = sharing, timed, planned, readers
        return SharedPlan(tuple(one.unit for one in planned.values()), tuple(readers.values()), rows)


def _begins(members: Sequence[Timed], first: Sequence[Timed]) -> bool:
    """Whether these queries, the same objects at the same steps, are the first of the members."""
    return len(first) <= len(members) and all(
        a is b and s == t for (a, _needs, s), (b, _same, t) in zip(first, members)
    )


def _plan(before: _Planned | None, index: int, members: Sequence[Timed], owner: str) -> _Planned:
    """One unit with its readers, with all that still holds of the plan before."""
    if before is not None and _begins(members, before.members):
        added = members[len(before.members) :]
        unit = _joined(before.unit, _unit(added, owner)) if added else before.unit
    else:
        unit = _unit(members, owner)
    kept = before.readers if before is not None and before.unit.synopses == unit.synopses else {}
    served = {_whatever_size(one): number for number, one in enumerate(unit.synopses)}
    readers: dict[str, Reader] = {}
    for query, needs, step in members:
        reader = kept.get(query.name)
        if reader is None or reader.query is not query or (reader.unit, reader.step) != (index, step):
            reader = _reader(query, needs, index, unit, step, served)
        readers[query.name] = reader
    return _Planned(members, index, unit, readers)


def _key(query: Query, needs: Needs) -> object:
    """What queries that share a unit agree on: also what cells know of samples, since exact readers want none."""
    rows = needs.rows
    samples = needs.sampled, is_parted(query, needs)
    return (query.streams, rows.joins, rows.where.opaque, rows.keys, _compared(needs), samples)


def _reader(
    query: Query, needs: Needs, index: int, unit: Unit, step: Micros, served: Mapping[UnitSynopsis, int]
) -> Reader:
    uses = tuple(
        Use(use.function, served[_whatever_size(use.synopsis)], use.parameters, _conditions(unit, use.where))
        for use in needs.uses
    )
    return Reader(query, index, step, _conditions(unit, needs.rows.where), uses, needs.walk)


def _predicates(needs: Needs) -> list[Predicate]:
    return [needs.rows.where, *(use.where for use in needs.uses)]


def _compared(needs: Needs) -> tuple[Expression, ...]:
    columns = {c.column for predicate in _predicates(needs) for c in predicate.comparisons}
    return tuple(sorted(columns, key=lambda column: column.sql))


def _unit(members: Sequence[Timed], owner: str) -> Unit:
    first, needed, _step = members[0]
    synopses = {ROWS: None, **{use.synopsis: None for _query, needs, _step in members for use in needs.uses}}
    constants: dict[Expression, set[Constant]] = {column: set() for column in _compared(needed)}
    for _query, needs, _step in members:
        for predicate in _predicates(needs):
            for comparison in predicate.comparisons:
                constants[comparison.column].update(comparison.values)
    return Unit(
        stream=first.streams[0],
        joins=needed.rows.joins,
        mask=needed.rows.where.opaque,
        keys=needed.rows.keys,
        bands=tuple(_band(column, values) for column, values in constants.items()),
        synopses=_ordered(synopses),
        windows=tuple(sorted({(query.range_us, step) for query, _needs, step in members})),
        owner=owner,
        united=() if needed.rows.windows else first.streams[1:],
        sampled=needed.sampled,
        parted=is_parted(first, needed),
        drawn_apart=drawn_apart(first, needed.rows),
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
