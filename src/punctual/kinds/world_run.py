"""What a run says of possible worlds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorldRun:
    """The seed of all draws, and whether what needs no worlds is computed without them."""

    seed: int = 0
    closed_forms: bool = True
