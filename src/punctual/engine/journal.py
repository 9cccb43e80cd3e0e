"""Decisions that answers depend on, written down before they take effect.

A record holds every decision that still matters, so the last one is enough, and the others are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from punctual.schedule.cadence_plans import CadencePlan
from punctual.schedule.levels import Decision
from punctual.schedule.stages.endings import Ending
from punctual.store.codec import encode
from punctual.store.records import RecordLog
from punctual.store.sealed import typed


@dataclass(frozen=True, slots=True)
class Decisions:
    """All that was decided: cadence plans, class by class and ascending, settings of knobs, and firings that ended."""

    cadence: tuple[CadencePlan, ...] = ()
    levels: tuple[Decision, ...] = ()
    endings: tuple[Ending, ...] = ()


class Journal:
    """The last record of a state's journal."""

    def __init__(self, log: RecordLog) -> None:
        self._log = log
        self.decided = Decisions()
        """What holds now."""
        for position, payload in log.read(max(0, log.position - 1)):
            self.decided = typed(payload, f"record {position} of the journal", Decisions)

    def decide(self, levels: Sequence[Decision], endings: Sequence[Ending]) -> None:
        """Settings and endings that still matter, written down before they take effect."""
        self.write(replace(self.decided, levels=tuple(levels), endings=tuple(endings)))

    def write(self, decisions: Decisions) -> None:
        """From now on this holds; durable when this returns."""
        if decisions != self.decided:
            position = self._log.append(encode(decisions))
            self._log.trim(position)
            self.decided = decisions
