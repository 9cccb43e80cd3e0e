"""Texts as declared types, exactly as Spark's ``try_cast`` of a string has them in a session of UTC.

Kernels do ordinary texts; what they do not vouch for is looked at one by one (:mod:`punctual.scan.text.exact_numbers`,
:mod:`punctual.scan.text.time_zones`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from punctual.kernel.text.numbers import DOUBTFUL, FITS, LONG, MISFIT, booleans, decimals, doubles, integers
from punctual.kernel.text.times import DATELESS, ZONED, dates, times
from punctual.scan.block import arrow_type
from punctual.scan.text.exact_numbers import exact_decimal, exact_double, exact_float
from punctual.scan.text.texts import Texts, fixed_array
from punctual.scan.text.time_zones import find_zone, local_to_utc, today

Cast = tuple[pa.Array, NDArray[np.bool_]]
_WHOLE: dict[str, type[np.signedinteger[Any]]] = {
    "TINYINT": np.int8,
    "SMALLINT": np.int16,
    "INT": np.int32,
    "BIGINT": np.int64,
}
_DOUBLE_REACH, _FLOAT_REACH = 250, 18
"""Powers of ten up to which, either way, no number of many digits comes near the ends of the range."""
_FLOAT_TINY, _FLOAT_HUGE = 2.0**-126, 3.4e38
_BLANKS = "".join(map(chr, range(33)))
_TRIMMED = _BLANKS + "\x7f"


def cast_texts(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64] | NDArray[np.int32],
    valid: NDArray[np.bool_],
    kind: str,
) -> Cast:
    """The texts as a declared type, and which of them do not fit.

    A text is ``lengths[i]`` bytes (UTF-8) of ``data`` from ``starts[i]``, or absent where ``valid`` is false: NULL, and
    no misfit. What does not fit is NULL too.
    """
    texts = Texts(data, starts, lengths, valid)
    if kind in _WHOLE:
        return _integers(texts, kind)
    if kind.startswith("DECIMAL"):
        return _decimals(texts, kind)
    return _CASTS[kind](texts, kind)


def _integers(texts: Texts, kind: str) -> Cast:
    values, states = np.empty(texts.size, np.int64), np.empty(texts.size, np.uint8)
    width = _WHOLE[kind]
    integers(*texts.all, int(np.iinfo(width).max), values, states)
    return _fixed(texts, kind, values.astype(width, copy=False), states)


def _booleans(texts: Texts, kind: str) -> Cast:
    values, states = np.zeros(texts.size, np.bool_), np.empty(texts.size, np.uint8)
    booleans(*texts.all, values, states)
    return _fixed(texts, kind, np.packbits(values, bitorder="little"), states)


def _decimals(texts: Texts, kind: str) -> Cast:
    decimal: Any = arrow_type(kind)
    values, states = np.empty(2 * texts.size, np.uint64), np.empty(texts.size, np.uint8)
    decimals(*texts.all, decimal.precision, decimal.scale, values, states)
    for row in np.flatnonzero(states == DOUBTFUL).tolist():
        unscaled = exact_decimal(texts.text(row) or "", decimal.precision, decimal.scale)
        states[row] = MISFIT if unscaled is None else FITS
        values[2 * row : 2 * row + 2] = np.frombuffer((unscaled or 0).to_bytes(16, "little", signed=True), np.uint64)
    return _fixed(texts, kind, values, states)


def _doubles(texts: Texts, kind: str) -> Cast:
    values, states = np.empty(texts.size, np.float64), np.empty(texts.size, np.uint8)
    doubles(*texts.all, _DOUBLE_REACH, values, states)
    _parse_long(texts, pa.float64(), values, states)
    _one_by_one(texts, exact_double, values, states)
    return _fixed(texts, kind, values, states)


def _floats(texts: Texts, kind: str) -> Cast:
    """As doubles, but a double that is halfway between two floats says too little."""
    values, states = np.empty(texts.size, np.float64), np.zeros(texts.size, np.uint8)
    doubles(*texts.all, _FLOAT_REACH, values, states)
    halfway = (values.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    tiny = (np.abs(values) < _FLOAT_TINY) & (values != 0)
    huge = np.abs(values) > _FLOAT_HUGE
    states[texts.valid & (states == FITS) & (halfway | tiny | huge)] = DOUBTFUL
    _parse_long(texts, pa.float32(), values, states)
    _one_by_one(texts, exact_float, values, states)
    with np.errstate(all="ignore"):
        return _fixed(texts, kind, values.astype(np.float32), states)


def _parse_long(texts: Texts, kind: pa.DataType, values: NDArray[np.float64], states: NDArray[np.uint8]) -> None:
    """Numbers with many digits: Arrow's parser rounds correctly, and does not know a plus sign or blanks."""
    rows = np.flatnonzero(states == LONG)
    if not rows.size:
        return
    some = texts.some(rows)
    numbers = some.array(pa.string())
    first, last = some.data[some.starts], some.data[some.starts + some.lengths - 1]
    if ((first <= 32) | (first == ord("+")) | (last <= 32)).any():
        numbers = pc.replace_substring_regex(numbers, r"^[\x00-\x20]*\+?|[\x00-\x20]*$", "")
    values[rows] = pc.cast(numbers, kind).to_numpy()
    states[rows] = FITS


def _one_by_one(
    texts: Texts, exact: Callable[[str], float | None], values: NDArray[np.float64], states: NDArray[np.uint8]
) -> None:
    for row in np.flatnonzero(states == DOUBTFUL).tolist():
        value = exact(texts.text(row) or "")
        states[row] = MISFIT if value is None else FITS
        values[row] = 0 if value is None else value


def _dates(texts: Texts, kind: str) -> Cast:
    values, states = np.empty(texts.size, np.int32), np.empty(texts.size, np.uint8)
    dates(*texts.all, values, states)
    return _fixed(texts, kind, values, states)


def _times(texts: Texts, kind: str) -> Cast:
    local = kind == "TIMESTAMP_NTZ"
    values, days = np.empty(texts.size, np.int64), np.empty(texts.size, np.int64)
    zones, states = np.empty(texts.size, np.int32), np.empty(texts.size, np.uint8)
    times(*texts.all, local, values, days, zones, states)
    for row in np.flatnonzero(states >= ZONED).tolist():
        name = (texts.text(row) or "").encode()[zones[row] :].decode() if zones[row] >= 0 else "Z"
        zone = find_zone(name.rstrip(_TRIMMED).strip(_BLANKS))
        if zone is None or (local and states[row] == DATELESS):
            states[row] = MISFIT
            continue
        date = today(zone) if states[row] == DATELESS else int(days[row])
        micros = local_to_utc(date, int(values[row]), 0 if local else zone)
        fits = -(2**63) <= micros < 2**63
        values[row], states[row] = (micros, FITS) if fits else (0, MISFIT)
    return _fixed(texts, kind, values, states)


def _bytes(texts: Texts, kind: str) -> Cast:
    return texts.array(arrow_type(kind)), np.zeros(texts.size, np.bool_)


def _fixed(texts: Texts, kind: str, values: NDArray[np.generic], states: NDArray[np.uint8]) -> Cast:
    misfits = states != FITS
    return fixed_array(arrow_type(kind), values, texts.valid & ~misfits), misfits


_CASTS: dict[str, Callable[[Texts, str], Cast]] = {
    "BOOLEAN": _booleans, "FLOAT": _floats, "DOUBLE": _doubles, "DATE": _dates, "TIMESTAMP": _times,
    "TIMESTAMP_NTZ": _times, "STRING": _bytes, "BINARY": _bytes,
}  # fmt: skip
