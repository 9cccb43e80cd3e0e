"""How much of the rows is read: less than all only while reading itself is the bottleneck.

A row that is not read is lost to every window that it belongs to, so this gives way last: where reading a batch takes
longer than it may, twice in a row, or where what waits grows though queries give way as far as they can. A batch may
take a tick; where a batch of nothing takes half a tick or more, it may take twice as long as that, for below it
shedding saves too little. The share is the largest of sixteen with which a batch like the last one would have left some
room. Once that is everything, everything is read again.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros
from punctual.estimate.spent import ReadingParts

STEPS = 16
MOST_SHED = 8
"""A share that is less than all is at most so many steps: looking at all rows costs what the others would save."""
PATIENCE = 2
"""So many batches in a row are too long before anything is shed: one alone may have met a pause."""
READING = "reading a batch takes longer than it may"
BACKLOG = "batches wait to be answered, and nothing else gives way"
KEPT = "the option keep asks for it"
"""Why less than all is read."""
ROOM = 0.8
"""The part of the time it may take that a batch should take: so a share that was lowered is not raised at once."""


@dataclass(frozen=True, slots=True)
class IngestShare:
    """So many sixteenths are read; ``strained`` batches in a row took too long.

    ``stuck`` says that it was lowered because what waits grows.
    """

    steps: int = STEPS
    strained: int = 0
    stuck: bool = False

    @property
    def share(self) -> float:
        """The part of the rows that is read."""
        return self.steps / STEPS

    @property
    def why(self) -> str:
        """Why it is less than all; nothing where it is not."""
        return "" if self.steps == STEPS else BACKLOG if self.stuck else READING

    def after(self, took_us: float, parts: ReadingParts, tick_us: Micros, *, stuck: bool = False) -> IngestShare:
        """The share for the next batch.

        Parameters
        ----------
        took_us : float
            How long it took to read the last one.
        parts : ReadingParts
            What that time was for.
        tick_us : Micros
            How often a batch is read.
        stuck : bool
            Whether what waits grows though queries give way as far as they can.

        Examples
        --------
        >>> parts = ReadingParts(fixed=0.1, kept=0.8)
        >>> once = IngestShare().after(2_000_000, parts, 1_000_000)
        >>> twice = once.after(2_000_000, parts, 1_000_000)
        >>> once.share, twice.share, twice.after(300_000, parts, 1_000_000).share
        (1.0, 0.25, 0.5)
        """
        if parts.kept <= 0.0:  # shedding would save nothing
            return IngestShare()
        may_us = max(float(tick_us), 2 * parts.fixed * took_us)
        fitting = self._fitting(took_us, parts.kept, ROOM * may_us)
        if fitting < STEPS:
            fitting = min(fitting, MOST_SHED)
        if took_us <= may_us and not stuck:
            return IngestShare(max(self.steps, fitting))
        strained = self.strained + 1
        if strained < PATIENCE:
            return IngestShare(self.steps, strained)
        return IngestShare(max(1, min(self.steps - 1, fitting, MOST_SHED)), strained, took_us <= may_us)

    def _fitting(self, took_us: float, kept: float, within_us: float) -> int:
        """The most sixteenths with which the batch would have taken no longer than this; one where none does."""
        each_us = kept * took_us / self.steps
        return max(1, min(STEPS, int((within_us - (1.0 - kept) * took_us) / each_us)))
