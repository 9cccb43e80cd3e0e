"""HISTOGRAM(x, n): how results are spread over worlds, in bins of equal width, or by the likeliest values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64, Bools
from punctual.kernel.compiled import compiled
from punctual.kernel.draw.philox import plain


@dataclass(frozen=True, slots=True)
class Histograms:
    """Of each result: bin b reaches from ``edges[b]`` to ``edges[b + 1]``, which only the last one includes, and has
    this probability. ``bins`` is how many there are.

    Values that are not finite are in no bin, but they count as worlds.
    """

    edges: F64
    probability: F64
    bins: I64


def histograms(values: F64 | I64, bins: int, there: Bools) -> Histograms:
    """The bins of results over their worlds; one bin where all values are equal, none where there is no value.

    >>> found = histograms(np.array([[0.0, 1.0, 1.0, 4.0]]), 2, np.ones((1, 4), np.bool_))
    >>> found.edges.tolist(), found.probability.tolist(), found.bins.tolist()
    ([[0.0, 2.0, 4.0]], [[0.75, 0.25]], [2])
    """
    if bins < 1:
        raise InternalError(f"a histogram of {bins} bins")
    values, there = plain(values, np.float64), plain(there, np.bool_)
    low, high, worlds, finite = _ends(values, there)
    found = np.where(finite == 0, 0, np.where(low == high, 1, bins))
    part = np.arange(bins + 1) / bins
    least, most = low[:, None], high[:, None]
    edges = np.clip(least * (1.0 - part) + most * part, least, most)  # no difference that may overflow
    edges[:, 0], edges[:, -1] = low, high
    edges[found == 1, 1] = high[found == 1]
    edges = np.maximum.accumulate(edges, axis=1)  # of a width of few units in the last place
    counts = _counted(values, there, edges, found)
    return Histograms(edges, counts / np.maximum(worlds, 1)[:, None], found)


@compiled
def _ends(values: F64, there: Bools) -> tuple[F64, F64, I64, I64]:
    """The least and the greatest finite value of each result, 0 of none; how many values there are, and finite ones."""
    rows = values.shape[0]
    low, high = np.zeros(rows), np.zeros(rows)
    worlds, finite = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for i in range(rows):
        for j in range(values.shape[1]):
            if there[i, j]:
                worlds[i] += 1
                value = values[i, j] + 0.0
                if np.isfinite(value):
                    low[i] = value if finite[i] == 0 else min(low[i], value)
                    high[i] = value if finite[i] == 0 else max(high[i], value)
                    finite[i] += 1
    return low, high, worlds, finite


@compiled
def _counted(values: F64, there: Bools, edges: F64, bins: I64) -> I64:
    """How many values are in each bin: a guess by the width, set right by the edges."""
    counts = np.zeros((values.shape[0], edges.shape[1] - 1), np.int64)
    for i in range(values.shape[0]):
        last, low = bins[i] - 1, edges[i, 0]
        width = edges[i, bins[i]] - low
        for j in range(values.shape[1]):
            value = values[i, j]
            if not there[i, j] or not np.isfinite(value):
                continue
            part = (value - low) / width if 0.0 < width < np.inf else 0.0
            place = min(max(int(part * bins[i]), 0), last)
            while place < last and edges[i, place + 1] <= value:
                place += 1
            while place > 0 and edges[i, place] > value:
                place -= 1
            counts[i, place] += 1
    return counts


def likeliest(places: I64, n: int, there: Bools | None = None) -> tuple[I64, F64]:
    """The n likeliest places that were drawn of one result, likeliest first, equal ones in their order; how likely.

    >>> places, probability = likeliest(np.array([4, 2, 4, 7, 2, 9]), 2)
    >>> places.tolist(), probability.round(3).tolist()
    ([2, 4], [0.333, 0.333])
    """
    if n < 1:
        raise InternalError(f"the {n} likeliest values")
    counted = places if there is None else places[there]
    found, times = np.unique(counted, return_counts=True)
    first = np.argsort(-times, kind="stable")[:n]
    return found[first], times[first] / max(counted.size, 1)
