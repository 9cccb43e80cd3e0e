"""An engine that falls behind, by a simulated clock: which passes it runs, and when each execution is answered.

Model
-----
One server runs passes one after the other; what to run is asked of ``punctual.schedule.edf``. A pass costs ``FIXED_US``
and the work of every execution in it; one class at several instants costs each instant's scan again, so that
sharing a pass saves the fixed part only. Work is merges of a scan and a little for finishing. What the scheduler is
told is the prediction; what the pass takes differs from it, by a factor that is drawn for each execution beforehand
and so is the same under every policy.

An execution is released at its instant and has its bound (a PERIOD one: its DEADLINE) to be answered. *Load* is what
all classes would take one by one, fixed parts included, of the time there is. In a *stall* no pass begins; a *burst*
is more classes, for a while. The engine has *caught up* at the first moment after that when nothing pending is late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from punctual.clock import SECOND, Micros
from punctual.schedule.edf import PendingColumns, next_pass

FIXED_US = 80_000.0
MERGE_US = 20.0
FINISH_US = 200.0
ACTUAL = (0.8, 1.25)
"""Smallest and largest factor of actual over predicted work."""


@dataclass(frozen=True, slots=True)
class Class:
    """A sharing class: an execution every so often, each with so many merges."""

    name: str
    every: Micros
    merges: int
    allowed: Micros
    bounded: bool = True
    first: Micros = 0
    last: Micros = 2**62
    merge_us: float = MERGE_US

    @property
    def work_us(self) -> float:
        return self.merges * self.merge_us + FINISH_US

    def instants(self, horizon: Micros) -> NDArray[np.int64]:
        begin = -(-self.first // self.every) * self.every
        return np.arange(begin, min(self.last, horizon), self.every, dtype=np.int64)


def load(classes: Sequence[Class]) -> float:
    return sum((FIXED_US + one.work_us) / one.every for one in classes)


def draw(
    random: np.random.Generator, count: int, at_load: float, prefix: str = "bounded", merge_us: float = MERGE_US
) -> list[Class]:
    """Bounded classes with random bounds (the longest up to eight times the shortest) and 50 to 1,500 merges."""
    shape, merges = random.uniform(1.0, 8.0, count), random.integers(50, 1_500, count)
    drawn = [
        Class(f"{prefix}{i}", round(s * SECOND), int(m), 0, merge_us=merge_us)
        for i, (s, m) in enumerate(zip(shape, merges))
    ]
    stretch = load(drawn) / at_load
    return [replace(one, every=round(one.every * stretch), allowed=round(one.every * stretch)) for one in drawn]


def draw_periods(random: np.random.Generator, count: int) -> list[Class]:
    """PERIOD classes: every 5, 10, 20 or 30 seconds, to be answered within one to three."""
    return [
        Class(
            f"period{i}",
            int(random.choice([5, 10, 20, 30])) * SECOND,
            int(random.integers(50, 1_500)),
            int(random.integers(1_000, 3_000)) * 1_000,
            bounded=False,
        )
        for i in range(count)
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Executions in the order of their release, and when each was answered."""

    name: NDArray[np.str_]
    at: NDArray[np.int64]
    deadline: NDArray[np.int64]
    bounded: NDArray[np.bool_]
    answered: NDArray[np.float64]
    answers: NDArray[np.int64]
    """How often each execution was answered."""
    passes: int

    @property
    def lateness(self) -> NDArray[np.float64]:
        """Microseconds after the deadline; 0 for what was in time."""
        late: NDArray[np.float64] = np.maximum(0.0, self.answered - self.deadline)
        return late

    def caught_up(self, after: Micros) -> float:
        """The first moment from ``after`` on when nothing pending is late."""
        late = np.flatnonzero(self.lateness)
        moment = float(after)
        for one in late[np.argsort(self.deadline[late])]:
            if self.deadline[one] >= moment:
                break
            moment = max(moment, float(self.answered[one]))
        return moment

    def throughput(self, begin: float, end: float) -> float:
        """Executions answered per second in (begin, end]."""
        return float(np.count_nonzero((self.answered > begin) & (self.answered <= end)) * SECOND / (end - begin))

    def backlog(self, moment: float) -> int:
        """Executions released and not answered at that moment."""
        return int(np.count_nonzero((self.at <= moment) & (self.answered > moment)))


def simulate(
    classes: Sequence[Class],
    horizon: Micros,
    *,
    late_pending: bool,
    stall: tuple[Micros, Micros] = (-1, -1),
    seed: int = 0,
) -> Outcome:
    """Run everything that is released before the horizon; no pass begins inside the stall."""
    owner, at = _releases(classes, horizon)
    allowed, work, bounded = (
        np.array(column)[owner] for column in zip(*((one.allowed, one.work_us, one.bounded) for one in classes))
    )
    taken = work * np.random.default_rng(seed).uniform(*ACTUAL, len(at))
    names = [one.name for one in classes]
    everything = PendingColumns(names, owner, at, at + allowed, work, bounded)
    answered, answers = np.full(len(at), np.inf), np.zeros(len(at), np.int64)
    waiting, known, passes, now = np.empty(0, np.intp), 0, 0, 0.0
    while known < len(at) or waiting.size:
        if not waiting.size:
            now = max(now, float(at[known]))
        if stall[0] <= now < stall[1]:
            now = float(stall[1])
        released = int(np.searchsorted(at, now, side="right"))
        waiting, known = np.concatenate([waiting, np.arange(known, released)]), released
        places = list(next_pass(_some(everything, waiting), int(now), FIXED_US, late_pending=late_pending))
        chosen, waiting = waiting[places], np.delete(waiting, places)
        now += FIXED_US + float(taken[chosen].sum())
        answered[chosen] = now
        np.add.at(answers, chosen, 1)
        passes += 1
    return Outcome(np.array(names)[owner], at, at + allowed, bounded, answered, answers, passes)


def _releases(classes: Sequence[Class], horizon: Micros) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    instants = [one.instants(horizon) for one in classes]
    owner = np.repeat(np.arange(len(classes)), [len(each) for each in instants])
    at = np.concatenate(instants)
    order = np.argsort(at, kind="stable")
    return owner[order], at[order]


def _some(columns: PendingColumns, places: NDArray[np.intp]) -> PendingColumns:
    return PendingColumns(
        columns.names,
        columns.owner[places],
        columns.at[places],
        columns.deadline[places],
        columns.work_us[places],
        columns.bounded[places],
    )
