"""The answers that rows at their ranks give: Pk-topk, Global-topk, PT-k, U-kRanks and parameterised ranking.

Each function is one pass over rows in any order. Where several queries read the same rows,
:func:`punctual.kernel.world.together.rank_together` answers them all from one, of which these are the case of a single
query. All of them return :class:`punctual.kernel.world.ranked.Ranked` and raise ``WorldError``; rows of value 0 are
never in an answer, so k above the number of rows gives all that may be among the best.

Oracle: tests/oracles/worlds.py. References: tests/papers/chen/topk.toml.
"""

from __future__ import annotations

from punctual.kernel.world.input.quantities import checked_weights
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import Column
from punctual.kernel.world.input.wanted import Wanted, checked
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.together import from_ranks


def pk_topk(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """The k rows that are most often among the k best, and Pr_k of each.

    >>> answer = pk_topk([80, 65, 50], [0.3, 0.4, 0.8], k=2)
    >>> answer.index.tolist(), answer.value.round(3).tolist()
    ([2, 1], [0.704, 0.4])
    """
    return _alone(Wanted("PK", k), score, prob, rule)


global_topk = pk_topk
"""Global-topk ranks by the same probability as Pk-topk."""


def pt_k(score: Column, prob: Column, rule: Column | None = None, *, k: int, threshold: float) -> Ranked:
    """All rows whose Pr_k is at least the threshold: none, or more than k."""
    return _alone(Wanted("PT", k, (threshold,)), score, prob, rule)


def u_kranks(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """For each of the first k ranks the row that is most likely there; one row may be named twice.

    >>> answer = u_kranks([80, 50], [0.3, 0.8], k=2)
    >>> answer.index.tolist(), answer.value.round(3).tolist()
    ([1, 1], [0.56, 0.24])
    """
    return _alone(Wanted("U_KRANKS", k), score, prob, rule)


def prf(score: Column, prob: Column, rule: Column | None = None, *, k: int, weights: Column) -> Ranked:
    """The k rows of largest absolute ``sum of weights[j] * P(rank j + 1)``; further ranks weigh nothing.

    >>> prf([80, 50], [0.3, 0.8], k=1, weights=[1.0, 0.5]).index.tolist()
    [1]
    """
    return _alone(Wanted("PRF", k, tuple(checked_weights(weights).tolist())), score, prob, rule)


def _alone(wanted: Wanted, score: Column, prob: Column, rule: Column | None) -> Ranked:
    own = checked(wanted)
    return from_ranks(ranked(score, prob, rule).possible(), [own])[own]
