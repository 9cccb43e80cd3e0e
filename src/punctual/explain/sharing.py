"""The shared plan as text: the same text each time, so that it can be read, compared and tested.

Units are numbered by the order of the print. ``explain_json`` has the same content for programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from punctual.catalog import Catalog
from punctual.clock import duration_text, span_text
from punctual.estimate.known_costs import KnownCosts
from punctual.estimate.panes import panes_in_window
from punctual.explain.answered_from import answered_from
from punctual.explain.cadence import cadence_json, cadence_text, stage_lines
from punctual.explain.columns import count, line
from punctual.explain.costs import row_query_costs
from punctual.explain.rows import retain_block, row_query_block, row_query_json
from punctual.explain.sampling import sample_lines
from punctual.explain.schedule import Schedule
from punctual.kinds.describe import described_comparison, described_use
from punctual.kinds.program import share
from punctual.kinds.registry import kind_of
from punctual.plan.functions import SYNOPSES
from punctual.plan.query import Bound, Query
from punctual.plan.relation import Stream
from punctual.plan.shared import Reader, RowReader, SharedPlan, Unit
from punctual.plan.source import FeedSource, FileSource, KafkaSource, RateSource
from punctual.runtime.ways import streams_that_spark_reads, why_catalyst, why_spark_reads_stream
from punctual.share.cadence.marginal import Ride
from punctual.share.from_rows import NOBODY, FromRows
from punctual.share.sheddable import shedding


def explain_sharing(
    plan: SharedPlan,
    catalog: Catalog,
    rides: Sequence[Ride] = (),
    work: str = "work",
    costs: KnownCosts | None = None,
    others: Sequence[RowReader] = (),
) -> str:
    """Scans, shared units, the windows that read them, and what each query adds to the work of its stream.

    ``work`` says what is counted as work. With ``costs`` it is said what row queries cost; ``others`` stand beside
    those of the plan.
    """
    numbers = iter(range(1, 10**9))
    scans: dict[str, str] = {}
    blocks: list[str] = []
    read = [stream for unit in plan.units for stream in unit.streams]
    read += [window.stream for reader in plan.row_readers for window in reader.windows]
    for name in (stream.lower() for stream in read):
        if name not in scans:
            scans[name] = f"u{next(numbers)}"
            blocks.append(_scan(scans[name], catalog.streams[name], _shed(plan, catalog.streams[name])))
    units: dict[int, str] = {}
    for index, unit in enumerate(plan.units):
        source = " ".join(scans[name.lower()] for name in unit.streams)
        if unit.united:
            label = f"u{next(numbers)}"
            blocks.append(line(f"{label}  Unite {source}", "rows of all of them as those of one"))
            source = label
        for join in unit.joins:
            label = f"u{next(numbers)}"
            on = " and ".join(f"{row.written} = {join.alias}.{column}" for row, column in join.on)
            blocks.append(line(f"{label}  Enrich {source}", f"{join.how} join {join.table}") + f"\n      {on}")
            source = label
        if unit.mask:
            label = f"u{next(numbers)}"
            parts = "".join(f"\n      {part.written}" for part in unit.mask)
            blocks.append(f"{label}  Filter {source}{parts}")
            source = label
        units[index] = f"u{next(numbers)}"
        blocks.append(_panes(units[index], source, plan, index, way(unit, catalog)))
    blocks += [_merge(f"u{next(numbers)}", units[r.unit], plan.units[r.unit], r) for r in plan.readers]
    rows: dict[str, str] = {}
    for name in (window.stream.lower() for reader in plan.row_readers for window in reader.windows):
        if name not in rows:
            rows[name] = f"u{next(numbers)}"
            blocks.append(retain_block(rows[name], scans[name], plan, catalog.streams[name]))
    for reader in plan.row_readers:
        beside = [*others, *(one for one in plan.row_readers if one is not reader)]
        lines = [] if costs is None else row_query_costs(reader, beside, catalog, costs)
        blocks.append(row_query_block(f"u{next(numbers)}", rows, reader, lines))
    labels = next(numbers) - 1
    head = f"shared plan · {count(len(plan.queries), 'query', 'queries')} · {count(labels, 'unit', 'units')}"
    texts = [head, "\n".join(blocks)]
    if rides:
        texts.append("\n".join(["who rides on whom", *(_ride(ride, plan, units, work) for ride in rides)]))
    return "\n\n".join(texts) + "\n"


def _ride(ride: Ride, plan: SharedPlan, units: Mapping[int, str], work: str) -> str:
    """On whose executions a query rides, what it adds, and a bound that would be cheaper."""
    every: list[Reader | RowReader] = [*plan.readers, *plan.row_readers]
    reader = next(reader for reader in every if reader.query.name == ride.query)
    others = len(plan.readers_of(reader.unit)) - 1 if isinstance(reader, Reader) else 0
    parts = []
    if ride.rides_on is not None:
        parts.append(f"{'runs, and rides' if ride.runs else 'rides'} on {ride.rides_on}")
    else:
        parts.append("runs by itself")
    if others and isinstance(reader, Reader):
        parts.append(f"reads {units[reader.unit]} with {count(others, 'other', 'others')}")
    if ride.marginal is None:
        parts.append("what it adds takes too long to find")
    else:
        parts.append(f"+{100 * float(ride.marginal):.1f} % of the stream's {work}")
    cadence = reader.query.cadence
    if ride.suggestion is not None and isinstance(cadence, Bound):
        said = ride.suggestion
        shorter, longer = duration_text(said.bound), duration_text(cadence.us)
        if shorter.split()[1].rstrip("S") == longer.split()[1].rstrip("S"):
            longer = longer.split()[0]
        parts.append(
            f"{cadence.word} {shorter} instead of {longer} "
            f"rides on {said.rides_on}: -{100 * float(said.saving):.1f} % of the stream's {work}"
        )
    return line(ride.query, " · ".join(parts))


def explain_query(catalog: Catalog, query: Query, costs: KnownCosts, *, from_rows: FromRows = NOBODY) -> str:
    """One query by itself, and what it adds to the others; it need not be in the catalog any more."""
    beside = [one for one in catalog.queries.values() if one.name != query.name]
    chosen = from_rows.of(share([*beside, query]), streams_that_spark_reads(catalog.streams))
    plan = share([query], rows_of=catalog.streams, chosen=chosen)
    others = share(beside, rows_of=catalog.streams, chosen=chosen).row_readers
    text = explain_sharing(plan, catalog, costs=costs, others=others)
    return f"{text}\nanswered {answered_from(plan)[query.name]}\n"


def explain_json(
    plan: SharedPlan, catalog: Catalog, schedule: Schedule, rides: Sequence[Ride]
) -> dict[str, Any]:
    """The shared plan and the schedule for programs."""
    return {
        "queries": len(plan.queries),
        "classes": schedule.to_json(),
        "rides": [_ride_json(ride) for ride in rides],
        "units": [
            {
                "unit": f"p{index}",
                "stream": unit.stream,
                "united": list(unit.united),
                "joins": [
                    {
                        "table": join.table,
                        "alias": join.alias,
                        "how": join.how,
                        "on": [(row.written, column) for row, column in join.on],
                    }
                    for join in unit.joins
                ],
                "filter": [condition.written for condition in unit.mask],
                "keys": [key.written for key in unit.keys],
                "sampled": unit.sampled,
                "bands": [{"column": b.column.written, "cuts": list(b.cuts)} for b in unit.bands],
                "synopses": _synopses(plan, index),
                "windows": [{"range_us": r, "step_us": s} for r, s in unit.windows],
                "rows": dict(zip(("by", "why"), way(unit, catalog))),
            }
            for index, unit in enumerate(plan.units)
        ],
        "readers": [
            {
                "query": r.query.name,
                "unit": f"p{r.unit}",
                "range_us": r.query.range_us,
                **cadence_json(r.query),
                "panes": panes_in_window(plan.units[r.unit].windows, r.query.range_us, r.step),
                "aggregates": _uses(plan, r),
            }
            for r in plan.readers
        ],
        "row_queries": [row_query_json(reader) for reader in plan.row_readers],
        "answered": answered_from(plan),
    }


def _ride_json(ride: Ride) -> dict[str, Any]:
    said = ride.suggestion
    return {
        "query": ride.query,
        "rides_on": ride.rides_on,
        "runs": ride.runs,
        "marginal": None if ride.marginal is None else float(ride.marginal),
        "suggestion": None
        if said is None
        else {"bound_us": said.bound, "rides_on": said.rides_on, "saving": float(said.saving)},
    }


def _shed(plan: SharedPlan, stream: Stream) -> str | None:
    """Whether a stream is shed at ingest, where some query would bear it."""
    name = stream.name.lower()
    if not any(query.quality is not None and stream.name in query.streams for query in plan.queries):
        return None
    may, by_spark = shedding(plan)[name], why_spark_reads_stream(stream)
    why_not = may.why_not if by_spark is None else f"Spark's reader reads it: {by_spark}"
    if why_not is not None:
        return f"not shed at ingest: {why_not}"
    least = f"to no less than {100 * may.least:g} % of its rows, the least that query {may.strictest} accepts"
    return f"shed at ingest where reading is too much, {least}"


def _scan(label: str, stream: Stream, shed: str | None) -> str:
    width = max(len(column.name) for column in stream.columns)
    lines = [line(f"{label}  Scan {stream.name}", _source(stream))]
    for column in stream.columns:
        roles = []
        if column.name == stream.event_time:
            roles.append(f"time, watermark {span_text(stream.watermark_us) if stream.watermark_us else '0'}")
        if column.name in stream.keys:
            roles.append("key")
        if column.uncertain is not None:
            roles.append(f"~ {column.uncertain.written}")
        elif column.derived is not None:
            roles.append(f"= {column.derived.written}")
        lines.append(f"      {column.name:<{width}}  {column.type.lower()}  {', '.join(roles)}".rstrip())
    lines += [] if shed is None else [f"      {shed}"]
    return "\n".join(lines)


def _source(stream: Stream) -> str:
    match stream.source:
        case FileSource(_path, file_format, _options):
            return f"{file_format} files"
        case RateSource(rows, per_us, limit):
            return f"{rows} rows per {span_text(per_us)}" + (f", {limit} in all" if limit is not None else "")
        case FeedSource():
            return "fed from Python"
        case KafkaSource(_servers, topic, _format):
            return f'topic "{topic}"'


def way(unit: Unit, catalog: Catalog) -> tuple[str, str | None]:
    """Where a unit's rows are made: in the task that reads them, or by Spark, and then why."""
    reads = next(filter(None, (why_spark_reads_stream(catalog.streams[name.lower()]) for name in unit.streams)), None)
    why = reads or why_catalyst(unit, catalog.streams, catalog.tables)
    return ("task", None) if why is None else ("spark", why)


def _panes(label: str, source: str, plan: SharedPlan, index: int, way: tuple[str, str | None]) -> str:
    unit = plan.units[index]
    lines = [line(f"{label}  PaneAggregate {source}", f"read by {len(plan.readers_of(index))}")]
    lines.append("      rows   in the task that reads them" if way[1] is None else f"      rows   by Spark: {way[1]}")
    lines += [f"      key    {key.written}" for key in unit.keys]
    lines += ["      key    what a row stands for"] if unit.sampled else []
    lines += [f"      band   {band.column.written}  {count(len(band.cuts), 'cut', 'cuts')}" for band in unit.bands]
    for synopsis, described in zip(unit.synopses, _synopses(plan, index)):
        law = "invertible" if SYNOPSES[synopsis.kind].invertible else "mergeable"
        lines.append(line(f"      keep   {described}", law))
    return "\n".join(lines)


def _merge(label: str, source: str, unit: Unit, reader: Reader) -> str:
    query = reader.query
    panes = panes_in_window(unit.windows, query.range_us, reader.step)
    about = f"range {span_text(query.range_us)}, {cadence_text(query)}, {count(panes, 'pane', 'panes')}"
    lines = [line(f"{label}  WindowMerge {source}  → {query.name}", about)]
    lines += [f"      where  {described_comparison(c)}" for conjunction in reader.where for c in conjunction]
    said = (*kind_of(query).describe(reader, unit), *sample_lines(reader, unit), *stage_lines(query))
    lines += [f"      {text}" for text in said]
    return "\n".join(lines)


def _uses(plan: SharedPlan, reader: Reader) -> list[str]:
    kept = _synopses(plan, reader.unit)
    return [described_use(reader, use, kept[use.synopsis]) for use in reader.uses]


def _synopses(plan: SharedPlan, unit: int) -> list[str]:
    """What a unit keeps, each synopsis described by a kind that needs it; the first one may be nobody's."""
    synopses = plan.units[unit].synopses
    described = {0: f"{synopses[0].kind}()"}
    for reader in plan.readers_of(unit):
        for use in reader.uses:
            if use.synopsis not in described:
                described[use.synopsis] = kind_of(reader.query).describe_synopsis(synopses[use.synopsis])
    return [described[number] for number in range(len(synopses))]
