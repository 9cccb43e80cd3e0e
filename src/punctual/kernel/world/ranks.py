"""Probabilities of ranks: one pass for the largest k, from which every smaller one is read.

A row is at rank j (from 1) in the worlds where it exists and exactly j - 1 better rows do; Pr_k is the sum over the
first k ranks. The polynomial that a pass keeps for the largest k begins with that of every smaller k, so queries that
differ in k, in a threshold or in their weights cost one pass together and a sum each.

Whatever is below ``rank_scan.EPS`` (1e-18) is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from punctual.kernel.world.rank_scan import read_ranks
from punctual.kernel.world.ranked import Ranked, best, checked_threshold, checked_weights, without_residue
from punctual.kernel.world.rows import F64, Column, UncertainRows, WorldError, checked_k, ranked


def topk_probabilities(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> F64:
    """Pr_k of each row: the probability of the worlds where it is among the k best.

    Parameters
    ----------
    score, prob, rule
        As for :func:`punctual.kernel.world.rows.ranked`.
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
    rows = ranked(score, prob, rule).possible()
    return rows.scatter(read_ranks(rows, checked_k(k))[0])


def rank_probabilities(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> F64:
    """Probability of each of the first k ranks, float64[n, k]: column j is rank j + 1.

    >>> rank_probabilities([2, 1], [0.5, 1.0], k=3).tolist()
    [[0.5, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    return RankTable.of(score, prob, rule, k=k).rank_probabilities()


@dataclass(frozen=True, slots=True)
class RankTable:
    """The pass for the largest k: :meth:`of` makes it, and every answer for at most that k is read from it.

    Attributes
    ----------
    rows : UncertainRows
    k : int
    ranks : float64[m, k]
        Probability of each rank for the first m rows in rank order; all others are not among the k best. Memory is
        8 m k bytes: with certain rows m is about k, with rare ones it is n.

    Examples
    --------
    >>> table = RankTable.of([80, 65, 50], [0.3, 0.4, 0.8], k=2)
    >>> table.pk_topk(1).index.tolist(), table.pk_topk(2).index.tolist()
    ([2], [2, 1])
    """

    rows: UncertainRows
    k: int
    ranks: F64

    @classmethod
    def of(cls, score: Column, prob: Column, rule: Column | None = None, *, k: int) -> RankTable:
        """One pass over rows as for :func:`punctual.kernel.world.rows.ranked`."""
        rows, k = ranked(score, prob, rule).possible(), checked_k(k)
        return cls(rows, k, read_ranks(rows, k, table=True)[1])

    def topk_probabilities(self, k: int | None = None) -> F64:
        """Pr_k of each row of the input."""
        return self.rows.scatter(self._first(k).sum(axis=1))

    def rank_probabilities(self, k: int | None = None) -> F64:
        """Probability of each of the first k ranks for each row of the input."""
        return self.rows.scatter(self._first(k))

    def pk_topk(self, k: int | None = None) -> Ranked:
        """The k rows of highest Pr_k."""
        return best(self.rows, self._first(k).sum(axis=1), self._within(k))

    global_topk = pk_topk

    def pt_k(self, k: int | None = None, *, threshold: float) -> Ranked:
        """All rows whose Pr_k reaches the threshold."""
        return best(self.rows, self._first(k).sum(axis=1), None, at_least=checked_threshold(threshold))

    def u_kranks(self, k: int | None = None) -> Ranked:
        """For each rank the row that is most likely there; fewer than k when no more rows can exist together."""
        first = self._first(k)
        if not len(first):
            return best(self.rows, np.zeros(0), 0)
        # The first of equal ones in rank order, but not by their last digits.
        at = (first >= first.max(axis=0) * (1 - 1e-12)).argmax(axis=0)
        value = first[at, np.arange(at.size)]
        likely = value > 0
        return Ranked(self.rows.position[at[likely]], value[likely])

    def prf(self, k: int | None = None, *, weights: Sequence[float] | F64) -> Ranked:
        """The k rows of highest absolute sum over ranks of weight times probability; at most ``self.k`` weights."""
        own = checked_weights(weights)
        return best(self.rows, without_residue(self._first(own.size) @ own, own), self.k if k is None else checked_k(k))

    def _within(self, k: int | None) -> int:
        asked = self.k if k is None else checked_k(k)
        if asked > self.k:
            raise WorldError("world.bad-k", f"ranks up to {self.k} are known, and {asked} are asked for")
        return asked

    def _first(self, k: int | None) -> F64:
        return self.ranks[:, : self._within(k)]
