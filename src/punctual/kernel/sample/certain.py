"""Which rows are kept for certain: the largest of each summed column.

A sum over a heavy tail rests on few rows. A sample that has them is far too high, one that has not is too low and does
not know it. So they are kept whatever their place is, and only the rest is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from punctual.kernel.arrays.state import F64, Bools

PART = 0.05
AT_LEAST = 8


def certain_rows(columns: Sequence[F64], part: float = PART, at_least: int = AT_LEAST) -> tuple[Bools, list[float]]:
    """The rows whose magnitude is among the largest in one of the columns, and from which magnitude on they are.

    Parameters
    ----------
    columns : sequence of F64
        At least one; NaN where a row has no value, which is never among the largest.
    part, at_least : float, int
        How many rows count as the largest: this part of those that have a value, and at least so many.

    Notes
    -----
    A row is certain where ``abs(x) >= threshold``: rows that tie with the last one are certain, too. Where that more
    than doubles them (a column of few values, of zeros) the rows that tie are left out instead: such a column has no
    tail there, and a sample of nearly everything saves nothing. A column without a tail has the threshold infinity.

    Examples
    --------
    >>> certain, thresholds = certain_rows([np.array([1.0, -9.0, np.nan, 3.0, 3.0])], 0.5, 1)
    >>> certain.tolist(), thresholds
    ([False, True, False, True, True], [3.0])
    """
    certain = np.zeros(columns[0].size, np.bool_)
    thresholds = []
    for column in columns:
        magnitudes = np.abs(column)
        threshold = _threshold(magnitudes[~np.isnan(magnitudes)], part, at_least)
        certain |= magnitudes >= threshold  # False for NaN
        thresholds.append(threshold)
    return certain, thresholds


def _threshold(magnitudes: F64, part: float, at_least: int) -> float:
    wanted = max(at_least, int(np.ceil(part * magnitudes.size)))
    if magnitudes.size <= wanted:
        return float(magnitudes.min(initial=np.inf))
    last = float(np.partition(magnitudes, magnitudes.size - wanted)[magnitudes.size - wanted])
    if int(np.count_nonzero(magnitudes >= last)) <= 2 * wanted:
        return last
    return float(magnitudes[magnitudes > last].min(initial=np.inf))
