r"""Which rows of a pane may still be among the k best of any window that the pane is part of.

Lemma
-----
Let N_j be the number of rows ranked above j that exist, members of j's own rule included. Then Pr_k(j) <= P(N_j < k).
*Proof.* Let A be the mass of the better members of j's rule and N' the number of better rows outside it. They are
independent, so P(N_j < k) >= (1 - A) P(N' < k) >= p_j P(N' < k) = Pr_k(j), as p_j <= 1 - A.

N_j only grows down the ranking, so the rows of a pane with P(N_j < k) > eps are a prefix in rank order. Let c be the
first row behind it and E the event N_c < k, of probability at most eps.

Theorem
-------
Drop from every pane the rows that are not candidates, and merge any panes. No Pr_k, and no probability of one of the
first k ranks, moves by more than eps, also when rules span panes.
*Proof.* Members of a rule in other panes do not change which rows of this pane exist together, so P(E) is the same in
every window, and so is the lemma's bound, since other panes only add to N_j: a dropped row had Pr_k <= eps and has 0.
Take a row i that is kept, and a world where its place among the first k ranks changes. There some dropped row j above i
exists. All kept rows of j's pane are above j, hence above i. If k of them exist, i is behind the first k ranks with and
without j. So E holds in the pane of every such j, and the worlds of the change are within an event of probability at
most eps. (Not the sum over panes: all of those E hold together.)

So Pk-topk, Global-topk, PT-k, U-kRanks, and PRF of at most k weights (times the largest difference of weights) may be
answered from candidates; a sum over the rows of a key moves by at most k eps a pane. Once every instant before some
panes has been answered, they go on together, and their rows may be given to one call. Expected ranks and U-topk need
every row.

Cost: O(log n) products over the rows that Chernoff's bound leaves, without any division.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.quantities import checked_k
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import F64, I64, Column
from punctual.kernel.world.polynomial import AT_ONCE, BLOCK, add_up, blocks_for, ones, times
from punctual.kernel.world.rank_walk import EPS, checked_eps, reach


def candidates(
    score: Column, prob: Column, rule: Column | None = None, *, k: int, eps: float = EPS
) -> NDArray[np.bool_]:
    """Whether each row of a pane has to be kept; rows of probability 0 and without a rank do not.

    Parameters
    ----------
    score, prob, rule
        As for :func:`punctual.kernel.world.input.rank_order.ranked`.
    k : int
        The largest k, or number of weights, of all queries.
    eps : float
        By how much a probability may move.

    Raises
    ------
    WorldError

    Examples
    --------
    >>> candidates([5, 4, 3, 2], [1.0, 0.5, 1.0, 0.9], k=2).tolist()
    [True, True, True, False]
    """
    eps = checked_eps(eps)
    rows, k = ranked(score, prob, rule).possible(), checked_k(k)
    blocks = blocks_for(min(k, rows.prob.size + 1))
    # The median of N is at most its mean rounded up, so up to a mean of k - 1 the probability is a half or more.
    kept = int(np.searchsorted(np.cumsum(rows.prob), (k - 1) * (1 - 1e-9)))
    dropped = int(reach(rows.prob, np.array([k]), eps)[0])
    if dropped < rows.prob.size or _fewer(rows.prob, rows.rule, rows.rules, k, blocks) <= eps:
        while dropped - kept > 1:
            middle = (kept + dropped) // 2
            if _fewer(rows.prob[:middle], rows.rule[:middle], rows.rules, k, blocks) > eps:
                kept = middle
            else:
                dropped = middle
    mask = np.zeros(rows.size, bool)
    mask[rows.position[:dropped]] = True
    return mask


@compiled
def _fewer(prob: F64, rule: I64, rules: int, k: int, blocks: int) -> float:
    """Probability that fewer than k of the rows exist."""
    polys, ends = ones(3, blocks)
    events, count = np.zeros(prob.size + rules + AT_ONCE), rules
    for i in range(prob.size):
        if rule[i] >= 0:
            events[rule[i]] = min(1.0, events[rule[i]] + prob[i])
        else:
            events[count] = prob[i]
            count += 1
    times(polys, ends, 0, events, count, 1, 2)
    sums = np.zeros(blocks * BLOCK + 1)
    add_up(polys, ends, 2, sums)
    return float(sums[max(0, blocks * BLOCK - k)])
