"""Replay by event time: X seconds of the data's life in one second of ours."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.clock import Clock, Micros
from punctual.engine.progress import Progress


class Pace:
    """Holds a replay back to ``speed`` times life; does nothing when speed is None.

    The first batch sets the clocks. When the replay is ahead it waits; when it is behind, batches grow until it is not.
    """

    def __init__(self, speed: float | None, clock: Clock) -> None:
        self._speed = speed
        self._clock = clock
        self._origin: tuple[Micros, Micros] | None = None
        self._files = 1

    def limit(self) -> int | None:
        """How many files the next batch may take from a stream; None for as many as the option says."""
        return None if self._speed is None else self._files

    def ahead(self, progress: Mapping[str, Progress]) -> Micros:
        """A batch was answered: how long to wait until its last event time comes; 0 when there is some to catch up."""
        if self._speed is None:
            return 0
        times = [p.greatest for p in progress.values() if p.greatest is not None]
        if not times:
            return 0
        now = self._clock.monotonic()
        if self._origin is None:
            least = min(p.least for p in progress.values() if p.least is not None)
            self._origin = (now, least)
        started, least = self._origin
        ahead = int((max(times) - least) / self._speed) - (now - started)
        self._files = 1 if ahead > 0 else min(2 * self._files, 1 << 20)
        return max(0, ahead)
