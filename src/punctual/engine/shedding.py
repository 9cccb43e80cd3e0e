"""Records of shedding for the ledger, and when that of streams begins, changes and ends at ingest.

When queries give way is decided with the passes (``schedule/qos/notices.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from punctual.schedule.qos.notices import FITS_AGAIN

READING = "reading a batch takes longer than it may"
BACKLOG = "batches wait to be answered, and nothing else gives way"


@dataclass(frozen=True, slots=True)
class ShedRecord:
    """From now on queries with QUALITY, or the rows of a ``stream``, are used in part, or whole again.

    ``level`` is the quality that was decided for queries, ``share`` what is read of the stream.
    """

    stream: str | None
    level: float | None
    share: float | None
    why: str


class Shedding:
    """What was shed of streams last. Belongs to the loop."""

    def __init__(self) -> None:
        self._streams: dict[str, float] = {}

    def of_batch(self, shares: Mapping[str, float], *, stuck: bool) -> list[ShedRecord]:
        """Streams of which a batch was read in another part than of the one before; those that are not there: whole.

        ``stuck`` says that it was decided because what waits grows.
        """
        found = []
        for name in sorted(shares.keys() | self._streams.keys()):
            now = shares.get(name, 1.0)
            if now != self._streams.get(name, 1.0):
                why = FITS_AGAIN if now == 1.0 else BACKLOG if stuck else READING
                found.append(ShedRecord(name, None, now, why))
        self._streams = {name: share for name, share in shares.items() if share < 1.0}
        return found
