"""HISTOGRAM(x, n): how results are spread over worlds, in bins of equal width, or by the likeliest values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from punctual.errors import InternalError
from punctual.kernel.arrays.state import F64, I64, Bools


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bin b reaches from ``edges[b]`` to ``edges[b + 1]``, which only the last one includes, and has this probability.

    Values that are not finite are in no bin, but they count as worlds.
    """

    edges: F64
    probability: F64


def histogram(values: F64, bins: int, there: Bools | None = None) -> Histogram:
    """The bins of one result over its worlds; one bin where all values are equal, none where there is no value.

    >>> found = histogram(np.array([0.0, 1.0, 1.0, 4.0]), 2)
    >>> found.edges.tolist(), found.probability.tolist()
    ([0.0, 2.0, 4.0], [0.75, 0.25])
    """
    if bins < 1:
        raise InternalError(f"a histogram of {bins} bins")
    counted = values if there is None else values[there]
    finite = counted[np.isfinite(counted)] + 0.0
    if finite.size == 0:
        return Histogram(np.zeros(0), np.zeros(0))
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        return Histogram(np.array([low, high]), np.array([finite.size / counted.size]))
    part = np.arange(bins + 1) / bins
    edges = np.clip(low * (1.0 - part) + high * part, low, high)  # no difference that may overflow
    edges[0], edges[-1] = low, high
    edges = np.maximum.accumulate(edges)  # of a width of few units in the last place
    place = np.minimum(np.searchsorted(edges, finite, "right") - 1, bins - 1)
    return Histogram(edges, np.bincount(place, minlength=bins) / counted.size)


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
