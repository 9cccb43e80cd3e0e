"""When instants are released: when the row that completes them could be read.

Model
-----
A batch reads a stream in parts (files, fed rows), each with the wall-clock time at which it could be read, its
*arrival*, and its largest accepted event time. An instant is complete once the largest event time so far, less the
watermark and a microsecond, reaches it: so the part that completes it is the first, in reading order, whose running
maximum does. Its arrival is the instant's release. An instant of several streams is released with the last of them; a
stream that was complete before the batch holds nobody up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros
from punctual.schedule.due import BEGINNING

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How one stream came to be complete in a batch.

    ``reached`` are ascending instants through which it was complete, ``times`` when the row that made it so could be
    read; the stream was complete through ``before`` already.
    """

    before: Micros
    reached: tuple[Micros, ...] = ()
    times: tuple[Micros, ...] = ()

    @staticmethod
    def at_once(before: Micros, through: Micros, at: Micros) -> Arrivals:
        """Everything at one time."""
        return Arrivals(before, (through,), (at,)) if through > before else Arrivals(before)

    @staticmethod
    def of_parts(
        before: Micros, through: Micros, parts: Sequence[tuple[Micros, Micros]], watermark_us: Micros
    ) -> Arrivals:
        """From parts in reading order: (arrival, largest event time).

        >>> Arrivals.of_parts(0, 89, [(5, 50), (6, 40), (7, 90)], watermark_us=0)
        Arrivals(before=0, reached=(49, 89), times=(5, 7))
        """
        reached: list[Micros] = []
        times: list[Micros] = []
        latest = before
        for arrival, greatest in parts:
            complete = min(greatest - watermark_us - 1, through)
            if complete > latest:
                reached.append(complete)
                times.append(max([arrival, *times[-1:]]))  # read in order: nothing is there before what precedes it
                latest = complete
        if latest < through and parts:  # complete for another reason than these rows
            reached.append(through)
            times.append(max(arrival for arrival, _greatest in parts))
        return Arrivals(before, tuple(reached), tuple(times))


def release_times(instants: I64, streams: Sequence[Arrivals]) -> I64:
    """When each instant was released.

    >>> gps = Arrivals(0, (49, 89), (5, 7))
    >>> release_times(np.array([10, 49, 50, 89]), [gps]).tolist()
    [5, 5, 7, 7]
    """
    found = np.full(instants.size, BEGINNING, np.int64)
    for one in streams:
        if not one.reached:
            continue
        places = np.searchsorted(np.array(one.reached, np.int64), instants, "left")
        own = np.array(one.times, np.int64)[np.minimum(places, len(one.times) - 1)]
        found = np.maximum(found, np.where(instants > one.before, own, BEGINNING))
    return found
