"""Since when rows of streams are retained, and so from where the windows of a row query are covered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from punctual.clock import Micros
from punctual.engine.batch.progress import Progress, joint
from punctual.engine.program.running_program import RunningProgram, stream_meaning
from punctual.plan.row_query import RowWindow
from punctual.plan.shared import RowReader
from punctual.schedule.due import BEGINNING


@dataclass(frozen=True, slots=True)
class KeptLast:
    """The last ``rows`` of each value of the ``keys``, of all rows that ever came, are kept with these columns."""

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    rows: int

    def serves(self, window: RowWindow) -> bool:
        """Whether a window by rows finds in it what it needs at any instant to come."""
        enough = window.rows is not None and window.rows <= self.rows and window.back_us == 0
        return enough and window.keys == self.keys and set(window.columns) <= set(self.columns)


@dataclass(frozen=True, slots=True)
class RetainedColumns:
    """What is retained of a stream's rows.

    ``since`` has, by column, the largest event time when it began to be retained; the event time is always among them.
    All rows of the last ``longest_us`` are kept, and those of ``last``. ``meaning`` is that of the stream's columns.
    """

    meaning: str
    since: Mapping[str, Micros]
    longest_us: Micros
    last: tuple[KeptLast, ...] = ()

    def serves(self, window: RowWindow) -> bool:
        """Whether all rows that a window by rows has at an instant to come are kept, if they came already."""
        return any(kept.serves(window) for kept in self.last)


History = Mapping[str, RetainedColumns]
"""By stream, in lower case."""


def retained_now(
    running: RunningProgram, before: History, progress: Mapping[str, Progress]
) -> dict[str, RetainedColumns]:
    """What is retained once the program runs: columns go on where they were retained without a break."""
    found: dict[str, RetainedColumns] = {}
    for name, columns in running.retained.items():
        stream = running.catalog.streams[name]
        known = _known(running, before, name)
        greatest = progress.get(name, Progress()).greatest
        new = BEGINNING if greatest is None else greatest
        since = {column: new if known is None else known.since.get(column, new) for column in columns}
        since.setdefault(stream.event_time, new if known is None else known.since[stream.event_time])
        windows = [window for _reader, window in running.plan.row_windows(name)]
        last = dict.fromkeys(
            KeptLast(window.columns, window.keys, window.rows)
            for window in windows
            if window.rows is not None and (greatest is None or (known is not None and known.serves(window)))
        )
        longest = max(window.reach_us for window in windows)
        found[name] = RetainedColumns(stream_meaning(stream), since, longest, tuple(last))
    return found


def rows_covered_from(
    running: RunningProgram, reader: RowReader, before: History, progress: Mapping[str, Progress]
) -> Micros:
    """Windows that start here or later rest on every row: the state has them, with all columns that are named.

    A window by rows has no start: it rests on every row where all rows after this have been enough for it.
    """
    after = joint(progress, reader.query.streams).through
    return max(_covered(running, window, after, before, progress) for window in reader.windows)


def _covered(
    running: RunningProgram, window: RowWindow, after: Micros, before: History, progress: Mapping[str, Progress]
) -> Micros:
    """The same for one window, of a query that answers instants after ``after``."""
    name = window.stream.lower()
    stream = progress.get(name, Progress())
    if stream.greatest is None:
        return BEGINNING
    known = _known(running, before, name)
    if known is None:
        return stream.greatest
    if known.serves(window) and after >= stream.through:  # what was last at an instant before is not kept
        return BEGINNING
    start = max(known.since.get(column, stream.greatest) for column in window.columns)
    if start == stream.greatest or stream.through == BEGINNING:
        return start
    return max(start, stream.through - known.longest_us)


def _known(running: RunningProgram, before: History, name: str) -> RetainedColumns | None:
    """What was retained of the stream until now, if its columns mean the same."""
    known = before.get(name)
    same = known is not None and known.meaning == stream_meaning(running.catalog.streams[name])
    return known if same else None
