"""When instants are released: when the row that completes them could be read. Reading counts towards the deadline.

Each stream of a batch says so for itself (the engine asks its feed); an instant of several streams is released with the
last of them, and a stream that was complete before the batch holds nobody up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.due import BEGINNING

I64 = NDArray[np.int64]


class Arrivals(Protocol):
    """How one stream came to be complete in a batch."""

    def times(self, instants: I64) -> I64:
        """When the row that completes each instant could be read; ``BEGINNING`` where it was complete before."""
        ...


@dataclass(frozen=True, slots=True)
class AtOnce:
    """All that a batch completed could be read at one time; the stream was complete through ``before``."""

    before: Micros
    at: Micros

    def times(self, instants: I64) -> I64:
        """
        >>> AtOnce(10, 99).times(np.array([9, 10, 11])).tolist()[2]
        99
        """
        return np.where(instants > self.before, self.at, BEGINNING)


def release_times(instants: I64, streams: Iterable[Arrivals]) -> I64:
    """When each instant was released, in the order of the instants: none before those that precede it.

    >>> release_times(np.array([5, 12]), [AtOnce(10, 99), AtOnce(0, 50)]).tolist()
    [50, 99]
    """
    found = np.full(instants.size, BEGINNING, np.int64)
    for one in streams:
        found = np.maximum(found, one.times(instants))
    return np.maximum.accumulate(found)
