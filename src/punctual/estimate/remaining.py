"""What is left to do for a query once its scans know their rows, and how that falls with the rows they hand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RemainingCost:
    """Microseconds of core time that are still to come.

    Attributes
    ----------
    fixed_us : whatever the scans hand on
    windows_us : for all rows of each window
    paired : the part of these that falls with the square of a share, where windows that are joined are sampled on their
        own; samples by key fall with the share itself
    """

    fixed_us: float
    windows_us: tuple[float, ...]
    paired: float = 0.0

    @property
    def rows_us(self) -> float:
        """What falls with the rows."""
        return sum(self.windows_us)

    def times(self, factor: float) -> RemainingCost:
        """The same, so many times as long."""
        each = tuple(factor * window for window in self.windows_us)
        return RemainingCost(factor * self.fixed_us, each, self.paired)


def taken_apart(left_us: Callable[[Sequence[float]], float], windows: Sequence[float]) -> RemainingCost:
    """What is left by what falls with the rows of which window; ``left_us`` says it for any numbers of rows.

    A cost ``A s + B s^2`` of the share ``s`` shows its parts when half of the rows are left out. What rows of several
    windows cost together is dealt out to them by what each of them adds to the others.

    >>> found = taken_apart(lambda rows: 5 + 2 * rows[0] + rows[1] + rows[0] * rows[1] / 100, [100.0, 200.0])
    >>> found.fixed_us, [round(each, 3) for each in found.windows_us], round(found.paired, 3)
    (5.0, [300.0, 300.0], 0.333)
    """
    nothing, whole, half = (left_us([part * rows for rows in windows]) for part in (0.0, 1.0, 0.5))
    falls = whole - nothing
    if falls <= 0.0:
        return RemainingCost(nothing, (0.0,) * len(windows))
    paired = min(1.0, max(0.0, 2.0 - 4.0 * (half - nothing) / falls))
    adds = [
        max(0.0, whole - left_us([0.0 if other == number else rows for other, rows in enumerate(windows)]))
        for number in range(len(windows))
    ]
    total = sum(adds)
    if total <= 0.0:  # what falls does so only with all of them
        adds, total = [1.0] * len(adds), float(len(adds))
    return RemainingCost(nothing, tuple(falls * added / total for added in adds), paired)
