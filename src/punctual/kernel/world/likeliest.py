"""U-topk: the rows that are most likely to be, all together and in this order, the k best.

Model
-----
A *vector* of k rows, the last of them at position e in rank order, is the answer of the worlds where its rows exist and
no other row up to e does. Rules are independent, so its probability is the product over its rows of their
probabilities, and over every other rule of 1 - A, with A the mass of the rule's members up to e. Worlds of fewer than k
rows compete with the vector of all their rows; nothing else exists in them, so e is the last row of all.

Design
------
For a given end, a rule is either absent (1 - A) or gives its most probable member so far (b): the best vector takes the
k rules of largest b / (1 - A). One walk over the ends keeps these k in a heap. As rows come, b and A only grow, hence
so does the ratio, and a rule enters the heap only at a row of its own: O(n log k) with rules as without. What the heap
holds may end before e; then it was counted as too little here, and in full at its own end.

The product over rules of max(b, 1 - A) bounds every vector that ends later and never grows (a new member's probability
is at most 1 - A), so the walk stops where it is below the best so far.

Equal probabilities: the vector whose positions come first in lexicographic order, compared without their last digits.
Ends that are as good as the best are worked out one by one for that; only the first ``TIED_ENDS`` of them.

Oracle: all worlds (tests/oracles/worlds.py). Not to be read from ranks: every row left out is a factor 1 - p.
"""

from __future__ import annotations

import numpy as np

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.quantities import checked_k
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import F64, I64, Column, UncertainRows
from punctual.kernel.world.ranked import Ranked

TIED_ENDS = 64
CLOSE = 1e-12
"""Probabilities that differ by less, relatively, are equal."""


def u_topk(score: Column, prob: Column, rule: Column | None = None, *, k: int) -> Ranked:
    """The likeliest k best rows, in rank order; ``value`` is the probability of the whole vector, for each of them.

    Fewer than k rows when a world with fewer is likelier, even none.

    Raises
    ------
    WorldError

    Examples
    --------
    >>> answer = u_topk([80, 65, 45, 30, 50, 25], [0.3, 0.4, 0.5, 1.0, 0.8, 0.2], [0, 1, 1, 2, 3, 3], k=2)
    >>> answer.index.tolist(), answer.value.round(3).tolist()
    ([4, 2], [0.28, 0.28])
    """
    return u_topk_of(ranked(score, prob, rule).possible(), checked_k(k))


def u_topk_of(rows: UncertainRows, k: int) -> Ranked:
    """The same over ranked rows without impossible ones."""
    alone = rows.rule < 0
    unit = np.where(alone, rows.rules + np.cumsum(alone) - 1, rows.rule)  # every row has a rule, perhaps its own
    units = rows.rules + int(alone.sum())
    by_end = _best_by_end(rows.prob, unit, units, k)
    vectors = [_short(rows.prob, unit, units, k)]
    if by_end.size and by_end.max() > -np.inf:
        close = np.flatnonzero(by_end >= by_end.max() * (1 + CLOSE) - CLOSE)[:TIED_ENDS]
        vectors += [_ending_at(rows.prob, unit, units, k, int(end)) for end in {*close, by_end.argmax()}]
    most = max(size for size, _vector in vectors)
    vector = min(vector for size, vector in vectors if size >= most - CLOSE * max(1.0, -most))
    value = min(np.exp(most), rows.prob[vector].min(initial=1.0))  # no more than any of its rows
    return Ranked(rows.position[vector], np.full(len(vector), value))


@compiled
def _best_by_end(prob: F64, unit: I64, units: int, k: int) -> F64:
    """Logarithm of the probability of the best k rows among the first e + 1, for each end e until it is hopeless."""
    values = np.full(prob.size, -np.inf)
    mass, absent, member = np.zeros(units), np.zeros(units), np.full(units, -np.inf)  # the latter two are logarithms
    heap, place = np.zeros(min(k, units), np.int64), np.full(units, -1)
    size, chosen, others, ceiling, most = 0, 0.0, 0.0, 0.0, -np.inf
    for end in range(prob.size):
        u = unit[end]
        known = place[u] >= 0
        ceiling -= max(member[u], absent[u])
        if known:
            chosen -= member[u]
        else:
            others -= absent[u]
        mass[u] += prob[end]
        absent[u] = np.log1p(-mass[u]) if mass[u] < 1.0 else -np.inf
        member[u] = max(member[u], np.log(prob[end]))
        ceiling += max(member[u], absent[u])
        if known:
            chosen += member[u]
            _sink(heap, place, size, place[u], member, absent)
        elif size < k:
            heap[size], place[u] = u, size
            size += 1
            chosen += member[u]
            _rise(heap, place, size - 1, member, absent)
        elif member[u] - absent[u] > member[heap[0]] - absent[heap[0]]:
            out = heap[0]
            place[out], heap[0], place[u] = -1, u, 0
            chosen += member[u] - member[out]
            others += absent[out]
            _sink(heap, place, size, 0, member, absent)
        else:
            others += absent[u]
        if others == -np.inf:  # more than k rules surely have a row by now
            return values[:end]
        if size == k:
            values[end] = chosen + others
            most = max(most, values[end])
        if ceiling < most - 1e-6:
            return values[: end + 1]
    return values


@compiled
def _rise(heap: I64, place: I64, at: int, member: F64, absent: F64) -> None:
    """Restore the heap, least ratio first, after adding its last one."""
    u = heap[at]
    ratio = member[u] - absent[u]
    while at > 0:
        above = heap[(at - 1) // 2]
        if member[above] - absent[above] <= ratio:
            break
        heap[at], place[above] = above, at
        at = (at - 1) // 2
    heap[at], place[u] = u, at


@compiled
def _sink(heap: I64, place: I64, size: int, at: int, member: F64, absent: F64) -> None:
    """Restore the heap after the ratio at one place grew."""
    u = heap[at]
    ratio = member[u] - absent[u]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        least = member[heap[child]] - absent[heap[child]]
        if child + 1 < size and member[heap[child + 1]] - absent[heap[child + 1]] < least:
            child += 1
            least = member[heap[child]] - absent[heap[child]]
        if ratio <= least:
            break
        heap[at], place[heap[child]] = heap[child], at
        at = child
    heap[at], place[u] = u, at


@compiled
def _until(prob: F64, unit: I64, units: int, end: int) -> tuple[F64, I64]:
    """Of each rule the probability that none of its rows up to the end exists, and its most probable row, or -1."""
    absent, member = np.ones(units), np.full(units, -1)
    for i in range(end + 1):
        u = unit[i]
        absent[u] = max(0.0, absent[u] - prob[i])
        if member[u] < 0 or prob[i] > prob[member[u]]:
            member[u] = i
    return absent, member


def _ending_at(prob: F64, unit: I64, units: int, k: int, end: int) -> tuple[float, list[int]]:
    """The best vector of k rows whose last one is at ``end``, and the logarithm of its probability."""
    absent, member = _until(prob, unit, units, end)
    member[unit[end]] = -1
    rivals = np.flatnonzero(member >= 0)
    taken = rivals[_largest(prob[member[rivals]], absent[rivals], member[rivals], k - 1)]
    absent[[*taken, unit[end]]] = 1.0
    vector = sorted([*member[taken].tolist(), end])
    return _likelihood(prob[vector], absent), vector


def _short(prob: F64, unit: I64, units: int, k: int) -> tuple[float, list[int]]:
    """The likeliest world of fewer than k rows, and the logarithm of its probability."""
    absent, member = _until(prob, unit, units, prob.size - 1)
    present = prob[member]
    gains = np.flatnonzero(present > absent * (1 + CLOSE))
    even = np.flatnonzero(np.abs(present - absent) <= absent * CLOSE)
    taken = gains[_largest(present[gains], absent[gains], member[gains], k - 1)]
    if taken.size:  # a row that may as well exist comes first in the order only before the last one
        even = even[member[even] < member[taken].max()]
        taken = np.append(taken, even[np.argsort(member[even])][: k - 1 - taken.size])
    absent[taken] = 1.0
    vector = sorted(member[taken].tolist())
    return _likelihood(prob[vector], absent), vector


def _likelihood(present: F64, absent: F64) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(present).sum() + np.log(absent).sum())


def _largest(present: F64, absent: F64, position: I64, count: int) -> I64:
    """Places of the ``count`` largest ratios present / absent, equal ones by position."""
    if count >= present.size:
        return np.arange(present.size)
    if not count:
        return np.zeros(0, np.int64)
    with np.errstate(divide="ignore"):
        gain = np.log(present) - np.log(absent)
    least = np.partition(gain, gain.size - count)[gain.size - count]
    margin = 0.0 if least == np.inf else CLOSE * max(1.0, abs(float(least)))
    above = np.flatnonzero(gain > least + margin)
    equal = np.flatnonzero((gain <= least + margin) & (gain >= least - margin))
    return np.append(above, equal[np.argsort(position[equal])][: count - above.size])
