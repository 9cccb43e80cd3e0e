"""What the tests of synopses share: rows to states, and states to bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from punctual.kernel.synopses.synopsis import State, Synopsis


def lift(synopsis: Synopsis, values: pa.Array, cell: Sequence[int] | None = None, cells: int = 1) -> State:
    """Rows without ties, at times 0, 1, 2, ...; all in one cell unless told."""
    rows = len(values)
    cell_array = np.zeros(rows, np.int64) if cell is None else np.asarray(cell, np.int64)
    return synopsis.lift(cell_array, cells, values, np.arange(rows), ())


def answer(
    synopsis: Synopsis, function: str, values: pa.Array, result_type: pa.DataType | None = None, parameters: Any = ()
) -> Any:
    """The function over all values in one cell."""
    out, _ = synopsis.finish(function, parameters, lift(synopsis, values), result_type)
    out.validate(full=True)
    return out[0].as_py()


def stack(*states: State) -> State:
    return {name: pa.concat_arrays([state[name] for state in states]) for name in states[0]}


def whole(synopsis: Synopsis, state: State) -> State:
    """All cells merged into one."""
    rows = len(next(iter(state.values())))
    return synopsis.combine(state, np.array([0]), np.array([rows]))


def content(state: State) -> str:
    """The state as text: equal states, equal text, to the last bit and with NaN equal to itself."""
    for column in state.values():
        column.validate(full=True)
    return repr([(name, str(column.type), column.to_pylist()) for name, column in state.items()])
