"""What queries take from each row while a walk passes: sums of first ranks, weighted sums, and who is best at a rank.

Model
-----
A walk (``rank_walk``) shows every row together with how many better rows exist beside it: what is added up for its
node, and the product of the few factors that the node's rows have by themselves. A *reading* is what some queries want
of that: Pr_k, or a sum of weights times probabilities of ranks.

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

Memory: what choices keep, little more than k rows each, at worst one entry per row; keys times sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.world.input.rows import F64, I64
from punctual.kernel.world.polynomial import BLOCK, U

SUM, WEIGHTED, CHOICE = 0, 1, 2
"""Kinds of readings, in the order in which they are asked."""
LAST = 3
"""Of the products of few factors, the one that a row is read from."""
ROUNDING = 1e-15
"""More, relatively, than two operations lose."""
DISTINCT = 1e-12
"""By how much, relatively, a row must be likelier at a rank than a better one to take its place."""


READING = np.dtype(
    [
        ("k", np.int64),  # how many ranks
        ("kind", np.int64),
        ("size", np.float64),  # of the largest weight
        ("needed", np.float64),  # a row is passed by if size times its probability is not above this one
        ("keep", np.float64),  # which is this share of the least number in the heap, where there is one
        ("heap", np.int64),  # where it begins and ends in ``numbers``
        ("heap_end", np.int64),
        ("weights", np.int64),  # the same; they fill whole blocks, and a block of zeros follows
        ("weights_end", np.int64),
        ("known", np.int64),  # whether the weights are shifted for the node
        ("at", np.int64),  # where its values, and rows, begin
        ("count", np.int64),  # and how many there are
    ]
)


class Readings(NamedTuple):
    """All that is read in one walk, with what it found so far.

    ``records`` has one of type ``READING`` for each reading. ``rows`` and ``values`` belong to choices; the ``values``
    of a sum are those of keys, and ``key`` is that of each row. ``best_value`` and ``best_row`` have an entry for each
    rank, or none; ``table`` a row for each row, or none. ``ends`` says for each block of ranks from which row on it is
    surely over.
    """

    records: NDArray[np.void]
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
def enter_node(records: NDArray[np.void]) -> float:
    """Forget what was shifted for another node; a row matters to nobody unless its probability is above this number."""
    least, others = np.inf, True
    for one in range(records.size):
        records[one]["known"] = 0
        if others:
            least = min(least, records[one]["needed"] / records[one]["size"])
        others = others and records[one]["kind"] != CHOICE  # all further ones need more
    return least * (1.0 - ROUNDING) if least > 0.0 else least


@compiled
def first(few: F64, beside: float, sums: F64, at: int) -> float:
    """Sum of the first coefficients of a row's polynomial, as many as are added up at ``at`` for its node."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    w, x, y, z = 0.0, 0.0, 0.0, 0.0  # the same with a row more
    for e in range(0, BLOCK, 4):
        f, s = U(BLOCK + e), U(at + e)
        a += few[U(LAST), f] * sums[s]
        b += few[U(LAST), f + U(1)] * sums[s + U(1)]
        c += few[U(LAST), f + U(2)] * sums[s + U(2)]
        d += few[U(LAST), f + U(3)] * sums[s + U(3)]
        w += few[U(LAST), f] * sums[s + U(1)]
        x += few[U(LAST), f + U(1)] * sums[s + U(2)]
        y += few[U(LAST), f + U(2)] * sums[s + U(3)]
        z += few[U(LAST), f + U(3)] * sums[s + U(4)]
    return min(1.0, max(0.0, 1.0 - beside) * ((a + b) + (c + d)) + beside * ((w + x) + (y + z)))


@compiled
def shift_weights(
    polys: F64, ends: I64, which: int, records: NDArray[np.void], one: int, numbers: F64, shifted: F64
) -> None:
    """The weighted sum of a node's polynomial, and of its products with x, x^2 and so on."""
    records[one]["known"] = 1
    start, ranks = records[one]["weights"], records[one]["weights_end"] - records[one]["weights"] - BLOCK
    for d in range(BLOCK + 1):
        shifted[one, d] = 0.0
    for c in range(ends[which, 0] - BLOCK, min(ends[which, 1] - BLOCK, ranks)):
        here = polys[U(which), U(BLOCK + c)]
        for d in range(BLOCK + 1):
            shifted[one, d] += here * numbers[U(start + c + d)]


@compiled
def weigh(
    row: int,
    p: float,
    few: F64,
    beside: float,
    records: NDArray[np.void],
    one: int,
    numbers: F64,
    shifted: F64,
    rows: I64,
    values: F64,
) -> None:
    """Show a row to a weighted choice."""
    a, b = 0.0, 0.0
    for d in range(BLOCK):
        a += few[U(LAST), U(BLOCK + d)] * shifted[one, d]
        b += few[U(LAST), U(BLOCK + d)] * shifted[one, d + 1]
    value = p * (max(0.0, 1.0 - beside) * a + beside * b)
    if abs(value) > records[one]["needed"]:
        keep(row, value, records, one, rows, values)
        heap = numbers[records[one]["heap"] : records[one]["heap_end"]]
        if abs(value) > heap[0]:
            _replace_least(heap, abs(value))
            records[one]["needed"] = heap[0] * records[one]["keep"]


@compiled
def keep(row: int, value: float, records: NDArray[np.void], one: int, rows: I64, values: F64) -> None:
    """Keep a row for a choice."""
    at = records[one]["at"] + records[one]["count"]
    rows[at], values[at] = row, value
    records[one]["count"] += 1


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
def compare(row: int, p: float, polys: F64, which: int, low: int, high: int, best_value: F64, best_row: I64) -> None:
    """Is the row likelier at these ranks than those before? The first of nearly equal ones stays."""
    for c in range(low, high):
        rank = U(c - BLOCK)
        value = p * min(1.0, polys[U(which), U(c)])
        better = value > best_value[rank] * (1.0 + DISTINCT)
        best_value[rank] = value if better else best_value[rank]
        best_row[rank] = row if better else best_row[rank]


@compiled
def write(row: int, p: float, polys: F64, which: int, low: int, high: int, table: F64) -> None:
    """The probability of these ranks."""
    for c in range(low, high):
        table[U(row), U(c - BLOCK)] = p * min(1.0, polys[U(which), U(c)])
