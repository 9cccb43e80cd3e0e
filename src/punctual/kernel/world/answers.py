"""The answers that rows at their ranks give: Pk-topk, Global-topk, PT-k, U-kRanks and parameterised ranking.

Each function is one pass. Where several queries read the same rows, :class:`punctual.kernel.world.ranks.RankTable`
answers them all from one. All of them return :class:`punctual.kernel.world.ranked.Ranked` and raise ``WorldError``;
rows of value 0 are never in an answer, so k above the number of rows gives all that may be among the best.

Oracle: tests/oracles/worlds.py. References: tests/papers/chen/topk.toml.
"""

from __future__ import annotations

from collections.abc import Sequence

from punctual.kernel.world.rank_scan import read_ranks
from punctual.kernel.world.ranked import Ranked, best, checked_threshold, checked_weights, without_residue
from punctual.kernel.world.ranks import RankTable
from punctual.kernel.world.rows import F64, Column, checked_k, ranked


def pk_topk(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """The k rows that are most often among the k best, and Pr_k of each.

    >>> answer = pk_topk([80, 65, 50], [0.3, 0.4, 0.8], k=2)
    >>> answer.index.tolist(), answer.value.round(3).tolist()
    ([2, 1], [0.704, 0.4])
    """
    rows, k = ranked(score, prob, rule).possible(), checked_k(k)
    return best(rows, read_ranks(rows, k)[0], k)


global_topk = pk_topk
"""Global-topk ranks by the same probability as Pk-topk."""


def pt_k(score: Column, prob: Column, rule: Column | None = None, *, k: int, threshold: float) -> Ranked:
    """All rows whose Pr_k is at least the threshold: none, or more than k."""
    least, rows, k = checked_threshold(threshold), ranked(score, prob, rule).possible(), checked_k(k)
    return best(rows, read_ranks(rows, k)[0], None, at_least=least)


def u_kranks(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """For each of the first k ranks the row that is most likely there; one row may be named twice.

    >>> answer = u_kranks([80, 50], [0.3, 0.8], k=2)
    >>> answer.index.tolist(), answer.value.round(3).tolist()
    ([1, 1], [0.56, 0.24])
    """
    return RankTable.of(score, prob, rule, k=k).u_kranks()


def prf(
    score: Column, prob: Column, rule: Column | None = None, *, k: int, weights: Sequence[float] | F64
) -> Ranked:
    """The k rows of largest absolute ``sum of weights[j] * P(rank j + 1)``; further ranks weigh nothing.

    >>> prf([80, 50], [0.3, 0.8], k=1, weights=[1.0, 0.5]).index.tolist()
    [1]
    """
    own, rows, k = checked_weights(weights), ranked(score, prob, rule).possible(), checked_k(k)
    return best(rows, without_residue(read_ranks(rows, own.size, own)[0], own), k)
