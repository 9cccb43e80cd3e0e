"""Rankings with their near misses: the k best, and every row or key behind them that the k-th best does not pass.

The whole ranking is made and cut, so the cost is that of the ranking and of a sort of all its values. Why a ranking
that is STABLE needs them: :mod:`punctual.kernel.world.steady`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.world.answers import prf, pt_k
from punctual.kernel.world.closed_forms import expected_ranks, prfe
from punctual.kernel.world.rank_scan import read_ranks
from punctual.kernel.world.ranked import Ranked, best
from punctual.kernel.world.rows import F64, I64, Column, UncertainRows, ranked
from punctual.kernel.world.steady import near


def ranking_with_near(
    semantics: str, k: int, numbers: Sequence[float], margin: float, prob: F64, rule: Column | None
) -> Ranked:
    """Of rows that are in rank order already; with PT those from threshold / (1 + margin) on."""
    score = np.arange(prob.size, 0, -1)
    every = max(1, prob.size)
    match semantics:
        case "PK" | "GLOBAL":
            rows = ranked(score, prob, rule).possible()
            return near(best(rows, read_ranks(rows, k)[0], None), k, margin)
        case "PT":
            return pt_k(score, prob, rule, k=k, threshold=numbers[0] / (1 + margin))
        case "EXPECTED_RANK":
            return near(expected_ranks(score, prob, rule, k=every), k, margin, ascending=True)
        case "PRF":
            return near(prf(score, prob, rule, k=every, weights=numbers), k, margin)
        case "PRFE":
            return near(prfe(score, prob, rule, k=every, alpha=numbers[0]), k, margin)
    raise InternalError(f"no near misses of semantics {semantics}")


def ranking_of_keys_with_near(
    semantics: str, k: int, margin: float, prob: F64, rule: Column | None, keys: I64
) -> Ranked:
    """Of keys, each named by its best row, by the sum of the probabilities of its rows to be among the k best."""
    keys = np.where(keys < 0, keys.max(initial=-1) + 1, keys)  # None is a key like any other
    if semantics == "STREAMS_ALIKE":
        prob = 1.0 / np.bincount(keys)[keys]
    if semantics != "STREAMS":  # the rows of a key exclude each other
        rule = keys
    rows = ranked(np.arange(prob.size, 0, -1), prob, rule).possible()
    values = read_ranks(rows, k)[0]
    _labels, first, which = np.unique(keys[rows.position[: values.size]], return_index=True, return_inverse=True)
    by_best_row = np.argsort(first)
    sums = np.bincount(which, values, first.size).astype(np.float64)[by_best_row]
    places = first[by_best_row]
    named = UncertainRows(rows.size, rows.position[places], rows.prob[places], rows.rule[places], rows.rules)
    return near(best(named, sums, None), k, margin)
