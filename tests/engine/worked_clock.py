"""A clock that moves by the rounds that are drawn: what takes how long is the same on any machine."""

from __future__ import annotations

import threading
from typing import TypeVar

import pytest

from punctual.clock import ManualClock, Micros
from punctual.kinds.worlds.simulate import GroupsInWorlds, GroupWorlds

ROUND_US = 5_000


class Worked(ManualClock):
    """Each round takes ``price``; each thread has worked for as long as it drew."""

    def __init__(self, at: Micros) -> None:
        super().__init__(at)
        self._mine = threading.local()
        self._moving = threading.Lock()
        self.rounds = 0
        self.price = ROUND_US

    def thread_us(self) -> float:
        return float(getattr(self._mine, "us", 0.0))

    def sleep(self, duration: Micros) -> None:
        with self._moving:
            super().sleep(duration)

    def draw(self, rounds: int) -> None:
        """Somebody drew so many."""
        with self._moving:
            self.at += self.price * rounds
            self.rounds += rounds
        self._mine.us = self.thread_us() + self.price * rounds


C = TypeVar("C", bound=Worked)


def moved_by_rounds(monkeypatch: pytest.MonkeyPatch, clock: C) -> C:
    """The clock, which kernels move; a joblet looks at it after every round."""
    real = GroupsInWorlds.part

    def slowly(self: GroupsInWorlds, rounds: range) -> GroupWorlds:
        clock.draw(len(rounds))
        return real(self, rounds)

    monkeypatch.setattr(GroupsInWorlds, "part", slowly)
    monkeypatch.setattr("punctual.kinds.worlds.simulate.rounds_at_once", lambda _rows: 1)
    return clock
