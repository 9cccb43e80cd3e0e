"""How many panes a window merges: a number about work, for plans and explanations.

Edges are listed only where there are few of them; ranges and steps may be as far from each other as durations can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import lcm

import numpy as np

from punctual.clock import Micros
from punctual.kernel.panes.layout import progressions_for

MOST_EDGES = 20_000
"""Beyond so many candidate edges in a window the count is estimated from the density of edges."""
LONGEST_US: Micros = 2**62
"""Edges that lie further away than this are not listed: int64 ends there."""


@lru_cache(maxsize=4_096)
def panes_in_window(windows: tuple[tuple[Micros, Micros], ...], range_us: Micros, step_us: Micros) -> int:
    """Panes that a unit with these windows (range, step) keeps for one window of this range; the average over instants.

    >>> panes_in_window(((60, 10),), 60, 10)
    6
    >>> panes_in_window(((60, 10), (45, 15)), 45, 15)
    6
    """
    progressions = _edges(windows)
    density = sum(1 / step for step, _offset in progressions)
    cycle = min(lcm(step_us, *(step for step, _offset in progressions)), 8 * range_us + step_us)
    if density * (cycle + range_us) > MOST_EDGES or cycle + range_us + step_us > LONGEST_US:
        return max(1, round(density * range_us))
    last = cycle + range_us
    edges = np.unique(np.concatenate([np.arange(offset - step, last + step, step) for step, offset in progressions]))
    instants = np.arange(-(-range_us // step_us) * step_us, last + 1, step_us)
    counts = np.searchsorted(edges, instants, "right") - np.searchsorted(edges, instants - range_us, "right")
    return max(1, round(float(counts.mean())))


@lru_cache(maxsize=64)
def _edges(windows: tuple[tuple[Micros, Micros], ...]) -> tuple[tuple[Micros, Micros], ...]:
    """One for each unit of a program: all of its windows have the same."""
    return progressions_for(windows)


def panes_by_density(windows: Sequence[tuple[Micros, Micros]], ranges: Sequence[Micros]) -> list[int]:
    """Panes of windows of these ranges, for thousands at once: exact where all edges have one step, else on average.

    >>> panes_by_density([(10, 1), (5, 1)], [10, 5])
    [10, 5]
    >>> panes_by_density([(60, 10), (45, 15)], [45])
    [8]
    """
    progressions = _edges(tuple(windows))
    steps = np.array([step for step, _offset in progressions], np.int64)
    offsets = np.array([offset for _step, offset in progressions], np.int64)
    lengths = np.array(ranges, np.int64)
    if np.all(steps == steps[0]):  # edges in (-range, 0]; an instant of the lattice sees the same
        counts = ((lengths[:, None] + offsets - 1) // steps + (offsets == 0)).sum(axis=1).tolist()
    else:
        counts = np.rint(lengths * (1 / steps).sum()).tolist()  # may be beyond int64
    return [max(1, int(count)) for count in counts]
