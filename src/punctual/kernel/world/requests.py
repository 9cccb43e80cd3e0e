"""Requests to one walk over uncertain rows, and what it finds for them.

Each request is one reading (:mod:`punctual.kernel.world.walk_input`); equal ones are read once. A k above the number of
rows means all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.world.bounds import kth_largest_at_least
from punctual.kernel.world.input.rows import F64, I64, UncertainRows
from punctual.kernel.world.polynomial import BLOCK, blocks_for
from punctual.kernel.world.rank_walk import EPS, FEW, reach, walk
from punctual.kernel.world.walk_input import CHOICE, READING, SUM, WEIGHTED, Readings

NEARLY = 2.0**-36
"""Values are compared at 40 bits and neighbours may be equal (``ranked``): a row that is less by this share may be as
good."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to read: Pr_k, or a sum over ranks where there are weights.

    By default the rows that may be among the ``best`` so many; with ``least`` those of at least that value. ``margin``
    asks for values that are less by this share. ``by_key`` asks for the sum of Pr_k over the rows of each key instead.
    """

    k: int
    best: int = 0
    least: float = 0.0
    margin: float = 0.0
    weights: tuple[float, ...] = ()
    by_key: bool = False


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Outcome of a walk: ``reading`` is the index of each request in ``readings``, ``kept`` says from where on how many
    rows were kept for it; ``keys`` is how many there are."""

    reading: dict[Request, int]
    readings: Readings
    kept: list[tuple[int, int]]
    keys: int

    def choice(self, request: Request) -> tuple[I64, F64]:
        """Rows, in rank order, that may be in the answer, and their values."""
        index = self.reading[request]
        start, count = self.kept[index]
        rows, values = self.readings.rows[start : start + count], self.readings.values[start : start + count]
        if request.weights:  # much of it was good enough only as long as little was known
            still = np.abs(values) > self.readings.records["needed"][index]
            rows, values = rows[still], values[still]
        return rows, values

    def sums(self, request: Request) -> F64:
        """Sum of each key."""
        start, _count = self.kept[self.reading[request]]
        return self.readings.values[start : start + self.keys]


def walk_for(
    rows: UncertainRows,
    requests: Sequence[Request],
    *,
    keys: I64 | None = None,
    ranks: int = 0,
    table: int = 0,
    eps: float = EPS,
) -> WalkResult:
    """Walk once over rows, none of them impossible.

    Parameters
    ----------
    keys : int64[n], optional
        Number of each row's key, from 0.
    ranks, table : int
        For how many ranks the best row, and of how many the probability, is wanted.
    """
    n = rows.prob.size
    needed = _needed(rows.prob, requests)
    own = sorted(needed, key=lambda one: (_kind(one), needed[one]))
    blocks = blocks_for(max([1, min(n, ranks), min(n, table), *(_ranks_of(one, n) for one in own)]))
    ends = np.minimum(n, -(-reach(rows.prob, np.arange(1, blocks + 1) * BLOCK, eps) // FEW) * FEW)
    reached = int(ends.max(initial=0))
    known_keys = 0 if keys is None else int(keys.max(initial=-1)) + 1
    records, numbers = _records(own, needed, n)
    room = _give_room(records, rows.prob[:reached], ends, known_keys)
    readings = Readings(
        records,
        numbers,
        rows=np.empty(room if any(not one.by_key for one in own) else 0, np.int64),
        values=np.zeros(room),
        key=np.zeros(0, np.int64) if keys is None else keys,
        best_value=np.zeros(blocks * BLOCK if ranks else 0),
        best_row=np.zeros(blocks * BLOCK if ranks else 0, np.int64),
        table=np.zeros((reached if table else 0, blocks * BLOCK)),
        ends=ends,
        eps=eps,
    )
    walk(rows, readings)
    kept = list(zip(records["at"].tolist(), records["count"].tolist()))
    return WalkResult({one: index for index, one in enumerate(own)}, readings, kept, known_keys)


def _records(own: Sequence[Request], needed: dict[Request, float], n: int) -> tuple[NDArray[np.void], F64]:
    """A record for each request, without room for what it will keep; and the numbers that they use."""
    heaps = [min(one.best, n) if one.weights else 0 for one in own]
    weights = [_whole_blocks(one.weights[:n]) for one in own]
    edges = [0, *accumulate([*heaps, *(one.size for one in weights)])]
    records = np.zeros(len(own), READING)
    for at, one in enumerate(own):
        size = max(map(abs, one.weights), default=1.0) or 1.0
        heap, heap_end = edges[at : at + 2]
        start, stop = edges[len(own) + at : len(own) + at + 2]
        nothing = (0, 0, 0)  # known, at, count
        records[at] = (
            _ranks_of(one, n), _kind(one), size, needed[one], _share_kept(one), heap, heap_end, start, stop, *nothing
        )  # fmt: skip
    return records, np.concatenate([np.zeros(edges[len(own)]), *weights])


def _give_room(records: NDArray[np.void], prob: F64, ends: I64, keys: int) -> int:
    """Say where each reading's values begin; how many there may be.

    A row is kept only where its probability exceeds what is needed, and before its ranks are over.
    """
    enough = np.full(records.size, keys)
    chosen = records["kind"] != SUM
    if chosen.any():
        least = records["needed"] / records["size"] * (1.0 - NEARLY)
        few = np.minimum(prob.size - np.searchsorted(np.sort(prob), least), ends[(records["k"] - 1) // BLOCK])
        enough = np.where(chosen, few, enough)
    room = np.cumsum(enough)
    records["at"] = room - enough
    return int(enough.sum())


def _needed(prob: F64, requests: Sequence[Request]) -> dict[Request, float]:
    """For each request the value above which it has to know of a row, as far as it is known before the walk."""
    most = {one.best for one in requests if _kind(one) == CHOICE and one.best}
    ks = sorted(k for k in most if k <= prob.size)
    bounds = dict(zip(ks, kth_largest_at_least(prob, np.array(ks, np.int64)).tolist() if ks else ()))
    needed = {}
    for one in requests:
        if one.by_key:
            needed[one] = -1.0
        else:
            known = one.least or (0.0 if one.weights else bounds.get(one.best, 0.0))
            needed[one] = known * _share_kept(one)
    return needed


def _kind(request: Request) -> int:
    return SUM if request.by_key else WEIGHTED if request.weights else CHOICE


def _ranks_of(request: Request, n: int) -> int:
    return max(1, min(n, len(request.weights) or request.k))


def _share_kept(request: Request) -> float:
    """The part of the least wanted value from which on a row is kept."""
    return (1.0 - NEARLY) / (1.0 + request.margin)


def _whole_blocks(weights: tuple[float, ...]) -> F64:
    whole = np.zeros((blocks_for(len(weights)) + 1) * BLOCK if weights else 0)
    whole[: len(weights)] = weights
    return whole
