"""Contracts that turn out not to hold: reported once, and kept with the state for ``punctual status``.

What a query costs is learned, and the first numbers are rough. So it counts what was found several times in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from punctual.store.noted import Noted

IN_A_ROW = 3
"""So many passes have to agree."""


@dataclass(frozen=True, slots=True)
class SavedWarnings:
    """As they were found last, a sentence each."""

    texts: tuple[str, ...] = ()


class ContractWarnings:
    """What stands of one program. Belongs to the loop; ``report`` is told what a person should know."""

    def __init__(self, saved: Noted, report: Callable[[str], None]) -> None:
        self._saved = saved
        self._report = report
        self._times: dict[str, int] = {}
        self._told: set[str] = set()
        self._standing: set[str] | None = None if saved.read(SavedWarnings) else set()
        """Those that the file has; None: somebody else wrote it."""

    def found(self, warnings: Mapping[str, str]) -> None:
        """What was found after a pass: sentences by what they are about. Numbers in them may change every time."""
        self._times = {about: self._times.get(about, 0) + 1 for about in warnings}
        standing = {about for about, times in self._times.items() if times >= IN_A_ROW}
        for about in sorted(standing - self._told):
            self._report(warnings[about])
        self._told |= standing
        if standing != self._standing:
            self._saved.save(SavedWarnings(tuple(text for about, text in warnings.items() if about in standing)))
            self._standing = standing
