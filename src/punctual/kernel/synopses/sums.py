"""Sums and averages, exact until the last step.

Model
-----
State: ``n`` int64, the rows whose argument is not NULL; ``low`` int16 and ``digits`` list<int32>, their exact sum
(``limbs.py``). Decimals add ``scale`` int8, and the sum is one of unscaled integers. Doubles add ``nan``, ``pinf`` and
``ninf`` int64, how many rows are not finite, so that an infinity never poisons the sum. FLOAT is widened to DOUBLE,
as Spark does.

Invariants
----------
Integers beyond int64, and decimals beyond the result's precision, give NULL; doubles are rounded once, to nearest, an
average after it was divided.
A decimal average is rounded half up at the result's scale, from the exact quotient.

Cost: some ten nanoseconds per row. Oracle: ``tests/oracles/aggregates.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.errors import InternalError
from punctual.kernel.arrays.rangefold import compact
from punctual.kernel.arrays.state import F64, I64, Bools, State, as_type, int64s, present, range_totals, rows_in
from punctual.kernel.compiled import compiled
from punctual.kernel.synopses.limbs import (
    UNIT,
    Exact,
    carried,
    magnitude,
    means,
    range_sums,
    rounded,
    sum_decimals,
    sum_doubles,
    sum_integers,
)

SPECIALS = ("nan", "pinf", "ninf")
_TENS_HIGH = np.array([10**p >> 64 for p in range(39)], np.uint64)
_TENS_LOW = np.array([10**p & (2**64 - 1) for p in range(39)], np.uint64)


class Sum:
    """Exact sum and number of the values of a cell.

    Examples
    --------
    >>> total = Sum()
    >>> x = pa.array([1e300, 1.0, -1e300, None])
    >>> state = total.lift(np.zeros(4, np.int64), 1, x, np.zeros(4, np.int64), ())
    >>> total.finish("sum", (), state, None)[0].to_pylist()
    [1.0]
    """

    kind = "sum"

    def lift(self, cell: I64, cells: int, argument: pa.Array | None, times: I64, ties: Sequence[pa.Array]) -> State:
        if argument is None:
            raise InternalError("sum needs an argument")
        cell, argument = present(cell, argument)
        state: State = {"n": pa.array(rows_in(cell, cells))}
        if pa.types.is_floating(argument.type):
            cell, bits, specials = finite(cell, cells, doubles(argument))
            sums, extra = sum_doubles(cell, cells, bits), specials
        elif pa.types.is_decimal128(argument.type):
            sums = sum_decimals(cell, cells, decimal_words(argument))
            extra = {"scale": pa.array(np.full(cells, argument.type.scale, np.int8))}
        elif pa.types.is_integer(argument.type):
            sums, extra = sum_integers(cell, cells, argument.cast(pa.int64()).to_numpy()), {}
        else:
            raise InternalError(f"no sum of {argument.type}")
        state["low"], state["digits"] = carried(sums).columns()
        return state | extra

    def combine(self, state: State, starts: I64, ends: I64) -> State:
        scale = _scale(state["scale"]) if "scale" in state else 0
        state, starts, ends = compact(state, starts, ends)
        merged = {"n": range_totals(state["n"], starts, ends)}
        sums = range_sums(exact_sums(state).loose(), starts, ends)
        merged["low"], merged["digits"] = carried(sums).columns()
        if "scale" in state:
            merged["scale"] = pa.array(np.full(starts.size, scale, np.int8))
        return merged | {name: range_totals(state[name], starts, ends) for name in SPECIALS if name in state}

    def finish(
        self, function: str, parameters: tuple[Any, ...], state: State, result_type: pa.DataType | None
    ) -> tuple[pa.Array, pa.Array | None]:
        if function not in ("sum", "avg"):
            raise InternalError(f"function {function} does not read the synopsis sum")
        average = function == "avg"
        sums, n = exact_sums(state), int64s(state["n"])
        if "scale" in state:
            return _finish_decimals(sums, n, state["scale"], average, result_type), None
        if "nan" not in state and not average and result_type != pa.float64():
            return _finish_integers(sums, n, result_type), None
        values = means(sums, n) if average else rounded(sums)
        if "nan" in state:
            values = with_specials(values, state)
        return as_type(pa.array(values, mask=n == 0), result_type), None


def doubles(argument: pa.Array) -> F64:
    """The values of a float array without NULLs, as doubles."""
    values: F64 = argument.cast(pa.float64()).to_numpy()
    return values


def finite(cell: I64, cells: int, values: F64) -> tuple[I64, I64, State]:
    """The rows that are finite, by their bits, and a cell's counts of those that are not."""
    keep = np.isfinite(values)
    if keep.all():
        return cell, values.view(np.int64), {name: pa.array(np.zeros(cells, np.int64)) for name in SPECIALS}
    masks = {"nan": np.isnan(values), "pinf": values == np.inf, "ninf": values == -np.inf}
    specials = {name: pa.array(np.bincount(cell[mask], minlength=cells)) for name, mask in masks.items()}
    return cell[keep], values[keep].view(np.int64), specials


def with_specials(values: F64, state: State) -> F64:
    """Sums of finite values, once those that are not finite have their say."""
    nan, pinf, ninf = (int64s(state[name]) > 0 for name in SPECIALS)
    values = np.where(pinf, np.inf, np.where(ninf, -np.inf, values))
    return np.where(nan | (pinf & ninf), np.nan, values)


def exact_sums(state: State, prefix: str = "") -> Exact:
    """The exact sums that a state keeps in its columns ``low`` and ``digits``."""
    return Exact.of_columns(state[prefix + "low"], state[prefix + "digits"])


def decimal_words(argument: pa.Array) -> I64:
    """Lower and upper 64 bits of decimals without NULLs, one row each."""
    if len(argument) == 0:
        return np.zeros((0, 2), np.int64)
    words = np.frombuffer(argument.buffers()[1], np.int64).reshape(-1, 2)
    return words[argument.offset : argument.offset + len(argument)]


def decimals_of(high: I64, low: I64, valid: Bools, kind: pa.DataType) -> pa.Array:
    """Decimals from their words, NULL where not valid or beyond the type's precision."""
    negative = high < 0
    # Absolute values, in two unsigned words: invert and add one.
    least, most = low.view(np.uint64), high.view(np.uint64)
    least_abs = np.where(negative, ~least + np.uint64(1), least)
    most_abs = np.where(negative, ~most + (least == 0).astype(np.uint64), most)
    top, bottom = _TENS_HIGH[kind.precision], _TENS_LOW[kind.precision]
    fits = (most_abs < top) | ((most_abs == top) & (least_abs < bottom))
    valid = valid & fits
    words = np.stack([np.where(valid, low, 0), np.where(valid, high, 0)], axis=1)
    bitmap = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, valid.size, [bitmap, pa.py_buffer(np.ascontiguousarray(words))])


def _scale(scales: pa.Array) -> int:
    """The argument's scale. Every lifted cell has it; one that was merged out of no cells at all has 0."""
    return int(scales.to_numpy().max(initial=0))


def _finish_integers(sums: Exact, n: I64, result_type: pa.DataType | None) -> pa.Array:
    low, high, fits = _words(sums.low, sums.offsets, sums.digits)
    fits &= (high == low >> 63) & (n > 0)
    return as_type(pa.array(low, mask=~fits), result_type)


def _finish_decimals(sums: Exact, n: I64, scales: pa.Array, average: bool, result_type: pa.DataType | None) -> pa.Array:
    scale = _scale(scales)
    if result_type is not None and not pa.types.is_decimal128(result_type):
        values = rounded(sums) / 10.0**scale
        return as_type(pa.array(values / np.maximum(n, 1) if average else values, mask=n == 0), result_type)
    kind = result_type or pa.decimal128(38, min(38, scale + 4) if average else scale)
    if kind.scale < scale:
        raise InternalError(f"a sum at scale {scale} has no result at scale {kind.scale}")
    divisor = np.maximum(n, 1) if average else np.ones_like(n)
    low, high, fits = _quotients(sums.low, sums.offsets, sums.digits, kind.scale - scale, divisor)
    return decimals_of(high, low, fits & (n > 0), kind)


@compiled
def _words(low: I64, offsets: I64, digits: NDArray[np.int32]) -> tuple[I64, I64, Bools]:
    """Whole numbers as 128-bit integers: lower word, upper word, whether they fit."""
    lower = np.zeros(low.size, np.int64)
    upper = np.zeros(low.size, np.int64)
    fits = np.zeros(low.size, np.bool_)
    for i in range(low.size):
        length = offsets[i + 1] - offsets[i]
        fits[i] = length == 0 or low[i] - UNIT + length <= 4
        if not fits[i]:
            continue
        for limb in range(4):
            k = limb - low[i] + UNIT
            if length == 0 or k < 0:
                digit = np.int64(0)
            elif k < length:
                digit = np.int64(digits[offsets[i] + k])
            else:
                digit = np.int64(digits[offsets[i + 1] - 1]) >> 31
            digit &= 0xFFFFFFFF
            if limb < 2:
                lower[i] |= digit << (32 * limb)
            else:
                upper[i] |= digit << (32 * limb - 64)
    return lower, upper, fits


@compiled
def _quotients(
    low: I64, offsets: I64, digits: NDArray[np.int32], tens: int, divisor: I64
) -> tuple[I64, I64, Bools]:
    """Whole numbers times ``10**tens`` over ``divisor``, rounded half up, as 128-bit integers; whether they fit."""
    lower = np.zeros(low.size, np.int64)
    upper = np.zeros(low.size, np.int64)
    fits = np.zeros(low.size, np.bool_)
    size = 12  # limbs: a sum has fewer than 6, and 10**38 has 4
    number = np.zeros(size, np.int64)
    parts = np.zeros(size, np.int64)
    for i in range(low.size):
        number[:] = 0
        length = offsets[i + 1] - offsets[i]
        sign = magnitude(digits, offsets[i], offsets[i + 1], parts)
        for k in range(length):
            number[low[i] - UNIT + k] = parts[k]
        for _ in range(tens):
            carry = 0
            for k in range(size):
                carry += number[k] * 10
                number[k] = carry & 0xFFFFFFFF
                carry >>= 32
        rest = 0
        for k in range(size - 1, -1, -1):
            quotient = 0
            for bit in range(31, -1, -1):
                rest = 2 * rest + ((number[k] >> bit) & 1)
                quotient *= 2
                if rest >= divisor[i]:
                    rest -= divisor[i]
                    quotient += 1
            number[k] = quotient
        carry = 1 if rest >= divisor[i] - rest else 0
        for k in range(size):
            carry += number[k]
            number[k] = carry & 0xFFFFFFFF
            carry >>= 32
        fits[i] = number[3] < 1 << 31
        for k in range(4, size):
            fits[i] = fits[i] and number[k] == 0
        if not fits[i]:
            continue
        carry = 0
        if sign < 0:
            carry = 1
            for k in range(4):
                carry += number[k] ^ 0xFFFFFFFF
                number[k] = carry & 0xFFFFFFFF
                carry >>= 32
        lower[i] = number[0] | (number[1] << 32)
        upper[i] = number[2] | (number[3] << 32)
    return lower, upper, fits
