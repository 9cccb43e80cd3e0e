"""The time of a pass that is answered from rows: by when it should be through, and what its scans know of that.

All answers of a pass come when its job ends. So its time is the one of the first deadline that it can still meet, and
of what the scheduler gives to it. A scan of a query with QUALITY that has read its rows lowers the share where the rest
would take longer (``kernel/sample/budget.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from punctual.clock import Micros
from punctual.engine.answers.draws import draws_of
from punctual.engine.answers.row_model import RowModel
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.estimate.quality_curve import curve_of
from punctual.kernel.sample.budget import ScanBudget
from punctual.kinds.job_group import JobGroup
from punctual.plan.shared import AggregatedRows, RowReader
from punctual.runtime.backend import RowWork


@dataclass(frozen=True, slots=True)
class PassTime:
    """When a pass began and by when it should be through, by the clock that never goes back; None: whenever it is."""

    began: Micros
    by: Micros | None = None

    @staticmethod
    def of(jobs: Sequence[JobGroup], began: Micros, ahead: Micros, finish_us: float) -> PassTime:
        """That of the jobs from rows of a pass that ``began`` then.

        The wall clock, of which releases are times, is so much ``ahead``; answers take ``finish_us`` once the job is
        done. What is late whatever is done does not count, as far as that is known: the others can still be on time.
        """
        budgets = [job.budget_us for job in jobs if job.budget_us is not None]
        if not budgets:
            return PassTime(began)
        ends = [began + max(budgets)]
        for job in jobs:
            allowed = pc.min(job.allowed).as_py()
            if allowed is not None and job.released is not None and job.level != 0.0:  # one of 0 was given up
                deadlines = job.released + allowed - ahead
                ends += deadlines[deadlines > began + finish_us].tolist()
        return PassTime(began, min(ends) - int(finish_us))


def with_budgets(
    reader: RowReader, works: Sequence[RowWork], rows: RetainedFiles, model: RowModel, time: PassTime
) -> list[RowWork]:
    """Works of a query whose scans know how much time there is, where somebody knows what their rows cost."""
    return [_with_budget(reader, work, rows, model, time) for work in works]


def _with_budget(reader: RowReader, work: RowWork, rows: RetainedFiles, model: RowModel, time: PassTime) -> RowWork:
    left = model.remaining(work, rows)
    if left is None or time.by is None:
        return work
    draws = [window.draw for window in work.windows if window.draw is not None]
    if len(draws) < len(work.windows) or reader.query.quality is None:
        return replace(work, left_us=(left.fixed_us + left.rows_us, 0.0))
    by_key = all(draw.by for draw in draws)
    able = _cut(reader) if by_key else range(len(draws))
    rows_us = sum(left.windows_us[number] for number in able)
    fixed_us = left.fixed_us + sum(left.windows_us) - rows_us
    paired = 0.0 if by_key else left.paired
    least = draws_of(reader, curve_of(reader.query.quality).least_share, work.at)
    windows, counts = list(work.windows), model.firing(work, rows).windows
    for number in able:
        own_us, each = left.windows_us[number], 1 / counts[number] if counts[number] > 0 else 0.0
        budget = ScanBudget(
            by=time.by,
            fixed_us=fixed_us,
            row_us=(1 - paired) * own_us * each,
            other_us=(1 - paired) * (rows_us - own_us),
            pair_us=paired * rows_us * each,
            least=least[number].share,
        )
        windows[number] = replace(windows[number], draw=replace(draws[number], budget=budget))
    return replace(work, windows=tuple(windows), left_us=(fixed_us, rows_us))


def _cut(reader: RowReader) -> Sequence[int]:
    """The windows of a query that is sampled by key whose scans may be cut.

    Of an inner join all of them: the smallest sample is left anyway. What joined rows stand for is what the first
    window's rows say, so of a join with weights that one alone is cut. Of an outer, semi or anti join it is the one
    that is preserved: rows of a key that only the other one lacks would seem to match nothing.
    """
    if isinstance(reader.statement, AggregatedRows):
        return (0,)
    sampling = reader.statement.sampling
    if sampling is not None and sampling.preserved is not None:
        return (sampling.preserved,)
    return range(len(reader.windows))


def overdue(works: Sequence[RowWork], time: PassTime) -> Micros | None:
    """When a job is ended to be run again with less; None where that is never worth while.

    Once it is late, and takes longer than was expected, by as much as it would take to run it again with the least that
    its queries accept: so it is never late by more than twice as much as if somebody had known. Where nothing gives
    way, or nobody knows what it costs, it runs to its end.
    """
    expected, again, saved = 0.0, 0.0, 0.0
    for work in works:
        fixed_us, rows_us = work.left_us
        draws = [window.draw for window in work.windows if window.draw is not None]
        part = max((one.budget.least / one.share for one in draws if one.budget is not None), default=1.0)
        expected += fixed_us + rows_us
        again += fixed_us + part * rows_us
        saved += (1 - part) * rows_us
    if saved <= 0.0 or time.by is None:
        return None
    return int(max(time.by, time.began + expected) + again)
