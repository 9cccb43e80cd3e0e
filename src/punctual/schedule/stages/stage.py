"""An answer of an instant that is drawn for."""

from __future__ import annotations

from typing import NamedTuple

from punctual.clock import Micros


class Stage(NamedTuple):
    """The answer of this number, of a query at an instant."""

    query: str
    at: Micros
    number: int

    @property
    def name(self) -> str:
        """What :mod:`punctual.schedule.online` calls it."""
        return f"{self.query}\n{self.at}\n{self.number}"
