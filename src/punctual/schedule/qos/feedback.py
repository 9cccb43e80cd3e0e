"""Feedback: everybody drops the same part of its input, more while deadlines are missed and less while they are met.

Nothing is predicted. Every second the part that is dropped grows by half of what the miss ratio of that second was
above its goal, 2 %. A second without answers missed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from punctual.clock import SECOND, Micros
from punctual.schedule.qos.verdict import Verdict

GAIN = 0.5
GOAL = 0.02
MOST = 0.99


@dataclass(frozen=True, slots=True)
class Feedback:
    """``drop`` is in force; answers are counted ``since`` then, by the steady clock."""

    drop: float = 0.0
    since: Micros | None = None
    answers: int = 0
    missed: int = 0

    def after(self, steady: Micros, answers: int = 0, missed: int = 0) -> Feedback:
        """The same after some more answers.

        >>> state = Feedback().after(0).after(999_999, 10, 6).after(1_000_000)
        >>> round(state.drop, 6), round(state.after(3_000_000).drop, 6)
        (0.29, 0.27)
        """
        if self.since is None:
            return Feedback(self.drop, steady, answers, missed)
        seconds = (steady - self.since) // SECOND
        state = replace(self, answers=self.answers + answers, missed=self.missed + missed)
        if seconds <= 0:
            return state
        ratio = state.missed / state.answers if state.answers else 0.0
        drop = _clamped(self.drop + GAIN * (ratio - GOAL))
        drop = _clamped(drop - GAIN * GOAL * (seconds - 1))
        return Feedback(drop, self.since + seconds * SECOND)

    def verdict(self) -> Verdict:
        """One share for all."""
        return Verdict(share=1.0 - self.drop)


def _clamped(drop: float) -> float:
    return min(max(drop, 0.0), MOST)
