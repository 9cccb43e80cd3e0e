"""A Spark session that starts aside: whoever needs it waits, and until then does other things.

A JVM takes seconds to start. A run begins at once, in a thread, and meanwhile checks the program, lists its files and
opens its state; a check begins when something is left that only Spark can judge, which may be never. PySpark takes
Ctrl-C for itself where its context starts in the main thread: it never does, so who runs the program decides what it
means.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Starting(Generic[T]):
    """Something that ``start`` makes, once, in a thread of its own."""

    def __init__(self, start: Callable[[], T]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._made: list[T] = []
        self._problem: BaseException | None = None

    def begin(self) -> None:
        """Start it, unless that was begun; nobody waits."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="punctual-start", daemon=True)
                self._thread.start()

    def get(self) -> T:
        """What was made, now or before; what went wrong is raised every time."""
        self.begin()
        assert self._thread is not None
        self._thread.join()
        if self._problem is not None:
            raise self._problem
        return self._made[0]

    def begun(self) -> bool:
        """Whether there is, or will be, anything to end."""
        return self._thread is not None

    def _run(self) -> None:
        try:
            self._made.append(self._start())
        except BaseException as problem:
            self._problem = problem
