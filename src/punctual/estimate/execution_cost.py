"""What is known of the work to come: core time of one execution of each query that reads rows."""

from __future__ import annotations

from typing import NamedTuple


class ExecutionCost(NamedTuple):
    """Microseconds of core time: whatever is read, and for all of the input; a share of the input needs that share.

    ``rows`` are those of the answer to all of the input. What is ``alone`` is done by one core while others stand idle.
    """

    fixed_us: float = 0.0
    work_us: float = 0.0
    rows: float = 0.0
    alone_fixed_us: float = 0.0
    alone_work_us: float = 0.0

    def at(self, share: float) -> float:
        """Core time for this share of the input.

        >>> ExecutionCost(10, 100).at(0.5)
        60.0
        """
        return self.fixed_us + self.alone_fixed_us + (self.work_us + self.alone_work_us) * share
