"""An engine under load, simulated: rows that arrive as time goes on, jobs that take as long as their core time says.

Event time is that of a clock that never jumps. What jobs cost is known to the scheduler, up to a seeded noise; nothing
else is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from punctual.clock import SECOND, Micros
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.quality_curve import QualityCurve
from punctual.estimate.spent import RowsSpent
from punctual.schedule.arrivals import Arrivals
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Contract, Reach
from punctual.schedule.due import BEGINNING, Timetable
from punctual.schedule.events import (
    Answer,
    Apply,
    BatchApplied,
    BatchCommitted,
    BatchRead,
    Command,
    Commit,
    Compact,
    Compacted,
    Event,
    Journal,
    Moment,
    NothingRead,
    PassAnswered,
    Read,
    Say,
    TimerFired,
    WakeAt,
)
from punctual.schedule.late_counts import LateCounts
from punctual.schedule.passes import Pass
from punctual.schedule.state import Rules, State
from punctual.schedule.step import step


def sampled(
    query: str, period_s: float, curve: QualityCurve | None, deadline_s: float | None = None, *, sheds: bool = True
) -> Contract:
    """A query that is answered from rows."""
    us = int(period_s * SECOND)
    deadline = None if deadline_s is None else int(deadline_s * SECOND)
    return Contract(
        query, ("s",), 5 * us, Timetable.multiples(us), us, deadline_us=deadline, sharing_class=query, curve=curve,
        sheds=sheds,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AsTimeGoesOn:
    """Every row arrives at its event time; what the wall clock showed then, which jumped at some times by so much."""

    jumps: tuple[tuple[Micros, Micros], ...] = ()

    def times(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        found = instants.copy()
        for at, by in self.jumps:
            found += np.where(instants >= at, by, 0)
        return found


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer: what it used of its input, and whether it was on time."""

    query: str
    at: Micros
    share: float
    level: float | None
    on_time: bool
    quality: float


@dataclass(slots=True, eq=False)
class Loaded:
    """``costs`` are by query, in core time; ``load`` says by how much they are multiplied at a time."""

    state: State
    costs: dict[str, ExecutionCost]
    load: Callable[[Micros], float] = lambda _now: 1.0
    reading_us: float = 100_000.0
    latency_us: float = 100_000.0
    noise: float = 0.0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    now: Micros = 1_000 * SECOND
    jumps: tuple[tuple[Micros, Micros], ...] = ()
    """When the wall clock jumped, and by how much."""
    answers: list[Answered] = field(default_factory=list)
    journaled: set[tuple[str, Micros, float]] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    levels: list[tuple[Micros, float | None]] = field(default_factory=list)
    _queue: list[tuple[Micros, int, Callable[[], Event]]] = field(default_factory=list)
    _count: int = 0
    _batch: int = 0
    _through: Micros = BEGINNING
    _wake: Micros | None = None
    _read_from: Micros = 0
    _through_next: Micros = 0

    def run(self, seconds: float) -> None:
        """So long from now on."""
        end = self.now + int(seconds * SECOND)
        if not self._queue and self._wake is None:
            self._take(TimerFired(self.moment()))
        while True:
            due = [self._queue[0][0]] if self._queue else []
            times = [*due, *([] if self._wake is None else [self._wake])]
            if not times or min(times) > end:
                self.now = end
                return
            self.now = max(self.now, min(times))
            if due and due[0] <= self.now:
                self._take(heapq.heappop(self._queue)[2]())
            else:
                self._wake = None
                self._take(TimerFired(self.moment()))

    def jump(self, by: Micros) -> None:
        """Set the wall clock."""
        self.jumps = (*self.jumps, (self.now, by))

    @property
    def wall(self) -> Micros:
        """What it shows."""
        return self.now + sum(by for _at, by in self.jumps)

    def moment(self) -> Moment:
        return Moment(self.wall, self.now)

    def _later(self, took_us: float, event: Callable[[], Event]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now + max(1, int(took_us)), self._count, event))

    def _take(self, event: Event) -> None:
        events = [event]
        while events:
            self.state, commands = step(self.state, events.pop(0))
            for command in commands:
                events += self._do(command)

    def _do(self, command: Command) -> list[Event]:
        match command:
            case Read():
                self._read()
            case Commit():
                return [self._committed()]
            case Apply(batch):
                none = {"s": LateCounts.none()}
                self._later(
                    1_000, lambda: BatchApplied(self.moment(), batch, none, executions=self._executions())
                )
            case Journal(decisions):
                self.journaled |= {(one.query, one.first, one.setting) for one in decisions}
            case Answer(asked):
                self._answer(asked)
            case Say(notice):
                self.said.append(notice.text)
            case Compact():
                self._later(1_000, lambda: Compacted(self.moment()))
            case WakeAt(steady):
                self._wake = steady
        return []

    def _executions(self) -> dict[str, ExecutionCost]:
        factor = self.load(self.now)
        return {name: ExecutionCost(one.fixed_us, factor * one.work_us) for name, one in self.costs.items()}

    def _read(self) -> None:
        used = self.reading_us * (self.now - (self._read_from or self.now - SECOND)) / SECOND
        self._read_from = top = self.now
        self._through_next = top
        if not used:
            self._later(10_000, lambda: NothingRead(self.moment()))
            return
        self._later(used / self.state.rules.cores, lambda: BatchRead(self.moment(), top, top, used))

    def _committed(self) -> Event:
        least = self.state.reaches["s"].least
        self._through = max(self._through, self._through_next - 1)
        batch, self._batch = self._batch, self._batch + 1
        reach = Reach(self._through, self._through if least is None else least, self._through + 1)
        arrivals: dict[str, Arrivals] = {"s": AsTimeGoesOn(self.jumps)}
        return BatchCommitted(self.moment(), batch, {"s": reach}, frozenset(["s"]), arrivals)

    def _answer(self, asked: Pass) -> None:
        cores, executions = self.state.rules.cores, self._executions()
        core = 0.0
        for group in asked.groups:
            for query in group.cohort.queries:
                share = 1.0 if group.setting is None else group.setting
                core += group.due.instants.size * executions[query].at(share)
        noise = 1 + self.noise * self.random.uniform(-1, 1)
        core *= noise
        rows_us = core / (cores - self.reading_us / SECOND) + self.latency_us
        self.levels.append((self.now, self.state.level))
        self._later(rows_us, lambda: self._answered(asked, rows_us, RowsSpent(core, core / noise)))

    def _answered(self, asked: Pass, rows_us: float, spent: RowsSpent) -> Event:
        passing = self.state.current_pass  # its releases have jumped with the clock
        assert passing is not None
        for group, shown in zip(asked.groups, passing.groups):
            assert shown.released is not None
            contract = group.cohort.one
            share = 1.0 if group.setting is None else group.setting
            for at, released in zip(group.due.instants.tolist(), shown.released.tolist()):
                on_time = self.wall <= released + contract.allowed(group.number)
                quality = contract.curve.quality(share) if contract.curve is not None else 1.0
                if group.setting is not None:
                    known = [one for one in self.state.decisions if one.query == contract.query]
                    assert any(one.first <= at <= one.last and one.setting == share for one in known)
                self.answers.append(
                    Answered(contract.query, at, share, group.level, on_time, quality if on_time else 0.0)
                )
        executions = self._executions()
        return PassAnswered(
            self.moment(), rows_us, rows_us=rows_us, rows_spent=spent, executions=executions
        )


def loaded(rules: Rules, contracts: list[Contract], costs: dict[str, ExecutionCost], **more: object) -> Loaded:
    state = State(rules, Contracts(contracts), {"s": 0}, {"s": Reach()}, {"s": BEGINNING})
    return Loaded(state, costs, **more)  # type: ignore[arg-type]
