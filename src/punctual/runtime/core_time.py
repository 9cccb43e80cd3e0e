"""Core time of the data plane, by the thread that asked for it.

Model
-----
Tasks report what their Python workers used (:mod:`punctual.runtime.operators.in_worker`). The JVM's part is read from
the clock of its process when a call begins and when it ends: planning, scheduling, generated code, compilers, the
collector. What it uses while several threads have calls under way is dealt out to them evenly, and what it uses while
none has is nobody's: so sums never exceed what was used. On a cluster the executors' JVMs are not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from punctual.clock import process_us
from punctual.store.products import without_times


@dataclass(slots=True, eq=False)
class _Tally:
    """What calls of one thread used and nobody has taken yet."""

    us: float = 0.0


class CoreTime:
    """Adds up; ``process_us`` reads the clock of the JVM's process."""

    def __init__(self, process_us: Callable[[], float] = lambda: 0.0) -> None:
        self._process_us = process_us
        self._mutex = threading.Lock()
        self._own = threading.local()
        self._open: list[_Tally] = []
        self._read = 0.0
        self._reported = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """What the JVM uses meanwhile is this thread's."""
        mine = self._mine()
        with self._mutex:
            self._deal()
            self._open.append(mine)
        try:
            yield
        finally:
            with self._mutex:
                self._deal()
                self._open.remove(mine)

    def reported(self, table: pa.Table) -> pa.Table:
        """The output of a job without what its tasks report of their time, which is this thread's."""
        rest, us = without_times(table)
        self.add(us)
        return rest

    def add(self, us: float) -> None:
        """Tasks used this for the calling thread."""
        mine = self._mine()
        with self._mutex:
            mine.us += us
            self._reported += us

    def take(self) -> float:
        """Microseconds that calls of this thread used since it last asked."""
        mine = self._mine()
        with self._mutex:
            taken, mine.us = mine.us, 0.0
        return taken

    def untaken_us(self) -> float:
        """Microseconds that calls of this thread used and that it has not taken yet."""
        return self._mine().us

    def total_us(self) -> float:
        """All that tasks and the JVM have used so far, whoever asked for it."""
        return self._reported + self._process_us()

    def _deal(self) -> None:
        now = self._process_us()
        for one in self._open:
            one.us += max(0.0, now - self._read) / len(self._open)
        self._read = now

    def _mine(self) -> _Tally:
        found: _Tally | None = getattr(self._own, "tally", None)
        if found is None:
            found = self._own.tally = _Tally()
        return found


class JvmClock:
    """Reads the core time of the JVM, whose number is known once it has started; of one that is gone the last time."""

    def __init__(self, pid: Callable[[], int | None]) -> None:
        self._pid = pid
        self._last = 0.0

    def __call__(self) -> float:
        pid = self._pid()
        with suppress(OSError):
            self._last = 0.0 if pid is None else process_us(pid)
        return self._last


class StageTime:
    """What stages report that yield no products: the sum of an accumulator of Spark's, a term per task."""

    def __init__(self, accumulator: Any) -> None:
        self.told = accumulator
        self._taken = 0

    def take(self) -> int:
        """Microseconds that were reported since this was last asked."""
        now = int(self.told.value)
        taken, self._taken = now - self._taken, now
        return taken
