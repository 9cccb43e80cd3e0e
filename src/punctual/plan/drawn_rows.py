"""Windows whose rows differ between worlds, and are handed to Spark in every round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from punctual.clock import Micros
from punctual.own_names import ROUND


class DrawnRows(ABC):
    """What a kind makes of the rows of a window: those of every round, with the round as one more column.

    A frozen value, which travels to the tasks that read the window. ``names`` are columns of the window, of the same
    types; ``rounds`` is how many rounds the first answer of an instant has.
    """

    __slots__ = ()
    names: tuple[str, ...]
    rounds: int

    @property
    def made(self) -> tuple[str, ...]:
        """Whole numbers that stand before the other columns: the round is the first."""
        return (ROUND,)

    @abstractmethod
    def draw(self, rows: Any, at: Micros, seed: int, rounds: range) -> Iterator[Any]:
        """The rows in these rounds, as Arrow batches: the columns ``made``, then ``names``.

        ``rows`` is an Arrow table with the columns of the window, at the instant ``at``.
        """
