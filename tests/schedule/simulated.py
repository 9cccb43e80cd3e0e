"""A reader and a holder that take as long as a seed says, driven by the scheduler: what was answered, and when."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from punctual.clock import SECOND, Micros
from punctual.schedule.arrivals import AtOnce
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
    Complete,
    Event,
    Moment,
    NothingRead,
    PassAnswered,
    Read,
    Settle,
    TimerFired,
    WakeAt,
)
from punctual.schedule.late_counts import LateCounts
from punctual.schedule.passes import Pass
from punctual.schedule.stages.waiting import any_ready
from punctual.schedule.state import Rules, State
from punctual.schedule.step import step


def contract(query: str, period_s: float, **more: object) -> Contract:
    us = int(period_s * SECOND)
    return Contract(query, ("s",), 5 * us, Timetable.multiples(us), us, sharing_class=query, **more)  # type: ignore[arg-type]


@dataclass(slots=True)
class World:
    """Batches that are there to be read (largest event times), durations by seed, and what came of it."""

    state: State
    batches: list[Micros]
    chance: random.Random
    now: Micros = 0
    reach: Reach = field(default_factory=Reach)
    answered: list[tuple[str, int, int]] = field(default_factory=list)
    log: list[Command] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    finished: bool = False
    _queue: list[tuple[Micros, int, Callable[[], Event]]] = field(default_factory=list)
    _count: int = 0
    _batch: int = 0
    _wake: Micros | None = None
    _pending: Micros | None = None

    def run(self, steps: int = 100_000) -> None:
        """From the start to the end, or to nothing left to do."""
        self._take(TimerFired(self._moment()))
        for _ in range(steps):
            if self.finished:
                return
            if self._queue and (self._wake is None or self._queue[0][0] <= self._wake):
                self.now, _number, event = heapq.heappop(self._queue)
                self._take(event())
            elif self._wake is not None:
                self.now, self._wake = max(self.now, self._wake), None
                self._take(TimerFired(self._moment()))
            else:
                return
        raise AssertionError("it never comes to an end")

    def _moment(self) -> Moment:
        return Moment(self.now, self.now)

    def _later(self, what: str, event: Callable[[], Event]) -> None:
        assert what not in self.under_way, f"{what} twice at once"
        self.under_way.append(what)
        self._count += 1

        def done() -> Event:
            self.under_way.remove(what)
            return event()

        heapq.heappush(self._queue, (self.now + self.chance.randrange(1, 900_000), self._count, done))

    def _take(self, event: Event) -> None:
        events = [event]
        while events:
            self.state, commands = step(self.state, events.pop(0))
            for command in commands:
                self.log.append(command)
                events += self._do(command)

    def _do(self, command: Command) -> list[Event]:
        match command:
            case Read():
                self._later("read", self._read)
            case Commit():
                assert self._pending is not None
                top, self._pending = self._pending, None
                return [self._committed(top - 1, top)]
            case Complete(through, ended):
                end = self.reach.greatest if ended else through["s"]
                if end is None or end <= self.reach.through:
                    return [TimerFired(self._moment())]
                return [self._committed(end, self.reach.greatest)]
            case Apply(batch):
                self._later("hold", lambda: BatchApplied(self._moment(), batch, {"s": LateCounts.none()}))
            case Answer(asked):
                self._later("hold", lambda: self._answer(asked))
            case Compact():
                answered = not any_ready(self.state.firings.groups, self.now)
                assert answered, "a base is made of what is answered, or waits for its next stage"
                self._later("hold", lambda: Compacted(self._moment()))
            case WakeAt(steady):
                self._wake = steady
            case Settle(finished):
                self.finished = finished
        return []

    def _read(self) -> Event:
        if not self.batches:
            return NothingRead(self._moment())
        top = self._pending = self.batches.pop(0)
        return BatchRead(self._moment(), top, top)

    def _committed(self, through: Micros, greatest: Micros | None) -> Event:
        before, least = self.reach.through, self.reach.least
        self.reach = Reach(max(through, before), greatest if least is None else least, greatest)
        batch, self._batch = self._batch, self._batch + 1
        arrivals = {"s": AtOnce(before, self.now)} if self.state.rules.timed else None
        return BatchCommitted(self._moment(), batch, {"s": self.reach}, frozenset(["s"]), arrivals)

    def _answer(self, asked: Pass) -> Event:
        for group in asked.groups:
            asked_for = product(group.cohort.queries, group.due.instants.tolist())
            self.answered += [(query, at, group.number) for query, at in asked_for]
        return PassAnswered(self._moment(), self.chance.randrange(1, 900_000))


def world(rules: Rules, contracts: list[Contract], batches: list[Micros], seed: int) -> World:
    state = State(rules, Contracts(contracts), {"s": 0}, {"s": Reach()}, {"s": BEGINNING})
    return World(state, batches, random.Random(seed))
