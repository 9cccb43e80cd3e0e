"""Where rows may be that were shed at ingest, for the windows that can still be asked for. On the holder's thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from punctual.clock import Micros
from punctual.engine.batch.progress import BatchRecord, Progress
from punctual.kinds.shed_span import ShedSpan


class ShedSpans:
    """A span for every batch that was shed, by stream: cells say nothing of a batch of which no row is left."""

    def __init__(self) -> None:
        self.known: Mapping[str, tuple[ShedSpan, ...]] = {}

    def add(self, record: BatchRecord, before: Mapping[str, Progress]) -> None:
        """One more batch, or the base; ``before`` is how far streams had come when it was read."""
        known = {**self.known, **record.sheds}
        for name, through in record.shed_through.items():
            known[name] = tuple(
                replace(one, through=through) if one.through is None else one for one in known.get(name, ())
            )
        for name, shed in record.shed_rows.items():
            if shed:
                former = before.get(name, Progress())
                rows = record.progress[name].accepted - former.accepted + shed
                known[name] = (*known.get(name, ()), ShedSpan(former.through, None, record.shares[name], rows))
        self.known = known

    def of(self, streams: Sequence[str]) -> tuple[ShedSpan, ...]:
        """Those of streams."""
        return tuple(span for name in streams for span in self.known.get(name.lower(), ()))

    def drop(self, before: Mapping[str, Micros]) -> None:
        """Forget what is at or before the earliest instant that is still of interest, by stream."""
        self.known = {
            name: kept
            for name, spans in self.known.items()
            if (kept := tuple(one for one in spans if one.through is None or one.through > before.get(name, one.after)))
        }
