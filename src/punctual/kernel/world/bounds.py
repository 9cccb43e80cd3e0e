"""How large the k-th largest Pr_k is at least, from probabilities alone.

Lemma: where the mass of better rows is at most m < k, fewer than k of them exist with a probability of at least
1 - exp(k - m) (m / k)^k (Chernoff). As long as that is ``SURE``, a row has Pr_k >= ``SURE`` p. So the k-th largest
probability of those rows, times ``SURE``, is a bound on the k-th largest Pr_k.

It is close where many more than k rows are among those, which is where there is something to be gained. Probabilities
are counted in buckets of a 64th of a power of two, in one pass for all k.
"""

from __future__ import annotations

from math import log

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.rows import F64, I64

SURE = 0.995
BITS = 46
"""Of a double, that a bucket leaves out."""
BUCKETS = 64 * 64
"""Down to 2**-64; rows below count for nothing."""
ONE = int(np.float64(1.0).view(np.int64)) >> BITS


def kth_largest_at_least(prob: F64, ks: I64) -> F64:
    """For each k, ascending, a number that k rows reach with their Pr_k, or 0. Rows are in rank order."""
    buckets = _counted(ONE - (prob.view(np.int64) >> BITS), prob, ks)
    edges = ((ONE - buckets) << BITS).view(np.float64)
    return np.where(buckets < BUCKETS, SURE * edges, 0.0)


@compiled
def _counted(bucket: I64, prob: F64, ks: I64) -> I64:
    """For each k the bucket of the k-th largest probability among the rows that are sure enough."""
    counts, found = np.zeros(BUCKETS, np.int64), np.full(ks.size, BUCKETS)
    row, better = 0, 0.0
    for at in range(ks.size):
        k = ks[at]
        most = _mass(k)
        while row < prob.size and better <= most:
            if bucket[row] < BUCKETS:
                counts[bucket[row]] += 1
            better += prob[row]
            row += 1
        if row >= k:
            seen = 0
            for one in range(BUCKETS):
                seen += counts[one]
                if seen >= k:
                    found[at] = one
                    break
    return found


@compiled
def _mass(k: int) -> float:
    """A mass of better rows that leaves k of them unlikely enough, by halving."""
    good, bad = 0.0, float(k)
    while bad - good > 1e-6 * k:
        middle = (good + bad) / 2
        if k - middle + k * log(middle / k) <= log(1.0 - SURE):
            good = middle
        else:
            bad = middle
    return good * (1 - 1e-6)
