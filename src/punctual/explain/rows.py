"""Row queries in EXPLAIN: what is retained of streams, and which windows a query reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from punctual.clock import span_text
from punctual.explain.columns import count, line
from punctual.plan.query import Period
from punctual.plan.relation import Stream
from punctual.plan.shared import RowReader, SharedPlan


def retained(plan: SharedPlan, stream: Stream) -> tuple[str, ...]:
    """The columns of a stream that row queries may name, in its order."""
    names = {name for _reader, window in plan.row_windows(stream.name.lower()) for name in window.columns}
    return tuple(column.name for column in stream.columns if column.name in names)


def retain_block(label: str, source: str, plan: SharedPlan, stream: Stream) -> str:
    """What is retained of a stream, and who asks for it."""
    windows = plan.row_windows(stream.name.lower())
    longest = max(window.range_us for _reader, window in windows)
    readers = len({reader.query.name for reader, _window in windows})
    lines = [line(f"{label}  Retain {source}", f"rows of {span_text(longest)}, read by {readers}")]
    for name in retained(plan, stream):
        wanted = dict.fromkeys(reader.query.name for reader, window in windows if name in window.columns)
        lines.append(line(f"      keep   {name}", f"for {', '.join(wanted)}"))
    return "\n".join(lines)


def row_query_block(label: str, sources: Mapping[str, str], reader: RowReader) -> str:
    """The windows of a row query, and how it runs."""
    query = reader.query
    read = " ".join(dict.fromkeys(sources[window.stream.lower()] for window in reader.windows))
    kind = "period" if isinstance(query.cadence, Period) else "slide"
    about = f"{kind} {span_text(query.cadence.us)}, {count(len(reader.windows), 'window', 'windows')}"
    lines = [line(f"{label}  SparkSql {read}  → {query.name}", about)]
    lines += [
        f"      window {window.stream}  range {span_text(window.range_us)}  {', '.join(window.columns)}"
        for window in reader.windows
    ]
    lines += [f"      table  {name}" for name in reader.statement.tables]
    if reader.statement.names_instant:
        lines.append("      plan   anew for each instant: it names now()")
    return "\n".join(lines)


def row_query_json(reader: RowReader) -> dict[str, Any]:
    """The same for programs."""
    return {
        "query": reader.query.name,
        "cadence": "period" if isinstance(reader.query.cadence, Period) else "bound",
        "step_us": reader.query.cadence.us,
        "windows": [
            {"stream": window.stream, "range_us": window.range_us, "columns": list(window.columns)}
            for window in reader.windows
        ],
    }
