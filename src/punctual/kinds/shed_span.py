"""Where in event time rows may be that were shed before anybody read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.kernel.sample.marks import SHARES

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ShedSpan:
    """The rows that a batch has not read of a stream are after ``after``, and at or before ``through``.

    after : the stream was complete through it: earlier rows are late, and count nowhere
    through : None until a later batch has a row: as rows are out of order by no more than the stream says, that row
        bounds the ones before it
    share : what was read of the batch, in ten-thousandths
    rows : how many rows the batch had of the stream, with those that were shed
    """

    after: Micros
    through: Micros | None
    share: int
    rows: int

    def reaches(self, instants: NDArray[np.int64], range_us: Micros | NDArray[np.int64]) -> Bools:
        """The windows of this range, ending at these instants, that such rows may be in."""
        reached: Bools = self.after < instants
        return reached if self.through is None else reached & (instants - range_us < self.through)


@dataclass(frozen=True, slots=True, eq=False)
class ShedWindows:
    """Windows that rows of shed batches may be missing from: by share how many rows these had, for each window.

    Nobody knows the times of rows that were shed, so a batch is in every window that its rows may be in.
    """

    rows: Mapping[float, NDArray[np.float64]]

    @staticmethod
    def of(spans: Sequence[ShedSpan], instants: NDArray[np.int64], range_us: Micros) -> ShedWindows:
        """The windows of this range that end at these instants.

        >>> one = ShedSpan(10, 20, 3_000, 7)
        >>> ShedWindows.of([one, one], np.array([10, 11, 25, 26]), 6).rows
        {0.3: array([ 0., 14., 14.,  0.])}
        """
        found: dict[float, NDArray[np.float64]] = {}
        for span in spans:
            reached = span.reaches(instants, range_us)
            if reached.any():
                rows = found.setdefault(span.share / SHARES, np.zeros(instants.size))
                rows += reached * float(span.rows)
        return ShedWindows(found)
