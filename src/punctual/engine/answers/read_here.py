"""Windows whose rows are wanted as they are: the driver reads them itself, whatever Spark is busy with.

Files are mapped, so nothing is copied that is not asked for. Larger windows are left to Spark.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job_group import JobGroup
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import RowReader
from punctual.runtime.operators.window_rows import window_rows

MOST_BYTES = 64 << 20
"""Of a window that the driver reads."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadWindows:
    """Windows that queries of a pass have read, by which rows and columns they have; and those of several instants.

    Queries that read the same get the very same arrays, so that they are known to be the same (``SharedWorlds``).
    """

    tables: dict[Hashable, pa.Table] = field(default_factory=dict)
    answered: dict[Hashable, Answered] = field(default_factory=dict)


def is_read_here(reader: RowReader, instants: NDArray[np.int64], rows: RetainedFiles) -> bool:
    """Whether the rows of a query are wanted as they are, and are not too many."""
    statement = reader.statement
    if not isinstance(statement, RowStatement) or statement.plain is None:
        return False
    return is_small(reader, instants, rows)


def is_small(reader: RowReader, instants: NDArray[np.int64], rows: RetainedFiles) -> bool:
    """Whether no window of a query has more than the driver reads."""
    ats: list[Micros] = instants.tolist()
    return all(rows.window(window, at).bytes <= MOST_BYTES for window in reader.windows for at in ats)


def read_here(job: JobGroup, reader: RowReader, rows: RetainedFiles, known: ReadWindows | None = None) -> Answered:
    """The rows of its window at each of its instants; ``known`` has those that other queries of the pass have read."""
    known = ReadWindows() if known is None else known
    statement = reader.statement
    assert isinstance(statement, RowStatement)
    assert statement.plain is not None
    (window,), (types,) = statement.windows, job.asked.asked[0].types.windows
    names = list(statement.plain)
    windows = [rows.window(window, at) for at in job.due.instants.tolist()]
    every = tuple(windows), tuple(types.columns), types.event_time, tuple(names)
    if every not in known.answered:
        found = []
        for read in windows:
            which = read, tuple(types.columns), types.event_time
            if which not in known.tables:
                known.tables[which] = window_rows(read, types.columns, types.event_time)
            found.append(known.tables[which].select(names))
        known.answered[every] = of_tables(found)
    return known.answered[every]


def of_tables(tables: Sequence[pa.Table]) -> Answered:
    """Rows of one query, a table for each instant, as what a kind finishes."""
    instant = np.repeat(np.arange(len(tables), dtype=np.int64), [table.num_rows for table in tables])
    width = tables[0].num_columns
    columns = [pa.concat_arrays([_whole(table.column(n)) for table in tables]) for n in range(width)]
    return Answered(instant, [], columns, [None] * width)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
