"""Variances and standard deviations, from exact sums of values and of their squares.

Model
-----
State: ``n`` int64; ``low`` and ``digits``, the exact sum of the values; ``square_low`` and ``square_digits``, the exact
sum of their squares; ``nan``, ``pinf``, ``ninf``. Integers and decimals become doubles first, as Spark casts them.

The textbook formula ``n * sum(x*x) - sum(x)**2`` loses everything to cancellation in floating point and nothing in
integers: it is evaluated exactly, is never negative, and is rounded once, after it was divided; a standard deviation is
the root of that. So a variance depends on the set of values alone, however far from zero they lie, and no intermediate
square overflows.

Cost: twenty to sixty nanoseconds per row; a finished cell of w limbs costs ``4 * w * w`` multiplications.
Oracle: ``tests/oracles/aggregates.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.rangefold import compact
from punctual.kernel.arrays.state import F64, I64, State, as_type, int64s, present, range_totals, rows_in
from punctual.kernel.compiled import compiled
from punctual.kernel.synopses.limbs import (
    FRACTION,
    SQUARE_UNIT,
    carried,
    divide,
    leading,
    magnitude,
    nearest,
    range_sums,
    sum_doubles,
    sum_squares,
)
from punctual.kernel.synopses.sums import SPECIALS, doubles, exact_sums, finite

_FUNCTIONS = {"var_samp": 1, "stddev_samp": 1, "var_pop": 0, "stddev_pop": 0}


class Moments:
    """Number, exact sum and exact sum of squares of the values of a cell.

    Examples
    --------
    >>> moments = Moments()
    >>> x = pa.array([1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0])
    >>> state = moments.lift(np.zeros(3, np.int64), 1, x, np.zeros(3, np.int64), ())
    >>> moments.finish("var_samp", (), state, None)[0].to_pylist()
    [1.0]
    """

    kind = "moments"

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError("moments need an argument")
        cell, argument = present(cell, argument)
        state: State = {"n": pa.array(rows_in(cell, cells))}
        if pa.types.is_integer(argument.type):
            values = argument.to_numpy().astype(np.float64)  # rounds beyond 2**53, which an Arrow cast refuses
        else:
            values = doubles(argument)
        cell, bits, specials = finite(cell, cells, values)
        state["low"], state["digits"] = carried(sum_doubles(cell, cells, bits)).columns()
        state["square_low"], state["square_digits"] = carried(sum_squares(cell, cells, bits)).columns()
        return state | specials

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        state, starts, ends = compact(state, starts, ends)
        merged = {"n": range_totals(state["n"], starts, ends)}
        for prefix in ("", "square_"):
            sums = range_sums(exact_sums(state, prefix).loose(), starts, ends)
            merged[prefix + "low"], merged[prefix + "digits"] = carried(sums).columns()
        return merged | {name: range_totals(state[name], starts, ends) for name in SPECIALS}

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        if function not in _FUNCTIONS:
            raise InternalError(f"function {function} does not read the synopsis moments")
        lost = _FUNCTIONS[function]
        sums, squares, n = exact_sums(state), exact_sums(state, "square_"), int64s(state["n"])
        values = _variances(
            n, lost, sums.low, sums.offsets, sums.digits, squares.low, squares.offsets, squares.digits
        )
        if function.startswith("stddev"):
            values = np.sqrt(values)
        odd = np.zeros(n.size, np.bool_)
        for name in SPECIALS:
            odd |= int64s(state[name]) > 0
        values = np.where(odd, np.nan, values)
        return as_type(pa.array(values, mask=n <= lost), result_type), None


@compiled
def _variances(
    n: I64,
    lost: int,
    low: I64,
    offsets: I64,
    digits: NDArray[np.int32],
    square_low: I64,
    square_offsets: I64,
    square_digits: NDArray[np.int32],
) -> F64:
    """``(n * squares - sum**2) / (n * (n - lost))``, rounded once; the numerator exact, in digits of 16 bits.

    The count is one of finite and other rows alike; where there are others the caller discards the value.
    """
    out = np.zeros(n.size, np.float64)
    widest, widest_square = 0, 0
    for i in range(n.size):
        widest = max(widest, offsets[i + 1] - offsets[i])
        widest_square = max(widest_square, square_offsets[i + 1] - square_offsets[i])
    limbs = np.zeros(max(widest, widest_square) + 1, np.int64)
    single = np.zeros(2 * widest + 2, np.int64)
    # Squares reach from the lowest to the highest limb that either operand can have.
    numerator = np.zeros(2 * (2 * SQUARE_UNIT + 16) + FRACTION, np.int64)
    for i in range(n.size):
        width, square_width = offsets[i + 1] - offsets[i], square_offsets[i + 1] - square_offsets[i]
        if n[i] <= lost or square_width == 0:
            continue
        base = square_low[i]
        if width > 0:
            base = min(base, 2 * low[i])
        size = FRACTION + 2 * max(square_low[i] + square_width + 3, 2 * (low[i] + width) + 1) - 2 * base
        numerator[:size] = 0

        magnitude(square_digits, square_offsets[i], square_offsets[i + 1], limbs)
        shift = FRACTION + 2 * (square_low[i] - base)
        for k in range(2 * square_width):
            half = (limbs[k >> 1] >> (16 * (k & 1))) & 0xFFFF
            for j in range(4):
                numerator[shift + k + j] += half * ((n[i] >> (16 * j)) & 0xFFFF)

        magnitude(digits, offsets[i], offsets[i + 1], limbs)
        for k in range(2 * width):
            single[k] = (limbs[k >> 1] >> (16 * (k & 1))) & 0xFFFF
        shift = FRACTION + 2 * (2 * low[i] - base)
        for k in range(2 * width):
            for j in range(2 * width):
                numerator[shift + k + j] -= single[k] * single[j]

        carry = np.int64(0)
        for k in range(size):
            carry += numerator[k]
            numerator[k] = carry & 0xFFFF
            carry >>= 16
        # Whole quotients of whole quotients are those of the product, and a remainder of either is one of it.
        rest = divide(numerator, size, n[i]) + divide(numerator, size, n[i] - lost)
        head, exponent = leading(numerator, size, 16)
        out[i] = nearest(head | (rest != 0), exponent - 16 * FRACTION + 32 * (base - SQUARE_UNIT))
    return out
