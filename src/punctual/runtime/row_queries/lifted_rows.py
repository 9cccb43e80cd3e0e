"""Aggregate functions over the rows of windows: Spark makes the columns that a unit names, our kernels aggregate them.

Spark adds doubles up in the order of rows, and our sums are exact. So what an answer is made of is reduced by the
kernels that reduce a tick (``operators/aggregate_rows.py``): its bytes are those that panes give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from punctual.kernel.panes.spec import Call, Selection, UnitSpec
from punctual.own_names import SAMPLE_MARK, TIME, joined_column, joined_flag, own
from punctual.plan.relation import Stream, Table
from punctual.plan.row_query import RowWindow
from punctual.plan.rows import Join
from punctual.plan.shared import AggregatedRows, Unit
from punctual.plan.sql_text import quoted
from punctual.runtime.lower import join_condition, unit_columns


@dataclass(frozen=True, slots=True)
class WindowView:
    """A window as Spark sees it: its columns with their types as declared."""

    columns: tuple[tuple[str, str], ...]
    event_time: str


@dataclass(frozen=True, slots=True)
class LiftedRows:
    """How the rows of a query's windows become cells.

    ``texts`` are Spark SQL over the windows as views (:func:`window_view`) and the ``tables``, in lower case, that they
    are joined with: what it makes of the rows, their times and the columns of the unit. All of their rows are lifted.
    """

    windows: tuple[WindowView, ...]
    texts: tuple[str, ...]
    tables: tuple[str, ...]
    spec: UnitSpec


@dataclass(frozen=True, slots=True)
class RowAggregates:
    """Cells of the rows of windows, and what a query asks of them."""

    rows: LiftedRows
    where: Selection
    range_us: int
    calls: tuple[Call, ...]

    def __hash__(self) -> int:  # texts know their hash; all the rest of a unit would be hashed with every job
        return hash(self.rows.texts)

    @property
    def tables(self) -> tuple[str, ...]:
        return self.rows.tables

    @property
    def names_instant(self) -> bool:
        """Whether Spark has to know the instant: only what is made of aggregates may name it."""
        return False


def lifted_rows(
    aggregated: AggregatedRows, streams: Mapping[str, Stream], tables: Mapping[str, Table]
) -> LiftedRows:
    """What Spark and the kernels do for a query; both mappings are by name in lower case."""
    unit = aggregated.unit
    read = [streams[window.stream.lower()] for window in aggregated.windows]
    spec, projections = unit_columns(read, unit)
    made = "".join(f", ({expression.sql}) AS {name}" for name, expression in projections)
    joined = [join for join in unit.joins if join.windowed]
    first = len(read) - len(joined)
    views = [
        _view(window, stream, timed=join is None, marked=_is_marked(unit, join))
        for window, stream, join in zip(aggregated.windows, read, [*[None] * first, *joined])
    ]
    numbers = {join.alias: first + number for number, join in enumerate(joined)}
    joins = ""
    for join in unit.joins:
        if join.windowed:
            number = numbers[join.alias]
            joins += _join(join, [name for name, _kind in views[number].columns], window_view(number))
        else:
            table = tables[join.table.lower()]
            joins += _join(join, [column.name for column in table.columns], table.name.lower())
    texts = tuple(
        f"SELECT unix_micros({quoted(stream.event_time)}) AS {quoted(TIME)}{made}"
        f" FROM {quoted(window_view(number))}{joins}"
        for number, stream in enumerate(read[:first])
    )
    return LiftedRows(tuple(views), texts, aggregated.tables, spec)


def window_view(number: int) -> str:
    """The name of the view that has the rows of a query's window."""
    return own(f"window {number}")


def _is_marked(unit: Unit, join: Join | None) -> bool:
    """Whether rows of a window say what they stand for: of one that is joined only where its sample is its own."""
    return unit.sampled and (join is None or join.alias in unit.drawn_apart)


def _view(window: RowWindow, stream: Stream, *, timed: bool, marked: bool) -> WindowView:
    """A window of a stream; ``timed`` says whether the time of its rows is that of what is lifted."""
    names = {*window.columns, *([stream.event_time] if timed else [])}
    columns = [(column.name, column.type) for column in stream.columns if column.name in names]
    return WindowView((*columns, *([(SAMPLE_MARK, "BIGINT")] if marked else [])), stream.event_time)


def _join(join: Join, columns: Sequence[str], view: str) -> str:
    names = [f"{quoted(name)} AS {quoted(joined_column(join.alias, name))}" for name in columns]
    rows = f"SELECT {', '.join(names)}, true AS {quoted(joined_flag(join.alias))} FROM {quoted(view)}"
    return f" {'JOIN' if join.how == 'inner' else 'LEFT JOIN'} ({rows}) ON {join_condition(join)}"
