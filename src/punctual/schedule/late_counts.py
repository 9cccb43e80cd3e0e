"""How many rows of a stream came too late, by pane: a value, so that an answer says what was known at its release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LateCounts:
    """``ends`` are the ends of panes with late rows, ascending; ``running`` has the count of all panes before each."""

    ends: I64
    running: I64

    @staticmethod
    def none() -> LateCounts:
        return LateCounts(np.empty(0, np.int64), np.zeros(1, np.int64))

    def count(self, instants: I64, lengths: I64) -> I64 | None:
        """How many rows came too late for every window (at - length, at]: a row for each length, None where no row did.

        >>> LateCounts(np.array([3]), np.array([0, 7])).count(np.array([2, 4]), np.array([1, 2])).tolist()
        [[0, 0], [0, 7]]
        """
        if not self.ends.size:
            return None
        after = np.searchsorted(self.ends, instants, "right")
        before = np.searchsorted(self.ends, instants - lengths[:, None], "right")
        found: I64 = self.running[after] - self.running[before]
        return found
