"""The program as it stands, in a file per version; the older ones are removed."""

from __future__ import annotations

from typing import TypeVar

from punctual.errors import InternalError
from punctual.ports.storage import tells_disk_full
from punctual.store.directory import Directory
from punctual.store.layout import number, own

T = TypeVar("T")


class SavedProgram:
    """The newest version of a program; its number is ``directory.program``."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        versions = own(directory.files, directory.path, "program")
        directory.program = number(versions[-1]) if versions else 0

    @tells_disk_full
    def save(self, version: int, body: object) -> None:
        """Replace the program by a later version of it; numbers only grow."""
        directory = self._directory
        with directory.writing():
            if version < directory.program:
                raise InternalError(f"program {version} was saved after program {directory.program}")
            directory.write(_file(version), body)
            directory.program = version
            for old in own(directory.files, directory.path, "program")[:-1]:
                directory.files.remove(directory.name(f"program/{old}"))

    def read(self, kind: type[T]) -> T | None:
        """The program; None when none was saved."""
        return self._directory.read(_file(self._directory.program), kind)


def _file(version: int) -> str:
    return f"program/{version:012d}.json"
