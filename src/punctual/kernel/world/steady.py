"""A ranking on display that changes only where the evidence passes a margin (``STABLE 5%``).

Model
-----
On display is a list of entries, best first. From one answer to the next, with m the margin and v an entry's value now:

1. Entries that are no longer ranked (they left the window, or are worth 0) go at once.
2. Places that are free are filled by the best of those that are not shown.
3. Of those that are still not shown the best is held against the weakest that is shown (the lower one where values are
   equal), the second best against the second weakest, and so on: one *passes* the other, and takes its place, where
   ``v_new > v_old (1 + m)``; with expected ranks, where less is better, where ``v_new (1 + m) < v_old``. This ends with
   the first that does not pass.
4. The order: those that stayed as they were, then newcomers, best first; then each, from the top down, climbs over the
   one above it as long as it passes it.

A threshold in place of k: what is shown stays while it is ranked at all, others enter from the threshold on, then 4.

The first list is the ranking itself (everybody is new), and the same values again change nothing: in 3 the best that is
left out did not pass the weakest that is left in, and after 4 nobody passes the one above it. With m = 0 the k entries
shown are worth as much as the k best. The margin is larger by a hair (``ranked.HAIR``), for the digits that depend on
the order of additions, and an entry is worth no more than those above it in the ranking, from which it may differ in
these.

Why near misses suffice
-----------------------
Besides the k best only entries that the k-th best, v_k, does not pass need be known. *Proof.* Let F be what is shown
and still ranked, E the part of F that v_k passes, T the k best. T has no entry of E, so at least k - |F| + |E| entries
of T are not in F. They are the best of those not shown: step 2 takes k - |F| of them, and in step 3 at least |E| are
left, each of which passes each of E; and E are the weakest of F. So all of E go, as if they were no longer ranked, and
nobody worth less than T came in so far. From there on the weakest shown is one that v_k does not pass, hence neither
does anybody below v_k (1 + m) pass it. So entries that v_k passes are neither kept nor let in, and leaving them out
changes nothing. Where fewer than k are ranked all of them are known.

Cost: a sort of the entries that are known; the climbing is linear while the order holds.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.rows import F64, I64
from punctual.kernel.world.ranked import HAIR, Ranked, reaches


def near(ranking: Ranked, k: int, margin: float, *, ascending: bool = False) -> Ranked:
    """The k best of a whole ranking, and those behind them that the k-th does not pass.

    >>> near(Ranked(np.arange(4), np.array([0.9, 0.5, 0.48, 0.4])), 2, 0.05).index.tolist()
    [0, 1, 2]
    """
    if ranking.index.size <= k:
        return ranking
    challenge, defence = _strengths(ranking.value, margin, ascending)
    size = max(k, int(np.count_nonzero(challenge[k - 1] <= defence)))
    return Ranked(ranking.index[:size], ranking.value[:size])


def steady(
    former: I64,
    entries: I64,
    values: F64,
    *,
    k: int,
    margin: float,
    ascending: bool = False,
    threshold: float | None = None,
) -> I64:
    """What is displayed next, as places in ``entries``, in order.

    Parameters
    ----------
    former : int64[n]
        Numbers of the entries on display, in order.
    entries, values : int64[m], float64[m]
        The ranking now, best first: different numbers, and what they are worth; at least those that ``near`` gives.
    ascending : bool
        Whether less is better; otherwise absolute values count.
    threshold : float, optional
        In place of k: from where on an entry is shown. What is in ``entries`` may stay.

    Examples
    --------
    7 and 8 are shown; 9 is worth a little more than 8, then much more than it:

    >>> shown, now = np.array([7, 8]), np.array([7, 9, 8])
    >>> now[steady(shown, now, np.array([0.9, 0.52, 0.5]), k=2, margin=0.05)].tolist()
    [7, 8]
    >>> now[steady(shown, now, np.array([0.9, 0.6, 0.5]), k=2, margin=0.05)].tolist()
    [7, 9]
    """
    challenge, defence = _strengths(values, margin, ascending)
    shown = _places(former, entries)
    is_new = np.ones(entries.size, np.bool_)
    is_new[shown] = False
    others = np.flatnonzero(is_new)
    if threshold is not None:
        coming = others[reaches(values[others], threshold)]
    else:
        free = max(0, k - shown.size)
        challengers = others[free:]
        weakest = shown[::-1][np.argsort(defence[shown[::-1]], kind="stable")]
        pairs = min(challengers.size, weakest.size)
        # Challengers only get weaker and the shown only stronger, so those that pass are the first ones.
        passing = int(np.count_nonzero(challenge[challengers[:pairs]] > defence[weakest[:pairs]]))
        shown = shown[~np.isin(shown, weakest[:passing])]
        coming = others[: free + passing]
    return _climbed(np.concatenate([shown, coming]), challenge, defence)


def _strengths(values: F64, margin: float, ascending: bool) -> tuple[F64, F64]:
    """One entry passes another where its first number is above the other's second."""
    clearly = (1 + margin) * (1 + HAIR)
    if ascending:
        plain = np.maximum.accumulate(values)
        return -(plain * clearly), -plain
    plain = np.minimum.accumulate(np.abs(values))
    return plain, plain * clearly


def _places(former: I64, entries: I64) -> I64:
    """Where the former entries are now, in their order; without those that are not there."""
    if not entries.size:
        return np.zeros(0, np.int64)
    order = np.argsort(entries)
    found = order[np.minimum(np.searchsorted(entries, former, sorter=order), entries.size - 1)]
    there: I64 = found[entries[found] == former]
    return there


@compiled
def _climbed(order: I64, challenge: F64, defence: F64) -> I64:
    """Each entry, from the top down, moved above those before it that it passes, up to the first that it does not."""
    for start in range(1, order.size):
        own = order[start]
        place = start
        while place and challenge[own] > defence[order[place - 1]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = own
    return order
