"""First and last values, by event time and never by arrival.

Model
-----
Rows are ordered by event time, then by the tie columns in declared order, then by the argument, as Spark orders (NULL
first, NaN last; lists, structs and maps by their text). ``first`` is the argument of the smallest row, ``last`` of the
greatest. Rows that are equal in all of this have equal arguments, so the answer does not depend on which is taken.

State: ``t`` int64, the row's event time, NULL where a cell has no row; ``x``, its argument (may be NULL); ``tie0``,
``tie1``, ...: its tie columns.

Design
------
Rows are narrowed column by column: those at a cell's best time, of these the best in the first tie, and so on until a
row per cell is left. Ties are read only for rows that tie, so a lift costs little more than an extremum of times, and
so does a merge of short ranges. Long overlapping ranges rank all cells once, and look for the smallest rank.
Oracle: ``tests/oracles/aggregates.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.arrays.order import ranks
from punctual.kernel.arrays.rangefold import best, is_short, walk
from punctual.kernel.arrays.state import I64, State, as_type, height
from punctual.kernel.synopses.extrema import smallest


class End:
    """The argument of the first or last row of a cell.

    Parameters
    ----------
    kind : str
        ``first`` or ``last``.
    ignore_nulls : bool
        Leave out rows whose argument is NULL.

    Examples
    --------
    >>> last = End("last", ignore_nulls=False)
    >>> state = last.lift(np.array([0, 0, 0]), 1, pa.array(["a", "b", "c"]), np.array([1, 3, 2]), ())
    >>> last.finish("last", (), state, None)[0].to_pylist()
    ['b']
    """

    def __init__(self, kind: str, ignore_nulls: bool) -> None:
        self.kind = kind
        self.ignore_nulls = ignore_nulls

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError(f"{self.kind} needs an argument")
        rows = np.arange(cell.size)
        if self.ignore_nulls and argument.null_count:
            rows = rows[argument.is_valid().to_numpy(zero_copy_only=False)]
        columns = {"t": pa.array(times), "x": argument, **{f"tie{k}": column for k, column in enumerate(ties)}}
        return _picked(columns, self._narrowed(columns, rows, cell[rows], cells))

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        valid = state["t"].is_valid().to_numpy(zero_copy_only=False)
        if is_short(height(state), starts, ends):
            members, _ = walk(starts, ends)
            ranges = np.repeat(np.arange(starts.size), ends - starts)
            used = valid[members]
            return _picked(state, self._narrowed(state, members[used], ranges[used], starts.size))
        order = np.lexsort([ranks(column) for column in reversed(_by_rank(state))])
        keys = np.empty(order.size, np.int64)
        keys[order] = np.arange(order.size)
        return _picked(state, best(self._ascending(keys), valid, starts, ends))

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        if function != self.kind:
            raise InternalError(f"function {function} does not read the synopsis {self.kind}")
        return as_type(state["x"], result_type), None

    def _ascending(self, keys: I64) -> I64:
        """Keys such that the wanted row has the smallest."""
        return keys if self.kind == "first" else ~keys

    def _narrowed(self, columns: State, rows: I64, cell: I64, cells: int) -> I64:
        """The wanted row of each cell, -1 for none; ``cell[i]`` is the cell of row ``rows[i]``."""
        for column in _by_rank(columns):
            values = column.take(pa.array(rows))
            keys = self._ascending(values.to_numpy() if column is columns["t"] else ranks(values))
            least, _ = smallest(cell, cells, keys)
            kept = keys == least[cell]
            rows, cell = rows[kept], cell[kept]
            if np.bincount(cell, minlength=1).max() <= 1:
                break
        chosen = np.full(cells, -1, np.int64)
        chosen[cell] = rows  # rows of a cell that tie to the end are equal: any of them
        return chosen


def _by_rank(columns: State) -> list[pa.Array]:
    """Columns in the order in which they decide."""
    return [columns["t"], *(columns[f"tie{k}"] for k in range(len(columns) - 2)), columns["x"]]


def _picked(columns: State, positions: I64) -> State:
    indices = pa.array(positions, mask=positions < 0)
    return {name: column.take(indices) for name, column in columns.items()}
