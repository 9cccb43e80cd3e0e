"""Files that were listed and wait to be read, each with the moment at which it could first be read.

One thread may look while another plans and takes: the source is listed without holding the lock, and what was taken in
the meantime is left out of what the look found.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

from punctual.clock import Micros
from punctual.ports.feeds.feed import Backlog
from punctual.ports.feeds.releases import PartArrivals
from punctual.ports.feeds.slices import FileRef, FileSlice


class ListedFiles:
    """What waits, in reading order."""

    def __init__(self) -> None:
        self._looking = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: Sequence[FileRef] = ()
        self._arrived: dict[str, Micros] = {}
        self._noted: dict[str, Micros] = {}
        """Arrivals that were told, not seen."""
        self._planned: dict[str, Micros] = {}
        self._taken_meanwhile: set[str] = set()
        self._started: Micros | None = None

    def look(self, files: Callable[[], Sequence[FileRef]], now: Micros) -> Backlog:
        """What ``files`` lists waits now; when it fails, nothing does."""
        with self._looking:
            with self._lock:
                self._taken_meanwhile = set()
                if self._started is None:
                    self._started = now
            try:
                listed = files()
            except BaseException:
                with self._lock:
                    self._waiting = ()
                raise
            with self._lock:
                self._waiting = [ref for ref in listed if ref.path not in self._taken_meanwhile]
                known = {**self._arrived, **self._noted}
                self._arrived = {ref.path: known.get(ref.path, now) for ref in self._waiting}
                sizes = sum(ref.size for ref in self._waiting)
                return Backlog(len(self._waiting), 0, sizes, min(self._arrived.values(), default=None))

    def note(self, path: str, now: Micros) -> None:
        """This file arrived now, whenever it is listed."""
        with self._lock:
            self._noted[path] = now

    def plan(self, max_files: int, max_bytes: int) -> FileSlice | None:
        """The first files that wait, at least one if there is any, else as many as fit."""
        chosen: list[FileRef] = []
        total = 0
        with self._lock:
            for ref in self._waiting:
                total += ref.size
                if chosen and (len(chosen) >= max_files or total > max_bytes):
                    break
                chosen.append(ref)
            self._planned = {ref.path: self._arrived[ref.path] for ref in chosen}
        return FileSlice(tuple(chosen)) if chosen else None

    def arrivals(self, planned: FileSlice) -> PartArrivals:
        """A file that was planned before a restart and is not there any more arrived at the start, like all others."""
        with self._lock:
            start = self._started or 0
            at = (self._planned.get(path, self._arrived.get(path, start)) for path in planned.parts)
            return PartArrivals(planned.parts, tuple(at))

    def taken(self, paths: Collection[str]) -> None:
        """These files do not wait any more."""
        gone = set(paths)
        with self._lock:
            self._taken_meanwhile |= gone
            self._waiting = [ref for ref in self._waiting if ref.path not in gone]
            for path in gone:
                self._arrived.pop(path, None)
                self._noted.pop(path, None)
