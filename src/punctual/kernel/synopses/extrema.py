"""Smallest and greatest values, of every type that Spark orders.

Model
-----
State: ``x``, of the argument's type, NULL where a cell has no value. Values are compared as keys (``order.py``): NaN is
the greatest double, -0.0 is kept as 0.0, strings compare by their UTF-8 bytes.

Cost: some three nanoseconds per row for numbers; strings pay for their dictionary. A range of cells takes at most
``2 * log2(n) + 2`` comparisons (``rangefold.py``). Oracle: ``tests/oracles/aggregates.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.arrays.order import keyed
from punctual.kernel.arrays.rangefold import best, compact
from punctual.kernel.arrays.state import I64, Bools, State, as_type, present
from punctual.kernel.compiled import compiled

_FUNCTIONS = {"minimum": "min", "maximum": "max"}


class Extremum:
    """The smallest (``minimum``) or greatest (``maximum``) value of a cell.

    Examples
    --------
    >>> least = Extremum("minimum")
    >>> x = pa.array(["pear", None, "fig"])
    >>> least.lift(np.array([0, 0, 1]), 3, x, np.zeros(3, np.int64), ())["x"].to_pylist()
    ['pear', 'fig', None]
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError(f"{self.kind} needs an argument")
        cell, argument = present(cell, argument)
        values = keyed(argument)
        least, found = smallest(cell, cells, self._ascending(values.keys))
        positions = np.where(found, np.cumsum(found) - 1, 0)
        return {"x": values.values(self._ascending(least[found])).take(pa.array(positions, mask=~found))}

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        state, starts, ends = compact(state, starts, ends)
        x = state["x"]
        valid = x.is_valid().to_numpy(zero_copy_only=False)
        keys = np.zeros(len(x), np.int64)
        keys[valid] = self._ascending(keyed(x.drop_null()).keys)
        positions = best(keys, valid, starts, ends)
        return {"x": x.take(pa.array(positions, mask=positions < 0))}

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        if function != _FUNCTIONS[self.kind]:
            raise InternalError(f"function {function} does not read the synopsis {self.kind}")
        return as_type(state["x"], result_type), None

    def _ascending(self, keys: I64) -> I64:
        """Keys such that the wanted value has the smallest; its own inverse."""
        return keys if self.kind == "minimum" else ~keys


@compiled
def smallest(cell: I64, cells: int, keys: I64) -> tuple[I64, Bools]:
    """The smallest key of each cell, and whether it has any."""
    least = np.zeros(cells, np.int64)
    found = np.zeros(cells, np.bool_)
    for i in range(cell.size):
        c = cell[i]
        if not found[c] or keys[i] < least[c]:
            least[c] = keys[i]
            found[c] = True
    return least, found
