"""What an engine has learned of costs, in one small file. Lost or damaged, it is learned again."""

from __future__ import annotations

import contextlib
from typing import TypeVar

from punctual.errors import StateError
from punctual.ports.storage import write_whole
from punctual.store.directory import Directory
from punctual.store.sealed import read_sealed, seal

T = TypeVar("T")
COSTS = "costs.json"
FORMAT = 1


class SavedCosts:
    """The file of a state."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def save(self, body: object) -> None:
        """Replace what was saved before. Where that is not possible (a full disk) the old one stays."""
        with contextlib.suppress(OSError), self._directory.writing():
            write_whole(self._directory.files, self._directory.name(COSTS), seal({f"costs{FORMAT}": body}))

    def read(self, kind: type[T]) -> T | None:
        """What was last saved; None where there is nothing, or something else than this version writes."""
        with contextlib.suppress(StateError, OSError):
            found = read_sealed(self._directory.files, self._directory.name(COSTS), dict[str, kind])  # type: ignore[valid-type]
            return None if found is None else found.get(f"costs{FORMAT}")
        return None
