"""How a query with QUALITY is sampled where it gives way, or why it never is."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.kinds.registry import kind_of
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import AggregatedRows, Reader, RowReader, Unit

UNKNOWN = "samples as Spark's plan of it allows, which punctual check asks for"


def no_effect(reader: Reader | RowReader) -> str | None:
    """Why QUALITY changes nothing, as check and EXPLAIN say it; None where it does, or nobody asked for it."""
    if reader.query.quality is None:
        return None
    why = kind_of(reader.query).never_sampled(reader.query)
    return None if why is None else f"QUALITY has no effect: {why}"


def sampled_by(reader: RowReader) -> str | None:
    """How its windows are sampled where that is asked for, in a few words; None where nothing is to be said."""
    if reader.query.quality is None:
        return None
    if (said := no_effect(reader) or kind_of(reader.query).instead_of_rows(reader.query)) is not None:
        return said
    if isinstance(reader.statement, RowStatement) and reader.statement.sampling is None:
        return None
    if keys := _keys(reader):
        return f"samples by {keys}"
    return "samples of rows" if len(_names(reader)) == 1 else "samples of rows, of each window by itself"


def sample_lines(reader: Reader | RowReader, unit: Unit | None = None) -> list[str]:
    """Lines of EXPLAIN: what is drawn from which window, by what, and what is in every sample.

    ``unit`` is that of a reader of cells.
    """
    if reader.query.quality is None:
        return []
    if (said := no_effect(reader) or kind_of(reader.query).instead_of_rows(reader.query)) is not None:
        return [f"note   {said}"]
    if isinstance(reader, Reader):
        if unit is None or not unit.sampled:
            return ["note   its rows are never sampled"]
        return [f"sample rows of {stream}, where it is shed at ingest" for stream in reader.query.streams]
    if isinstance(reader.statement, RowStatement) and reader.statement.sampling is None:
        return [f"note   {UNKNOWN}"]
    names = _names(reader)
    if keys := _keys(reader):
        return [f"sample keys {keys}, other ones at each instant"]
    summed: Sequence[Sequence[str]] = [()] * len(names)
    if isinstance(reader.statement, AggregatedRows):
        summed = reader.statement.summed
    apart = ", apart from the others" if len(names) > 1 else ""
    lines = []
    for name, certain in zip(names, summed):
        largest = f"; certain: the largest {', '.join(certain)}" if certain else ""
        lines.append(f"sample rows of {name}{apart}{largest}")
    return lines


def _names(reader: RowReader) -> Sequence[str]:
    """What answers call the windows."""
    return reader.statement.names or [window.stream for window in reader.windows]


def _keys(reader: RowReader) -> str:
    """The columns by which windows are sampled together, where they are."""
    statement = reader.statement
    sampling = statement.sampling if isinstance(statement, RowStatement) else None
    by = statement.by if isinstance(statement, AggregatedRows) else () if sampling is None else sampling.by
    several = (" = ".join(f"{name}.{column}" for name, column in zip(_names(reader), equal)) for equal in zip(*by))
    return ", ".join(several)
