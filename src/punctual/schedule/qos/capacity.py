"""How much core time there is for answers until a deadline.

Reading is part of the work and cannot wait, so it is taken off first, at the rate at which it was found to need cores.
A pass has a latency in which cores stand idle: that of the pass to come is gone at once, and further ones follow every
``spacing_us``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros


@dataclass(frozen=True, slots=True)
class Capacity:
    """From ``now`` on; ``reading`` is how many of the ``cores`` it takes."""

    now: Micros
    cores: float
    reading: float = 0.0
    latency_us: float = 0.0
    spacing_us: float = 1_000_000.0

    def until(self, deadlines: NDArray[np.int64]) -> NDArray[np.float64]:
        """Core time until each of them; never less than none.

        >>> Capacity(0, 2, reading=0.5, latency_us=100).until(np.array([-5, 50, 1_100, 2_000_000])).tolist()
        [0.0, 0.0, 1500.0, 2999700.0]
        """
        left = np.maximum(deadlines - self.now, 0).astype(np.float64)
        passes = 1 + np.maximum(left - self.spacing_us, 0.0) / self.spacing_us
        free = max(0.0, self.cores - self.reading)
        found: NDArray[np.float64] = free * np.maximum(left - self.latency_us * passes, 0.0)
        return found
