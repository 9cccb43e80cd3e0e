"""Which values, and how often: percentiles, and the aggregates of DISTINCT values.

Model
-----
State: ``exact`` list<argument's type>, the values in ascending order, and ``counts`` list<int64>; or, for a cell with
more than ``cap`` values, ``buckets`` list<int32> in ascending order and ``bucket_counts`` list<int64> (``buckets.py``).
A cell has one of the two forms. NaN is a value, the greatest one; -0.0 is 0.0.

Invariants
----------
A cell is in buckets exactly when its rows have more than ``cap`` values: a part that is in buckets has too many by
itself. So the form, like the buckets, is a function of the rows, and merges are order-free. Without a cap (DISTINCT)
nothing is ever put into buckets. Taking a part out of a whole in buckets leaves buckets, exact in their counts.

Cost: some hundred nanoseconds per row (a sort); a merge is linear in entries times the logarithm of the cells merged.
Oracle: ``tests/oracles/aggregates.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.errors import InternalError
from punctual.kernel.arrays.order import Keyed, is_number, keyed, values_of
from punctual.kernel.arrays.ragged import Tally, collapse, lists_of, of_rows, offsets_of, select, take_lists, union
from punctual.kernel.arrays.rangefold import fold
from punctual.kernel.arrays.state import F64, I64, Bools, State, as_type, height, present
from punctual.kernel.synopses import buckets as log
from punctual.kernel.synopses.sums import Sum


class Values:
    """The values of a cell and their counts.

    Parameters
    ----------
    cap : int, optional
        How many values a cell keeps exactly; None keeps all.

    Examples
    --------
    >>> values = Values(cap=1024)
    >>> x = pa.array([3, 1, 3, None, 2])
    >>> state = values.lift(np.zeros(5, np.int64), 1, x, np.zeros(5, np.int64), ())
    >>> state["exact"].to_pylist(), state["counts"].to_pylist()
    ([[1, 2, 3]], [[1, 1, 2]])
    >>> values.finish("approx_percentile", (0.5,), state, None)[0].to_pylist()
    [2]
    """

    kind = "values"

    def __init__(self, cap: int | None = None) -> None:
        self.cap = cap

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError("values need an argument")
        cell, argument = present(cell, argument)
        coded = keyed(argument)
        none = Tally(np.zeros(cells + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        return self._capped(of_rows(cell, cells, coded.keys), none, coded)

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        return fold(state, starts, ends, self._merge)

    def subtract(self, whole: State, part: State) -> State:
        """Cell by cell, the values of ``whole`` with those of ``part`` taken out; ``part`` is contained in it."""
        cells = height(whole)
        both = {name: pa.concat_arrays([whole[name], part[name]]) for name in whole}
        pairs = np.arange(2 * cells).reshape(2, cells).T.ravel()
        bounds = np.arange(0, 2 * cells + 1, 2)
        exact, buckets, coded = _tallies(both, pairs, bounds, negate=np.arange(2 * cells) >= cells)
        bucketed = _lengths(whole["buckets"]) > 0
        exact, buckets = _moved(exact, buckets, coded, bucketed)
        return _state(_without_zeros(exact), _without_zeros(buckets), coded)

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        if function == "approx_percentile":
            return _percentiles(parameters[0], state, result_type)
        if function not in ("count", "sum", "avg"):
            raise InternalError(f"function {function} does not read the synopsis values")
        if self.cap is not None:
            raise InternalError(f"{function} of distinct values needs all of them, not {self.cap}")
        sizes = _lengths(state["exact"])
        if function == "count":
            return as_type(pa.array(sizes), result_type), None
        cell = np.repeat(np.arange(sizes.size), sizes)
        total = Sum()
        sums = total.lift(cell, sizes.size, state["exact"].flatten(), np.zeros_like(cell), ())
        return total.finish(function, (), sums, result_type)

    def _merge(self, state: State, members: I64, offsets: I64) -> State:
        exact, buckets, coded = _tallies(state, members, offsets)
        return self._capped(exact, buckets, coded)

    def _capped(self, exact: Tally, buckets: Tally, coded: Keyed) -> State:
        over = buckets.sizes > 0
        if self.cap is not None:
            over |= exact.sizes > self.cap
        return _state(*_moved(exact, buckets, coded, over), coded)


def _moved(exact: Tally, buckets: Tally, coded: Keyed, over: Bools) -> tuple[Tally, Tally]:
    """The values of cells that are over, moved to their buckets."""
    if not over.any():
        return exact, buckets
    many = select(exact, over)
    return select(exact, ~over), union(buckets, Tally(many.offsets, _bucket(coded, many.keys), many.counts))


def _state(exact: Tally, buckets: Tally, coded: Keyed) -> State:
    return {
        "exact": lists_of(exact.offsets, coded.values(exact.keys)),
        "counts": lists_of(exact.offsets, pa.array(exact.counts)),
        "buckets": lists_of(buckets.offsets, pa.array(buckets.keys.astype(np.int32))),
        "bucket_counts": lists_of(buckets.offsets, pa.array(buckets.counts)),
    }


def _tallies(state: State, members: I64, offsets: I64, negate: Bools | None = None) -> tuple[Tally, Tally, Keyed]:
    """The two forms of each group of member cells, collapsed; counts of cells to ``negate`` are taken off."""
    bounds, values = take_lists(state["exact"], members, offsets)
    coded = keyed(values)
    exact_counts = take_lists(state["counts"], members, offsets)[1].to_numpy()
    bucket_bounds, numbers = take_lists(state["buckets"], members, offsets)
    bucket_counts = take_lists(state["bucket_counts"], members, offsets)[1].to_numpy()
    if negate is not None:
        off = np.where(negate[members], -1, 1)
        exact_counts = exact_counts * np.repeat(off, _lengths(state["exact"])[members])
        bucket_counts = bucket_counts * np.repeat(off, _lengths(state["buckets"])[members])
    exact = collapse(Tally(bounds, coded.keys, exact_counts))
    buckets = collapse(Tally(bucket_bounds, numbers.to_numpy().astype(np.int64), bucket_counts))
    return exact, buckets, coded


def _lengths(lists: pa.Array) -> I64:
    lengths: I64 = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    return lengths


def _without_zeros(tally: Tally) -> Tally:
    keep = tally.counts != 0
    sizes = np.bincount(tally.groups[keep], minlength=tally.offsets.size - 1)
    return Tally(offsets_of(sizes), tally.keys[keep], tally.counts[keep])


def _bucket(coded: Keyed, keys: I64) -> I64:
    """Buckets of values given by their keys."""
    if pa.types.is_floating(coded.type):
        return log.of_doubles(coded.values(keys).cast(pa.float64()).to_numpy())
    if is_number(coded.type):
        return log.of_integers(keys)
    if pa.types.is_decimal(coded.type):
        return log.of_doubles(coded.values(keys).cast(pa.float64()).to_numpy())
    raise InternalError(f"no buckets for {coded.type}")


def _bucket_values(buckets: I64, kind: pa.DataType) -> pa.Array:
    """The value that stands for each bucket, in the argument's type."""
    if pa.types.is_floating(kind):
        return pa.array(log.middles(buckets)).cast(kind)
    if is_number(kind):
        if pa.types.is_decimal(kind):
            most = 10**kind.precision - 1
            return values_of(log.integer_middles(buckets, -most, most), kind)
        most = 2 ** (kind.bit_width - 1) - 1
        return values_of(log.integer_middles(buckets, -most - 1, most), kind)
    most_double = np.nextafter(10.0 ** (kind.precision - kind.scale), 0.0)
    return pa.array(np.clip(log.middles(buckets), -most_double, most_double)).cast(kind)


def _percentiles(
    shares: float | Sequence[float], state: State, result_type: pa.DataType | None
) -> tuple[pa.Array, pa.Array]:
    """The smallest value whose cumulative count reaches ``ceil(share * n)``, and its error.

    Several shares give one list per cell, and the greatest of their errors.
    """
    kind = state["exact"].type.value_type
    wanted = np.atleast_1d(np.asarray(shares, np.float64))
    cells = height(state)
    positions, bucketed, empty = _ranked(state, wanted)
    exact = state["exact"].flatten().take(pa.array(positions, mask=bucketed | empty))
    numbers = np.append(state["buckets"].flatten().to_numpy().astype(np.int64), 0)
    chosen = numbers[np.where(bucketed, positions, numbers.size - 1)]
    values = pc.if_else(pa.array(bucketed), _bucket_values(chosen, kind), exact)
    if result_type is not None:
        values = as_type(values, result_type.value_type if pa.types.is_list(result_type) else result_type)
    error = np.where(bucketed & ~log.is_exact(chosen), _errors(chosen, kind), np.nan)
    if isinstance(shares, int | float):
        return values, pa.array(error, mask=np.isnan(error))
    lists = pa.ListArray.from_arrays(
        pa.array(np.arange(cells + 1, dtype=np.int32) * wanted.size), values, mask=pa.array(empty[:: wanted.size])
    )
    widest = np.fmax.reduce(error.reshape(cells, wanted.size), axis=1)
    return lists, pa.array(widest, mask=np.isnan(widest))


def _ranked(state: State, wanted: F64) -> tuple[I64, Bools, Bools]:
    """For each cell and share: the entry that has its rank, whether it is a bucket, whether the cell is empty.

    Ranks are looked up in the running total over all cells, so a single binary search serves them all.
    """
    bucketed = np.repeat(_lengths(state["buckets"]) > 0, wanted.size)
    positions = np.zeros(bucketed.size, np.int64)
    empty = ~bucketed & np.repeat(_lengths(state["exact"]) == 0, wanted.size)
    for name, mine in (("counts", ~bucketed & ~empty), ("bucket_counts", bucketed)):
        running = np.cumsum(state[name].flatten().to_numpy())
        bounds = offsets_of(_lengths(state[name]))
        totals = np.append(0, running)[bounds]
        rank = np.maximum(np.ceil(wanted[None, :] * np.diff(totals)[:, None]), 1.0).astype(np.int64)
        found = np.searchsorted(running, (totals[:-1, None] + rank).ravel(), side="left")
        positions[mine] = found[mine]
    return positions, bucketed, empty


def _errors(chosen: I64, kind: pa.DataType) -> F64:
    """Half-widths around the middles of buckets, in units of the argument (days, microseconds for times)."""
    sizes = np.abs(log.middles(chosen))
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    scale = 10.0**kind.scale if pa.types.is_decimal(kind) and is_number(kind) else 1.0
    return log.ALPHA * sizes / scale
