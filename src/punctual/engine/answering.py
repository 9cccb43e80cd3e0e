"""Answering a pass, on the holder's thread: from what is held to blocks of answers, its cost, and who fails alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from punctual.clock import Clock, Micros
from punctual.engine.broken_rules import BrokenRules
from punctual.engine.cadences import Timing
from punctual.engine.displayed import Displayed
from punctual.engine.isolate import reason
from punctual.engine.memory import Memory
from punctual.engine.passes import Asked, apart, finish
from punctual.engine.places import explain_stop, first_failing
from punctual.kernel.window.panes import Answered
from punctual.ports.answers import AnswerBlock
from punctual.runtime.backend import Backend, Question
from punctual.schedule.events import ClassCost

MAX_INSTANTS_LEARNED = 10_000
"""A pass of more instants is a backlog: it says nothing about ordinary passes."""


@dataclass(frozen=True, slots=True)
class AnsweredPass:
    """Blocks of answers, the queries that failed with the reason, and what the pass cost each sharing class."""

    blocks: list[AnswerBlock] = field(default_factory=list)
    failed: tuple[tuple[str, str], ...] = ()
    costs: tuple[ClassCost, ...] = ()


class Answering:
    """Answers what is due. ``timed`` says whether time counts: not in a replay at full speed."""

    def __init__(
        self, backend: Backend, clock: Clock, displayed: Displayed, broken: BrokenRules, *, timed: bool
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._displayed = displayed
        self._broken = broken
        self._timed = timed

    def answer(self, asked: list[Asked], memory: Memory, timing: Timing) -> AnsweredPass:
        """The answers of a pass, one call of the kernel a unit and one of Catalyst."""
        results, spent = memory.answer(asked)
        for one, result in zip(asked, results):
            self._broken.see(one, result, memory.streams)
        began = self._clock.monotonic()
        answered = [self._displayed.next(one, result) for one, result in zip(asked, results)]
        try:
            blocks = finish(asked, answered, self._backend.evaluate, self._clock.now)
        except Exception:
            if not self._backend.alive():
                raise
            return self._one_by_one(asked, answered)
        costs: tuple[ClassCost, ...] = ()
        if self._timed and memory.scan:
            costs = tuple(_class_costs(asked, timing, spent, self._clock.monotonic() - began))
        return AnsweredPass(blocks, costs=costs)

    def _one_by_one(self, asked: Sequence[Asked], answered: Sequence[Answered]) -> AnsweredPass:
        """Some query's expressions fail: answer each by itself, and name those that fail."""
        blocks: list[AnswerBlock] = []
        failed: list[tuple[str, str]] = []
        for one, result in zip(asked, answered):
            try:
                blocks += finish([one], [result], self._backend.evaluate, self._clock.now)
            except Exception as problem:
                if not self._backend.alive():
                    raise
                query = one.reader.query
                place = first_failing(apart(one, result), self._evaluation_fails)
                failed.append((query.name, explain_stop(query, place, reason(problem))))
        return AnsweredPass(blocks, tuple(failed))

    def _evaluation_fails(self, question: Question) -> Exception | None:
        try:
            self._backend.evaluate([question])
        except Exception as problem:
            if not self._backend.alive():
                raise
            return problem
        return None


def _class_costs(
    asked: Sequence[Asked], timing: Timing, spent: Mapping[int, Micros], finish_us: Micros
) -> list[ClassCost]:
    """The kernel's time of every unit, and its part of the time for finishing, put to its classes' account.

    Units in shards are answered by one job, which says nothing about each of them.
    """
    asked = [one for one in asked if one.reader.unit in spent]
    total = sum(one.due.instants.size for one in asked)
    if not 0 < total <= MAX_INSTANTS_LEARNED:
        return []
    dearest: dict[tuple[int, str, int], Fraction] = {}
    answers: dict[int, int] = {}
    classes: dict[int, set[str]] = {}
    for one in asked:
        unit, name = one.reader.unit, one.reader.query.name
        identity = timing.classes[name]
        classes.setdefault(unit, set()).add(identity)
        answers[unit] = answers.get(unit, 0) + one.due.instants.size
        for at in one.due.instants.tolist():
            which = (unit, identity, at)
            dearest[which] = max(dearest.get(which, Fraction(0)), timing.works[name].shared)
    merges: dict[int, Fraction] = {}
    for (unit, _identity, _at), work in dearest.items():
        merges[unit] = merges.get(unit, Fraction(0)) + work
    return [
        ClassCost(identity, float(merges[unit]), float(spent[unit]), float(count), finish_us * count / total)
        for unit, count in answers.items()
        for identity in classes[unit]
    ]
