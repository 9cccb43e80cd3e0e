"""When an instant was released: when the row that completes it could first be read.

A stream is complete through its greatest event time minus the watermark. So the row that completes an instant lies in
the first part of the slice, in reading order, with which that bound reaches the instant. Pure arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from punctual.clock import Micros

I64 = NDArray[np.int64]
BEFORE: Micros = -(2**63)
"""In place of a release: the instant was complete before this slice."""
NOT_YET: Micros = 2**63 - 1
"""In place of a release: the slice does not complete the instant."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a batch made of one stream's slice.

    ``through`` is what the stream was complete through before, ``greatest`` the greatest event time that was accepted
    (None: no row was), ``tops`` the same for each part, where parts arrived at different times.
    """

    through: Micros
    watermark_us: Micros
    greatest: Micros | None
    tops: Mapping[str, Micros]


class Arrivals(Protocol):
    """When the parts of a slice could first be read."""

    @property
    def differ(self) -> bool:
        """Whether the job has to say the greatest event time of each part."""
        ...

    @property
    def oldest(self) -> Micros | None:
        """Since when the first of them waits."""
        ...

    def releases(self, instants: I64, batch: Completed) -> I64:
        """For every instant when it was released, or ``BEFORE`` or ``NOT_YET``."""
        ...


@dataclass(frozen=True, slots=True)
class PartArrivals:
    """Parts in reading order, each with its arrival."""

    parts: tuple[str, ...]
    at: tuple[Micros, ...]

    @property
    def differ(self) -> bool:
        return len(set(self.at)) > 1

    @property
    def oldest(self) -> Micros | None:
        return min(self.at, default=None)

    def releases(self, instants: I64, batch: Completed) -> I64:
        if batch.greatest is None:
            return _released(instants, (), (), batch)
        if not self.differ:
            return _released(instants, self.at[:1], (batch.greatest,), batch)
        known = [(at, batch.tops[part]) for part, at in zip(self.parts, self.at) if part in batch.tops]
        return _released(instants, [at for at, _top in known], [top for _at, top in known], batch)


def _released(instants: I64, at: object, tops: object, batch: Completed) -> I64:
    reached = np.maximum.accumulate(np.array(tops, np.int64)) - (batch.watermark_us + 1)
    arrived = np.append(np.array(at, np.int64), NOT_YET)
    found: I64 = arrived[np.searchsorted(reached, instants, "left")]
    found[instants <= batch.through] = BEFORE
    return found


@dataclass(frozen=True, slots=True)
class RowArrivals:
    """Generated rows, ``rows`` per ``per_us``: each arrives at its own event time, the slice's first at ``first``."""

    rows: int
    per_us: Micros
    origin_us: Micros
    first: Micros

    @property
    def differ(self) -> bool:
        return False

    @property
    def oldest(self) -> Micros | None:
        return self.first

    def releases(self, instants: I64, batch: Completed) -> I64:
        wanted = instants + (batch.watermark_us + 1) - self.origin_us
        # Whole periods are counted apart, so that nothing leaves 64 bits.
        periods, rest = np.divmod(wanted, self.per_us)
        into = -(-rest * self.rows // self.per_us)
        within = into % self.rows * self.per_us // self.rows
        time = self.origin_us + (periods + into // self.rows) * self.per_us + within
        found: I64 = np.maximum(time, self.first)
        last = batch.through if batch.greatest is None else batch.greatest - batch.watermark_us - 1
        found[instants > last] = NOT_YET
        found[instants <= batch.through] = BEFORE
        return found
