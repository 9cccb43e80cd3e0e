"""The loop of a running program: batch after batch to the end of the input, or for as long as nobody stops it.

The loop holds the engine's lock while it works and not while it waits, so a notebook can feed rows, add queries and
read answers in between. A JVM that died is noticed within a second, also when nothing happens: nothing is lost, for
what was committed is in the state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from punctual.clock import SECOND, Clock, Micros
from punctual.engine.core import Core, Settled
from punctual.engine.pace import Pace
from punctual.errors import PunctualError, RunError

LOOK_US: Micros = SECOND // 5
"""How often a waiting loop looks whether it should stop and whether the JVM still lives."""

Progress = Callable[[Settled], None]


@dataclass(frozen=True, slots=True)
class Loop:
    """Runs a core until its input ends or ``stopping`` is set; ``progress`` is told of every settled batch."""

    core: Core
    mutex: threading.RLock
    clock: Clock
    stopping: threading.Event
    progress: Progress
    watch: Callable[[], None]
    """Looks after what feeds the program besides its sources, once a round."""

    def once(self, speed: float | None) -> None:
        """Read what is there to its end and answer all that is due."""
        self._guarded(lambda: self._once(Pace(speed, self.clock)))

    def live(self) -> None:
        """Go on until asked to stop."""
        self._guarded(self._live)

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except Exception as problem:
            if isinstance(problem, PunctualError) or self.core.backend.alive():
                raise
            # Who stops a whole process group stops the JVM too.
            if not self.stopping.is_set():
                raise _jvm_died() from problem

    def _once(self, pace: Pace) -> None:
        while not self.stopping.is_set():
            with self.mutex:
                settled = self.core.tick(limit=pace.limit())
            if settled is None:
                break
            self.progress(settled)
            self._wait(pace.ahead(self.core.progress))
        if not self.stopping.is_set():
            with self.mutex:
                settled = self.core.advance(self.core.end_of_input())
            if settled is not None:
                self.progress(settled)

    def _live(self) -> None:
        spoke: dict[str, Micros] = {}
        started = self.clock.monotonic()
        while not self.stopping.is_set():
            began = self.clock.monotonic()
            with self.mutex:
                self.watch()
                before = {name: p.accepted for name, p in self.core.progress.items()}
                settled = self.core.tick()
                for name, p in self.core.progress.items():
                    if p.accepted != before.get(name, 0):
                        spoke[name] = self.clock.monotonic()
                quiet = self._quiet(spoke, started)
                now = self.core.in_one_go(quiet) if quiet else {}
                if now:
                    settled = self.core.advance(now) or settled
                pause = self.core.options.tick_us if not now or now == quiet else 0
            if settled is not None:
                self.progress(settled)
            self._wait(pause - (self.clock.monotonic() - began))

    def _quiet(self, spoke: Mapping[str, Micros], started: Micros) -> dict[str, Micros]:
        """Streams that were silent for ``idle``, and through when they are complete by the wall clock."""
        idle = self.core.options.idle_us
        now = self.clock.monotonic()
        return {
            name: self.clock.now() - stream.watermark_us - idle
            for name, stream in self.core.standing.catalog.streams.items()
            if now - spoke.get(name, started) >= idle
        }

    def _wait(self, duration: Micros) -> None:
        until = self.clock.monotonic() + duration
        while not self.stopping.is_set() and (left := until - self.clock.monotonic()) > 0:
            self.clock.sleep(min(left, LOOK_US))
            if not self.stopping.is_set() and not self.core.backend.alive():
                raise _jvm_died()


def _jvm_died() -> RunError:
    return RunError(
        "run.jvm-died",
        "the Java process of Spark has died",
        detail="what was committed is in the state, and a new run goes on from there",
        hint="start it again on the same state to resume; without one nothing was kept",
    )
