"""Row queries in EXPLAIN: what is retained of streams, and which windows a query reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from punctual.clock import span_text
from punctual.explain.cadence import cadence_json, cadence_text, stage_lines
from punctual.explain.columns import count, line
from punctual.explain.sampling import sample_lines
from punctual.kinds.describe import described_comparison
from punctual.kinds.registry import kind_of
from punctual.own_names import IDENTITY, ROW_IDENTITY
from punctual.plan.relation import Stream
from punctual.plan.row_query import RowWindow
from punctual.plan.shared import AggregatedRows, RowReader, SharedPlan


def retained(plan: SharedPlan, stream: Stream) -> tuple[str, ...]:
    """The columns of a stream that readers of rows may name, in its order."""
    names = {name for _reader, window in plan.row_windows(stream.name.lower()) for name in window.columns}
    return tuple(column.name for column in stream.columns if column.name in names)


def retain_block(label: str, source: str, plan: SharedPlan, stream: Stream) -> str:
    """What is retained of a stream, and who asks for it."""
    windows = plan.row_windows(stream.name.lower())
    longest = max(window.reach_us for _reader, window in windows)
    last = dict.fromkeys(f"the last {_rows(window)}" for _reader, window in windows if window.rows is not None)
    kept = ", ".join(([f"rows of {span_text(longest)}"] if longest else []) + list(last))
    readers = len({reader.query.name for reader, _window in windows})
    lines = [line(f"{label}  Retain {source}", f"{kept}, read by {readers}")]
    for name in retained(plan, stream):
        wanted = dict.fromkeys(reader.query.name for reader, window in windows if name in window.columns)
        lines.append(line(f"      keep   {name}", f"for {', '.join(wanted)}"))
    return "\n".join(lines)


def row_query_block(label: str, sources: Mapping[str, str], reader: RowReader, costs: Sequence[str]) -> str:
    """The windows of a query that reads rows, how it runs, and lines about what it costs."""
    query, statement = reader.query, reader.statement
    read = " ".join(dict.fromkeys(sources[window.stream.lower()] for window in reader.windows))
    windows = list(_as_written([one for one in reader.windows if one.drawn is None or one.drawn.names]))
    about = f"{cadence_text(query)}, {count(len(windows), 'window', 'windows')}"
    asked = kind_of(query)
    what = "RowAggregate" if isinstance(statement, AggregatedRows) else asked.of_rows
    lines = [line(f"{label}  {what} {read}  → {query.name}", about)]
    for one in windows:
        columns = ", ".join(name for name in one[0].columns if name not in (IDENTITY, ROW_IDENTITY))
        lines.append(f"      window {one[0].stream}  {_extent(one[0])}  {columns}{_earlier(one)}")
    lines += [f"      table  {name}" for name in statement.tables]
    if isinstance(statement, AggregatedRows):
        lines += _aggregates(statement)
    elif asked.way(query) is not None:
        lines += [f"      {text}" for text in asked.describe_rows(query)]
    elif statement.names_instant:
        lines.append("      plan   anew for each instant: it names now()")
    lines += [f"      {text}" for text in (*sample_lines(reader), *stage_lines(query))]
    return "\n".join([*lines, *costs])


def _aggregates(rows: AggregatedRows) -> list[str]:
    """What Spark makes of the rows, and what the kernels make of that."""
    said = [f"filter {condition.written}" for condition in rows.unit.mask]
    said += [f"key    {key.written}" for key in rows.unit.keys]
    said += [f"where  {described_comparison(c)}" for conjunction in rows.reader.where for c in conjunction]
    return [f"      {text}" for text in (*said, *kind_of(rows.reader.query).describe(rows.reader, rows.unit))]


def _as_written(windows: Sequence[RowWindow]) -> Iterator[list[RowWindow]]:
    """The windows as the query has them, each with all that it is in the answers of subqueries with windows."""
    alike: dict[tuple[str, str, tuple[str, ...]], list[RowWindow]] = {}
    for window in windows:
        alike.setdefault((window.stream, _extent(window), window.columns), []).append(window)
    for several in alike.values():
        while several:
            one = list(dict.fromkeys(several))  # those of one window end at different instants
            for window in one:
                several.remove(window)
            yield one


def _earlier(windows: Sequence[RowWindow]) -> str:
    """Where a window ends that stands in a subquery with a window of its own; nothing is said of one that ends now."""
    oldest = max(window.back_us for window in windows)
    return f"  ends at {len(windows)} instants, to {span_text(oldest)} before" if oldest else ""


def _extent(window: RowWindow) -> str:
    """How far a window reaches."""
    if window.range_us is not None:
        return f"range {span_text(window.range_us)}"
    return f"rows {_rows(window)}"


def _rows(window: RowWindow) -> str:
    return f"{window.rows}" + (f" by {', '.join(window.keys)}" if window.keys else "")


def row_query_json(reader: RowReader) -> dict[str, Any]:
    """The same for programs."""
    return {
        "query": reader.query.name,
        **cadence_json(reader.query),
        "windows": [
            {"stream": window.stream, "range_us": window.range_us, "columns": list(window.columns)}
            | ({"back_us": window.back_us} if window.back_us else {})
            | ({"rows": window.rows, "keys": list(window.keys)} if window.rows is not None else {})
            for window in reader.windows
        ],
    }
