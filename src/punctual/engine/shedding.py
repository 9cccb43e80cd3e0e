"""Where shedding begins, changes at ingest and ends, and why: for the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from punctual.schedule.firings import FiringGroup
from punctual.schedule.state import State

READING = "reading a batch takes longer than it may"
BACKLOG = "batches wait to be answered, and nothing else gives way"
FITS_AGAIN = "everything fits again"
DUE = "what is due does not fit before its deadlines"
MISSED = "answers were late"


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
    """What gave way last. Belongs to the loop."""

    def __init__(self) -> None:
        self._queries = False
        self._streams: dict[str, float] = {}

    def of_pass(self, groups: Sequence[FiringGroup], state: State) -> ShedRecord | None:
        """Whether queries begin to give way with a pass, or end; a share that somebody asked for is no news.

        A pass without queries that could give way says nothing.
        """
        able = [group for group in groups if group.cohort.one.curve is not None and group.cohort.one.sheds]
        if not able or state.rules.keep is not None:
            return None
        less = any(group.setting is not None and group.setting < 1.0 for group in able)
        if less == self._queries:
            return None
        self._queries = less
        if not less:
            return ShedRecord(None, state.level, None, FITS_AGAIN)
        return ShedRecord(None, state.level, None, MISSED if state.rules.qos == "feedback" else DUE)

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
