"""Probabilities of ranks, as such: of all rows, in the order of the input.

A row is at rank j (from 1) in the worlds where it exists and exactly j - 1 better rows do; Pr_k is the sum over the
first k ranks. Whatever is below ``rank_walk.EPS`` (1e-18) is 0. Answers do not need all of that: see ``together``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.kernel.world.input.quantities import checked_k
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import F64, Column, UncertainRows, WorldError
from punctual.kernel.world.rank_walk import EPS, reach
from punctual.kernel.world.requests import Request, walk_for

MOST_NUMBERS = 1 << 28
"""Of a table, which is 2 GiB."""


def topk_probabilities(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> F64:
    """Pr_k of each row: the probability of the worlds where it is among the k best.

    Parameters
    ----------
    score, prob, rule
        As for :func:`punctual.kernel.world.input.rank_order.ranked`.
    k : int
        At least 1.

    Returns
    -------
    float64[n]
        In the order of the input. Adds up to the expected number of rows among the k best. Once the probability that
        fewer than k better rows exist is at most 1e-18, the remaining rows have 0.

    Raises
    ------
    WorldError

    Examples
    --------
    >>> score, prob = [80, 65, 45, 30, 50, 25], [0.3, 0.4, 0.5, 1.0, 0.8, 0.2]
    >>> rule = [None, "GR1", "GR1", None, "GR2", "GR2"]
    >>> topk_probabilities(score, prob, rule, k=2).round(3).tolist()
    [0.3, 0.4, 0.38, 0.202, 0.704, 0.014]
    """
    return row_values(ranked(score, prob, rule).possible(), checked_k(k))


def row_values(rows: UncertainRows, k: int) -> F64:
    """Pr_k of rows that are ranked, none of them impossible."""
    request = Request(k, by_key=True)
    return rows.scatter(walk_for(rows, [request], keys=np.arange(rows.prob.size)).sums(request))


def rank_probabilities(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> F64:
    """Probability of each of the first k ranks, float64[n, k]: column j is rank j + 1. Above 2 GiB it is refused.

    >>> rank_probabilities([2, 1], [0.5, 1.0], k=3).tolist()
    [[0.5, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    return RankTable.of(score, prob, rule, k=k).rank_probabilities()


@dataclass(frozen=True, slots=True)
class RankTable:
    """The distribution of every row's rank, of which each smaller k is a part: :meth:`of` makes it.

    Attributes
    ----------
    rows : UncertainRows
    k : int
    ranks : float64[m, k]
        Probability of each rank for the first m rows in rank order; all others are not among the k best. Memory is
        8 m k bytes: with certain rows m is about k, with rare ones it is n. Above 2 GiB a table is refused.

    Examples
    --------
    >>> table = RankTable.of([80, 65, 50], [0.3, 0.4, 0.8], k=2)
    >>> table.topk_probabilities(1).round(3).tolist(), table.topk_probabilities(2).round(3).tolist()
    ([0.3, 0.28, 0.336], [0.3, 0.4, 0.704])
    """

    rows: UncertainRows
    k: int
    ranks: F64

    @classmethod
    def of(cls, score: Column, prob: Column, rule: Column | None = None, *, k: int) -> RankTable:
        """One pass over rows as for :func:`punctual.kernel.world.input.rank_order.ranked`."""
        rows, k = ranked(score, prob, rule).possible(), checked_k(k)
        seen = int(reach(rows.prob, np.array([min(k, max(1, rows.prob.size))]), EPS)[0])
        _check_size(seen, k)
        known = walk_for(rows, (), table=k).readings.table[:, :k]
        return cls(rows, k, np.concatenate((known, np.zeros((len(known), k - known.shape[1]))), axis=1))

    def topk_probabilities(self, k: int | None = None) -> F64:
        """Pr_k of each row of the input."""
        ranks = self._first(k)
        return self.rows.scatter(np.minimum(ranks.sum(axis=1), self.rows.prob[: len(ranks)]))

    def rank_probabilities(self, k: int | None = None) -> F64:
        """Probability of each of the first k ranks for each row of the input."""
        ranks = self._first(k)
        _check_size(self.rows.size, ranks.shape[1])
        return self.rows.scatter(ranks)

    def _first(self, k: int | None) -> F64:
        asked = self.k if k is None else checked_k(k)
        if asked > self.k:
            raise WorldError("world.bad-k", f"ranks up to {self.k} are known, and {asked} are asked for")
        return self.ranks[:, :asked]


def _check_size(rows: int, k: int) -> None:
    if rows * k > MOST_NUMBERS:
        raise WorldError(
            "world.too-large",
            f"a table of {rows} rows and {k} ranks has more than {MOST_NUMBERS} numbers",
            hint=f"ask for fewer ranks, of {rows} rows no more than {rows} are possible, or for topk_probabilities",
        )
