"""Folds over ranges: the two ways agree, and the tree keeps its promise about merges."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from punctual.kernel.arrays.ragged import Tally, collapse
from punctual.kernel.arrays.rangefold import best, cover, tree_best, walk_best


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 100, 1000])
def test_tree_and_walk_agree_and_merges_are_few(n: int) -> None:
    numbers = np.random.default_rng(n)
    keys, valid = numbers.integers(-5, 5, n), numbers.random(n) < 0.8
    starts = numbers.integers(0, n + 1, 500)
    ends = np.minimum(n, starts + numbers.integers(0, n + 1, 500))
    found, merges = tree_best(keys, valid, starts, ends)
    assert found.tolist() == walk_best(keys, valid, starts, ends).tolist() == best(keys, valid, starts, ends).tolist()
    assert merges.max() <= 2 * math.log2(n) + 2
    for j in range(500):
        inside = [i for i in range(starts[j], ends[j]) if valid[i]]
        assert found[j] == (min(inside, key=lambda i: (keys[i], i)) if inside else -1)


@pytest.mark.parametrize("n", [1, 5, 33, 200])
@pytest.mark.parametrize("longest", [1, 6, 200])
def test_a_cover_is_its_range_and_small(n: int, longest: int) -> None:
    numbers = np.random.default_rng(n)
    starts = numbers.integers(0, n + 1, 300)
    ends = np.minimum(n, starts + numbers.integers(0, longest + 1, 300))
    spans = [(i, i + 1) for i in range(n)]
    first, width = [0, n], 1
    while 2 * width <= longest:
        width *= 2
        spans += [(i, min(n, i + width)) for i in range(0, n, width)]
        first.append(len(spans))
    members, offsets = cover(starts, ends, np.array(first))
    for j in range(300):
        mine = members[offsets[j] : offsets[j + 1]]
        assert sorted(i for m in mine for i in range(*spans[m])) == list(range(starts[j], ends[j]))
        assert mine.size <= 2 * math.log2(max(longest, 2)) + 2


def test_collapse_is_a_sorted_count() -> None:
    numbers = np.random.default_rng(3)
    sizes = np.array([0, 1, 50, 0, 333, 2, 1000])
    offsets = np.append(0, np.cumsum(sizes))
    keys, counts = numbers.integers(-40, 400, offsets[-1]), numbers.integers(1, 9, offsets[-1])
    keys[offsets[4] : offsets[5]].sort()
    before = keys.copy()
    tally = collapse(Tally(offsets, keys, counts))
    assert (keys == before).all(), "the argument is left alone"
    for g in range(sizes.size):
        expected: Counter[int] = Counter()
        for k in range(offsets[g], offsets[g + 1]):
            expected[int(keys[k])] += int(counts[k])
        mine = slice(tally.offsets[g], tally.offsets[g + 1])
        assert list(zip(tally.keys[mine].tolist(), tally.counts[mine].tolist())) == sorted(expected.items())
