"""The shared plan as text: the same text each time, so that it can be read, compared and tested.

Units are numbered by the order of the print. ``explain_json`` has the same content for programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from punctual.catalog import Catalog
from punctual.clock import duration_text, span_text
from punctual.estimate.panes import panes_in_window
from punctual.estimate.ranking_reach import SPARED, mass_read
from punctual.explain.columns import count, line
from punctual.explain.schedule import Schedule
from punctual.plan.functions import SYNOPSES
from punctual.plan.query import Comparison, Period, WindowQuery
from punctual.plan.relation import Stream
from punctual.plan.shared import Reader, SharedPlan, Unit, UnitSynopsis
from punctual.plan.source import FeedSource, FileSource, KafkaSource, RateSource
from punctual.share.marginal import Ride
from punctual.share.units import share


def explain_sharing(plan: SharedPlan, catalog: Catalog, rides: Sequence[Ride] = (), work: str = "work") -> str:
    """Scans, shared units, the windows that read them, and what each query adds to the work of its stream.

    ``work`` says what is counted as work.
    """
    numbers = iter(range(1, 10**9))
    scans: dict[str, str] = {}
    blocks: list[str] = []
    for name in (stream.lower() for unit in plan.units for stream in unit.streams):
        if name not in scans:
            scans[name] = f"u{next(numbers)}"
            blocks.append(_scan(scans[name], catalog.streams[name]))
    units: dict[int, str] = {}
    for index, unit in enumerate(plan.units):
        source = " ".join(scans[name.lower()] for name in unit.streams)
        if unit.united:
            label = f"u{next(numbers)}"
            blocks.append(line(f"{label}  Unite {source}", "rows of all of them as those of one"))
            source = label
        for join in unit.joins:
            label = f"u{next(numbers)}"
            on = " and ".join(f"{row} = {join.alias}.{column}" for row, column in join.on)
            blocks.append(line(f"{label}  Enrich {source}", f"{join.how} join {join.table}") + f"\n      {_plain(on)}")
            source = label
        if unit.mask:
            label = f"u{next(numbers)}"
            parts = "".join(f"\n      {_plain(part)}" for part in unit.mask)
            blocks.append(f"{label}  Filter {source}{parts}")
            source = label
        units[index] = f"u{next(numbers)}"
        blocks.append(_panes(units[index], source, unit, len(plan.readers_of(index))))
    blocks += [_merge(f"u{next(numbers)}", units[r.unit], plan.units[r.unit], r) for r in plan.readers]
    labels = next(numbers) - 1
    head = f"shared plan · {count(len(plan.readers), 'query', 'queries')} · {count(labels, 'unit', 'units')}"
    texts = [head, "\n".join(blocks)]
    if rides:
        texts.append("\n".join(["who rides on whom", *(_ride(ride, plan, units, work) for ride in rides)]))
    return "\n\n".join(texts) + "\n"


def _ride(ride: Ride, plan: SharedPlan, units: Mapping[int, str], work: str) -> str:
    """On whose executions a query rides, what it adds, and a bound that would be cheaper."""
    reader = next(reader for reader in plan.readers if reader.query.name == ride.query)
    others = len(plan.readers_of(reader.unit)) - 1
    parts = []
    if ride.rides_on is not None:
        parts.append(f"{'runs, and rides' if ride.runs else 'rides'} on {ride.rides_on}")
    else:
        parts.append("runs by itself")
    if others:
        parts.append(f"reads {units[reader.unit]} with {count(others, 'other', 'others')}")
    parts.append(f"+{100 * float(ride.marginal):.1f} % of the stream's {work}")
    if ride.suggestion is not None:
        said = ride.suggestion
        word = "FREQUENCY" if "FREQUENCY" in reader.query.text.upper() else "SLIDE"
        shorter, longer = duration_text(said.bound), duration_text(reader.query.cadence.us)
        if shorter.split()[1].rstrip("S") == longer.split()[1].rstrip("S"):
            longer = longer.split()[0]
        parts.append(
            f"{word} {shorter} instead of {longer} "
            f"rides on {said.rides_on}: -{100 * float(said.saving):.1f} % of the stream's {work}"
        )
    return line(ride.query, " · ".join(parts))


def explain_query(catalog: Catalog, query: WindowQuery) -> str:
    """One query by itself; it need not be in the catalog any more."""
    return explain_sharing(share([query]), catalog)


def explain_json(plan: SharedPlan, schedule: Schedule, rides: Sequence[Ride]) -> dict[str, Any]:
    """The shared plan and the schedule for programs."""
    return {
        "queries": len(plan.readers),
        "classes": schedule.to_json(),
        "rides": [_ride_json(ride) for ride in rides],
        "units": [
            {
                "unit": f"p{index}",
                "stream": unit.stream,
                "united": list(unit.united),
                "joins": [{"table": j.table, "alias": j.alias, "how": j.how, "on": list(j.on)} for j in unit.joins],
                "filter": list(unit.mask),
                "keys": list(unit.keys),
                "bands": [{"column": b.column, "cuts": list(b.cuts)} for b in unit.bands],
                "synopses": [_synopsis(s) for s in unit.synopses],
                "windows": [{"range_us": r, "step_us": s} for r, s in unit.windows],
            }
            for index, unit in enumerate(plan.units)
        ],
        "readers": [
            {
                "query": r.query.name,
                "unit": f"p{r.unit}",
                "range_us": r.query.range_us,
                "cadence": "period" if isinstance(r.query.cadence, Period) else "bound",
                "step_us": r.query.cadence.us,
                "panes": panes_in_window(plan.units[r.unit].windows, r.query.range_us, r.step),
                "aggregates": [_call(plan.units[r.unit], r, i) for i in range(len(r.uses))],
            }
            for r in plan.readers
        ],
    }


def _ride_json(ride: Ride) -> dict[str, Any]:
    said = ride.suggestion
    return {
        "query": ride.query,
        "rides_on": ride.rides_on,
        "runs": ride.runs,
        "marginal": float(ride.marginal),
        "suggestion": None
        if said is None
        else {"bound_us": said.bound, "rides_on": said.rides_on, "saving": float(said.saving)},
    }


def _scan(label: str, stream: Stream) -> str:
    width = max(len(column.name) for column in stream.columns)
    lines = [line(f"{label}  Scan {stream.name}", _source(stream))]
    for column in stream.columns:
        roles = []
        if column.name == stream.event_time:
            roles.append(f"time, watermark {span_text(stream.watermark_us) if stream.watermark_us else '0'}")
        if column.name in stream.keys:
            roles.append("key")
        if column.derived is not None:
            roles.append(f"= {_plain(column.derived)}")
        lines.append(f"      {column.name:<{width}}  {column.type.lower()}  {', '.join(roles)}".rstrip())
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


def _panes(label: str, source: str, unit: Unit, readers: int) -> str:
    lines = [line(f"{label}  PaneAggregate {source}", f"read by {readers}")]
    lines += [f"      key    {_plain(key)}" for key in unit.keys]
    lines += [f"      band   {_plain(band.column)}  {count(len(band.cuts), 'cut', 'cuts')}" for band in unit.bands]
    for synopsis in unit.synopses:
        law = "invertible" if SYNOPSES[synopsis.kind].invertible else "mergeable"
        lines.append(line(f"      keep   {_synopsis(synopsis)}", law))
    return "\n".join(lines)


def _merge(label: str, source: str, unit: Unit, reader: Reader) -> str:
    query = reader.query
    kind = "period" if isinstance(query.cadence, Period) else "slide"
    panes = panes_in_window(unit.windows, query.range_us, reader.step)
    about = f"range {span_text(query.range_us)}, {kind} {span_text(query.cadence.us)}, {count(panes, 'pane', 'panes')}"
    lines = [line(f"{label}  WindowMerge {source}  → {query.name}", about)]
    lines += [f"      where  {_comparison(c)}" for conjunction in reader.where for c in conjunction]
    if query.top is not None:
        numbers = ", ".join(f"{number:g}" for number in query.top.parameters)
        by = f"{query.top.semantics}({numbers})" if numbers else query.top.semantics
        way = "asc" if query.top.ascending else "desc"
        stable = f", stable {100 * query.top.margin:g}%" if query.top.margin else ""
        lines.append(f"      top    {query.top.k} by {by}, score {_plain(query.top.score)} {way}{stable}")
        return "\n".join(lines)
    lines += [f"      a{number}     {_call(unit, reader, number)}" for number in range(len(reader.uses))]
    lines += [f"      {o.name} = {_plain(o.expression)}" for o in query.outputs if o.reference is None]
    if query.having is not None:
        lines.append(f"      having {_plain(query.having)}")
    if query.order:
        order = ", ".join(f"{_plain(o.expression)}{'' if o.ascending else ' desc'}" for o in query.order)
        lines.append(f"      order  {order}")
    if query.limit is not None:
        lines.append(f"      limit  {query.limit}")
    return "\n".join(lines)


def _call(unit: Unit, reader: Reader, number: int) -> str:
    use = reader.uses[number]
    extra = [c for mine, where in zip(use.conditions, reader.where) for c in mine if c not in where]
    text = f"{use.function} of {_synopsis(unit.synopses[use.synopsis])}"
    return text + (f" filter {' and '.join(_comparison(c) for c in extra)}" if extra else "")


def _synopsis(synopsis: UnitSynopsis) -> str:
    if synopsis.kind == "world":
        k = synopsis.parameters[0]
        if not k:
            return "ranking(all rows)"
        masses = f"{mass_read(k):.0f}, {mass_read(SPARED * k):.0f} with rules"
        return f"ranking(candidates for {k}: the best of a pane, to a mass of {masses})"
    argument = "" if synopsis.argument is None else _plain(synopsis.argument)
    return f"{synopsis.kind}({argument})"


def _comparison(comparison: Comparison) -> str:
    values = ", ".join(repr(value) for value in comparison.values)
    if comparison.operator == "in":
        return f"{_plain(comparison.column)} in ({values})"
    return f"{_plain(comparison.column)} {comparison.operator} {values}"


def _plain(expression: str) -> str:
    return expression.replace("`", "")
