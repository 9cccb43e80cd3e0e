"""Passes of a running engine: what is answered together, how long it took, and who fails alone.

Live, the scheduler cuts what is due into passes; in a replay at full speed everything that is due is one. What passes
cost is measured: the next ones are cut by it, and cadence plans that depend on it are made anew when it changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from punctual.clock import Clock, Micros
from punctual.engine.answer_blocks import answer_blocks
from punctual.engine.cadences import Timing
from punctual.engine.failing_clause import explain_stop, first_failing
from punctual.engine.isolate import reason
from punctual.engine.kind_memories import KindMemories
from punctual.engine.last_answers import LastAnswers
from punctual.engine.memory import Memory
from punctual.engine.waiting import Waiting
from punctual.estimate.measured import Measured
from punctual.estimate.pass_cost import PassCost
from punctual.estimate.window_work import Rates
from punctual.kernel.window.panes import Answered
from punctual.kinds.clause import Clause
from punctual.kinds.job import Job
from punctual.kinds.registry import kind_of
from punctual.ports.answers import AnswerBlock
from punctual.runtime.backend import Backend, Question

MOST_LEARNED = 10_000
Failed = list[tuple[str, str]]
"""Queries that failed, with the reason."""


class Answering:
    """Answers what is due. ``judged`` says whether time counts: not in a replay at full speed."""

    def __init__(
        self, backend: Backend, clock: Clock, last: LastAnswers, memories: KindMemories, *, judged: bool
    ) -> None:
        self.late_pending = True
        """Whether late executions share a pass; off for comparison only."""
        self.cost = PassCost()
        self._backend = backend
        self._clock = clock
        self._last = last
        self._memories = memories
        self._judged = judged
        self._measured: dict[str, Measured] = {}

    def passes(self, jobs: list[Job], timing: Timing, released: Micros) -> Iterator[tuple[list[Job], float]]:
        """What is answered together, and how much work it is.

        All of it in a replay at full speed, else as deadlines and lateness ask for.
        """
        if not self._judged or not jobs:
            yield jobs, 0.0
            return
        waiting = Waiting(jobs, timing, released)
        while waiting:
            some, work = waiting.take(self._clock.now(), self.cost, late_pending=self.late_pending)
            began = self._clock.monotonic()
            yield some, work
            self.cost = self.cost.after(work, self._clock.monotonic() - began)

    def answer(self, jobs: list[Job], memory: Memory, timing: Timing) -> tuple[list[AnswerBlock], Failed]:
        """Blocks of answers, and the queries that failed with the reason."""
        if not jobs:
            return [], []
        answered, late, spent = memory.answer(jobs)
        for job, result in zip(jobs, answered):
            self._memories.see(job, result, memory.streams)
        began = self._clock.monotonic()
        jobs = [replace(job, last=self._last.of(job.query.name)) for job in jobs]
        try:
            blocks = answer_blocks(jobs, answered, late, self._backend.evaluate, self._clock.now)
        except Exception:
            if not self._backend.alive():
                raise
        else:
            if self._judged and memory.scan:
                self._learn(jobs, timing, spent, self._clock.monotonic() - began)
            return blocks, []
        # Some query's expressions fail: answer each by itself, and stop those that fail.
        blocks = []
        failed: Failed = []
        for job, result, lacking in zip(jobs, answered, late):
            try:
                blocks += answer_blocks([job], [result], [lacking], self._backend.evaluate, self._clock.now)
            except Exception as problem:
                if not self._backend.alive():
                    raise
                clause = first_failing(_alone(job, result), self._evaluation_fails)
                failed.append((job.query.name, explain_stop(job.query, clause, reason(problem))))
        return blocks, failed

    def _evaluation_fails(self, question: Question) -> Exception | None:
        try:
            self._backend.evaluate([question])
        except Exception as problem:
            if not self._backend.alive():
                raise
            return problem
        return None

    # -- what it costs ---------------------------------------------------------------------------------

    def _learn(self, jobs: Sequence[Job], timing: Timing, spent: Mapping[int, Micros], finish_us: Micros) -> None:
        """Put the kernel's time of every unit, and its part of the time for finishing, to its classes' account.

        A pass of very many instants is a backlog: it says nothing about ordinary passes. Units in shards are answered
        by one job, which says nothing about each of them.
        """
        jobs = [job for job in jobs if job.reader.unit in spent]
        total = sum(job.due.instants.size for job in jobs)
        if not 0 < total <= MOST_LEARNED:
            return
        dearest: dict[tuple[int, str, int], Fraction] = {}
        answers: dict[int, int] = {}
        classes: dict[int, set[str]] = {}
        for job in jobs:
            unit, name = job.reader.unit, job.query.name
            identity = timing.classes[name]
            classes.setdefault(unit, set()).add(identity)
            answers[unit] = answers.get(unit, 0) + job.due.instants.size
            for at in job.due.instants.tolist():
                place = (unit, identity, at)
                dearest[place] = max(dearest.get(place, Fraction(0)), timing.works[name].shared)
        merges: dict[int, Fraction] = {}
        for (unit, _identity, _at), work in dearest.items():
            merges[unit] = merges.get(unit, Fraction(0)) + work
        for unit, count in answers.items():
            for identity in classes[unit]:
                known = self._measured.get(identity, Measured())
                share = finish_us * count / total
                self._measured[identity] = known.after(float(merges[unit]), float(spent[unit]), float(count), share)

    def rates(self, in_use: Mapping[str, Rates]) -> dict[str, Rates]:
        """By class, the costs that plans should be made for, given those in use: merges are the unit."""
        found: dict[str, Rates] = {}
        for identity, measured in self._measured.items():
            before = in_use.get(identity, Rates())
            found[identity] = Rates(before.merge, measured.answer_in_merges(before.answer))
        return found


def _alone(job: Job, answered: Answered) -> list[tuple[Clause, Question]]:
    """What Catalyst evaluates for a job, an expression at a time."""
    asked = kind_of(job.query).question(job, answered)
    if asked is None:
        return []
    whole, clauses = asked
    singles = zip(clauses, whole.expressions, whole.types)
    return [(clause, Question((text,), (data_type,), whole.columns)) for clause, text, data_type in singles]
