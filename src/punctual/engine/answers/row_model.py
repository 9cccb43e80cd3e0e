"""What row queries are expected to use before their job, and what they did use after it. The holder's thread has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from punctual.clock import Micros
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.remaining import RemainingCost
from punctual.estimate.row_costs import RowCosts, RowExecution, RowFiring, meaning_of
from punctual.estimate.row_samplers import SampledQuery, samplers
from punctual.estimate.sampling import SamplingBudget, sampled_selectivities
from punctual.estimate.spent import FiringSpent, RowsSpent
from punctual.kernel.sample.certain import PART
from punctual.plan.row_query import RowWindow
from punctual.plan.shared import AggregatedRows, RowReader
from punctual.runtime.backend import Draws, OverdueError, RowAnswers, RowWork
from punctual.runtime.operators.window_rows import WindowOrder

MAX_KNOWN = 4_096
PACE_ALPHA = 0.2
FARTHEST_PACE = 8.0
"""A pace is within this and one by it: a pause of the machine says little of the next job."""


class RowModel:
    """Predicts and learns. ``core_us`` says how much core time the data plane has used so far, ``steady`` what time it
    is by the clock that never goes back.

    ``fixed`` says whether a tenth of the rows is sampled before every job (``SET qos = fixed-sampling``), whatever that
    costs and is good for.
    """

    def __init__(self, costs: RowCosts, core_us: Callable[[], float], steady: Callable[[], Micros]) -> None:
        self.costs = costs
        self.fixed = False
        self._core_us = core_us
        self._steady = steady
        self._rows_spent = RowsSpent()
        self._pace: float | None = None
        """How long a job takes from when its scans know their rows, by the core time that is expected of it."""
        self._budget = SamplingBudget()
        self._spent: dict[str, list[FiringSpent]] = {}
        self._meanings: dict[int, tuple[object, str]] = {}

    def run(
        self, works: Sequence[RowWork], rows: RetainedFiles, answer: Callable[[Sequence[RowWork]], RowAnswers]
    ) -> RowAnswers:
        """Answers, whose cost is predicted, measured and learned; by a sampler first, where that is worth while."""
        firings = [self.firing(work, rows) for work in works]
        before, began = self._core_us(), self._steady()
        sampled_us = 0.0
        try:
            sampled, sampled_us = self._sampled(works, firings, answer)
            predicted = self.costs.with_selectivities(sampled).predict(firings)
            job_began = self._steady()
            found = answer(works)
        except OverdueError:
            self._learn_ended(firings, self._core_us() - before, sampled_us, self._steady() - began)
            raise
        used = self._core_us() - before - sampled_us
        in_jobs = min(found.jobs * self.costs.operators.each("job"), used / 2)
        self._learn_pace(job_began, [one.at for draws in found.draws for one in draws.values()], used - in_jobs)
        if found.draws:
            firings = [_as_drawn(one, draws) for one, draws in zip(firings, found.draws)]
        self._budget = self._budget.after(used, sampled_us)
        executions = [
            RowExecution(one, planned, sampled.get(work.query))
            for one, planned, work in zip(found.executions, found.planned, works)
        ]
        for work, each, expected in zip(works, self.costs.dealt(firings, executions, used), predicted):
            spent = FiringSpent(work.query, work.at, 0, each)
            if self.costs.operators.seen:  # a guess is no prediction
                spent = replace(spent, predicted_us=expected.median_us, high_us=expected.high_us)
            self._spent.setdefault(work.query, []).append(spent)
        usual = all(not one.planned or self.costs.of(firing).planned for one, firing in zip(executions, firings))
        self.costs = self.costs.after(firings, executions, used, found.jobs)
        self._rows_spent += RowsSpent(used - in_jobs, self.costs.expected_of(firings, executions), usual)
        return found

    def _sampled(
        self, works: Sequence[RowWork], firings: Sequence[RowFiring], answer: Callable[[Sequence[RowWork]], RowAnswers]
    ) -> tuple[dict[str, tuple[float | None, ...]], float]:
        """Selectivities of a sampler by query, where one runs, and what it used.

        Its plan is that of the job, run with less of the rows: nothing is planned for it. Several instants of a query
        are a backlog, which nobody has to predict well. Windows that several queries share are read as one, and are
        not sampled: each of them would want another part.
        """
        if len({work.query for work in works}) < len(works):
            return {}, 0.0
        chosen = samplers(self.costs, firings, self._budget, static=self.fixed)
        whole = [{replace(window, draw=None) for window in work.windows} for work in works] if chosen else []
        if chosen is None or len(set().union(*whole)) < sum(map(len, whole)):
            return {}, 0.0
        before = self._core_us()
        asked = [
            replace(work, windows=tuple(_sample(n, window, how) for n, window in enumerate(work.windows)))
            for work, how in zip(works, chosen)
        ]
        samples = answer(asked).executions
        found = {}
        for firing, how, sample in zip(firings, chosen, samples):
            known = self.costs.of(firing)
            if sample is not None and sample.operators == known.operators:
                found[firing.query] = sampled_selectivities(
                    sample, how.ratio, known.selectivities, by_key=how.by_key
                )
        return found, self._core_us() - before

    def firing(self, work: RowWork, rows: RetainedFiles) -> RowFiring:
        """What is known of a query at an instant before it runs; of a sample, the rows that are in it."""
        whole = [rows.rows_of(window) for window in work.windows]
        windows = tuple(_drawn(window) * count for window, count in zip(work.windows, whole))
        draws = [window.draw for window in work.windows if window.draw is not None]
        share, by_key = min((draw.share for draw in draws), default=1.0), any(draw.by for draw in draws)
        return RowFiring(work.query, self._meaning(work.statement), windows, share, by_key, float(sum(whole)))

    def remaining(self, work: RowWork, rows: RetainedFiles) -> RemainingCost | None:
        """How long it takes from when its scans know their rows until it is through; None: who knows."""
        found = self.costs.remaining(self.firing(work, rows))
        return None if found is None or self._pace is None else found.times(self._pace)

    def take_rows_spent(self) -> RowsSpent:
        """What jobs used since this was last asked."""
        taken, self._rows_spent = self._rows_spent, RowsSpent()
        return taken

    def _learn_ended(
        self, firings: Sequence[RowFiring], used_us: float, sampled_us: float, took_us: float
    ) -> None:
        """A job was ended before it was done: all that it used and took is less than it would have."""
        self._budget = self._budget.after(used_us - sampled_us, sampled_us)
        self.costs = self.costs.after_ended(firings, used_us - sampled_us)
        expected = self.costs.expected_of(firings, self.costs.unseen(firings))
        self._rows_spent += RowsSpent(ended_us=took_us, ended_expected_us=expected)

    def _learn_pace(self, began: Micros, scanned: Sequence[Micros], used_us: float) -> None:
        """A job ended now that used so much for its queries. Scans say when they knew their rows: what was before that
        does not become shorter by a cut."""
        now = self._steady()
        took_us = now - min((at for at in scanned if began <= at <= now), default=began)
        if took_us > 0.0 and used_us > 0.0:
            pace = min(max(took_us / used_us, 1 / FARTHEST_PACE), FARTHEST_PACE)
            self._pace = pace if self._pace is None else self._pace + PACE_ALPHA * (pace - self._pace)

    def executions(
        self, readers: Sequence[RowReader], rows: RetainedFiles, through: Mapping[str, Micros]
    ) -> dict[str, ExecutionCost] | None:
        """What the next execution of each query will cost by query: its windows will be as full as they are now.

        ``through`` says for each stream, by its name in lower case, how far it is complete. None where nothing was
        measured yet.
        """
        known: dict[tuple[RowWindow, Micros], float] = {}
        firings = []
        for reader in readers:
            at = min(through[name.lower()] for name in reader.query.streams)
            counts = []
            for window in reader.windows:
                # What a window by time has does not depend on the columns that are read of it.
                key = replace(window, columns=()) if window.range_us is not None else window, at
                if key not in known:
                    known[key] = rows.rows_of(rows.window(window, at))
                counts.append(known[key])
            firings.append(RowFiring(reader.query.name, self._meaning(reader.statement), tuple(counts)))
        found = self.costs.executions(firings)
        if found is None:
            return None
        return {reader.query.name: _with_certain(reader, cost) for reader, cost in zip(readers, found)}

    def take_spent(self) -> dict[str, list[FiringSpent]]:
        """What firings used since this was last asked, by query, in the order of their jobs."""
        taken, self._spent = self._spent, {}
        return taken

    def _meaning(self, statement: object) -> str:
        """Its fingerprint, which takes long to make."""
        known = self._meanings.get(id(statement))
        if known is None or known[0] is not statement:
            if len(self._meanings) >= MAX_KNOWN:
                self._meanings.clear()
            known = self._meanings[id(statement)] = statement, meaning_of(statement)
        return known[1]


def _sample(number: int, window: WindowOrder, how: SampledQuery) -> WindowOrder:
    return replace(window, sample=how.ratio, sample_by=how.keys.get(number, ()))


def _as_drawn(firing: RowFiring, draws: Draws) -> RowFiring:
    """A firing with the rows that were in its samples."""
    windows = tuple(float(draws[n].kept) if n in draws else rows for n, rows in enumerate(firing.windows))
    share = min((one.share for one in draws.values()), default=firing.share)
    return replace(firing, windows=windows, share=share)


def _drawn(window: WindowOrder) -> float:
    """The share of its rows that a window is answered from, with those that are kept whatever their place."""
    if window.draw is None:
        return 1.0
    return window.draw.share + (1 - window.draw.share) * _certain_part(window.draw.certain)


def _with_certain(reader: RowReader, cost: ExecutionCost) -> ExecutionCost:
    """A cost of which the part for rows that are in every sample does not fall with the share."""
    summed = reader.statement.summed if isinstance(reader.statement, AggregatedRows) else ()
    part = max((_certain_part(columns) for columns in summed), default=0.0)
    return cost._replace(fixed_us=cost.fixed_us + part * cost.work_us, work_us=(1 - part) * cost.work_us)


def _certain_part(columns: Sequence[str]) -> float:
    """The part of the rows that is kept for certain, where these columns are added up: no more than this."""
    return min(1.0, PART * len(columns))
