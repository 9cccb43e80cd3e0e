"""Core time that was predicted, and that was used: of the batches that are read, and of the firings that are answered.

Core time is that of all processes: the driver's thread, the JVM's tasks, their Python workers.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.clock import Micros


@dataclass(frozen=True, slots=True)
class FiringSpent:
    """What one answer used. Work that several answers share is dealt out to them by what each is expected to need.

    Predictions are those that were made before it ran: what is as likely exceeded as not, and what seldom is; None
    where nothing could be predicted.
    """

    query: str
    at: Micros
    number: int
    used_us: float
    predicted_us: float | None = None
    high_us: float | None = None


@dataclass(frozen=True, slots=True)
class RowsSpent:
    """What answers from rows used, without what their jobs cost whatever is in them, and what would be expected of
    them by all that is known now.

    ``usual`` is False where plans were made that will be run again: that says nothing about the times after it. Then it
    took ``finish_us`` to write so many rows of answers, on one core.

    Jobs that were ended before they were done, and run again with less, are none of that: they had taken ``ended_us``
    by then, and so much core time would be expected of them.
    """

    used_us: float = 0.0
    expected_us: float = 0.0
    usual: bool = True
    answer_rows: float = 0.0
    finish_us: float = 0.0
    ended_us: float = 0.0
    ended_expected_us: float = 0.0

    def __add__(self, other: RowsSpent) -> RowsSpent:
        return RowsSpent(
            self.used_us + other.used_us,
            self.expected_us + other.expected_us,
            self.usual and other.usual,
            self.answer_rows + other.answer_rows,
            self.finish_us + other.finish_us,
            self.ended_us + other.ended_us,
            self.ended_expected_us + other.ended_expected_us,
        )


@dataclass(frozen=True, slots=True)
class ReadingParts:
    """What the time of a batch was for, as parts of it: ``fixed`` is that of a batch of nothing, ``kept`` goes with the
    rows that are kept. The rest is for looking at all of them."""

    fixed: float = 1.0
    kept: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchSpent:
    """What reading one batch used, and for what; ``shed`` rows were not read at all, and are none of its rows."""

    batch: int
    rows: int
    used_us: float
    predicted_us: float | None = None
    high_us: float | None = None
    bytes: int = 0
    shed: int = 0
    parts: ReadingParts = ReadingParts()
