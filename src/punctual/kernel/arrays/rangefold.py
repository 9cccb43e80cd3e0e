"""Folds over many ranges of one sequence, where ranges overlap as sliding windows do.

Design
------
What can be undone (counts, exact sums) needs no fold: ``limbs.range_sums`` takes differences of running totals. The
rest goes two ways, by the ranges' total length. While that is small, each range is walked. Beyond, panes are merged
once into the nodes of a binary tree, and a range of any length is a merge of at most ``2 * log2(n) + 2`` nodes.

* :func:`best` finds the position of the smallest key of each range (extrema, first and last), compiled.
* :func:`fold` merges ragged states (sets, histograms), given a function that merges any groups of cells.

Both ways give the same answer, since a merge depends on the set of cells alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.state import I64, Bools, State, height
from punctual.kernel.compiled import compiled

WALK = 4
"""Ranges are walked while their total length is at most this many times the cells and ranges."""

Merge = Callable[[State, I64, I64], State]
"""``merge(state, members, offsets)``: one state per group; group j is cells ``members[offsets[j]:offsets[j + 1]]``."""


def is_short(cells: int, starts: I64, ends: I64) -> bool:
    """Whether ranges of so many cells are short enough, all together, to be walked."""
    return int((ends - starts).sum()) <= WALK * (cells + starts.size)


def walk(starts: I64, ends: I64) -> tuple[I64, I64]:
    """The cells of each range, as members and offsets of groups.

    Examples
    --------
    >>> [a.tolist() for a in walk(np.array([0, 5, 1]), np.array([2, 5, 3]))]
    [[0, 1, 1, 2], [0, 2, 2, 4]]
    """
    offsets = np.zeros(starts.size + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts), offsets


def compact(state: State, starts: I64, ends: I64) -> tuple[State, I64, I64]:
    """The same ranges over no more cells than they touch, where that is fewer by half."""
    if 2 * int((ends - starts).sum()) >= height(state):
        return state, starts, ends
    members, offsets = walk(starts, ends)
    indices = pa.array(members)
    return {name: column.take(indices) for name, column in state.items()}, offsets[:-1], offsets[1:]


def best(keys: I64, valid: Bools, starts: I64, ends: I64) -> I64:
    """Position of the smallest valid key of each range ``[starts[j], ends[j])``, the first of equals; -1 for none.

    Examples
    --------
    >>> keys, valid = np.array([4, 2, 3]), np.array([True, False, True])
    >>> best(keys, valid, np.array([0, 0, 1, 2]), np.array([1, 3, 2, 2])).tolist()
    [0, 2, -1, -1]
    """
    if is_short(keys.size, starts, ends):
        return walk_best(keys, valid, starts, ends)
    return tree_best(keys, valid, starts, ends)[0]


def fold(state: State, starts: I64, ends: I64, merge: Merge) -> State:
    """One merged state per range of cells, for states of varying size."""
    if is_short(height(state), starts, ends):
        return merge(state, *walk(starts, ends))
    levels = [state]
    while 2 ** len(levels) <= (ends - starts).max():
        below = height(levels[-1])
        pairs = np.append(np.arange(0, below, 2), below)
        levels.append(merge(levels[-1], np.arange(below), pairs))
    first = np.cumsum([0] + [height(level) for level in levels])
    nodes = {name: pa.concat_arrays([level[name] for level in levels]) for name in state}
    return merge(nodes, *cover(starts, ends, first))


@compiled
def walk_best(keys: I64, valid: Bools, starts: I64, ends: I64) -> I64:
    """:func:`best` by walking each range."""
    out = np.full(starts.size, -1, np.int64)
    for j in range(starts.size):
        found = -1
        for i in range(starts[j], ends[j]):
            if valid[i] and (found < 0 or keys[i] < keys[found]):
                found = i
        out[j] = found
    return out


@compiled
def _better(keys: I64, a: int, b: int) -> int:
    """The position with the smaller key, the earlier one of equals; -1 is no position."""
    if a < 0:
        return b
    if b < 0:
        return a
    if keys[a] != keys[b]:
        return a if keys[a] < keys[b] else b
    return min(a, b)


@compiled
def tree_best(keys: I64, valid: Bools, starts: I64, ends: I64) -> tuple[I64, I64]:
    """:func:`best` by a binary tree of positions, and how many merges each range took.

    Node i merges nodes 2i and 2i+1; the leaves are nodes n to 2n-1. A range climbs from both its ends.
    """
    n = keys.size
    nodes = np.full(2 * n, -1, np.int64)
    for i in range(n):
        if valid[i]:
            nodes[n + i] = i
    for i in range(n - 1, 0, -1):
        nodes[i] = _better(keys, nodes[2 * i], nodes[2 * i + 1])
    out = np.full(starts.size, -1, np.int64)
    merges = np.zeros(starts.size, np.int64)
    for j in range(starts.size):
        left, right, found = starts[j] + n, ends[j] + n, -1
        while left < right:
            if left & 1:
                found = _better(keys, found, nodes[left])
                merges[j] += 1
                left += 1
            if right & 1:
                right -= 1
                found = _better(keys, found, nodes[right])
                merges[j] += 1
            left >>= 1
            right >>= 1
        out[j] = found
    return out, merges


@compiled
def cover(starts: I64, ends: I64, first: I64) -> tuple[I64, I64]:
    """The nodes that make up each range, as members and offsets of groups.

    Node i of level h spans cells ``[i * 2**h, (i + 1) * 2**h)`` and is number ``first[h] + i``. A range takes at most
    two nodes per level, and, where levels end below its length, as many of the last level as it needs.
    """
    top = first.size - 2
    offsets = np.zeros(starts.size + 1, np.int64)
    members = np.zeros(0, np.int64)
    for fill in (False, True):
        if fill:
            members = np.zeros(offsets[-1], np.int64)
        at = 0
        for j in range(starts.size):
            left, right, level = starts[j], ends[j], 0
            while left < right:
                if left & 1 or level == top:
                    if fill:
                        members[at] = first[level] + left
                    at += 1
                    left += 1
                elif right & 1:
                    right -= 1
                    if fill:
                        members[at] = first[level] + right
                    at += 1
                else:
                    left >>= 1
                    right >>= 1
                    level += 1
            offsets[j + 1] = at
    return members, offsets
