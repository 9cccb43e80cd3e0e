"""Stages on cores by a virtual clock, round by round: what rounds really cost is not what was thought.

Model
-----
A round of a stage costs what a gamma law says, around a mean that nobody is told. Before a stage begins a few rounds
are tried, and their mean is the estimate. A joblet also costs a little for handing it over. Rounds are whole: one that
has begun ends, none begins after the deadline, and one that ends after it is not in the answer.

*Online*: :mod:`punctual.schedule.online` decides. A joblet has as many rounds as its budget should buy; when it has
ended, the stage is estimated anew by what its rounds took, as the engine does it.
*Planned*: all stages are known, ``allocate`` has said how much core time each gets by its estimate, and free cores take
the alive one with the earliest deadline that has some left. A joblet watches its own clock.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from benchmarks.anytime_stages import Stage
from benchmarks.anytime_workload import ROUNDS
from punctual.schedule.epoch import first_to_run
from punctual.schedule.online import (
    Arrived,
    Command,
    Ended,
    Event,
    Joblet,
    Reestimated,
    Rules,
    Start,
    State,
    TimePassed,
    step,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Costs:
    """How rounds differ: ``spread`` is their standard deviation over their mean. ``handing`` is seconds a joblet."""

    spread: float = 0.2
    handing: float = 0.001
    tried: int = 1
    """Rounds that an estimate rests on."""

    def drawn(self, random: np.random.Generator, stage: Stage, count: int) -> Floats:
        """What some rounds of a stage cost."""
        if self.spread <= 0:
            return np.full(count, stage.one_round)
        shape = self.spread**-2
        return random.gamma(shape, stage.one_round / shape, count)

    def estimates(self, random: np.random.Generator, stages: Sequence[Stage]) -> list[float]:
        return [float(self.drawn(random, stage, self.tried).mean()) for stage in stages]


@dataclass(slots=True)
class Run:
    """What came of it, by stage: rounds in the answer; and every joblet."""

    rounds: list[int]
    joblets: list[tuple[int, float, float]] = field(default_factory=list)
    """Stage, and when it began and ended."""
    decisions: int = 0
    decided_s: float = 0.0
    """CPU time of the decisions: real, not virtual."""

    @property
    def core_s(self) -> float:
        """Core time of all joblets."""
        return sum(ended - began for _place, began, ended in self.joblets)

    def most_at_once(self) -> int:
        """The largest number of joblets that ran at one time."""
        changes = sorted(
            change for _place, began, ended in self.joblets for change in ((began, 1), (ended, -1)) if ended > began
        )
        return int(np.cumsum([change for _at, change in changes]).max(initial=0))


class _Online:
    """The state machine, and the rounds that its joblets turn into."""

    def __init__(
        self, stages: Sequence[Stage], estimates: Sequence[float], rules: Rules, costs: Costs,
        random: np.random.Generator,
    ) -> None:  # fmt: skip
        self.stages, self.costs, self.random = stages, costs, random
        self.run = Run([0] * len(stages))
        self.state = State(rules)
        self._pending: list[tuple[float, int, int, Event]] = []
        self._told = 0
        self._learnt = list(estimates)
        self._drawn, self._took = [0] * len(stages), [0.0] * len(stages)
        """Rounds that were drawn, and what they took."""
        self._running: dict[int, tuple[int, int]] = {}
        """By joblet: its stage, and how many rounds it is to draw."""
        self._waiting: list[Joblet] = []
        self._woken: float | None = None
        for place, (stage, one_round) in enumerate(zip(stages, estimates)):
            self._push(1, Arrived(stage.start, str(place), stage.needing(one_round), one_round))

    def play(self) -> Run:
        while self._pending:
            event = heapq.heappop(self._pending)[3]
            if isinstance(event, Ended):
                self._ended(event)
            else:
                self._tell(event)
        return self.run

    def _push(self, kind: int, event: Event) -> None:
        self._told += 1
        heapq.heappush(self._pending, (event.at, kind, self._told, event))

    def _tell(self, event: Event) -> None:
        before = thread_time()
        self.state, commands = step(self.state, event)
        self.run.decided_s += thread_time() - before
        self.run.decisions += 1
        self._follow(commands, event.at)
        if self.state.wake_at is not None and self.state.wake_at != self._woken:
            self._woken = self.state.wake_at
            self._push(3, TimePassed(self._woken))

    def _follow(self, commands: Sequence[Command], now: float) -> None:
        self._waiting += [command.joblet for command in commands if isinstance(command, Start)]
        while self._waiting and len(self._running) < self.state.rules.cores:
            self._begin(self._waiting.pop(0), now)

    def _begin(self, joblet: Joblet, now: float) -> None:
        place = int(joblet.name)
        wanted = max(1, ceil(joblet.budget / self._learnt[place] - 1e-9))
        costs = self.costs.drawn(self.random, self.stages[place], wanted)
        ends = now + self.costs.handing + np.cumsum(costs)
        drawn = int(np.count_nonzero(ends - costs < joblet.until))
        ended = float(ends[drawn - 1]) if drawn else now + self.costs.handing
        self.run.rounds[place] += int(np.count_nonzero(ends[:drawn] <= self.stages[place].deadline))
        self.run.joblets.append((place, now, ended))
        self._running[joblet.number] = place, wanted
        self._drawn[place] += drawn
        self._took[place] += ended - now
        self._push(0, Ended(ended, joblet.number, ended - now))

    def _ended(self, event: Ended) -> None:
        """The end of a joblet, and where some of its stage is queued, how much that is by what rounds took."""
        place, _wanted = self._running.pop(event.joblet)
        queued = any(one.name == str(place) and one.queued for one in self.state.alive)
        self._tell(event)
        rounds = self._drawn[place]
        if rounds:
            self._learnt[place] = self._took[place] / rounds
        if queued:
            under_way = sum(wanted for stage, wanted in self._running.values() if stage == place)
            left = max(0, ROUNDS - rounds - under_way) * self._learnt[place]
            self._tell(Reestimated(event.at, str(place), left, self._learnt[place]))


def online(
    stages: Sequence[Stage], estimates: Sequence[float], rules: Rules, costs: Costs, random: np.random.Generator
) -> Run:
    """Stages arrive when they start; nothing is known of them before."""
    return _Online(stages, estimates, rules, costs, random).play()


def planned(
    stages: Sequence[Stage],
    estimates: Sequence[float],
    allocated: Sequence[float],
    cores: int,
    joblet: float,
    costs: Costs,
    random: np.random.Generator,
) -> Run:
    """Stages run for as long as they were allocated; a rest of less than half a round is no round."""
    run = Run([0] * len(stages))
    queries = [stage.needing(one_round) for stage, one_round in zip(stages, estimates)]
    left = [time if time >= one_round / 2 else 0.0 for time, one_round in zip(allocated, estimates)]
    free = [0.0] * cores
    starts = sorted({query.start for query in queries})
    while True:
        now = heapq.heappop(free)
        before = thread_time()
        place = first_to_run(queries, left, now)
        run.decided_s += thread_time() - before
        run.decisions += 1
        if place is None:
            later = bisect_right(starts, now)
            if later == len(starts):
                break
            heapq.heappush(free, starts[later])
            continue
        budget, stage = min(joblet, left[place]), stages[place]
        drawn = costs.drawn(random, stage, ceil(2 * budget / stage.one_round) + 2)
        ends = now + costs.handing + np.cumsum(drawn)
        # A round that would be mostly beyond the budget is left to the next joblet.
        begun = int(np.count_nonzero(ends - drawn < min(now + budget - estimates[place] / 2, stage.deadline)))
        begun = max(begun, int(now + costs.handing < stage.deadline))
        ended = float(ends[begun - 1]) if begun else now + costs.handing
        run.rounds[place] += int(np.count_nonzero(ends[:begun] <= stage.deadline))
        run.joblets.append((place, now, ended))
        left[place] -= ended - now
        if left[place] < estimates[place] / 2:
            left[place] = 0.0
        heapq.heappush(free, ended)
    return run
