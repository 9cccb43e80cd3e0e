"""From shared units to what a tick runs: projections in Spark SQL, specifications for the kernels.

A *branch* is one read of a stream's slice. Units that go the same way (``ways.py``) and whose enrichment keeps rows
apart (every table row found by its key at most once) share a branch: their joins become LEFT joins, and an inner join's
misses go into the unit's mask. A unit whose table repeats keys gets a branch of its own, for there a row may become
several. Every expression is computed once per branch, however many units name it.

A stream whose rows are retained for row queries has one branch more, without joins and units. It counts the rows where
no unit does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from punctual.kernel.panes.layout import progressions_for
from punctual.kernel.panes.spec import Band, SynopsisSpec, UnitSpec
from punctual.kernel.synopses.distinct import precision_for
from punctual.own_names import (
    BATCH_MARK,
    IDENTITY,
    ORIGIN,
    RAW,
    REASON,
    ROW,
    SAMPLE_MARK,
    TIME,
    WHY,
    joined_column,
    joined_flag,
)
from punctual.plan.expression import Expression, cast, column_of, conjunction
from punctual.plan.fingerprint import fingerprint
from punctual.plan.functions import SYNOPSES
from punctual.plan.relation import Column, Stream, Table
from punctual.plan.rows import Join
from punctual.plan.shared import Unit, UnitSynopsis
from punctual.plan.sql_text import quoted
from punctual.plan.united import common_columns, own_meanings
from punctual.ports.feeds.read_plan import row_text
from punctual.runtime.direct_values import Types, direct_value
from punctual.runtime.given_law_rules import broken_laws
from punctual.runtime.operators.row_files import Retain
from punctual.runtime.operators.values import Value
from punctual.runtime.ways import row_types, times_declared, why_catalyst
from punctual.scan.marks import MARKS


@dataclass(frozen=True, slots=True)
class Branch:
    """One read of a stream: the joins, the projected columns, the units (name in the state, specification)."""

    stream: Stream
    joins: tuple[Join, ...]
    projections: tuple[tuple[str, Expression], ...]
    units: tuple[tuple[str, UnitSpec], ...]
    counted: bool
    """Whether this branch counts rows and writes dead letters: the first of its stream."""
    direct: tuple[tuple[str, Value], ...] | None
    """The projections without Spark: then its rows never leave the task that reads them. None where Spark projects."""
    shared: bool = True
    """Whether rows stay apart, so that the tables of one unit may not drop the rows of another."""
    united: bool = False
    """Whether some unit reads other streams too, so that rows need what they mean under common names."""
    retain: Retain | None = None
    """Where accepted rows are retained: what of them."""

    @property
    def marked(self) -> bool:
        """Whether some unit reads what a row stands for."""
        return any(not names.isdisjoint(MARKS) for names in (one.names for _name, one in self.projections))


@dataclass(slots=True)
class _Columns:
    """Row expressions by the name of the column that they are projected to.

    A name follows from its expression alone: cells remember what they hold by it, across programs and in all streams
    of a union.
    """

    names: dict[Expression, str] = field(default_factory=dict)

    def name(self, expression: Expression) -> str:
        return self.names.setdefault(expression, f"c{fingerprint(expression)}")

    def projections(self) -> tuple[tuple[str, Expression], ...]:
        return tuple((name, expression) for expression, name in self.names.items())


def branches(
    stream: Stream,
    units: Sequence[tuple[str, Unit]],
    unique: Callable[[Join], bool],
    streams: Mapping[str, Stream],
    tables: Mapping[str, Table],
    retained: tuple[str, ...] = (),
) -> tuple[Branch, ...]:
    """The reads of a stream for its units, the counting one first; ``streams`` has those that it is united with.

    ``retained`` names the columns of the stream, as declared, that row queries may read: at least its event time, if
    there are such queries.
    """
    ways = {True: _Shared(), False: _Shared()}
    alone: list[tuple[str, Unit, bool]] = []
    for name, unit in units:
        direct = why_catalyst(unit, streams, tables) is None
        if not ways[direct].takes(name, unit, unique):
            alone.append((name, unit, direct))
    found = [
        _branch(stream, tuple(one.joins.values()), one.units, streams, tables if direct else None)
        for direct, one in ways.items()
        if one.units
    ]
    if retained:
        found.append(_retaining(stream, retained, tables))
    # Somebody counts the rows, though no unit may share a branch.
    found = found or [_branch(stream, (), (), streams, tables if times_declared(stream) else None)]
    found += [
        _branch(stream, unit.joins, [(name, unit)], streams, tables if direct else None, shared=False)
        for name, unit, direct in alone
    ]
    return (replace(found[0], counted=True), *found[1:])


@dataclass(slots=True)
class _Shared:
    """Units that share a branch, and their joins by alias."""

    units: list[tuple[str, Unit]] = field(default_factory=list)
    joins: dict[str, Join] = field(default_factory=dict)

    def takes(self, name: str, unit: Unit, unique: Callable[[Join], bool]) -> bool:
        """Take the unit, if its tables keep rows apart and its aliases mean the same."""
        fits = all(unique(j) and self.joins.get(j.alias, j) == j for j in unit.joins)
        if fits:
            self.joins.update({j.alias: j for j in unit.joins})
            self.units.append((name, unit))
        return fits


def _branch(
    stream: Stream, joins: tuple[Join, ...], units: Sequence[tuple[str, Unit]], streams: Mapping[str, Stream],
    tables: Mapping[str, Table] | None, *, shared: bool = True,
) -> Branch:  # fmt: skip
    """A branch; ``tables`` is None for one that Spark projects."""
    columns = _Columns()
    specs = tuple((name, _spec([streams[n.lower()] for n in unit.streams], unit, columns)) for name, unit in units)
    united = any(len(unit.streams) > 1 for _name, unit in units)
    projections = columns.projections()
    direct = None if tables is None else _without_spark(projections, row_types(stream, joins, tables))
    return Branch(stream, joins, projections, specs, False, direct, shared, united)


def _retaining(stream: Stream, retained: Sequence[str], tables: Mapping[str, Table]) -> Branch:
    """A branch that keeps rows as they are. Their event time is kept anyway, so it is none of its columns.

    What rows are told apart by when samples are drawn is a hash of all that was given of them.
    """
    kept = [name for name in retained if name not in (stream.event_time, IDENTITY)]
    given = [column.name for column in stream.columns if column.derived is None] if IDENTITY in retained else []
    names = list(dict.fromkeys([*kept, *(name for name in given if name != stream.event_time)]))
    places = {name: f"r{number}" for number, name in enumerate(names)}
    projections = tuple((projected, column_of(name)) for name, projected in places.items())
    derived = {column.name for column in stream.columns if column.derived is not None}
    by_spark = not times_declared(stream) or not derived.isdisjoint(names)
    direct = None if by_spark else _without_spark(projections, row_types(stream, (), tables))
    hashed = tuple(TIME if name == stream.event_time else places[name] for name in given)
    retain = Retain(tuple((places[name], name) for name in kept), hashed)
    return Branch(stream, (), projections, (), False, direct, retain=retain)


def _without_spark(projections: Iterable[tuple[str, Expression]], types: Types) -> tuple[tuple[str, Value], ...]:
    values: list[tuple[str, Value]] = []
    for name, expression in projections:
        value = direct_value(expression, types)
        assert value is not None, f"{expression.sql} goes the direct way"
        values.append((name, value))
    return tuple(values)


def _spec(streams: Sequence[Stream], unit: Unit, columns: _Columns) -> UnitSpec:
    mask = [*unit.mask, *(column_of(joined_flag(join.alias)) for join in unit.joins if join.how == "inner")]
    ties: tuple[str, ...] = ()
    if any(SYNOPSES[synopsis.kind].ordered for synopsis in unit.synopses):
        others = (column for column in common_columns(streams) if column.name != streams[0].event_time)
        ties = tuple(columns.name(_tie(column)) for column in others)
    return UnitSpec(
        keys=tuple(columns.name(key) for key in (*unit.keys, *_marks(unit))),
        mask=columns.name(conjunction(mask)) if mask else None,
        bands=tuple(Band(columns.name(band.column), band.kind, band.cuts) for band in unit.bands),
        progressions=progressions_for(unit.windows),
        synopses=tuple(_synopsis(synopsis, columns) for synopsis in unit.synopses),
        ties=ties,
    )


def _tie(column: Column) -> Expression:
    """What rows of one time are ordered by; NULL is written as such, as it needs no Spark then."""
    return column.derived if column.absent and column.derived is not None else column_of(column.name)


def _marks(unit: Unit) -> list[Expression]:
    """What a row stands for, and what those of windows stand for whose samples are drawn apart, where they are keys."""
    if not unit.sampled:
        return []
    others = (joined_column(alias, SAMPLE_MARK) for alias in unit.drawn_apart)
    return [column_of(SAMPLE_MARK if unit.parted else BATCH_MARK), *map(column_of, others)]


def unit_columns(streams: Sequence[Stream], unit: Unit) -> tuple[UnitSpec, tuple[tuple[str, Expression], ...]]:
    """A unit's specification, and the columns that it names with what they are of a row of the streams."""
    columns = _Columns()
    spec = _spec(streams, unit, columns)
    return spec, columns.projections()


def _synopsis(synopsis: UnitSynopsis, columns: _Columns) -> SynopsisSpec:
    parameters: tuple[object, ...] = synopsis.parameters
    if synopsis.kind == "distinct":
        millionths = synopsis.parameters[0]
        assert millionths is not None
        parameters = (precision_for(millionths / 1e6),)
    column = None if synopsis.argument is None else columns.name(synopsis.argument)
    return SynopsisSpec(synopsis.kind, column, parameters, synopsis.ignore_nulls)


def join_condition(join: Join) -> str:
    """What a row and a row of the table agree on, as Spark SQL."""
    return " AND ".join(f"({row.sql}) = {quoted(joined_column(join.alias, column))}" for row, column in join.on)


def rows_only(windows: Sequence[tuple[int, int]]) -> UnitSpec:
    """A unit that counts rows by pane: how many came too late, window by window."""
    return UnitSpec((), None, (), progressions_for(windows), (SynopsisSpec("rows"),))


def _improbable(stream: Stream) -> str:
    """A row whose probability is none is a dead letter."""
    if stream.probability is None:
        return ""
    probability = quoted(stream.probability)
    return (
        f" WHEN {probability} IS NULL THEN 'missing probability'"
        f" WHEN NOT ({probability} >= 0 AND {probability} <= 1) THEN 'probability outside [0, 1]'"
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """Which event times count, as SQL: from ``earliest`` through ``horizon``, after ``complete_through``.

    ``tops`` says whether the origin of rows that count is asked for.
    """

    earliest: str
    horizon: str
    complete_through: str
    tops: str


def branch_sql(branch: Branch, view: str, tables: Mapping[str, str], limits: Limits) -> str:
    """The Spark SQL of a branch over the view of the stream's slice.

    ``tables`` maps a join's alias to the view of its table, whose columns have the names of the enriched row.
    """
    stream = branch.stream
    time, why, row, origin, reason, raw = map(quoted, (TIME, WHY, ROW, ORIGIN, REASON, RAW))
    event_time = quoted(stream.event_time)
    meanings = ""
    if branch.united:
        meanings = "".join(f", {value.sql} AS {quoted(name)}" for name, value in own_meanings(stream).items())
    derived = [f"{cast(c.derived, c.type).sql} AS {quoted(c.name)}" for c in stream.columns if c.derived is not None]
    declared = ", ".join(quoted(c.name) for c in stream.columns if c.derived is None)
    source = f"SELECT *{''.join(f', {one}' for one in derived)} FROM {quoted(view)}"
    with_reasons = (
        f"SELECT *, unix_micros({event_time}) AS {time}, CASE WHEN {reason} IS NOT NULL THEN {reason}"
        f" WHEN {event_time} IS NULL THEN 'missing event time'"
        f" WHEN unix_micros({event_time}) < {limits.earliest} THEN 'event time before earliest'"
        f" WHEN unix_micros({event_time}) > {limits.horizon} THEN 'event time too far ahead'"
        f"{_improbable(stream)}{broken_laws(stream)}"
        f" WHEN unix_micros({event_time}) <= {limits.complete_through} THEN 'late' END AS {why}{meanings}"
        f" FROM ({source})"
    )
    outputs = [time, why]
    if branch.counted:
        outputs += [
            f"CASE WHEN {why} IS NOT NULL THEN coalesce({raw}, {row_text(f'struct({declared})')}) END AS {row}",
            f"CASE WHEN {why} IS NOT NULL OR {limits.tops} THEN {origin} END AS {origin}",
        ]
    else:
        outputs += [f"CAST(NULL AS STRING) AS {row}", f"CAST(NULL AS STRING) AS {origin}"]
    outputs += [f"({expression.sql}) AS {name}" for name, expression in branch.projections]
    text = f"SELECT {', '.join(outputs)} FROM ({with_reasons})"
    for join in branch.joins:
        # Only a branch of its own may drop rows.
        kind = "LEFT JOIN" if branch.shared or join.how == "left" else "JOIN"
        text += f" {kind} {quoted(tables[join.alias])} ON {join_condition(join)}"
    if not branch.counted:
        text += f" WHERE {why} IS NULL"
    return text
