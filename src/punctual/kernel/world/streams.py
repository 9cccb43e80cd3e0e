"""Ranking of keys instead of rows: which sensors, trucks or accounts are among the best.

``topk_streams`` ranks a key by the expected number of its rows among the k best, which may exceed 1. Where the rows of
a key are alternatives, as repeated readings of one unknown value are, at most one of them exists and that number is the
probability that the key is among the k best: ``topk_streams_exclusive``.

Answers name a key by its best row: ``key[answer.index[j]]``. Keys of equal value are in the order of their best rows.
None is a key like any other. Cost: that of one pass over the rows.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.world.input.columns import plain
from punctual.kernel.world.input.labels import numbered
from punctual.kernel.world.input.quantities import scores
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import I64, Column, WorldError
from punctual.kernel.world.input.wanted import EXCLUSIVE, Wanted, checked
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.together import from_ranks


def topk_streams(score: Column, prob: Column, key: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """The k keys with the largest expected number of rows among the k best rows.

    >>> answer = topk_streams([9, 8, 7], [0.5, 1.0, 0.5], ["a", "b", "a"], k=2)
    >>> answer.index.tolist(), answer.value.tolist()
    ([1, 0], [1.0, 0.75])
    """
    wanted = checked(Wanted("STREAMS", k))
    rows = ranked(score, prob, rule)
    return from_ranks(rows.possible(), [wanted], _keys(key, rows.size))[wanted]


def topk_streams_exclusive(score: Column, key: Column, prob: Column | None = None, *, k: int) -> Ranked:
    """The k keys with the highest probability to be among the k best, when the rows of a key exclude each other.

    Without ``prob`` each of the w rows of a key that have a rank is the true one with probability 1 / w.

    >>> answer = topk_streams_exclusive([9, 8, 7, 6], ["a", "b", "b", "a"], k=1)
    >>> answer.index.tolist(), answer.value.tolist()
    ([0], [0.5])
    """
    wanted = checked(Wanted(EXCLUSIVE, k))
    score = plain(score, "world.bad-score", "scores")  # it is read twice
    size, has_rank, _values = scores(score)
    keys = _keys(key, size)
    if prob is None:
        rows_of = np.bincount(keys[has_rank], minlength=int(keys.max(initial=-1)) + 1)
        prob = 1.0 / np.maximum(rows_of, 1)[keys]
    return from_ranks(ranked(score, prob, keys).possible(), [wanted], keys)[wanted]


def _keys(key: Column, size: int) -> I64:
    keys = numbered(key, "keys")
    if keys.size != size:
        raise WorldError("world.lengths-differ", f"there are {size} scores, {keys.size} keys")
    return np.where(keys < 0, keys.max(initial=-1) + 1, keys)
