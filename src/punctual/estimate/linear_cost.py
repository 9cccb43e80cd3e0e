"""What something costs: ``T = fixed + sum of c_j n_j``, learned from what it did cost.

Model
-----
``n_j`` are counts that are known before (rows to read) or estimated (rows out of an operator); ``c_j`` are microseconds
of core time for each of them. Only ``T`` is measured: generated code fuses operators, so nobody knows the time of one.

The coefficients are a random walk that is seen through noise (a Kalman filter). Both kinds of noise are relative, and
their ratio is such that, once nothing is left to learn, a new measurement counts a fifth (:data:`ALPHA`): smoothing
with alpha 0.2, where several coefficients share one measurement by how uncertain they are. No coefficient falls below
zero, and one measurement that is far off (a pause of the collector) counts as if it were a few times the usual noise.
Something may cost more than it should for many reasons, and less for none: so what was cheaper than expected counts
more. A process that has just begun is slow for a while, and what that taught is soon forgotten.

What is predicted is a distribution, not a mean: the recent ratios of used to expected time, as quantiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.2
NOISE = 0.2
"""The usual error of a measurement, as a part of it."""
CHEAPER = NOISE / 3
"""That of one which is below what was expected."""
DRIFT = NOISE * ALPHA / (1 - ALPHA) ** 0.5
"""How far a coefficient moves between two measurements, as a part of it: what makes ALPHA the gain in the end."""
DOUBT = 2.0
"""How wrong a first guess may be, as a part of it."""
FAR_OFF = 3.0
"""Something that is dearer by more than so many times what is usual is taken for this much."""
RATIOS = 32
"""So many last ratios of used to expected time are remembered."""
HIGH = 0.9
FIXED = "fixed"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Microseconds of core time: as likely to be more as less, and what nine in ten stay below."""

    median_us: float
    high_us: float


@dataclass(frozen=True, slots=True)
class LinearCost:
    """The coefficients by name, the fixed part among them, and what is known of their errors; a value.

    ``spread`` is the covariance, row after row. ``ratios`` are used by expected time, the last one last.
    """

    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    spread: tuple[float, ...]
    ratios: tuple[float, ...] = ()
    seen: int = 0

    @staticmethod
    def guessed(fixed_us: float, **each_us: float) -> LinearCost:
        """A first guess, above zero each; it is soon forgotten.

        >>> cost = LinearCost.guessed(1_000, rows=1)
        >>> for rows in [100, 90_000, 20_000, 500] * 10:
        ...     cost = cost.after({"rows": rows}, 5_000 + 0.25 * rows)
        >>> round(cost.fixed_us, -2), round(cost.each("rows"), 2)
        (5000.0, 0.25)
        >>> round(cost.predict({"rows": 40_000}).median_us, -3)
        15000.0
        """
        guess = np.array([fixed_us, *each_us.values()], np.float64)
        spread = np.diag((DOUBT * guess) ** 2)
        return LinearCost((FIXED, *each_us), tuple(guess.tolist()), tuple(spread.ravel().tolist()))

    @property
    def fixed_us(self) -> float:
        """What it costs when nothing is counted."""
        return self.coefficients[0]

    def each(self, name: str) -> float:
        """Microseconds for each of what is counted under this name; nothing where there is no such coefficient."""
        return self.coefficients[self.names.index(name)] if name in self.names else 0.0

    def expected_us(self, counts: Mapping[str, float]) -> float:
        """By the coefficients alone. A count that is not given is zero; one that has no coefficient costs nothing."""
        return float(self._row(counts) @ np.array(self.coefficients))

    def predict(self, counts: Mapping[str, float]) -> Prediction:
        """What is to be expected, and what is seldom exceeded."""
        expected = self.expected_us(counts)
        if not self.ratios:
            return Prediction(expected, expected * (1 + 2 * NOISE))
        ordered = sorted(self.ratios)
        return Prediction(expected * _quantile(ordered, 0.5), expected * _quantile(ordered, HIGH))

    def after(self, counts: Mapping[str, float], used_us: float) -> LinearCost:
        """The same with one more measurement."""
        row, coefficients = self._row(counts), np.array(self.coefficients)
        size = coefficients.size
        spread = np.array(self.spread).reshape(size, size) + np.diag((DRIFT * coefficients) ** 2)
        expected = float(row @ coefficients)
        error = used_us - expected
        usual = ((NOISE if error > 0.0 else CHEAPER) * max(used_us, expected)) ** 2
        toward = spread @ row
        doubt = float(row @ toward)
        total = doubt + usual
        if total <= 0.0:
            return self
        gain = toward / total
        found = np.maximum(coefficients + gain * min(error, FAR_OFF * total**0.5), 0.0)
        spread = spread - np.outer(gain, toward)
        ratios = self.ratios if expected <= 0.0 else (*self.ratios, used_us / expected)[-RATIOS:]
        return LinearCost(
            self.names, tuple(found.tolist()), tuple(((spread + spread.T) / 2).ravel().tolist()), ratios, self.seen + 1
        )

    def _row(self, counts: Mapping[str, float]) -> Floats:
        return np.array([1.0, *(counts.get(name, 0.0) for name in self.names[1:])], np.float64)


def _quantile(ordered: Sequence[float], part: float) -> float:
    """As NumPy has it, in a hundredth of the time: every answer is predicted.

    >>> _quantile([1.0, 2.0, 4.0], 0.75)
    3.0
    """
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
