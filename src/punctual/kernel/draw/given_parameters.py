"""Parameters of distributions as rows come with them, in columns of Arrow: which rows have some that mean nothing.

The rules are those of ``distributions.py``, asked before a row counts. A row that lacks a parameter has none that mean
anything, too.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.kernel.arrays.ragged import offsets_of
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.draw.distributions import Normal, Uniform, Weighted


def faulty_parameters(kind: Literal["NORMAL", "UNIFORM", "DISCRETE"], one: pa.Array, other: pa.Array) -> Bools:
    """Rows whose parameters mean nothing.

    >>> faulty_parameters("UNIFORM", pa.array([1, 2, None]), pa.array([1.5, 1.5, 1.5])).tolist()
    [False, True, True]
    >>> faulty_parameters("DISCRETE", pa.array([["a", "b"], ["a"]]), pa.array([[0, 1], [1, 1]])).tolist()
    [False, True]
    """
    match kind:
        case "NORMAL":
            return Normal(_doubles(one), _doubles(other)).faulty()
        case "UNIFORM":
            return Uniform(_doubles(one), _doubles(other)).faulty()
        case "DISCRETE":
            return _faulty_lists(one, other)


def _faulty_lists(values: pa.Array, weights: pa.Array) -> Bools:
    """Lists of unequal length, or without any weight, or with a member that is none."""
    sizes, others = _sizes(values), _sizes(weights)
    members = values.flatten()
    none: Bools = members.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(members.type):
        none = ~np.isfinite(_doubles(members))
    row = np.repeat(np.arange(sizes.size), sizes)
    unequal: Bools = (sizes != others) | (np.bincount(row, none, sizes.size) > 0)
    return unequal | Weighted.faulty(offsets_of(others), _doubles(weights.flatten()))


def _sizes(lists: pa.Array) -> I64:
    found: I64 = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    return found


def _doubles(numbers: pa.Array) -> F64:
    """As DOUBLE, to the nearest as Java does; NULL as NaN.

    >>> from decimal import Decimal
    >>> _doubles(pa.array([Decimal("1.10"), None])).tolist()
    [1.1, nan]
    """
    if pa.types.is_decimal(numbers.type):
        numbers = numbers.cast(pa.string())  # Arrow's own way is not to the nearest: of 9.9400 it is above that of 9.94
    found: F64 = numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found
