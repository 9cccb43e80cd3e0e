"""Sorted sets with counts, one set per group, in flat arrays: the form of histograms and of sets of hashes.

Model
-----
Group j owns ``keys[offsets[j]:offsets[j + 1]]`` and the counts beside them. :func:`collapse` sorts each group and adds
up the counts of equal keys. It is a natural merge sort: it finds the ascending runs that are there and merges them two
by two, dropping repeats on the way. So merging k sorted sets costs ``log2(k)`` passes over their entries, and lifting
unsorted rows ``log2(rows)``: the same code is good at both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.state import I64, Bools
from punctual.kernel.compiled import compiled


@dataclass(frozen=True, slots=True)
class Tally:
    """Keys and their counts, with the group of each, in any order or collapsed."""

    offsets: I64
    keys: I64
    counts: I64

    @property
    def sizes(self) -> I64:
        return np.diff(self.offsets)

    @property
    def groups(self) -> I64:
        """The group of each entry."""
        return np.repeat(np.arange(self.offsets.size - 1), self.sizes)


def of_rows(cell: I64, cells: int, keys: I64) -> Tally:
    """Each row counted once, gathered by its cell."""
    offsets = offsets_of(np.bincount(cell, minlength=cells))
    return collapse(Tally(offsets, gather(cell, offsets[:-1].copy(), keys), np.ones(keys.size, np.int64)))


def collapse(tally: Tally) -> Tally:
    """Each group sorted, equal keys added up.

    Examples
    --------
    >>> t = collapse(Tally(np.array([0, 3, 3]), np.array([5, 2, 5]), np.array([1, 1, 4])))
    >>> t.offsets.tolist(), t.keys.tolist(), t.counts.tolist()
    ([0, 2, 2], [2, 5], [1, 5])
    """
    return Tally(*merge_runs(tally.offsets, tally.keys, tally.counts))


def select(tally: Tally, wanted: Bools) -> Tally:
    """The tally with the groups that are not wanted emptied."""
    if wanted.all():
        return tally
    keep = np.repeat(wanted, tally.sizes)
    return Tally(offsets_of(np.where(wanted, tally.sizes, 0)), tally.keys[keep], tally.counts[keep])


def union(a: Tally, b: Tally) -> Tally:
    """Group by group, the entries of both, collapsed."""
    groups = np.concatenate([a.groups, b.groups])
    order = np.argsort(groups, kind="stable")
    keys, counts = np.concatenate([a.keys, b.keys])[order], np.concatenate([a.counts, b.counts])[order]
    return collapse(Tally(offsets_of(a.sizes + b.sizes), keys, counts))


def offsets_of(sizes: I64) -> I64:
    """Where groups of these sizes start, and where the last one ends."""
    offsets = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def take_lists(lists: pa.Array, members: I64, offsets: I64) -> tuple[I64, pa.Array]:
    """Lists of the member cells put end to end: where each group starts, and all their items."""
    sizes = np.diff(lists.offsets.to_numpy())[members]
    items = lists.take(pa.array(members)).flatten()
    return offsets_of(sizes.astype(np.int64))[offsets], items


def lists_of(offsets: I64, items: pa.Array) -> pa.Array:
    """One list per group."""
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items)


@compiled
def gather(cell: I64, at: I64, keys: I64) -> I64:
    """Keys ordered by cell; ``at`` is where each cell starts, and is used up."""
    out = np.empty(keys.size, np.int64)
    for i in range(keys.size):
        out[at[cell[i]]] = keys[i]
        at[cell[i]] += 1
    return out


@compiled
def merge_runs(offsets: I64, keys: I64, counts: I64) -> tuple[I64, I64, I64]:
    """:func:`collapse` on arrays."""
    size = keys.size
    own_keys, own_counts = keys.copy(), counts.copy()
    spare_keys, spare_counts = np.empty(size, np.int64), np.empty(size, np.int64)
    out_offsets = np.zeros(offsets.size, np.int64)
    out_keys, out_counts = np.empty(size, np.int64), np.empty(size, np.int64)
    widest = 0
    for g in range(offsets.size - 1):
        widest = max(widest, offsets[g + 1] - offsets[g])
    bounds = np.empty(widest + 2, np.int64)
    done = 0
    for g in range(offsets.size - 1):
        a_keys, a_counts, b_keys, b_counts = own_keys, own_counts, spare_keys, spare_counts
        runs = _find_runs(a_keys, a_counts, offsets[g], offsets[g + 1], bounds)
        while runs > 1:
            # Merge runs two by two into b, then swap: bounds are rewritten behind the place they are read.
            at, merged = bounds[0], 0
            for r in range(0, runs, 2):
                left, middle = bounds[r], bounds[r + 1]
                right = bounds[r + 2] if r + 1 < runs else middle
                bounds[merged] = at
                merged += 1
                at = _merge_two(a_keys, a_counts, left, middle, right, b_keys, b_counts, at)
            bounds[merged] = at
            runs = merged
            a_keys, b_keys = b_keys, a_keys
            a_counts, b_counts = b_counts, a_counts
        if runs == 1:
            for k in range(bounds[0], bounds[1]):
                out_keys[done] = a_keys[k]
                out_counts[done] = a_counts[k]
                done += 1
        out_offsets[g + 1] = done
    return out_offsets, out_keys[:done].copy(), out_counts[:done].copy()


@compiled
def _find_runs(keys: I64, counts: I64, start: int, end: int, bounds: I64) -> int:
    """Strictly ascending runs of a group, their bounds; repeats beside each other are added up on the way."""
    if start == end:
        return 0
    bounds[0] = start
    runs, at = 1, start
    for k in range(start + 1, end):
        if keys[k] == keys[at]:
            counts[at] += counts[k]
            continue
        at += 1
        keys[at] = keys[k]
        counts[at] = counts[k]
        if keys[at] < keys[at - 1]:
            bounds[runs] = at
            runs += 1
    bounds[runs] = at + 1
    return runs


@compiled
def _merge_two(
    keys: I64, counts: I64, left: int, middle: int, right: int, to_keys: I64, to_counts: I64, at: int
) -> int:
    """Merge the runs [left, middle) and [middle, right) to ``at``; where the merged run ends."""
    i, j = left, middle
    while i < middle and j < right:
        if keys[i] < keys[j]:
            to_keys[at] = keys[i]
            to_counts[at] = counts[i]
            i += 1
        elif keys[i] > keys[j]:
            to_keys[at] = keys[j]
            to_counts[at] = counts[j]
            j += 1
        else:
            to_keys[at] = keys[i]
            to_counts[at] = counts[i] + counts[j]
            i += 1
            j += 1
        at += 1
    while i < middle:
        to_keys[at] = keys[i]
        to_counts[at] = counts[i]
        i += 1
        at += 1
    while j < right:
        to_keys[at] = keys[j]
        to_counts[at] = counts[j]
        j += 1
        at += 1
    return at
