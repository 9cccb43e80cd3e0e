"""Answering a pass, on the holder's thread: from what is held to blocks of answers, its cost, and who fails alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby

from punctual.clock import Clock, Micros
from punctual.engine.answers.answer_blocks import answer_blocks
from punctual.engine.answers.kind_memories import KindMemories
from punctual.engine.answers.last_answers import LastAnswers
from punctual.engine.answers.pass_spent import PassAccounts, PassSpent, Stopwatch
from punctual.engine.answers.rounds_ahead import MadeReady, RoundsAhead
from punctual.engine.answers.row_answers import Failed, RowBounds, answer_rows
from punctual.engine.answers.row_coverage import RowCoverage
from punctual.engine.answers.row_model import RowModel
from punctual.engine.answers.scan_budgets import PassTime
from punctual.engine.batch.failing_clause import explain_stop, first_failing
from punctual.engine.batch.isolate import reason
from punctual.engine.held.holders import Holders
from punctual.engine.program.cadences import Timing
from punctual.errors import StateError
from punctual.estimate.accounts import Accounts
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.spent import FiringSpent, RowsSpent
from punctual.kernel.panes.panes import Answered
from punctual.kinds.clause import Clause
from punctual.kinds.job import Job
from punctual.kinds.job_group import AnsweredJobs, JobGroup
from punctual.kinds.registry import kind_of
from punctual.kinds.world_run import WorldsStopError
from punctual.ports.answers import AnswerBlock, Answers
from punctual.runtime.backend import Backend, Question
from punctual.schedule.events import ClassCost
from punctual.schedule.stages.drawn import Drawn

MAX_INSTANTS_LEARNED = 10_000
"""A pass of more instants is a backlog: it says nothing about ordinary passes."""
FINISH_ALPHA = 0.2
"""How much of the last one is in the time that answers take once their job is done."""


@dataclass(frozen=True, slots=True)
class AnsweredPass:
    """Blocks of answers, the queries that failed with the reason, what the pass cost each sharing class, and what its
    answers used.

    ``rows_us`` is how long what is answered from rows took, ``rows_spent`` the core time of that; ``executions`` is
    what it will cost the next time. ``from_rows`` is their part of the rows of all answers.
    """

    blocks: Answers = field(default_factory=lambda: Answers(()))
    failed: tuple[tuple[str, str], ...] = ()
    costs: tuple[ClassCost, ...] = ()
    spent: PassSpent = field(default_factory=PassSpent.nothing)
    rows_us: float = 0.0
    rows_spent: RowsSpent = field(default_factory=RowsSpent)
    executions: Mapping[str, ExecutionCost] | None = None
    from_rows: float = 0.0
    drawn: Mapping[tuple[str, Micros], Drawn] = field(default_factory=dict)
    """How far draws ahead are."""
    rounds_us: float = 0.0
    """How long rounds were drawn for its answers while it was finished."""
    made: MadeReady | None = None
    """What further answers go on from."""


def _rows(answered: Sequence[AnsweredJobs]) -> int:
    return sum(one.answered.instant.size for one in answered)


class Answering:
    """Answers what is due. ``timed`` says whether time counts: not in a replay at full speed.

    ``cuts`` says whether queries with QUALITY use less of their rows where a job takes longer than it should.
    """

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        last: LastAnswers,
        memories: KindMemories,
        accounts: Accounts,
        row_model: RowModel,
        *,
        timed: bool,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._last = last
        self._memories = memories
        self._accounts = accounts
        self._row_model = row_model
        self._timed = timed
        self.cuts = False
        self._finish_us = 0.0
        self._row_coverage = RowCoverage()

    def answer(self, jobs: list[JobGroup], memory: Holders, timing: Timing, bounds: RowBounds) -> AnsweredPass:
        """The answers of a pass: one call of the kernel per unit, one of Catalyst, one job for all row queries.

        ``bounds`` are those of row queries.
        """
        jobs = [self._with_last(job) for job in jobs]
        accounts = PassAccounts(self._accounts, jobs, memory.keys)
        watch = Stopwatch(self._clock, self._backend.core_time)
        began = self._clock.monotonic()
        ahead = self._clock.now() - began

        def now() -> Micros:
            """The wall clock, unless it jumps: answers were due by the clock that it was when their pass began."""
            return ahead + self._clock.monotonic()

        answered, spent = memory.answer(jobs)
        accounts.from_panes(watch.lap(), spent)
        row_jobs = [job for job in jobs if job.asked.unit is None]
        time = PassTime.of(row_jobs, began, ahead, self._finish_us) if self.cuts else None
        began = self._clock.monotonic()
        by_rows, failed = answer_rows(
            row_jobs, memory, self._backend, self._row_model, bounds, self._row_coverage, time
        )
        rows_us = float(self._clock.monotonic() - began) if row_jobs else 0.0
        used, rows_spent = self._row_model.take_spent(), self._row_model.take_rows_spent()
        joblets_us = _drawn_ahead(row_jobs, bounds.ahead, used)
        own, calls = watch.lap()
        accounts.from_rows((own + joblets_us, calls), used)
        answered += by_rows
        for one in answered:
            self._memories.see(one, memory.streams)
        began = self._clock.monotonic()
        try:
            blocks = self._blocks(answered, failed, now)
        except StateError:
            raise
        except Exception:
            if not self._backend.alive():
                raise
            alone = self._one_by_one(_but(answered, failed), now)
            accounts.finished(watch.lap())
            return replace(alone, failed=(*failed, *alone.failed), spent=accounts.spent())
        accounts.finished(watch.lap())
        rounds_us = _rounds_us(bounds)
        finish_us, from_rows = max(0.0, self._clock.monotonic() - began - rounds_us), 0.0
        if row_jobs:
            self._finish_us += FINISH_ALPHA * (finish_us - self._finish_us)
            from_rows = _rows(by_rows) / max(1, _rows(answered))
            rows_spent += RowsSpent(answer_rows=_rows(by_rows), finish_us=from_rows * finish_us)
        costs: tuple[ClassCost, ...] = ()
        if self._timed and memory.scan:
            costs = tuple(_class_costs(jobs, timing, spent, self._clock.monotonic() - began))
        drawn = {} if bounds.ahead is None else bounds.ahead.known(row_jobs)
        return AnsweredPass(
            blocks, tuple(failed), costs, accounts.spent(), rows_us, rows_spent, None, from_rows, drawn, rounds_us,
            None if bounds.ahead is None else bounds.ahead.take_made(),
        )  # fmt: skip

    def _blocks(self, answered: Sequence[AnsweredJobs], failed: Failed, now: Callable[[], Micros]) -> Answers:
        """The blocks of all queries but those that have ``failed``: one that cannot have its worlds is added."""
        while True:
            try:
                return answer_blocks(_but(answered, failed), self._backend.evaluate, now)
            except WorldsStopError as stop:
                # It is known who is to blame, so nobody else is tried alone, nor this one again.
                failed.append((stop.query, _worlds_stopped(answered, stop)))

    def _with_last(self, job: JobGroup) -> JobGroup:
        """Queries that are answered in order are by themselves."""
        last = self._last.of(job.asked.queries[0]) if len(job) == 1 else None
        return job if last is None else replace(job, last=last)

    def _one_by_one(self, answered: Sequence[AnsweredJobs], now: Callable[[], Micros]) -> AnsweredPass:
        """Some query's expressions fail: answer each by itself, and name those that fail."""
        blocks: list[AnswerBlock] = []
        failed: list[tuple[str, str]] = []
        singles = sorted((one for several in answered for one in several.each()), key=lambda one: one.place)
        for _place, group in groupby(singles, key=lambda one: one.place):
            of_query = list(group)
            job = of_query[0].joined()
            try:
                blocks += answer_blocks(of_query, self._backend.evaluate, now)
            except WorldsStopError as stop:
                failed.append((stop.query, _worlds_stopped(of_query, stop)))
            except Exception as problem:
                if not self._backend.alive():
                    raise
                pieces = [piece for one in of_query for piece in _singly(one.joined(), one.answered)]
                clause = first_failing(pieces, self._evaluation_fails)
                failed.append((job.query.name, explain_stop(job.query, clause, reason(problem))))
        return AnsweredPass(Answers.of(blocks), tuple(failed))

    def _evaluation_fails(self, question: Question) -> Exception | None:
        try:
            self._backend.evaluate([question])
        except Exception as problem:
            if not self._backend.alive():
                raise
            return problem
        return None


def _rounds_us(bounds: RowBounds) -> float:
    """How long rounds were drawn while answers were finished."""
    meter = None if bounds.worlds is None else bounds.worlds.meter
    return 0.0 if meter is None else meter.take_spent_us()


def _drawn_ahead(
    jobs: Sequence[JobGroup], ahead: RoundsAhead | None, used: dict[str, list[FiringSpent]]
) -> float:
    """Core time of joblets, put to what their answers used."""
    total = 0.0
    for job in jobs if ahead is not None else ():
        assert ahead is not None
        for query in job.asked.queries.tolist():
            spent = ahead.take_spent(query, job.due.instants.tolist())
            total += sum(one.used_us for one in spent)
            used.setdefault(query, []).extend(spent)
    return total


def _but(answered: Sequence[AnsweredJobs], failed: Failed) -> list[AnsweredJobs]:
    """All but those of queries that have failed."""
    names = {name for name, _why in failed}
    return [one for one in answered if one.joined().query.name not in names] if names else list(answered)


def _worlds_stopped(answered: Sequence[AnsweredJobs], stop: WorldsStopError) -> str:
    """Why a query was stopped that cannot have its worlds."""
    queries = (one.joined().query for one in answered)
    return explain_stop(next(one for one in queries if one.name == stop.query), stop.clause, stop.fact)


def _class_costs(
    jobs: Sequence[JobGroup], timing: Timing, spent: Mapping[int, Micros], finish_us: Micros
) -> list[ClassCost]:
    """The kernel's time of every unit, and its part of the time for finishing, put to its classes' account.

    Units in shards are answered by one job, which says nothing about each of them.
    """
    jobs = [job for job in jobs if job.asked.unit in spent]
    total = sum(job.size for job in jobs)
    if not 0 < total <= MAX_INSTANTS_LEARNED:
        return []
    dearest: dict[tuple[int, str, int], Fraction] = {}
    answers: dict[int, int] = {}
    classes: dict[int, set[str]] = {}
    for job in jobs:
        unit, names = job.asked.unit, job.asked.queries.tolist()
        assert unit is not None, "row queries read no unit"
        identity = timing.classes[names[0]]
        shared = max(timing.works[name].shared for name in names)
        classes.setdefault(unit, set()).add(identity)
        answers[unit] = answers.get(unit, 0) + job.size
        for at in job.due.instants.tolist():
            which = (unit, identity, at)
            dearest[which] = max(dearest.get(which, Fraction(0)), shared)
    merges: dict[int, Fraction] = {}
    for (unit, _identity, _at), work in dearest.items():
        merges[unit] = merges.get(unit, Fraction(0)) + work
    return [
        ClassCost(identity, float(merges[unit]), float(spent[unit]), float(count), finish_us * count / total)
        for unit, count in answers.items()
        for identity in classes[unit]
    ]


def _singly(job: Job, answered: Answered) -> list[tuple[Clause, Question]]:
    """What Catalyst evaluates for a job, one expression at a time."""
    asked = kind_of(job.query).question(job, answered)
    if asked is None:
        return []
    whole, clauses = asked
    singles = zip(clauses, whole.expressions, whole.types)
    return [(clause, Question((text,), (data_type,), whole.columns)) for clause, text, data_type in singles]
