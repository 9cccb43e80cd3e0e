"""Anytime queries on cores by a simulated clock: what the online sharing gives to whom, against the best plan.

Model
-----
Joblets take exactly their budget, unless it is said otherwise; nothing else runs. What a query has by its deadline is
the core time of its joblets until then. Queries are drawn as the paper's Theorem 4 wants them: lifetimes and essential
times first, then starts that are uniform over an interval. The interval is a ring: a lifetime that goes beyond its end
is cut there and goes on at its beginning, with its essential time split by overlap. So load is the same at all times,
but for chance, and for the moment at which all cut ones begin at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from punctual.schedule.epoch import AnytimeQuery, Epochs, allocate, split_by_epoch
from punctual.schedule.online import Arrived, Drop, Ended, Event, Joblet, Rules, Start, State, TimePassed, step

SHORTEST, LONGEST = 1.0, 6.0
"""Lifetimes of the paper's queries."""

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Outcome:
    """What happened: core time by query, in their order, and everything that was started and dropped."""

    given: list[float]
    essential: list[float]
    """The core time of essential joblets alone."""
    joblets: list[tuple[Joblet, float, float]] = field(default_factory=list)
    """With when they began and ended."""
    dropped: dict[int, float] = field(default_factory=dict)
    steps: int = 0


def simulate(
    queries: Sequence[AnytimeQuery],
    rules: Rules,
    one_round: float,
    *,
    granted: Sequence[float] | None = None,
    also: Sequence[Event] = (),
    takes: Callable[[Joblet], float] = lambda joblet: joblet.budget,
    watch: Callable[[State], None] = lambda state: None,
) -> Outcome:
    """Let the queries arrive at their starts; a query's name is its place.

    ``granted`` is what a plan gives them, ``also`` are other events, ``takes`` says how long a joblet really runs,
    ``watch`` sees the state after each event.
    """
    outcome = Outcome([0.0] * len(queries), [0.0] * len(queries))
    pending: list[tuple[float, int, int, Event]] = []
    for place, query in enumerate(queries):
        plan = None if granted is None else granted[place]
        heapq.heappush(pending, (query.start, 1, place, Arrived(query.start, str(place), query, one_round, plan)))
    for place, event in enumerate(also):
        heapq.heappush(pending, (event.at, 2, place, event))
    state, count, woken = State(rules), 0, None
    running: dict[int, tuple[Joblet, float]] = {}
    waiting: list[Joblet] = []
    while pending:
        at, _kind, _place, event = heapq.heappop(pending)
        if isinstance(event, Ended):
            joblet, began = running.pop(event.joblet)
            _credit(outcome, queries, joblet, began, at)
        state, commands = step(state, event)
        outcome.steps += 1
        watch(state)
        for command in commands:
            match command:
                case Start(joblet):
                    waiting.append(joblet)
                case Drop(name, time):
                    outcome.dropped[int(name)] = outcome.dropped.get(int(name), 0.0) + time
        while waiting and len(running) < rules.cores:
            joblet = waiting.pop(0)
            running[joblet.number] = joblet, at
            took = takes(joblet)
            count += 1
            heapq.heappush(pending, (at + took, 0, count, Ended(at + took, joblet.number, took)))
        if state.wake_at is not None and state.wake_at != woken:
            woken = state.wake_at
            heapq.heappush(pending, (woken, 3, count, TimePassed(woken)))
    return outcome


def _credit(outcome: Outcome, queries: Sequence[AnytimeQuery], joblet: Joblet, began: float, ended: float) -> None:
    place = int(joblet.name)
    outcome.joblets.append((joblet, began, ended))
    by_deadline = max(0.0, min(ended, queries[place].deadline) - began)
    outcome.given[place] += by_deadline
    if not joblet.bonus:
        outcome.essential[place] += by_deadline


def draw(random: np.random.Generator, alive: int, load: float, cores: int, length: float = 60.0) -> list[AnytimeQuery]:
    """So many alive at a time on average, for a while; lifetimes of 1 to 6, essential times within a factor of 4."""
    lifetimes = random.uniform(SHORTEST, LONGEST, round(alive * length / (SHORTEST + LONGEST) * 2))
    needed = random.uniform(0.5, 2.0, lifetimes.size)
    needed *= load * cores * length / needed.sum()
    starts = random.uniform(0.0, length, lifetimes.size)
    ring = Epochs(length, 0)
    return [
        AnytimeQuery(piece.start - ring.begins(number), piece.deadline - ring.begins(number), piece.essential)
        for start, lifetime, need in zip(starts.tolist(), lifetimes.tolist(), needed.tolist())
        for number, piece in split_by_epoch(AnytimeQuery(start, start + lifetime, need), ring).items()
    ]


@dataclass(frozen=True, slots=True)
class Compared:
    """Queries as arrays: what each was given online, and what the best plan gives it."""

    lifetime: Floats
    essential: Floats
    given: Floats
    best: Floats
    steps: int
    """Events in the whole run."""

    def by_kind(self) -> dict[str, float]:
        """What is given over what would be best, of all queries of a kind: lifetimes, and thirds by essential time."""
        kinds = {
            f"lifetime {n} to {n + 1}": (self.lifetime >= n) & (self.lifetime < n + 1)
            for n in range(int(SHORTEST), int(LONGEST))
        }
        borders = np.quantile(self.essential, [0, 1 / 3, 2 / 3, 1])
        for name, least, most in zip(("small", "medium", "large"), borders, borders[1:]):
            kinds[name] = (self.essential >= least) & (self.essential <= most)
        return {name: float(self.given[some].sum() / self.best[some].sum()) for name, some in kinds.items()}


def compared(draws: Sequence[Sequence[AnytimeQuery]], cores: int, joblets: int, *, uniform: bool = False) -> Compared:
    """Let each draw run. ``joblets`` are those that an essential part has on average; a round is a twentieth of one.

    Queries that begin in the first moments, or were cut at the ends, run but are not counted.
    """
    parts, steps = [], 0
    for seed, queries in enumerate(draws):
        essential = np.array([query.essential for query in queries])
        joblet = float(essential.mean()) / joblets
        outcome = simulate(queries, Rules(cores, joblet, seed, uniform_drops=uniform), joblet / 20)
        end = max(query.deadline for query in queries)
        counts = np.array([query.start > LONGEST and query.deadline < end for query in queries])
        lifetime = np.array([query.lifetime for query in queries])
        columns = (lifetime, essential, np.array(outcome.given), np.array(allocate(queries, cores)))
        parts.append([column[counts] for column in columns])
        steps += outcome.steps
    return Compared(*(np.concatenate(part) for part in zip(*parts)), steps)
