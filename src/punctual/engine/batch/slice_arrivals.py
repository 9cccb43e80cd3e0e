"""What the feeds know of arrivals, as the scheduler asks for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.ports.feeds.releases import BEFORE, Arrivals, Completed, PartArrivals
from punctual.schedule.due import BEGINNING
from punctual.schedule.events import Pace

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SliceArrivals:
    """The arrivals of a slice that a batch has read."""

    arrivals: Arrivals
    batch: Completed

    def times(self, instants: I64) -> I64:
        """When the row that completes each instant could be read; ``BEGINNING`` where it was complete before."""
        found = self.arrivals.releases(instants, self.batch)
        return np.where(found == BEFORE, BEGINNING, found)


def paced(arrivals: Arrivals, batch: Completed, pace: Pace) -> Arrivals:
    """The same in a replay by event time: a part could be read when the time of its last row came."""
    if batch.greatest is None:
        return arrivals
    tops = batch.tops or {"": batch.greatest}
    return PartArrivals(tuple(tops), tuple(pace.time_of(top) for top in tops.values()))
