"""How much core time there is for answers until a deadline.

Reading is part of the work and cannot wait, so it is taken off first, at the rate at which it was found to need cores.
A pass has a latency in which cores stand idle: that of the pass to come is gone at once, and one more with everything
that is released until then. Where that is often, passes take several releases together: they follow each other no
sooner than ``spacing_us``, and latencies take no more than half of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros


@dataclass(frozen=True, slots=True)
class Capacity:
    """From ``now`` on; ``reading`` is how many of the ``cores`` it takes.

    ``to_come`` are the deadlines of what is not released yet, ascending, one for each time at which something is.
    """

    now: Micros
    cores: float
    reading: float = 0.0
    latency_us: float = 0.0
    spacing_us: float = 1_000_000.0
    to_come: tuple[Micros, ...] = ()

    def until(self, deadlines: NDArray[np.int64]) -> NDArray[np.float64]:
        """Core time until each of them; never less than none.

        >>> Capacity(0, 2, reading=0.5, latency_us=100).until(np.array([-5, 50, 1_100, 2_000_000])).tolist()
        [0.0, 0.0, 1500.0, 2999850.0]
        >>> Capacity(0, 2, latency_us=100, spacing_us=1_000, to_come=(4_000, 5_000)).until(np.array([4_500])).tolist()
        [8600.0]
        """
        left = np.maximum(deadlines - self.now, 0).astype(np.float64)
        further = np.searchsorted(np.array(self.to_come, np.int64), deadlines, side="right")
        passes = 1 + np.minimum(further, left / max(self.spacing_us, 2 * self.latency_us, 1.0))
        free = max(0.0, self.cores - self.reading)
        found: NDArray[np.float64] = free * np.maximum(left - self.latency_us * passes, 0.0)
        return found
