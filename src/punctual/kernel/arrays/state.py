"""What a synopsis keeps: Arrow columns of equal length, one row per cell.

Model
-----
A *cell* is one pane of one group. The state of n cells is a dictionary of n-row Arrow arrays, so that it can be
written, shipped, concatenated and sliced as Arrow columns by code that knows nothing of the synopsis. Columns, their
types and their order depend on the synopsis and on the argument's type alone, never on the rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
State = dict[str, pa.Array]


def height(state: State) -> int:
    """How many cells the state has."""
    return len(next(iter(state.values())))


def int64s(array: pa.Array) -> I64:
    """The numbers of an int64 array without NULLs, not copied."""
    numbers: I64 = array.to_numpy(zero_copy_only=True)
    return numbers


def present(cell: I64, argument: pa.Array) -> tuple[I64, pa.Array]:
    """The rows whose argument is not NULL."""
    if argument.null_count == 0:
        return cell, argument
    return cell[argument.is_valid().to_numpy(zero_copy_only=False)], argument.drop_null()


@compiled
def rows_in(cell: I64, cells: int) -> I64:
    """How many rows each cell has."""
    found = np.zeros(cells, np.int64)
    for i in range(cell.size):
        found[cell[i]] += 1
    return found


def range_totals(column: pa.Array, starts: I64, ends: I64) -> pa.Array:
    """Totals of an int64 column over ranges ``[starts[j], ends[j])``, as differences of running totals."""
    running = np.zeros(len(column) + 1, np.int64)
    np.cumsum(int64s(column), out=running[1:])
    return pa.array(running[ends] - running[starts])


def as_type(values: pa.Array, wanted: pa.DataType | None) -> pa.Array:
    """Values cast to a wanted type. A column of NULLs has any type, also one that Arrow cannot cast to."""
    if wanted is None or values.type == wanted:
        return values
    return pa.nulls(len(values), wanted) if values.null_count == len(values) else values.cast(wanted)
