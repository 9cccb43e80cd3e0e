"""Pane edges: where time is cut so that every window of every reader is a union of whole panes.

Model
-----
A window of length ``r`` that is answered at multiples of ``s`` begins and ends at instants of two arithmetic
progressions, ``(s, 0)`` and ``(s, -r mod s)``. The edges of a layout are the union of its progressions; a *pane*
``(lo, hi]`` lies between two neighbouring edges.

Why it is fast enough
---------------------
Edges are never listed. For few progressions each row is divided by each step, and not even that while it falls into
its predecessor's pane. For many, rows are sorted and each progression jumps from one occupied interval to the next:
the cost is the number of occupied intervals over all progressions, whatever lies between the rows.

Invariants: ``lo < t <= hi``; no edge lies strictly between ``lo`` and ``hi``; instants before 1970 are no exception.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.panes.spec import I64

Progression = tuple[int, int]

FEW_PROGRESSIONS = 6
"""Up to here dividing every row is cheaper than sorting the rows."""

PROVABLE_RESIDUES = 1 << 20
"""How many residues `covers` enumerates before it gives up on a proof."""


def progressions_for(windows: Iterable[tuple[int, int]]) -> tuple[Progression, ...]:
    """The fewest progressions whose edges suffice for windows given as (range, step), sorted.

    >>> progressions_for([(10, 5), (7, 5), (20, 10)])
    ((5, 0), (5, 3))
    """
    wanted = sorted({p for length, step in windows for p in ((step, 0), (step, -length % step))})
    steps = np.array([step for step, _ in wanted], dtype=np.int64)
    offsets = np.array([offset for _, offset in wanted], dtype=np.int64)
    kept = []
    for i, (step, offset) in enumerate(wanted):  # a divisor is smaller, so it comes before
        finer = (step % steps[:i] == 0) & ((offset - offsets[:i]) % steps[:i] == 0)
        if not finer.any():
            kept.append((step, offset))
    return tuple(kept)


def panes_of(times: I64, progressions: tuple[Progression, ...]) -> tuple[I64, I64]:
    """The pane (lo, hi] of each instant.

    >>> lo, hi = panes_of(np.array([-1, 0, 1, 13]), ((5, 0), (5, 3)))
    >>> lo.tolist(), hi.tolist()
    ([-2, -2, 0, 10], [0, 0, 3, 13])
    """
    steps = np.array([step for step, _ in progressions], dtype=np.int64)
    offsets = np.array([offset for _, offset in progressions], dtype=np.int64)
    times = np.ascontiguousarray(times, dtype=np.int64)
    if len(progressions) <= FEW_PROGRESSIONS:
        return _divide(times, steps, offsets)
    if times.size == 0 or np.all(times[1:] >= times[:-1]):
        return _sweep(times, steps, offsets)
    order = np.argsort(times, kind="stable")
    sorted_lo, sorted_hi = _sweep(times[order], steps, offsets)
    lo, hi = np.empty_like(times), np.empty_like(times)
    lo[order], hi[order] = sorted_lo, sorted_hi
    return lo, hi


def covers(layout: tuple[Progression, ...], needed: tuple[Progression, ...]) -> bool:
    """Whether every edge of ``needed`` is an edge of ``layout``.

    Where only several progressions together could cover one, and their common period is beyond
    `PROVABLE_RESIDUES`, the answer is no.

    >>> covers(((4, 0), (4, 2)), ((2, 0),)), covers(((4, 0),), ((2, 0),))
    (True, False)
    """
    return all(_covers_one(layout, step, offset) for step, offset in needed)


def _covers_one(layout: tuple[Progression, ...], step: int, offset: int) -> bool:
    # Edge number m of the needed progression is on (s, o) where m is in one residue class modulo s / gcd(s, step).
    classes: list[tuple[int, int]] = []
    for s, o in layout:
        common = math.gcd(s, step)
        if (o - offset) % common:
            continue
        modulus = s // common
        if modulus == 1:
            return True
        residue = (o - offset) // common * pow(step // common, -1, modulus) % modulus
        classes.append((modulus, residue))
    if sum(1 / modulus for modulus, _ in classes) < 1 - 1e-9:
        return False
    period = math.lcm(*(modulus for modulus, _ in classes))
    if period > PROVABLE_RESIDUES:
        return False
    covered = np.zeros(period, dtype=np.bool_)
    for modulus, residue in classes:
        covered[residue::modulus] = True
    return bool(covered.all())


@compiled
def _divide(times: I64, steps: I64, offsets: I64) -> tuple[I64, I64]:
    lo = np.empty(times.size, np.int64)
    hi = np.empty(times.size, np.int64)
    below, above = np.int64(0), np.int64(0)  # no instant is in (0, 0]
    for i in range(times.size):
        t = times[i]
        if t <= below or t > above:
            above = np.int64(9223372036854775807)
            below = np.int64(-9223372036854775808)
            for p in range(steps.size):
                edge = t + (offsets[p] - t) % steps[p]
                above = min(above, edge)
                below = max(below, edge - steps[p])
        lo[i] = below
        hi[i] = above
    return lo, hi


@compiled
def _sweep(times: I64, steps: I64, offsets: I64) -> tuple[I64, I64]:
    """Panes of sorted instants: each progression leaves its edges at the ends of its occupied intervals."""
    n = times.size
    lo = np.full(n, np.int64(-9223372036854775808))
    hi = np.full(n, np.int64(9223372036854775807))
    for p in range(steps.size):
        step = steps[p]
        i = 0
        while i < n:
            edge = times[i] + (offsets[p] - times[i]) % step
            lo[i] = max(lo[i], edge - step)
            stride = 1  # gallop to the last row at or before the edge
            last = i
            while last + stride < n and times[last + stride] <= edge:
                last += stride
                stride *= 2
            while stride > 0:
                if last + stride < n and times[last + stride] <= edge:
                    last += stride
                stride //= 2
            hi[last] = min(hi[last], edge)
            i = last + 1
    for i in range(1, n):
        lo[i] = max(lo[i], lo[i - 1])
    for i in range(n - 2, -1, -1):
        hi[i] = min(hi[i], hi[i + 1])
    return lo, hi
