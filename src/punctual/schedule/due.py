"""Which instants are due: pure arithmetic over microseconds.

Model
-----
A *run* is an execution that repeats: at the instants ``m * step + offset``. A *timetable* says which runs answer a
query, and until when: one stretch after another, the last without end. A PERIOD query, and a bounded one that nobody
plans with, has one run at the multiples of its step; a planned query has those of its cadence, and a change of plan
begins a new stretch. What is *due* are the instants of a timetable in (after, through] that are not before the stream's
smallest accepted event time. That may still fall while rows come out of order; an instant that was released never
depends on it, since rows accepted later lie after it.

Instants are listed only when they are asked for, so that years of silence cost nothing until they are cut into parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from punctual.clock import SECOND, Micros

I64 = NDArray[np.int64]
BEGINNING: Micros = -(2**62)
"""Before every event time: nothing is complete yet."""
FOREVER: Micros = 2**62


@dataclass(frozen=True, slots=True)
class Run:
    """An execution at ``m * step + offset`` for every ascending offset in [0, step).

    Answers name their execution by ``label`` (the bound of the dearest group that runs) and a number, which counts
    ``unit`` since 1970 (0: ``step``).
    """

    label: str
    step: Micros
    offsets: tuple[Micros, ...] = (0,)
    unit: Micros = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", self.unit or self.step)

    def count(self, after: Micros, through: Micros) -> int:
        """Instants in (after, through].

        >>> Run("5s", 5).count(0, 21), Run("5s", 10, (0, 3)).count(0, 13)
        (4, 3)
        """
        return max(0, self._upto(through) - self._upto(after))

    def _upto(self, instant: Micros) -> int:
        if len(self.offsets) == 1:
            return (instant - self.offsets[0]) // self.step
        cycle, rest = divmod(instant, self.step)
        return cycle * len(self.offsets) + bisect_right(self.offsets, rest)

    def instants(self, after: Micros, through: Micros) -> I64:
        """Those in (after, through], ascending."""
        if len(self.offsets) == 1:
            offset = self.offsets[0]
            first = offset + ((after - offset) // self.step + 1) * self.step
            # Not arange with a step: numpy counts its elements in doubles, which end at three centuries.
            return first + self.step * np.arange(self.count(after, through))
        cycles = np.arange(after // self.step, through // self.step + 1, dtype=np.int64)
        found = (cycles[:, None] * self.step + np.array(self.offsets, np.int64)).ravel()
        return found[np.searchsorted(found, after, "right") : np.searchsorted(found, through, "right")]

    def following(self, after: Micros) -> Micros:
        """The first instant after this one."""
        cycle, rest = divmod(after, self.step)
        place = bisect_right(self.offsets, rest)
        return cycle * self.step + (self.offsets[place] if place < len(self.offsets) else self.step + self.offsets[0])


def length_text(duration: Micros) -> str:
    """A bound as the names of executions have it.

    >>> length_text(60_000_000), length_text(1_500_000)
    ('60s', '1500000us')
    """
    return f"{duration // SECOND}s" if duration % SECOND == 0 else f"{duration}us"


class Stretch(NamedTuple):
    """Through ``until`` these runs answer, the dearest first; all their instants are multiples of ``lattice``."""

    until: Micros
    runs: tuple[Run, ...]
    lattice: Micros


class DueInstants(NamedTuple):
    """Instants, ascending; for each the run that answers it (an index into ``runs``), and that execution's number."""

    instants: I64
    ran: I64
    number: I64
    runs: tuple[Run, ...]

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> DueInstants:
        """Some of them, or all in another order."""
        return DueInstants(self.instants[chosen], self.ran[chosen], self.number[chosen], self.runs)

    def repeated(self, times: int) -> DueInstants:
        """So many times, one after the other."""
        if times == 1:
            return self
        return DueInstants(
            np.tile(self.instants, times), np.tile(self.ran, times), np.tile(self.number, times), self.runs
        )

    @staticmethod
    def joined(several: Sequence[DueInstants]) -> DueInstants:
        """One after the other."""
        if len(several) == 1:
            return several[0]
        shifts = np.cumsum([0, *(len(one.runs) for one in several)])
        return DueInstants(
            np.concatenate([one.instants for one in several]),
            np.concatenate([one.ran + shift for one, shift in zip(several, shifts)]),
            np.concatenate([one.number for one in several]),
            tuple(run for one in several for run in one.runs),
        )


@dataclass(frozen=True, slots=True)
class Due:
    """Instants that are due: of each stretch those in (after, through]."""

    stretches: tuple[tuple[Micros, Micros, Stretch], ...] = ()

    @property
    def most(self) -> int:
        """No more instants than this, and none only where it is 0; exact where runs do not coincide."""
        return sum(run.count(after, through) for after, through, stretch in self.stretches for run in stretch.runs)

    @property
    def first(self) -> Micros:
        """The first instant, where there is one."""
        return min(
            run.following(after)
            for after, through, stretch in self.stretches
            for run in stretch.runs
            if run.count(after, through)
        )

    @property
    def last(self) -> Micros:
        """No instant is after this one."""
        return max(through for _after, through, _stretch in self.stretches)

    def part(self, after: Micros, through: Micros) -> Due:
        """Those of them in (after, through]."""
        cut = ((max(a, after), min(t, through), stretch) for a, t, stretch in self.stretches)
        return Due(tuple((a, t, stretch) for a, t, stretch in cut if a < t))

    def instants(self) -> I64:
        return self.listed().instants

    def listed(self) -> DueInstants:
        """Every instant once, with what answers it: of runs that coincide the dearest."""
        if len(self.stretches) == 1 and len(self.stretches[0][2].runs) == 1:
            after, through, stretch = self.stretches[0]
            instants = stretch.runs[0].instants(after, through)
            number = instants // stretch.runs[0].unit
            return DueInstants(instants, np.zeros(instants.size, np.int64), number, stretch.runs)
        none = np.zeros(0, np.int64)
        times, ran = [none], [none]
        runs: list[Run] = []
        for after, through, stretch in self.stretches:
            each = [run.instants(after, through) for run in stretch.runs]
            owner = np.repeat(np.arange(len(each)), [one.size for one in each]) + len(runs)
            found, first = np.unique(np.concatenate([none, *each]), return_index=True)  # the dearest comes first
            times.append(found)
            ran.append(owner[first])
            runs += stretch.runs
        at, by = np.concatenate(times), np.concatenate(ran)
        units = np.array([run.unit for run in runs], np.int64)
        return DueInstants(at, by, at // units[by] if at.size else none, tuple(runs))


@dataclass(frozen=True, slots=True)
class Timetable:
    """When a query answers: stretch after stretch, the last one without end.

    >>> Timetable.multiples(5).due(3, BEGINNING, 21).instants().tolist()
    [5, 10, 15, 20]
    >>> Timetable.multiples(5).due(3, 10, 21).instants().tolist()
    [15, 20]
    >>> Timetable.multiples(5).due(None, 0, 21).most
    0
    """

    stretches: tuple[Stretch, ...]

    @staticmethod
    @lru_cache(maxsize=4_096)
    def multiples(step: Micros) -> Timetable:
        """At every multiple of ``step`` since 1970 UTC; queries of one step have the same object."""
        return Timetable((Stretch(FOREVER, (Run(length_text(step), step),), step),))

    @staticmethod
    @lru_cache(maxsize=4_096)
    def once(at: Micros | None) -> Timetable:
        """At one instant alone; None: it is not known yet which.

        >>> Timetable.once(7).due(3, BEGINNING, 21).instants().tolist(), Timetable.once(None).due(3, 0, 21).most
        ([7], 0)
        """
        if at is None:
            return Timetable(())
        return Timetable((Stretch(FOREVER, (Run("once", FOREVER, (at % FOREVER,), 1),), 1),))

    @property
    def is_known(self) -> bool:
        """Whether there are instants at all."""
        return bool(self.stretches)

    def due(self, least: Micros | None, after: Micros, through: Micros) -> Due:
        """The instants in (after, through] that are not before ``least`` (None: no row yet, nothing is due)."""
        if least is None:
            return Due()
        begin = max(after, least - 1)
        found = []
        for stretch in self.stretches:
            end = min(through, stretch.until)
            if begin < end:
                found.append((begin, end, stretch))
                begin = end
        return Due(tuple(found))


def parts(dues: Sequence[Due], most: int) -> Iterator[tuple[Micros, Micros]]:
    """Cut all due instants, oldest first, into stretches (after, through] of about ``most`` instants together.

    Where the cuts fall depends on the instants alone, so a pass that is run again is cut in the same places.

    >>> list(parts([Timetable.multiples(1).due(1, 0, 10)], 4))
    [(0, 4), (4, 8), (8, 10)]
    """
    alive = [d for d in dues if d.most]
    if not alive:
        return
    start = min(d.first for d in alive) - 1
    end = max(d.last for d in alive)
    if sum(d.most for d in alive) <= most:  # nearly always: no search for where to cut
        yield start, end
        return
    while start < end:
        stop = _reach(alive, start, end, most)
        yield start, stop
        start = stop


def _reach(dues: Sequence[Due], start: Micros, end: Micros, most: int) -> Micros:
    low, high = start + 1, end
    while low < high:
        middle = (low + high + 1) // 2
        if sum(d.part(start, middle).most for d in dues) <= most:
            low = middle
        else:
            high = middle - 1
    return low
