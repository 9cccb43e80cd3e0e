"""Threads for what takes long: each does one thing after the other, and what it found comes back to the loop. Calls of
users come the same way.

A thread that is still at something when the engine closes is left to end by itself: what it finds is no longer asked
for. So closing never waits for a job.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """Something was done: what ``then`` makes of its result is the loop's to call. ``problem`` is what it raised."""

    then: Callable[[Any], None]
    result: Any = None
    problem: BaseException | None = None


@dataclass(slots=True, eq=False)
class Call:
    """Something that a user asks for: what it gives or raises, once the loop has done it."""

    what: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    problem: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.what()
        except BaseException as problem:
            self.problem = problem
        self.done.set()


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    what: Callable[[], Any]
    then: Callable[[Any], None] | None


JOBLETS_NICE = 5
"""Where cores are wanted by several, a joblet has a third of what an answer or a task has. No less: it may hold the
interpreter's lock for a moment, and then who waits for that waits for the joblet."""


class Worker:
    """A thread and its queue, or several of one queue. They start with the first thing to do."""

    def __init__(self, name: str, inbox: SimpleQueue[Any], threads: int = 1, *, nice: int = 0) -> None:
        self._name = name
        self._nice = nice
        self._inbox = inbox
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._count = threads
        self._threads: list[threading.Thread] = []

    def do(self, what: Callable[[], Any], then: Callable[[Any], None] | None = None) -> None:
        """Do this once a thread is free, and all that was asked for before has begun; without ``then`` only a failure
        comes back."""
        if not self._threads:
            name = f"punctual-{self._name}"
            self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for _n in range(self._count)]
            for thread in self._threads:
                thread.start()
        self._queue.put(_Work(what, then))

    def leave(self) -> None:
        """Nothing more will be asked."""
        for _thread in range(self._count):
            self._queue.put(None)

    def _run(self) -> None:
        if self._nice and sys.platform == "linux":  # elsewhere threads have no priority of their own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        while (work := self._queue.get()) is not None:
            try:
                result = work.what()
            except BaseException as problem:
                self._inbox.put(Done(work.then or _nothing, problem=problem))
            else:
                if work.then is not None:
                    self._inbox.put(Done(work.then, result))
            del work


def _nothing(_result: Any) -> None:
    return None


class Crew:
    """The engine's threads: one reads batches, one holds what is kept and answers from it, one looks at sources, and so
    many as there are cores draw rounds; as many others wait for jobs that do, and one for jobs that make rows."""

    def __init__(self, cores: int) -> None:
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self.reader = Worker("reader", self.inbox)
        self.holder = Worker("holder", self.inbox)
        self.scout = Worker("scout", self.inbox)
        self.joblets = Worker("joblets", self.inbox, cores, nice=JOBLETS_NICE)
        self.jobs = Worker("jobs", self.inbox, cores)
        self.maker = Worker("maker", self.inbox)

    def leave(self) -> None:
        """Let all of them go."""
        for worker in (self.reader, self.holder, self.scout, self.joblets, self.jobs, self.maker):
            worker.leave()
