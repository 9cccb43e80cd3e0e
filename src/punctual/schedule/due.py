"""Which instants are due: pure arithmetic over microseconds.

A query answers at multiples of its step, from the first one at or after the stream's smallest accepted event time,
after what was complete when it was added, and up to what is complete now. The smallest event time may still fall while
rows come out of order; an instant that was released never depends on it, since rows accepted later lie after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros

BEGINNING: Micros = -(2**62)
"""Before every event time: nothing is complete yet."""


@dataclass(frozen=True, slots=True)
class Due:
    """The instants first, first + step, ..., last; none when ``last < first``."""

    first: Micros
    last: Micros
    step: Micros

    @property
    def count(self) -> int:
        return max(0, (self.last - self.first) // self.step + 1)

    def instants(self) -> NDArray[np.int64]:
        return np.arange(self.first, self.last + 1, self.step, dtype=np.int64)

    def part(self, after: Micros, through: Micros) -> Due:
        """Those of them in (after, through]."""
        return due(self.step, max(self.first, after + 1), after, min(self.last, through))


def due(step: Micros, least: Micros | None, after: Micros, through: Micros) -> Due:
    """The multiples of ``step`` in (after, through] that are not before ``least`` (None: no row yet, nothing is due).

    >>> due(5, 3, -100, 21).instants().tolist()
    [5, 10, 15, 20]
    >>> due(5, 3, 10, 21).instants().tolist()
    [15, 20]
    >>> due(5, None, 0, 21).count
    0
    """
    if least is None:
        return Due(0, -1, step)
    first = max(-(-least // step), after // step + 1) * step
    return Due(first, through // step * step, step)


def parts(dues: Sequence[Due], most: int) -> Iterator[tuple[Micros, Micros]]:
    """Cut all due instants, oldest first, into stretches (after, through] of about ``most`` instants together.

    Where the cuts fall depends on the instants alone, so a pass that is run again is cut in the same places.

    >>> list(parts([due(1, 1, 0, 10)], 4))
    [(0, 4), (4, 8), (8, 10)]
    """
    alive = [d for d in dues if d.count]
    if not alive:
        return
    start = min(d.first for d in alive) - 1
    end = max(d.last for d in alive)
    if sum(d.count for d in alive) <= most:  # nearly always: no search for where to cut
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
        if sum(d.part(start, middle).count for d in dues) <= most:
            low = middle
        else:
            high = middle - 1
    return low
