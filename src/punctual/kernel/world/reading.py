"""What queries take from each row while a walk passes: sums of first ranks, weighted sums, and who is best at a rank.

Model
-----
A walk (``rank_scan``) shows every row together with the polynomial of how many better rows exist beside it. A *reading*
is what some queries want of that: Pr_k, or a sum of weights times probabilities of ranks.

* A *choice* keeps the rows that may be in an answer: those above a threshold. For the k best that is a bound on the
  k-th best value that is known before the walk (``bounds``), so a row that does not matter is passed by at the sight of
  its probability, before any sum. Choices are ordered by threshold: the first that is not interested is the last asked.
* A *weighted* choice has no such bound. Its k largest values so far are in a heap, and the least of them is the
  threshold.
* A *sum* adds Pr_k to what the row's key has. With a key for each row it is Pr_k of all rows.
* For ``u_kranks`` the best row at each rank is kept; for a table the whole distribution.

Invariant: what one reading gives has the same bits whatever else is read. Sums are over blocks of coefficients that do
not depend on k (``polynomial``), and a block of ranks ends by its own sums: where fewer than its last rank's better
rows exist with a probability of at most ``eps``, or where Chernoff's bound says so, all its ranks are 0 from there on.

Memory: what choices keep, little more than k rows each, at worst one entry a row; keys times sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.world.polynomial import BLOCK, weighted
from punctual.kernel.world.rows import F64, I64

SUM, WEIGHTED, CHOICE = 0, 1, 2
"""Kinds of readings, in the order in which they are asked."""
DISTINCT = 1e-12
"""By how much, relatively, a row must be likelier at a rank than a better one to take its place."""


ASKED = np.dtype(
    [
        ("k", np.int64),  # how many ranks
        ("kind", np.int64),
        ("size", np.float64),  # of the largest weight
        ("needed", np.float64),  # a row is passed by if size times its probability is not above this one
        ("keep", np.float64),  # which is this share of the least number in the heap, where there is one
        ("heap", np.int64),  # where it begins and ends in ``numbers``
        ("heap_end", np.int64),
        ("weights", np.int64),  # the same; they fill whole blocks
        ("weights_end", np.int64),
        ("at", np.int64),  # where its values, and rows, begin
        ("count", np.int64),  # and how many there are
    ]
)


class Readings(NamedTuple):
    """All that is read in one walk, with what it found so far.

    ``asked`` has a record of type ``ASKED`` for each reading. ``rows`` and ``values`` belong to choices; the ``values``
    of a sum are those of keys, and ``key`` is that of each row. ``best_value`` and ``best_row`` have an entry for each
    rank, or none; ``table`` a row for each row, or none. ``ends`` says for each block of ranks from which row on it is
    surely over.
    """

    asked: NDArray[np.void]
    numbers: F64
    rows: I64
    values: F64
    key: I64
    best_value: F64
    best_row: I64
    table: F64
    ends: I64
    eps: float


@compiled
def blocks_over(row: int, low: int, high: int, before: F64, ends: I64, over: int, eps: float) -> int:
    """How many blocks of ranks are over at a row, where ``over`` were before."""
    while over < ends.size and (row >= ends[over] or _within(low, high, before, over) <= eps):
        over += 1
    return over


@compiled
def _within(low: int, high: int, before: F64, block: int) -> float:
    """Sum of the coefficients up to the end of a block of ranks."""
    return 0.0 if (block + 2) * BLOCK <= low else before[min(block + 2, high // BLOCK)]


@compiled
def weigh(
    row: int,
    p: float,
    poly: F64,
    low: int,
    high: int,
    asked: NDArray[np.void],
    one: int,
    numbers: F64,
    rows: I64,
    values: F64,
) -> None:
    """Show a row to a weighted choice."""
    value = p * weighted(poly, low, high, numbers[asked[one]["weights"] : asked[one]["weights_end"]])
    if abs(value) > asked[one]["needed"]:
        at = asked[one]["at"] + asked[one]["count"]
        rows[at], values[at] = row, value
        asked[one]["count"] += 1
        heap = numbers[asked[one]["heap"] : asked[one]["heap_end"]]
        if abs(value) > heap[0]:
            _replace_least(heap, abs(value))
            asked[one]["needed"] = heap[0] * asked[one]["keep"]


@compiled
def _replace_least(heap: F64, value: float) -> None:
    at = 0
    while 2 * at + 1 < heap.size:
        child = 2 * at + 1
        if child + 1 < heap.size and heap[child + 1] < heap[child]:
            child += 1
        if value <= heap[child]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@compiled
def compare(row: int, p: float, ranks: F64, best_value: F64, best_row: I64) -> None:
    """Is the row likelier at these ranks than those before? The first of nearly equal ones stays."""
    for c in range(ranks.size):
        value = p * ranks[c]
        better = value > best_value[c] * (1.0 + DISTINCT)
        best_value[c] = value if better else best_value[c]
        best_row[c] = row if better else best_row[c]


@compiled
def write(p: float, ranks: F64, out: F64) -> None:
    """The probability of ranks."""
    for c in range(ranks.size):
        out[c] = max(0.0, p * ranks[c])
