"""From shared units to what a tick runs: projections in Spark SQL, specifications for the kernels.

A *branch* is one read of a stream's slice. Units whose enrichment keeps rows apart (every table row found by its key at
most once) share the stream's first branch: their joins become LEFT joins, and an inner join's misses go into the unit's
mask. A unit whose table repeats keys gets a branch of its own, for there a row may become several.
Every expression is computed once per branch, however many units name it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from punctual.kernel.panes.layout import progressions_for
from punctual.kernel.panes.spec import Band, SynopsisSpec, UnitSpec
from punctual.kernel.synopses.distinct import precision_for
from punctual.own_names import ORIGIN, RAW, REASON, ROW, TIME, WHY, joined_column, joined_flag
from punctual.plan.expression import Expression, cast, column_of, conjunction
from punctual.plan.fingerprint import fingerprint
from punctual.plan.functions import SYNOPSES
from punctual.plan.relation import Stream
from punctual.plan.rows import Join
from punctual.plan.shared import Unit, UnitSynopsis
from punctual.plan.sql_text import quoted
from punctual.plan.united import common_columns, own_meanings
from punctual.ports.feeds.read_plan import row_text


@dataclass(frozen=True, slots=True)
class Branch:
    """One read of a stream: the joins, the projected columns, the units (name in the state, specification)."""

    stream: Stream
    joins: tuple[Join, ...]
    projections: tuple[tuple[str, Expression], ...]
    units: tuple[tuple[str, UnitSpec], ...]
    counted: bool
    """Whether this branch counts rows and writes dead letters: the first of its stream."""
    united: bool = False
    """Whether some unit reads other streams too, so that rows need what they mean under common names."""


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
    stream: Stream, units: Sequence[tuple[str, Unit]], unique: Callable[[Join], bool], streams: Mapping[str, Stream]
) -> tuple[Branch, ...]:
    """The reads of a stream for its units, the counting one first; ``streams`` has those that it is united with."""
    shared: list[tuple[str, Unit]] = []
    joins: dict[str, Join] = {}
    alone: list[tuple[str, Unit]] = []
    for name, unit in units:
        fits = all(unique(j) and joins.get(j.alias, j) == j for j in unit.joins)
        if fits:
            joins.update({j.alias: j for j in unit.joins})
        (shared if fits else alone).append((name, unit))
    first = _branch(stream, tuple(joins.values()), shared, streams, counted=True)
    others = (_branch(stream, unit.joins, [(name, unit)], streams, counted=False) for name, unit in alone)
    return (first, *others)


def _branch(
    stream: Stream, joins: tuple[Join, ...], units: Sequence[tuple[str, Unit]], streams: Mapping[str, Stream],
    *, counted: bool,
) -> Branch:  # fmt: skip
    columns = _Columns()
    specs = tuple((name, _spec([streams[n.lower()] for n in unit.streams], unit, columns)) for name, unit in units)
    united = any(len(unit.streams) > 1 for _name, unit in units)
    return Branch(stream, joins, columns.projections(), specs, counted, united)


def _spec(streams: Sequence[Stream], unit: Unit, columns: _Columns) -> UnitSpec:
    mask = [*unit.mask, *(column_of(joined_flag(join.alias)) for join in unit.joins if join.how == "inner")]
    ties: tuple[str, ...] = ()
    if any(SYNOPSES[synopsis.kind].ordered for synopsis in unit.synopses):
        others = (column.name for column in common_columns(streams) if column.name != streams[0].event_time)
        ties = tuple(columns.name(column_of(name)) for name in others)
    return UnitSpec(
        keys=tuple(columns.name(key) for key in unit.keys),
        mask=columns.name(conjunction(mask)) if mask else None,
        bands=tuple(Band(columns.name(band.column), band.kind, band.cuts) for band in unit.bands),
        progressions=progressions_for(unit.windows),
        synopses=tuple(_synopsis(synopsis, columns) for synopsis in unit.synopses),
        ties=ties,
    )


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
    """Which event times count, as SQL numbers: from ``earliest`` through ``horizon``, after ``complete_through``."""

    earliest: str
    horizon: str
    complete_through: str


def branch_sql(branch: Branch, view: str, tables: Mapping[str, str], limits: Limits, *, tops: bool) -> str:
    """The Spark SQL of a branch over the view of the stream's slice; ``tops`` asks for the origin of rows that count.

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
    source = f"SELECT {', '.join([declared, reason, raw, origin, *derived])} FROM {quoted(view)}"
    with_reasons = (
        f"SELECT *, unix_micros({event_time}) AS {time}, CASE WHEN {reason} IS NOT NULL THEN {reason}"
        f" WHEN {event_time} IS NULL THEN 'missing event time'"
        f" WHEN unix_micros({event_time}) < {limits.earliest} THEN 'event time before earliest'"
        f" WHEN unix_micros({event_time}) > {limits.horizon} THEN 'event time too far ahead'"
        f"{_improbable(stream)}"
        f" WHEN unix_micros({event_time}) <= {limits.complete_through} THEN 'late' END AS {why}{meanings}"
        f" FROM ({source})"
    )
    outputs = [time, why]
    if branch.counted:
        outputs += [
            f"CASE WHEN {why} IS NOT NULL THEN coalesce({raw}, {row_text(f'struct({declared})')}) END AS {row}",
            origin if tops else f"CASE WHEN {why} IS NOT NULL THEN {origin} END AS {origin}",
        ]
    else:
        outputs += [f"CAST(NULL AS STRING) AS {row}", f"CAST(NULL AS STRING) AS {origin}"]
    outputs += [f"({expression.sql}) AS {name}" for name, expression in branch.projections]
    text = f"SELECT {', '.join(outputs)} FROM ({with_reasons})"
    for join in branch.joins:
        # Only a branch of its own may drop rows: the shared one counts all of them.
        kind = "LEFT JOIN" if branch.counted or join.how == "left" else "JOIN"
        text += f" {kind} {quoted(tables[join.alias])} ON {join_condition(join)}"
    if not branch.counted:
        text += f" WHERE {why} IS NULL"
    return text
