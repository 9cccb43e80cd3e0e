"""An engine's life: its state is taken, its loop runs in this thread, in another one or step by step, and it ends."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from punctual.clock import Clock, Micros
from punctual.engine.loop import BatchReport, Loop
from punctual.errors import RunError
from punctual.ports.storage import Files
from punctual.runtime.backend import Backend
from punctual.schedule.state import Mode
from punctual.store.lock import StateLock
from punctual.store.store import Store


class Lifecycle(ABC):
    """Opens, runs and closes one loop over one state. What is in it is the subclass's."""

    def __init__(
        self, state: str | None, clock: Clock, files: Files, make_backend: Callable[[], Backend]
    ) -> None:
        self._state = state
        self._clock = clock
        self._files = files
        self._make_backend = make_backend
        self._temporary: str | None = None
        self._lock: StateLock | None = None
        self._loop: Loop | None = None
        self._runs = False
        """Whether the loop runs, in whatever thread: then it alone touches the state."""
        self._backend: Backend | None = None
        self._mutex = threading.RLock()
        self._thread: threading.Thread | None = None
        self._problem: BaseException | None = None

    @abstractmethod
    def _recovered(self, store: Store, backend: Backend) -> Loop:
        """A loop over the state as it was left."""

    @abstractmethod
    def _before_backend(self, store: Store) -> None:
        """What can be refused before a JVM starts."""

    @abstractmethod
    def _opened_loop(self, loop: Loop) -> None:
        """The state is recovered, and everything that was due is answered."""

    @abstractmethod
    def _before_close(self) -> None:
        """Nothing more will be read."""

    def open(self) -> None:
        """Take the state, start the data plane, recover; nothing runs by itself yet."""
        with self._mutex:
            if self._loop is not None:
                return
            directory = self._state
            if directory is None:
                directory = self._temporary = tempfile.mkdtemp(prefix="punctual-")
            self._lock = StateLock.acquire(directory, self._files, self._clock)
            try:
                store = Store.open(directory, self._files, identity=secrets.token_hex(8))
                self._before_backend(store)
                backend = self._backend = self._make_backend()
                self._loop = self._recovered(store, backend)
                # Only now somebody has to wait for it: nothing that runs there has touched the state yet.
                pid = backend.pid()
                if pid is not None:
                    self._lock.record_jvm(pid)
                self._loop.settle()
                self._opened_loop(self._loop)
            except BaseException:
                self._release()
                raise

    def tick(self, *, limit: int | None = None) -> BatchReport | None:
        """One batch, if there is anything to read, and its answers."""
        with self._mutex:
            return self._stepped().read(limit)

    def advance(self, through: Mapping[str, Micros]) -> BatchReport | None:
        """Let streams be complete through these instants without new rows."""
        with self._mutex:
            return self._stepped().complete({name.lower(): at for name, at in through.items()})

    def end(self) -> BatchReport | None:
        """There are no more rows: answer every instant up to the largest event time."""
        with self._mutex:
            loop = self._stepped()
            return loop.complete(loop.core.end_of_input())

    def run_once(self, progress: Callable[[BatchReport], None] | None = None) -> None:
        """Read what is there to its end and answer all that is due."""
        self._run("once", progress)

    def run(self, progress: Callable[[BatchReport], None] | None = None) -> None:
        """Run in this thread until ``request_stop``."""
        self._run("live", progress)

    def start(self) -> None:
        """Run in a thread until ``stop``."""
        self.open()
        self._problem = None
        self._runs = True
        self._thread = threading.Thread(target=self._run_aside, name="punctual", daemon=True)
        loop = self._opened()
        loop.began.clear()
        self._thread.start()
        loop.began.wait()

    def _run(self, mode: Mode, progress: Callable[[BatchReport], None] | None) -> None:
        self.open()
        loop = self._opened()
        if progress is not None:
            loop.progress = progress
        self._runs = True
        try:
            loop.run(mode)
        finally:
            self._runs = False

    def _run_aside(self) -> None:
        try:
            self._run("live", None)
        except BaseException as problem:
            self._problem = problem

    def request_stop(self) -> None:
        """Let the loop end after the batch that it is at."""
        if self._loop is not None:
            self._loop.ask_to_stop()

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the loop to end; raise what ended it."""
        if self._thread is not None:
            self._thread.join(timeout)
        self._raise_problem()

    def stop(self) -> None:
        """End the loop where it stands, and close. The state resumes: what was under way is done again."""
        self.close()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def _raise_problem(self) -> None:
        """Raise what ended the loop: a caller that goes on would wait for answers that never come."""
        if self._problem is not None:
            raise self._problem

    def close(self) -> None:
        """Leave a state that resumes; a temporary one is removed. A loop that runs in a thread ends where it stands."""
        if self._thread is not None:
            if self._loop is not None:
                self._loop.leave()
            self._thread.join()
            self._thread = None
        with self._mutex:
            self._release()

    def _release(self) -> None:
        self._before_close()
        loop, self._loop = self._loop, None
        backend, self._backend = self._backend, None
        try:
            if loop is not None:
                loop.close()
                loop.core.close()
        finally:
            if backend is not None:
                with contextlib.suppress(Exception):
                    backend.close()
            if self._lock is not None:
                self._lock.release()
                self._lock = None
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
                self._temporary = None

    def _opened(self) -> Loop:
        if self._loop is None:
            raise RunError("run.not-open", "the engine is not running", hint="call start() or open() first")
        return self._loop

    def _stepped(self) -> Loop:
        """The loop, for one step of it."""
        loop = self._opened()
        if self._runs:
            raise RunError("run.runs-by-itself", "the engine runs by itself", hint="call stop() first, then open()")
        return loop

    def _have_done(self, what: Callable[[], Any]) -> Any:
        """Have the loop do something: between two of its events where it runs, else here and now."""
        loop = self._opened()
        return loop.call(what) if self._runs else what()
