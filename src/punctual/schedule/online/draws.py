"""Draws that follow from a seed and a number: the same events give the same draws, also after a restart."""

from __future__ import annotations

from collections.abc import Sequence

MASK = 2**64 - 1


def uniform(seed: int, number: int) -> float:
    """A number from 0 up to 1, by the finish of SplitMix64: as good as random over seeds and over numbers.

    >>> round(uniform(7, 0), 6), round(uniform(7, 1), 6), round(uniform(8, 0), 6)
    (0.721508, 0.155894, 0.266646)
    """
    return (_mixed(_mixed(seed & MASK) + number & MASK) >> 11) * 2.0**-53


def _mixed(bits: int) -> int:
    bits = bits + 0x9E3779B97F4A7C15 & MASK
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & MASK
    return bits ^ bits >> 31


def by_weight(weights: Sequence[float], share: float) -> int | None:
    """The place that a share of all weight falls on; None where there is no weight.

    >>> by_weight([1.0, 0.0, 3.0], 0.2), by_weight([1.0, 0.0, 3.0], 0.25), by_weight([0.0], 0.5)
    (0, 2, None)
    """
    left = share * sum(weights)
    last = None
    for place, weight in enumerate(weights):
        if weight > 0:
            last = place
            left -= weight
            if left < 0:
                break
    return last
