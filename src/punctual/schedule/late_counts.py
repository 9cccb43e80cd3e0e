"""How many rows of a stream came too late, by pane: a value, so that an answer says what was known at its release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LateCounts:
    """``ends`` are the ends of panes with late rows, ascending; ``running`` has the count of all panes before each."""

    ends: I64
    running: I64

    @staticmethod
    def none() -> LateCounts:
        return LateCounts(np.empty(0, np.int64), np.zeros(1, np.int64))

    def count(self, instants: I64, length: Micros) -> I64 | None:
        """For every window (at - length, at], how many of its rows came too late; None when there are none at all."""
        if not self.ends.size:
            return None
        after = np.searchsorted(self.ends, instants, "right")
        before = np.searchsorted(self.ends, instants - length, "right")
        found: I64 = self.running[after] - self.running[before]
        return found
