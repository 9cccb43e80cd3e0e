"""What a row query adds to the work of an engine: core time per second at its cadence, and bytes that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from punctual.clock import SECOND
from punctual.estimate.known_costs import KnownCosts, StreamRate
from punctual.estimate.linear_cost import Prediction
from punctual.estimate.row_costs import QueryCost, RowFiring, meaning_of
from punctual.plan.query import Once
from punctual.plan.relation import Stream
from punctual.plan.row_query import RowWindow
from punctual.plan.shared import RowReader
from punctual.plan.source import RateSource

GUESSED_RATE = 1_000.0
"""Rows per second of a stream of which nobody knows."""
GUESSED_KEYS = 100
"""Keys of a window that has the last rows of each."""
TIME_BYTES = 8
_WIDTHS = {"BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "FLOAT": 4, "DATE": 4}
_WIDE = ("STRING", "BINARY", "ARRAY", "MAP", "STRUCT", "DECIMAL")


@dataclass(frozen=True, slots=True)
class AddedWork:
    """Of one query: what an answer takes, by operators and in all, and what is kept for it.

    ``windows`` and ``rows`` are expected rows, of its windows and of its operators. ``rates`` says of which streams the
    rate is known; ``learned`` and ``seen`` whether anything was measured, of any query and of this one.
    """

    query: QueryCost
    windows: tuple[float, ...]
    rows: tuple[float, ...]
    answer_us: Prediction
    cores: float
    bytes: float
    rates: Mapping[str, bool]
    learned: bool
    seen: bool


def added_work(
    reader: RowReader, streams: Mapping[str, Stream], costs: KnownCosts, others: Sequence[RowReader] = ()
) -> AddedWork:
    """What a query adds to those ``others`` that stand: by what is known of costs, and by guesses for the rest.

    ``streams`` has those of its windows by name in lower case.
    """
    rates = {stream: _rate(streams[stream], costs) for stream in {w.stream.lower() for w in reader.windows}}
    windows = tuple(_rows(window, rates[window.stream.lower()]) for window in reader.windows)
    firing = RowFiring(reader.query.name, meaning_of(reader.statement), windows)
    query = costs.rows.of(firing)
    (prediction,) = costs.rows.predict([firing])
    return AddedWork(
        query,
        windows,
        query.rows(windows),
        prediction,
        _executions_per_us(reader) * prediction.median_us,
        sum(_added_bytes(streams[stream], rate, reader, others) for stream, rate in rates.items()),
        {streams[stream].name: _is_known(streams[stream], costs) for stream in sorted(rates)},
        bool(costs.rows.operators.seen),
        bool(query.ratios),
    )


def _executions_per_us(reader: RowReader) -> float:
    """How often it is answered; who is asked once adds nothing in the long run."""
    query = reader.query
    return 0.0 if isinstance(query.cadence, Once) else len(query.due_us) / reader.step


def _rate(stream: Stream, costs: KnownCosts) -> StreamRate:
    known = costs.rates.get(stream.name.lower())
    width = float(_row_bytes(stream, {column.name for column in stream.columns}))
    if known is not None:
        return known
    if isinstance(stream.source, RateSource):
        return StreamRate(stream.source.rows * SECOND / stream.source.per_us, width)
    return StreamRate(GUESSED_RATE, width)


def _rows(window: RowWindow, rate: StreamRate) -> float:
    """How many rows a window has."""
    if window.range_us is not None:
        return rate.rows_per_second * window.range_us / SECOND
    return float(window.rows or 0) * (GUESSED_KEYS if window.keys else 1)


def _is_known(stream: Stream, costs: KnownCosts) -> bool:
    return stream.name.lower() in costs.rates or isinstance(stream.source, RateSource)


def _added_bytes(stream: Stream, rate: StreamRate, one: RowReader, others: Sequence[RowReader]) -> float:
    """What more is kept of a stream: longer, or wider rows; all columns are kept as long as the longest window."""

    def kept(readers: Sequence[RowReader]) -> float:
        windows = [
            window for each in readers for window in each.windows if window.stream.lower() == stream.name.lower()
        ]
        columns = {name for window in windows for name in window.columns}
        before = rate.rows_per_second / SECOND
        longest = max((before * window.back_us + _rows(window, rate) for window in windows), default=0.0)
        return longest * _row_bytes(stream, columns)

    return kept([*others, one]) - kept(others)


def _row_bytes(stream: Stream, columns: set[str]) -> int:
    """About what a row takes in a file, by the types of its columns."""
    return TIME_BYTES + sum(
        16 if column.type.startswith(_WIDE) else _WIDTHS.get(column.type, 8)
        for column in stream.columns
        if column.name in columns and column.name != stream.event_time
    )
