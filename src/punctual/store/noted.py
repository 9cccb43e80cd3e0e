"""What an engine has found out, in small files beside the state. Lost or damaged, it is found out again."""

from __future__ import annotations

import contextlib
from typing import TypeVar

from punctual.errors import StateError
from punctual.ports.storage import write_whole
from punctual.store.directory import Directory
from punctual.store.sealed import read_sealed, seal

T = TypeVar("T")
FORMAT = 1


class Noted:
    """One such file of a state: ``costs`` is ``costs.json``."""

    def __init__(self, directory: Directory, what: str) -> None:
        self._directory = directory
        self._file = directory.name(f"{what}.json")
        self._key = f"{what}{FORMAT}"

    def save(self, body: object) -> None:
        """Replace what was saved before. Where that is not possible (a full disk) the old one stays."""
        with contextlib.suppress(OSError), self._directory.writing():
            write_whole(self._directory.files, self._file, seal({self._key: body}))

    def read(self, kind: type[T]) -> T | None:
        """What was last saved; None where there is nothing, or something else than this version writes."""
        with contextlib.suppress(StateError, OSError):
            found = read_sealed(self._directory.files, self._file, dict[str, kind])  # type: ignore[valid-type]
            return None if found is None else found.get(self._key)
        return None
