"""Ranking of keys instead of rows: which sensors, trucks or accounts are among the best.

``topk_streams`` ranks a key by the expected number of its rows among the k best, which may exceed 1. Where the rows of
a key are alternatives, as repeated readings of one unknown value are, at most one of them exists and that number is the
probability that the key is among the k best: ``topk_streams_exclusive``.

Answers name a key by its best row: ``key[answer.index[j]]``. Keys of equal value are in the order of their best rows.
None is a key like any other. Cost: that of one pass over the rows.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.rows import I64, Column, WorldError, checked_k, numbered, ranked
from punctual.kernel.world.together import EXCLUSIVE, Wanted, from_ranks


def topk_streams(score: Column, prob: Column, key: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """The k keys with the largest expected number of rows among the k best rows.

    >>> answer = topk_streams([9, 8, 7], [0.5, 1.0, 0.5], ["a", "b", "a"], k=2)
    >>> answer.index.tolist(), answer.value.tolist()
    ([1, 0], [1.0, 0.75])
    """
    wanted = Wanted("STREAMS", checked_k(k))
    return from_ranks(ranked(score, prob, rule).possible(), [wanted], _keys(key, len(score)))[wanted]


def topk_streams_exclusive(score: Column, key: Column, prob: Column | None = None, *, k: int) -> Ranked:
    """The k keys with the highest probability to be among the k best, when the rows of a key exclude each other.

    Without ``prob`` each of the w rows of a key that have a rank is the true one with probability 1 / w.

    >>> answer = topk_streams_exclusive([9, 8, 7, 6], ["a", "b", "b", "a"], k=1)
    >>> answer.index.tolist(), answer.value.tolist()
    ([0], [0.5])
    """
    keys = _keys(key, len(score))
    if prob is None:
        has_rank = ranked(score, np.ones(len(score))).position
        rows_of = np.bincount(keys[has_rank], minlength=int(keys.max(initial=-1)) + 1)
        prob = 1.0 / np.maximum(rows_of, 1)[keys]
    wanted = Wanted(EXCLUSIVE, checked_k(k))
    return from_ranks(ranked(score, prob, keys).possible(), [wanted], keys)[wanted]


def _keys(key: Column, size: int) -> I64:
    keys = numbered(key)
    if keys.size != size:
        raise WorldError("world.lengths-differ", f"there are {size} scores, {keys.size} keys")
    return np.where(keys < 0, keys.max(initial=-1) + 1, keys)
