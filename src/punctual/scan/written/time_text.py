"""Days and instants as texts, for every year that 64 bits hold: ``2012-04-21``, ``-0044-03-15``, ``+10000-01-01``.

Arrow writes years 0 to 9999. Others are moved by whole cycles of the calendar, written, and get their year back.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_DAY_US = 86_400_000_000
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
_YEAR_ZERO, _YEAR_10000 = -719_528, 2_932_897
"""Days of 0000-01-01 and 10000-01-01, counted from 1970."""


def date_texts(days: pa.Array) -> pa.Array:
    """Dates as ``yyyy-MM-dd``.

    >>> date_texts(pa.array([0, -719529, 2932897, None], pa.int32()).cast(pa.date32())).to_pylist()
    ['1970-01-01', '-0001-12-31', '+10000-01-01', None]
    """
    numbers = np.asarray(pc.fill_null(days.view(pa.int32()), 0)).astype(np.int64)
    far = (numbers < _YEAR_ZERO) | (numbers >= _YEAR_10000)
    if not far.any():
        return pc.cast(days, pa.string())
    near, eras = _brought_near(numbers)
    shifted = pa.array(np.where(far, near, numbers).astype(np.int32), mask=np.asarray(days.is_null()))
    return _with_years(pc.cast(shifted.view(pa.date32()), pa.string()), far, eras)


def time_texts(instants: pa.Array) -> pa.Array:
    """Microseconds (with a zone or without) as ``yyyy-MM-ddTHH:mm:ss.SSSSSS``.

    >>> time_texts(pa.array([-1, 253402300800000000], pa.timestamp("us"))).to_pylist()
    ['1969-12-31T23:59:59.999999', '+10000-01-01T00:00:00.000000']
    """
    numbers = np.asarray(pc.fill_null(instants.view(pa.int64()), 0))
    far = (numbers < _YEAR_ZERO * _DAY_US) | (numbers >= _YEAR_10000 * _DAY_US)
    if not far.any():
        return _with_letter(pc.cast(instants.view(pa.timestamp("us")), pa.string()))
    days = numbers // _DAY_US
    near, eras = _brought_near(days)
    times = np.where(far, near * _DAY_US + numbers % _DAY_US, numbers)
    shifted = pa.array(times, mask=np.asarray(instants.is_null())).view(pa.timestamp("us"))
    return _with_years(_with_letter(pc.cast(shifted, pa.string())), far, eras)


def _with_letter(texts: pa.Array) -> pa.Array:
    return pc.replace_substring(texts, " ", "T", max_replacements=1)


def _brought_near(days: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Days of the same dates in years 2000 to 2399, and how many cycles after year 0 they were."""
    since = days - _YEAR_ZERO
    return since % _CYCLE_DAYS + 5 * _CYCLE_DAYS + _YEAR_ZERO, since // _CYCLE_DAYS


def _with_years(texts: pa.Array, far: NDArray[np.bool_], eras: NDArray[np.int64]) -> pa.Array:
    mask = pa.array(far)
    chosen = texts.filter(mask)
    places = np.flatnonzero(far)
    years = pc.cast(pc.fill_null(pc.utf8_slice_codeunits(chosen, 0, 4), "0"), pa.int64()).to_numpy()
    years = years - 5 * _CYCLE_YEARS + eras[places] * _CYCLE_YEARS
    signs = pa.array(np.where(years < 0, "-", np.where(years > 9999, "+", "")))
    padded = pc.utf8_lpad(pc.cast(pa.array(np.abs(years)), pa.string()), 4, "0")
    rest = pc.utf8_slice_codeunits(chosen, 4)
    return pc.replace_with_mask(texts, mask, pc.binary_join_element_wise(signs, padded, rest, ""))
