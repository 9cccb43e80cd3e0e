"""Queries that are answered from retained rows though cells could answer them (``SET window_merge = rows``, ``keep``).

Each is a reader of rows with a unit for itself: what others read must not decide which columns its rows have. When it
answers is planned before, with all others, so its instants are those that it has when it reads cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from punctual.config import Options
from punctual.estimate.quality_curve import curve_of
from punctual.own_names import IDENTITY, MARK, joined_columns
from punctual.plan.expression import Expression
from punctual.plan.functions import SYNOPSES
from punctual.plan.query import Query
from punctual.plan.relation import Stream
from punctual.plan.row_query import RowWindow
from punctual.plan.shared import AggregatedRows, Needs, RowNeeds, SharedPlan, Unit
from punctual.plan.united import common_columns
from punctual.share.sheddable import shedding
from punctual.share.units import Member, share_units


@dataclass(frozen=True, slots=True)
class FromRows:
    """Which queries that is: ``every`` one, or those that could not use their share of the rows (``keep``) otherwise.

    Cells can be sampled only while they are made. So where a stream is not shed at ingest its queries with QUALITY read
    rows, whose windows can be sampled.
    """

    every: bool = False
    keep: float | None = None

    @staticmethod
    def asked(options: Options) -> FromRows:
        """What the options say."""
        return FromRows(options.window_merge == "rows", options.keep)

    def of(self, plan: SharedPlan, unshed: Collection[str]) -> frozenset[str]:
        """Names of those queries, of a plan in which all that can read cells do.

        ``unshed`` are streams that are read whole whoever reads them.
        """
        if self.every:
            return frozenset(query.name for query in plan.queries)
        if self.keep is None or self.keep >= 1.0:
            return frozenset()
        whole = {stream for stream, may in shedding(plan).items() if may.why_not is not None} | set(unshed)
        sampled = {
            reader.query.name: {stream.lower() for stream in reader.query.streams}
            for reader in plan.readers
            if plan.units[reader.unit].sampled and reader.query.quality is not None
            and curve_of(reader.query.quality).least_share < 1.0
        }  # fmt: skip
        found: set[str] = set()
        while more := {name for name, streams in sampled.items() if name not in found and streams & whole}:
            found |= more
            whole = whole.union(*(sampled[name] for name in more))
        return frozenset(found)


NOBODY = FromRows()


def from_rows(
    members: Iterable[Member], streams: Mapping[str, Stream], chosen: Collection[str] | None = None
) -> list[Member]:
    """The members, as readers of rows where they merge windows. Walks stay with cells.

    ``streams`` are by name in lower case; where some are ``chosen``, by name, the others stay as they are.
    """

    def reads_rows(query: Query, needs: Needs) -> bool:
        return needs.walk is None and (chosen is None or query.name in chosen)

    return [
        (query, _aggregated(query, needs, streams) if isinstance(needs, Needs) and reads_rows(query, needs) else needs)
        for query, needs in members
    ]


def _aggregated(query: Query, needs: Needs, streams: Mapping[str, Stream]) -> RowNeeds:
    # One pane is as long as the window, wherever the window ends.
    plan = share_units([(query, needs)], steps={query.name: query.range_us})
    (unit,), (reader,) = plan.units, plan.readers
    unit = replace(unit, parted=unit.sampled)  # marks of windows have parts anyway
    read = [streams[name.lower()] for name in unit.streams]
    windows = tuple(RowWindow(stream.name, query.range_us, _columns(unit, stream, read)) for stream in read)
    summed = summed_columns(needs)
    of_windows = tuple(tuple(name for name in summed if name in window.columns) for window in windows)
    return RowNeeds(AggregatedRows(unit, reader, windows, of_windows if unit.sampled else ()))


def joined_from_rows(query: Query, needs: Needs) -> RowNeeds:
    """What a query reads whose window is joined with others: always rows."""
    plan = share_units([(query, needs)], steps={query.name: query.range_us})
    (unit,), (reader,) = plan.units, plan.readers
    inputs = {one.name: one for one in query.inputs}
    joins = needs.rows.windows
    names = (query.inputs[0].name, *(join.alias for join in joins))
    named = frozenset[str]().union(*(expression.names for expression in _expressions(unit)))
    columns = [{name for name in named if MARK not in name}]
    columns += [{column for _row, column in join.on} | joined_columns(named, join.alias) for join in joins]
    apart = bool(unit.drawn_apart)
    windows = tuple(
        RowWindow(inputs[name].stream, inputs[name].range_us, (*sorted(some), *([IDENTITY] if apart else [])))
        for name, some in zip(names, columns)
    )
    every = summed_columns(needs)
    summed = [[name for name in every if MARK not in name], *(joined_columns(every, join.alias) for join in joins)]
    return RowNeeds(AggregatedRows(
        unit, reader, windows, tuple(tuple(sorted(some)) for some in summed) if apart else (), names,
        () if apart else needs.rows.same,
    ))  # fmt: skip


def summed_columns(needs: Needs) -> tuple[str, ...]:
    """The columns whose values are added up, as they are."""
    used = (use.synopsis.argument for use in needs.uses if use.function in ("sum", "avg"))
    return tuple(dict.fromkeys(one.column for one in used if one is not None and one.column is not None))


def _columns(unit: Unit, stream: Stream, united: Sequence[Stream]) -> tuple[str, ...]:
    """The columns of a stream that the unit reads, and the event time, in the stream's order."""
    names = {stream.event_time}
    for expression in _expressions(unit):
        names |= {column.name for name in expression.names if (column := stream.column(name)) is not None}
    if any(SYNOPSES[synopsis.kind].ordered for synopsis in unit.synopses):  # what orders rows of one time
        ties = (stream.column(column.name) for column in common_columns(united))
        names |= {column.name for column in ties if column is not None}
    found = tuple(column.name for column in stream.columns if column.name in names)
    return (*found, IDENTITY) if unit.sampled else found


def _expressions(unit: Unit) -> Iterator[Expression]:
    yield from (row for join in unit.joins for row, _column in join.on)
    yield from unit.mask
    yield from unit.keys
    yield from (band.column for band in unit.bands)
    yield from (synopsis.argument for synopsis in unit.synopses if synopsis.argument is not None)
