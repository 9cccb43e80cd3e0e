"""What a run says of possible worlds, and who is told what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class RoundMeter(Protocol):
    """Learns what rounds cost."""

    def now(self) -> float:
        """Core time of this thread so far, in microseconds."""
        ...

    def told(self, query: str, ready_us: float, drawn_us: float, drawn: int, rounds: int) -> None:
        """An answer took so long besides its rounds, and so long for these; it was to have so many new ones."""
        ...

    def take_spent_us(self) -> float:
        """Core time of all answers that were told of since this was last asked."""
        ...


@dataclass(frozen=True, slots=True)
class WorldRun:
    """The seed of all draws, and whether what needs no worlds is computed without them."""

    seed: int = 0
    closed_forms: bool = True
    meter: RoundMeter | None = None
