"""What comes next of every stream, and sources that cannot be looked at for a while."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from punctual.clock import Micros
from punctual.engine.intake import Intake, Slice
from punctual.errors import FeedError


class Arrivals:
    """Asks streams for their next slices.

    Every source was there when its stream was declared. ``patient`` says whether one that is not now holds nobody up:
    in a live run. ``report`` is told what a person should know.
    """

    def __init__(self, report: Callable[[str], None], *, patient: bool) -> None:
        self._report = report
        self._patient = patient
        self._there: dict[str, bool] = {}
        """Whether a stream's source could be looked at the last time."""

    def slices(self, intakes: Mapping[str, Intake], now: Micros, limit: int | None) -> dict[str, Slice]:
        """The next slice of every stream that has one."""
        found = {name: self._next(name, intake, now, limit) for name, intake in intakes.items()}
        return {name: planned for name, planned in found.items() if planned is not None}

    def _next(self, name: str, intake: Intake, now: Micros, limit: int | None) -> Slice | None:
        try:
            planned = intake.plan(now, limit)
        except FeedError as error:
            if not self._patient:
                raise
            if self._there.get(name, True):
                self._report(f'stream "{name}" cannot be read for now: {error.fact}')
            self._there[name] = False
            return None
        self._there[name] = True
        return planned
