"""What a kind remembers between answers, and reports besides them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from punctual.clock import Micros
from punctual.kernel.panes.panes import Answered
from punctual.kinds.job import Job
from punctual.plan.relation import Stream


class Written(Protocol):
    """A dead letter as it was written."""

    @property
    def stream(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def row(self) -> str | None: ...
    @property
    def event_time(self) -> str | None: ...


LettersWritten = Callable[[], Iterable[Written]]
"""Reads the dead letters of a state, as they were written."""


@dataclass(frozen=True, slots=True)
class RowLetter:
    """A dead letter that was found when a window was answered; ``row`` is None where nobody kept it."""

    stream: str
    reason: str
    row: str | None
    event_time: Micros


class KindMemory:
    """It can be lost: what must outlive a crash is found again in answers and dead letters."""

    def see(self, job: Job, answered: Answered, streams: Mapping[str, Stream]) -> None:
        """Take note of what the cells gave for a job; ``streams`` are by name in lower case."""

    def letters(self) -> list[RowLetter]:
        """Dead letters that are new since this was asked last. They are durable before the answers are."""
        return []

    def forget(self, before: Micros) -> None:
        """Rows at or before this instant are in no window to come."""
