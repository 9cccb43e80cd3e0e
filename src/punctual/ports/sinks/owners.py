"""Whose the files of an output folder are: the file ``.punctual.json`` in it.

A state that is kept goes on in the files that it has written, so nobody else may touch them; files of a run without a
state are anybody's. The files themselves do not say which they are. A file is entered before it is made, so one that is
there and was written by a state is always known to be; a file that the user has moved away is free again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from punctual.errors import StateError
from punctual.ports.storage import Files, write_whole

OWNERS_FILE = ".punctual.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class _Owned:
    """The states that have written the files of a folder, by name; None for a run without one."""

    format: int
    files: Mapping[str, str | None]


class Owners:
    """The owners of the files in a folder, for one of them.

    Parameters
    ----------
    state : str, optional
        Identity of the state that asks; None for a run whose state is not kept.
    """

    def __init__(self, files: Files, folder: str, state: str | None) -> None:
        self._files = files
        self._folder = folder
        self._path = f"{folder}/{OWNERS_FILE}"
        self._state = state

    def foreign(self, names: Iterable[str], *, ours: bool) -> str | None:
        """A file that is there and belongs to another state, if one does.

        ``ours`` says that this state has written to all of them, so that a run without a state must have made it anew.
        """
        owners = self._read()
        suspects = [name for name in names if name in owners and owners[name] != self._state]
        for name in suspects:
            if (ours or owners[name] is not None) and self._files.size(f"{self._folder}/{name}") is not None:
                return name
        return None

    def owns(self, name: str) -> bool:
        """Whether a file is entered as this state's."""
        return self._state is not None and self._read().get(name) == self._state

    def take(self, names: Iterable[str]) -> None:
        """These files are this state's from now on."""
        former = self._read()
        owners = {**former, **dict.fromkeys(names, self._state)}
        if owners != former:
            write_whole(self._files, self._path, msgspec.json.encode(_Owned(FORMAT, owners)) + b"\n")

    def _read(self) -> dict[str, str | None]:
        if self._files.size(self._path) is None:
            return {}
        try:
            found = msgspec.json.decode(self._files.read(self._path), type=_Owned)
            if found.format == FORMAT:
                return dict(found.files)
        except msgspec.DecodeError:
            pass
        raise StateError(
            "sink.foreign-file",
            f'"{self._path}" says whose the outputs in its folder are, and this version cannot read it',
            detail=f"it is damaged, or of a format other than {FORMAT}",
            hint="name another folder after --out",
        )
