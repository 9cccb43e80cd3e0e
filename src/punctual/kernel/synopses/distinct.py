"""How many different values, approximately: exact while few, a HyperLogLog beyond.

Model
-----
State: ``hashes`` list<int64>, the values' 64-bit hashes in ascending order, while there are at most ``2**p / 8`` of
them; beyond, ``registers`` large_binary of ``2**p`` bytes. A cell has one of the two forms. A hash's upper p bits
choose a register, which keeps the greatest position of the first one among its other bits.

Invariants
----------
Which form a cell has depends on how many hashes its rows have, and registers are maxima: merges are order-free. The
estimate is read off the registers alone; it is Ertl's improved raw estimator, which needs no tables and no switch
between ranges. Its standard error is ``1.04 / sqrt(2**p)``. Hashes are the same on every machine; NaN is one
value, -0.0 is 0.0, and integers of any width hash alike.

Cost: some twenty nanoseconds per row, and a sort of each cell's hashes while they are few; a merge of registers is
``2**p`` byte maxima. Oracle: Python's set, in ``tests/oracles/aggregates.py``.

References
----------
Otmar Ertl: New cardinality estimation algorithms for HyperLogLog sketches (2017), algorithms 4 to 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.ragged import Tally, collapse, gather, lists_of, offsets_of, select, take_lists
from punctual.kernel.arrays.rangefold import fold
from punctual.kernel.arrays.state import F64, I64, State, as_type, present
from punctual.kernel.compiled import compiled
from punctual.kernel.synopses.hashing import hashes_of

U8 = NDArray[np.uint8]
TWICE_LN_2 = 1.3862943611198906


def precision_for(rsd: float = 0.05) -> int:
    """The p for a wanted relative standard deviation, as Spark chooses it: from 4 up.

    Examples
    --------
    >>> precision_for(), precision_for(0.01)
    (9, 14)
    """
    return max(4, math.ceil(2.0 * math.log2(1.106 / rsd)))


class Distinct:
    """The different values of a cell.

    Parameters
    ----------
    precision : int
        p, from 4 to 24: there are ``2**p`` registers.

    Examples
    --------
    >>> distinct = Distinct(precision_for(0.05))
    >>> x = pa.array(["a", "b", "a", None])
    >>> state = distinct.lift(np.zeros(4, np.int64), 1, x, np.zeros(4, np.int64), ())
    >>> distinct.finish("approx_count_distinct", (), state, None)[0].to_pylist()
    [2]
    """

    kind = "distinct"

    def __init__(self, precision: int) -> None:
        if not 4 <= precision <= 24:
            raise InternalError(f"no HyperLogLog of precision {precision}")
        self.precision = precision
        self.limit = 2**precision // 8

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError("distinct needs an argument")
        cell, argument = present(cell, argument)
        offsets = offsets_of(np.bincount(cell, minlength=cells))
        hashes = gather(cell, offsets[:-1].copy(), hashes_of(argument))
        sizes, few = small_sets(offsets, hashes, self.limit)
        over = sizes > self.limit
        registers = np.zeros((int(over.sum()), 2**self.precision), np.uint8)
        many = np.repeat(over, np.diff(offsets))
        row = np.repeat(np.cumsum(over) - 1, np.diff(offsets))
        add_hashes(registers, row[many], hashes[many], self.precision)
        tally = Tally(offsets_of(np.where(over, 0, sizes)), few, np.ones(few.size, np.int64))
        return self._state(collapse(tally), over, registers)

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        return fold(state, starts, ends, self._merge)

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        if function != "approx_count_distinct":
            raise InternalError(f"function {function} does not read the synopsis distinct")
        counts = np.diff(state["hashes"].offsets.to_numpy()).astype(np.float64)
        starts, data = _bytes(state["registers"])
        over = np.diff(starts) > 0
        counts[over] = estimates(data, starts[:-1][over], self.precision)
        error = np.where(over, 1.04 / math.sqrt(2.0**self.precision) * counts, np.nan)
        values = pa.array(np.rint(counts).astype(np.int64))
        return as_type(values, result_type), pa.array(error, mask=~over)

    def _merge(self, state: State, members: I64, offsets: I64) -> State:
        bounds, hashes = take_lists(state["hashes"], members, offsets)
        tally = collapse(Tally(bounds, hashes.to_numpy(), np.ones(len(hashes), np.int64)))
        starts, data = _bytes(state["registers"])
        holders = np.diff(starts)[members] > 0
        over = (tally.sizes > self.limit) | (np.diff(np.append(0, np.cumsum(holders))[offsets]) > 0)
        registers = np.zeros((int(over.sum()), 2**self.precision), np.uint8)
        group = np.repeat(np.cumsum(over) - 1, np.diff(offsets))
        take_maxima(registers, data, starts[members[holders]], group[holders])
        return self._state(tally, over, registers)

    def _state(self, tally: Tally, over: NDArray[np.bool_], registers: U8) -> State:
        """Cells that are over keep registers, to which their hashes are added; the others their hashes."""
        moved = select(tally, over)
        add_hashes(registers, (np.cumsum(over) - 1)[moved.groups], moved.keys, self.precision)
        few = select(tally, ~over)
        starts = offsets_of(np.where(over, 2**self.precision, 0))
        buffers = [None, pa.py_buffer(starts), pa.py_buffer(registers)]
        return {
            "hashes": lists_of(few.offsets, pa.array(few.keys)),
            "registers": pa.Array.from_buffers(pa.large_binary(), over.size, buffers),
        }


def _bytes(column: pa.Array) -> tuple[I64, U8]:
    """Where each value of a large_binary column starts (and the last one ends), and the bytes."""
    _, starts, data = column.buffers()
    offsets = np.frombuffer(starts, np.int64)[column.offset : column.offset + len(column) + 1]
    return offsets, np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)


@compiled
def small_sets(offsets: I64, hashes: I64, limit: int) -> tuple[I64, I64]:
    """How many different hashes each group has, and those of groups with at most ``limit``; more count as limit + 1.

    One open hash table serves all groups: a slot is taken when it bears the number of the group at hand.
    """
    widest = 0
    for g in range(offsets.size - 1):
        widest = max(widest, offsets[g + 1] - offsets[g])
    slots = 2
    while slots < 2 * min(widest, limit) + 2:
        slots *= 2
    table, owner = np.zeros(slots, np.int64), np.full(slots, -1, np.int64)
    sizes, out, done = np.zeros(offsets.size - 1, np.int64), np.empty(hashes.size, np.int64), 0
    for g in range(offsets.size - 1):
        for i in range(offsets[g], offsets[g + 1]):
            slot = hashes[i] & (slots - 1)
            while owner[slot] == g and table[slot] != hashes[i]:
                slot = (slot + 1) & (slots - 1)
            if owner[slot] == g:
                continue
            if sizes[g] == limit:
                done -= limit
                sizes[g] = limit + 1
                break
            owner[slot], table[slot] = g, hashes[i]
            out[done] = hashes[i]
            done += 1
            sizes[g] += 1
    return sizes, out[:done].copy()


@compiled
def add_hashes(registers: U8, row: I64, hashes: I64, precision: int) -> None:
    """Raise the register of each hash to the position of the first one among its lower bits."""
    rest = 64 - precision
    for i in range(hashes.size):
        register = (hashes[i] >> rest) & ((1 << precision) - 1)
        lower = hashes[i] & ((1 << rest) - 1)
        position = 1
        while position <= rest and not (lower >> (rest - position)) & 1:
            position += 1
        registers[row[i], register] = max(registers[row[i], register], position)


@compiled
def take_maxima(registers: U8, data: U8, starts: I64, row: I64) -> None:
    """Raise row ``row[k]`` to the registers that start at ``data[starts[k]]``."""
    size = registers.shape[1]
    for k in range(starts.size):
        for r in range(size):
            registers[row[k], r] = max(registers[row[k], r], data[starts[k] + r])


@compiled
def _tau(share: float) -> float:
    if share == 0.0 or share == 1.0:
        return 0.0
    weight, total, before = 1.0, 1.0 - share, 0.0
    while total != before:
        share = math.sqrt(share)
        before = total
        weight *= 0.5
        total -= (1.0 - share) ** 2 * weight
    return total / 3.0


@compiled
def _sigma(share: float) -> float:
    if share == 1.0:
        return math.inf
    weight, total, before = 1.0, share, 0.0
    while total != before:
        share *= share
        before = total
        total += share * weight
        weight *= 2.0
    return total


@compiled
def estimates(data: U8, starts: I64, precision: int) -> F64:
    """How many hashes filled the registers that start at each place."""
    size, rest = 1 << precision, 64 - precision
    out = np.empty(starts.size, np.float64)
    histogram = np.zeros(rest + 2, np.int64)
    for i in range(starts.size):
        histogram[:] = 0
        for r in range(size):
            histogram[data[starts[i] + r]] += 1
        z = size * _tau(1.0 - histogram[rest + 1] / size)
        for k in range(rest, 0, -1):
            z = 0.5 * (z + histogram[k])
        z += size * _sigma(histogram[0] / size)
        out[i] = size * size / TWICE_LN_2 / z
    return out
