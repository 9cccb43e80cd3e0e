"""Whether windows by rows rest on all of their rows, for queries that were added later than their streams.

Such a query knows all rows after an instant (``covered_from``), unless others kept its last rows from the beginning
(``row_history.py``); where rows were shed before, all rows after those. The last n rows are known where there are n
after it; the last n of each key are never known, as the next older row of a key may be before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.kinds.job_group import JobGroup
from punctual.plan.row_query import RowWindow
from punctual.plan.shared import RowReader
from punctual.runtime.operators.window_rows import CountRows
from punctual.schedule.due import BEGINNING
from punctual.store.products import CountedRows, Produced

Bools = NDArray[np.bool_]
Count = Callable[[CountRows], list[Produced]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A window by rows of a query that knows all rows after ``since``; None: nobody can say yet from when on."""

    query: str
    since: Micros | None
    window: RowWindow


class RowCoverage:
    """Remembers from which instant on a window has had enough rows: then it has enough at all later ones."""

    def __init__(self) -> None:
        self._enough: dict[_Asked, Micros] = {}

    def lacking(self, jobs: Sequence[JobGroup], rows: RetainedFiles, count: Count) -> list[Bools | None]:
        """For the jobs of row queries: the instants at which a window by rows may lack some; None where none does."""
        asked = [list(_asked(job)) for job in jobs]
        every = [(one, at) for several, job in zip(asked, jobs) for one in several for at in job.due.instants.tolist()]
        self._count([(one, at) for one, at in every if not one.window.keys and not self._has(one, at)], rows, count)
        found: list[Bools | None] = []
        for several, job in zip(asked, jobs):
            whole = [[self._has(one, at) for at in job.due.instants.tolist()] for one in several]
            found.append(~np.all(np.array(whole, np.bool_), axis=0) if whole else None)
        return found

    def _has(self, asked: _Asked, at: Micros) -> bool:
        return asked in self._enough and self._enough[asked] <= at

    def _count(self, unknown: Sequence[tuple[_Asked, Micros]], rows: RetainedFiles, count: Count) -> None:
        """See which windows have enough: by whole files, and where that does not tell, in one job for all."""
        open_ones = []
        for asked, at in unknown:
            assert asked.window.rows is not None
            if asked.since is None:
                continue
            order, least, most = rows.rows_between(asked.window, asked.since, at - asked.window.back_us)
            if least >= asked.window.rows:
                self._enough[asked] = min(at, self._enough.get(asked, at))
            elif most >= asked.window.rows:
                open_ones.append((asked, at, order))
        for counted in count(CountRows(tuple(order for _asked, _at, order in open_ones))) if open_ones else ():
            assert isinstance(counted.product, CountedRows)
            asked, at, _order = open_ones[counted.product.window]
            if counted.rows >= (asked.window.rows or 0):
                self._enough[asked] = min(at, self._enough.get(asked, at))


def _asked(job: JobGroup) -> Iterator[_Asked]:
    """The windows of a job that may lack rows: those by rows, of a query that began later than its streams."""
    (one,) = job.asked.asked
    assert isinstance(one.reader, RowReader)
    since = _since(job)
    if since != BEGINNING:
        for window in one.reader.windows:
            if window.rows is not None:
                yield _Asked(one.reader.query.name, since, window)


def _since(job: JobGroup) -> Micros | None:
    """From when on the query of a job knows all rows."""
    since = int(job.asked.covered_from[0])
    for span in job.missing:
        if span.through is None:
            return None
        since = max(since, span.through)
    return since
