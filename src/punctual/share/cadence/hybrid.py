"""Which groups should run together, when blocks of groups run at their own bounds.

Hybrid scheduling partitions the groups; a block runs at its fastest member's bound and costs its dearest member, and
of blocks that are due together only the dearest runs. Conservative (every group a block) and aggressive (one block)
are two of the partitions.

Not all of them need be looked at. A group joins one that runs at least as often and is at least as dear (the
combination rule): it would only run where that one does not, and at a cost. What is left is a staircase, ascending in
bound and cost, and then a block that holds two stairs also holds those between, by the same rule. So the best partition
is one of the ``2^(n-1)`` ways to cut a staircase of ``n``.

*Effort.* Up to :data:`MOST_CUT` stairs all ways are tried, with exact rates. Random groups seldom leave more. Above
that the exact rate of a hundred blocks takes up to a second, and the search is one of improvement. It starts with the
best cuts if nothing ran for two blocks at once, and sets, lifts or moves single cuts while that saves most: first by
estimates, as if blocks were due together independently of each other, then by exact rates of the :data:`MOST_WEIGHED`
changes that look best, for at most :data:`MOST_ROUNDS` rounds. A hundred stairs take a tenth of a second. The search
ends where it is when its steps are spent (:mod:`punctual.share.cadence.effort`); more than :data:`MOST_STAIRS` stairs
keep the cuts that it starts with. The result is never dearer than aggressive scheduling; it need not be the best
partition (on staircases of nine, where all can be tried, it was some tenths of a percent dearer on average).
References: tests/papers/golab.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from punctual.share.cadence.dearest_due import Multiples, Rate, rate_of_dearest_due
from punctual.share.cadence.effort import Effort, OutOfSteps
from punctual.share.cadence.groups import Block, Group, combined, merged_block

MOST_CUT = 8
MOST_WEIGHED = 12
MOST_ROUNDS = 8
MOST_STAIRS = 500
"""Beyond, which stairs are due together is not looked at: a matrix of them would be too large."""
Blocks = tuple[Block, ...]
Starts = tuple[int, ...]
"""The first stair of each block, ascending from 0."""


def hybrid_blocks(groups: Sequence[Group], effort: Effort) -> Blocks:
    """The blocks with the least cost per unit; of equally cheap ones, the most blocks.

    >>> [block.members for block in hybrid_blocks([Group(2, 9), Group(3, 14), Group(5, 29)], Effort())]
    [(0, 1), (2,)]
    """
    stairs = combined(groups)
    exact = _Exact(stairs, effort)
    if len(stairs) <= MOST_CUT:
        cuts = product((True, False), repeat=len(stairs) - 1)
        ways = [(0, *(place for place, cut in enumerate(chosen, 1) if cut)) for chosen in cuts]
    else:
        ways = [_improved(stairs, exact, effort), (0,)]
    return _cut(stairs, min(ways, key=lambda starts: (exact.rate(starts).cost, -len(starts))))


def _cut(stairs: Blocks, starts: Starts) -> Blocks:
    return tuple(merged_block(stairs[start:stop]) for start, stop in pairwise((*starts, len(stairs))))


def _improved(stairs: Blocks, exact: _Exact, effort: Effort) -> Starts:
    """Cuts that no single change makes cheaper, as far as the effort goes."""
    starts = _best_if_independent(stairs)
    if len(stairs) > MOST_STAIRS:
        return starts
    estimate = _Estimate(stairs, effort)
    try:
        while True:
            other = min(_changed(starts, len(stairs)), key=estimate.rate)
            if estimate.rate(other) >= estimate.rate(starts):
                break
            starts = other
        for _round in range(MOST_ROUNDS):
            others = sorted(_changed(starts, len(stairs)), key=estimate.rate)[:MOST_WEIGHED]
            other = min(others, key=exact.rate)
            if not exact.rate(other).exact or exact.rate(other) >= exact.rate(starts):
                break
            starts = other
    except OutOfSteps:
        pass
    return starts


def _best_if_independent(stairs: Blocks) -> Starts:
    """The best cuts if blocks never ran for each other: best ways to cut off the stairs from each one on."""
    size = len(stairs)
    bounds, costs = _arrays(stairs)
    least, stop = np.zeros(size + 1), np.zeros(size, np.int64)
    for start in reversed(range(size)):
        totals = costs[start:] / bounds[start] + least[start + 1 :]
        stop[start] = start + 1 + int(np.argmin(totals))
        least[start] = totals.min()
    starts = [0]
    while stop[starts[-1]] < size:
        starts.append(int(stop[starts[-1]]))
    return tuple(starts)


def _arrays(stairs: Blocks) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Bounds, and costs as shares of the dearest."""
    dearest = stairs[-1].cost or 1
    costs = np.array([float(stair.cost / dearest) for stair in stairs])
    return np.array([stair.bound for stair in stairs], np.int64), costs


def _changed(starts: Starts, size: int) -> list[Starts]:
    """One cut set or lifted, or moved by one stair."""
    cuts = set(starts)
    flipped = [cuts ^ {place} for place in range(1, size)]
    moved = [cuts ^ {place, place + 1} for place in range(1, size - 1) if (place in cuts) != (place + 1 in cuts)]
    return [tuple(sorted(changed)) for changed in (*flipped, *moved)]


class _Exact:
    """What cuts of a staircase cost per unit."""

    def __init__(self, stairs: Blocks, effort: Effort) -> None:
        self._stairs = stairs
        self._multiples = Multiples((stair.bound for stair in stairs), effort)

    def rate(self, starts: Starts) -> Rate:
        blocks = _cut(self._stairs, starts)
        return rate_of_dearest_due([(block.bound, block.cost) for block in blocks], self._multiples)


class _Estimate:
    """What cuts of a staircase cost per unit, nearly."""

    def __init__(self, stairs: Blocks, effort: Effort) -> None:
        bounds, self._costs = _arrays(stairs)
        self._bounds = bounds
        self._effort = effort
        # How seldom a stair, when it is due, finds another one due. A stair does not stand in its own way.
        self._alone: NDArray[np.float64] = 1 - np.gcd.outer(bounds, bounds) / bounds
        np.fill_diagonal(self._alone, 1)

    def rate(self, starts: Starts) -> float:
        """Each block's own rate, times how seldom it finds a dearer block due."""
        self._effort.spend(20 + len(starts) ** 2 // 256)
        chosen = np.array(starts)
        dearest = np.append(chosen[1:], self._bounds.size) - 1
        alone = np.triu(self._alone[np.ix_(chosen, chosen)], 1) + np.tri(chosen.size)
        return float((self._costs[dearest] / self._bounds[chosen] * alone.prod(axis=1)).sum())
