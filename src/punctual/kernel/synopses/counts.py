"""How many rows: all of them (``rows``), or those whose argument is not NULL (``count``).

State: ``n`` int64. Ranges are differences of running totals, so a window costs two reads however many panes it spans.
Oracle: ``tests/oracles/aggregates.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from punctual.errors import InternalError
from punctual.kernel.arrays.state import I64, State, as_type, int64s, present, range_totals, rows_in


class Count:
    """Rows of a cell.

    ``count_if`` reads the same state: its caller hands an argument that is NULL where the condition does not hold.

    Parameters
    ----------
    kind : str
        ``rows`` counts every row and takes no argument; ``count`` leaves out rows whose argument is NULL.

    Examples
    --------
    >>> import numpy as np
    >>> count = Count("count")
    >>> state = count.lift(np.array([0, 1, 1]), 3, pa.array([5, None, 6]), np.zeros(3, np.int64), ())
    >>> state["n"].to_pylist()
    [1, 1, 0]
    >>> count.combine(state, np.array([0, 1, 2]), np.array([3, 2, 2]))["n"].to_pylist()
    [2, 1, 0]
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if self.kind == "count":
            if argument is None:
                raise InternalError("count needs an argument")
            cell, _ = present(cell, argument)
        return {"n": pa.array(rows_in(cell, cells))}

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        return {"n": range_totals(state["n"], starts, ends)}

    def subtract(self, whole: State, part: State) -> State:
        """Cell by cell, the rows of ``whole`` that are not those of ``part``."""
        return {"n": pa.array(int64s(whole["n"]) - int64s(part["n"]))}

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        if function not in ("count", "count_if"):
            raise InternalError(f"function {function} does not read the synopsis {self.kind}")
        return as_type(state["n"], result_type), None
