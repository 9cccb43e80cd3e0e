"""A batch that is part of the state, as the loop hears of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from punctual.clock import Micros
from punctual.estimate.spent import BatchSpent
from punctual.schedule.arrivals import Arrivals
from punctual.schedule.contract import Reach


@dataclass(frozen=True, slots=True)
class Committed:
    """A batch that was committed: how far streams came, when its rows could be read, how many were accepted.

    ``lag_us`` is how long the oldest of its rows waited to be read; ``spent`` is what reading it used. ``asked`` says
    whether queries are asked with it that are asked once.
    """

    batch: int
    reaches: Mapping[str, Reach]
    spoke: frozenset[str]
    arrivals: Mapping[str, Arrivals] | None
    spent: BatchSpent
    lag_us: Micros = 0
    asked: bool = False

    @property
    def rows(self) -> int:
        """How many rows were accepted."""
        return self.spent.rows
