"""How much of the cores reading takes: core time of batches by the time between them, smoothed.

A batch grows with the time since the last one, so it is the rate that is remembered and not the batch. The first batch
may have waited for days, and says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.estimate.linear_cost import ALPHA


@dataclass(frozen=True, slots=True)
class ReadingLoad:
    """``cores`` are in use by reading, on the average; ``since`` is when the last batch was read, by the steady
    clock."""

    cores: float = 0.0
    since: Micros | None = None

    def after(self, steady: Micros, used_us: float) -> ReadingLoad:
        """The same with one more batch, or with a look that found nothing.

        >>> load = ReadingLoad().after(0, 9e9)
        >>> for second in range(1, 30):
        ...     load = load.after(second * 1_000_000, 250_000)
        >>> round(load.cores, 2)
        0.25
        """
        if self.since is None or steady <= self.since:
            return ReadingLoad(self.cores, steady if self.since is None else self.since)
        rate = used_us / (steady - self.since)
        return ReadingLoad((1 - ALPHA) * self.cores + ALPHA * rate, steady)
