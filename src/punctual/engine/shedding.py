"""Records of shedding for the ledger, and when that of streams begins, changes and ends at ingest.

When queries give way is decided with the passes (``schedule/qos/notices.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from punctual.schedule.qos.ingest_share import KEPT
from punctual.schedule.qos.notices import FITS_AGAIN

PLANNED = "it was planned so before this run began"
NO_LONGER = "the option keep asks for it no longer"


@dataclass(frozen=True, slots=True)
class ShedRecord:
    """From now on queries with QUALITY, or the rows of a ``stream``, are used in part, or whole again.

    ``level`` is the quality that was decided for queries, ``share`` what is read of the stream.
    """

    stream: str | None
    level: float | None
    share: float | None
    why: str

    @property
    def text(self) -> str:
        """What is said of a stream."""
        if self.share is None or self.share >= 1.0:
            return f'stream "{self.stream}" is shed no longer, all of its rows are read again: {self.why}'
        return f'stream "{self.stream}" is shed at ingest, to {100 * self.share:g} % of its rows: {self.why}'


class Shedding:
    """What was shed of streams last, and why. Belongs to the loop."""

    def __init__(self) -> None:
        self._streams: dict[str, tuple[float, str]] = {}

    def of_batch(
        self, read: Collection[str], shares: Mapping[str, float], why: str, whole: Mapping[str, str]
    ) -> list[ShedRecord]:
        """Streams of which a batch was read in another part than the last time.

        ``read`` are those that it has rows of, ``shares`` those of them that were shed, and ``why``, if anybody knows;
        ``whole`` says of streams that cannot be shed why not.
        """
        found = []
        for name in sorted(read):
            before, reason = self._streams.pop(name, (1.0, ""))
            now = shares.get(name, 1.0)
            if now == 1.0:
                because = whole.get(name) or (NO_LONGER if reason == KEPT else FITS_AGAIN)
            else:
                because = why or PLANNED
                self._streams[name] = now, because
            if now != before:
                found.append(ShedRecord(name, None, now, because))
        return found
