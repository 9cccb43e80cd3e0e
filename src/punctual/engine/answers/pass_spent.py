"""What the answers of a pass used, and what had been predicted, dealt out to them: columns, not an object per answer.

Model
-----
A pass does three things: kernels answer from panes unit by unit, one job answers all row queries, and rows are finished
together. The core time of each is measured as one: that of the holder's thread and of the calls that it made. A unit is
an *account*, and so is a row query. A unit's time is that of its kernel and its part of finishing, by answers; a row
query's is its part of the job, as the model of operators deals it out (``row_model.py``), and its part of finishing.
Within an account time is dealt out by the work of answers. So all answers of a pass add up to what the pass used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Clock, Micros
from punctual.estimate.accounts import Accounts
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.spent import FiringSpent
from punctual.kinds.job_group import JobGroup
from punctual.runtime.core_time import CoreTime

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
FROM_PANES = LinearCost.guessed(2_000.0, answers=20.0, work=1.0)
"""A first guess, in microseconds."""
MAX_UNITS = 16
"""So many units of a pass have an account each; more of them have one together, or models would cost more than
answers."""
ALL_UNITS = "panes"


@dataclass(frozen=True, slots=True, eq=False)
class PassSpent:
    """Core time of answers. Those of a query are from ``place`` on, as many as there are, or one for all of them.

    What was not predicted is NaN, as is the level of a query that did not give way; of a query that has no place
    nothing is known. So the last of each column is NaN.
    """

    place: Mapping[str, tuple[int, int]]
    used_us: F64
    predicted_us: F64
    high_us: F64
    level: F64

    @staticmethod
    def nothing() -> PassSpent:
        """Of no answer."""
        none = np.full(1, np.nan)
        return PassSpent({}, none, none, none, none)

    def of(self, queries: Sequence[str], counts: Sequence[int]) -> I64:
        """Where the columns have the answers of these blocks, answer after answer."""
        unknown = (self.used_us.size - 1, 1)
        starts, lengths = np.array([self.place.get(one, unknown) for one in queries], np.int64).reshape(-1, 2).T
        sizes = np.array(counts, np.int64)
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found: I64 = np.repeat(starts, sizes) + np.minimum(within, np.repeat(lengths - 1, sizes))
        return found


class Stopwatch:
    """Core time of the holder's thread, and of the calls that it made."""

    def __init__(self, clock: Clock, core_time: CoreTime) -> None:
        self._clock = clock
        self._core_time = core_time
        core_time.take()
        self._read = clock.thread_us()

    def lap(self) -> tuple[float, float]:
        """Since the last time: of the thread, and of its calls."""
        now = self._clock.thread_us()
        own, self._read = now - self._read, now
        return own, self._core_time.take()


@dataclass(slots=True, eq=False)
class _Account:
    """Groups of a pass that are measured as one.

    ``queries`` have ``each`` answers; ``work`` and ``level`` have an entry for each answer, query after query, and so
    have the predictions. ``counts`` are what its own model learns from; one of a row query has none.
    """

    name: str
    queries: list[str]
    each: I64
    work: F64
    level: F64
    predicted_us: F64
    high_us: F64
    counts: Mapping[str, float] | None = None
    used_us: float = 0.0


class PassAccounts:
    """The accounts of one pass: made before it, told what was used, and dealt out after it."""

    def __init__(self, accounts: Accounts, jobs: Sequence[JobGroup], keys: Mapping[int, str]) -> None:
        self._accounts = accounts
        by_unit: dict[int, list[JobGroup]] = {}
        self._rows: list[_Account] = []
        for job in jobs:
            unit = job.asked.unit
            if unit is None:
                self._rows += map(_of_rows, job.each())
            else:
                by_unit.setdefault(unit, []).append(job)
        self._together = len(by_unit) > MAX_UNITS
        self._units = {
            unit: self._of_panes(keys[unit], several, predict=not self._together) for unit, several in by_unit.items()
        }
        self._every = [*self._units.values(), *self._rows]
        if self._together:
            everybody = [job for several in by_unit.values() for job in several]
            self._every = [self._of_panes(ALL_UNITS, everybody, predict=True), *self._rows]

    def _of_panes(self, key: str, jobs: Sequence[JobGroup], *, predict: bool) -> _Account:
        asked = [job.asked for job in jobs]
        members = [one.work.size for one in asked]
        instants = np.repeat(np.array([job.due.instants.size for job in jobs], np.int64), members)
        work = np.repeat(np.concatenate([one.work for one in asked]), instants)
        levels = np.array([job.level for job in jobs], np.float64)  # None is NaN
        level = np.repeat(np.repeat(levels, members), instants)
        queries: list[str] = np.concatenate([one.queries for one in asked]).tolist()
        counts = {"answers": float(work.size), "work": float(work.sum())}
        name = f"panes {key}"
        known = self._accounts.predict(name, counts) if predict else None
        median, high = (np.nan, np.nan) if known is None else (known.median_us, known.high_us)
        part = work / work.sum()
        return _Account(name, queries, instants, work, level, part * median, part * high, counts)

    def from_panes(self, lap: tuple[float, float], elapsed: Mapping[int, Micros]) -> None:
        """Kernels took so long by unit, and that is how the thread's time is dealt out; calls were for the others."""
        own, calls = lap
        here = [(one, float(elapsed[unit])) for unit, one in self._units.items() if unit in elapsed]
        there = [(one, float(one.work.sum())) for unit, one in self._units.items() if unit not in elapsed]
        _deal(own, here or there)
        _deal(calls, there or here)

    def from_rows(self, lap: tuple[float, float], spent: Mapping[str, Sequence[FiringSpent]]) -> None:
        """The job of all row queries; ``spent`` has what the model made of it, by query in the order of their jobs."""
        left = {query: iter(several) for query, several in spent.items()}
        for one in self._rows:
            own = list(islice(left.get(one.name, iter(())), one.work.size))
            if len(own) == one.work.size:  # of a query that failed nothing is known
                one.work = np.array([max(firing.used_us, 1e-3) for firing in own])
                one.predicted_us = np.array([firing.predicted_us for firing in own], np.float64)  # None is NaN
                one.high_us = np.array([firing.high_us for firing in own], np.float64)
        _deal(sum(lap), [(one, float(one.work.sum())) for one in self._rows])

    def finished(self, lap: tuple[float, float]) -> None:
        """Rows were made of what was found."""
        _deal(sum(lap), [(one, float(one.work.size)) for one in (*self._units.values(), *self._rows)])

    def spent(self) -> PassSpent:
        """What each answer used; the models have learned it."""
        if not self._every:
            return PassSpent.nothing()
        if self._together:
            self._every[0].used_us = sum(one.used_us for one in self._units.values())
        columns: list[F64] = []
        for one in self._every:
            part = one.work / one.work.sum()
            columns.append(np.stack([part * one.used_us, one.predicted_us, one.high_us, one.level]))
            if one.counts is not None:
                self._accounts.learn(one.name, one.counts, one.used_us, FROM_PANES)
        whole = np.concatenate(columns, axis=1)
        queries = [query for one in self._every for query in one.queries]
        each = np.concatenate([one.each for one in self._every])
        starts = np.cumsum(each) - each
        place = dict(zip(queries, zip(starts.tolist(), each.tolist())))
        if len(place) < len(queries):
            whole = _averaged(place, queries, whole, each)
        return PassSpent(place, *np.pad(whole, ((0, 0), (0, 1)), constant_values=np.nan))


def _averaged(place: dict[str, tuple[int, int]], queries: Sequence[str], whole: F64, each: I64) -> F64:
    """A query in several groups (of other settings, or numbers) has the mean of all its answers each time."""
    owner = np.repeat(np.array(queries, np.object_), each)
    twice = [query for query, count in Counter(queries).items() if count > 1]
    means = []
    for number, query in enumerate(twice, start=whole.shape[1]):
        place[query] = (number, 1)
        means.append(whole[:, owner == query].mean(axis=1, keepdims=True))
    return np.concatenate([whole, *means], axis=1)


def _deal(us: float, among: Sequence[tuple[_Account, float]]) -> None:
    """Time to accounts, in proportion to these numbers; evenly where they are all zero."""
    total = sum(part for _one, part in among)
    for one, part in among:
        one.used_us += us * (part / total if total > 0 else 1 / len(among))


def _of_rows(job: JobGroup) -> _Account:
    """A row query; what each of its answers needs is known once its job has run."""
    name, answers = job.asked.asked[0].reader.query.name, job.due.instants.size
    unknown = np.full(answers, np.nan)
    level = np.full(answers, np.nan if job.level is None else job.level)
    return _Account(name, [name], np.array([answers]), np.ones(answers), level, unknown, unknown)
