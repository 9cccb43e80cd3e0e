"""Whose directory it is: the file ``punctual.json``, read before anything is touched.

A directory is *missing or empty* (a new state may be made in it), *ours* (it has a sealed
``punctual.json`` of a format that this version reads), or refused: foreign, of another format, damaged.
A refused directory is left exactly as it is. The lock and a half-made ``punctual.json`` may stand in a
directory that a crash left before its state was made; such a directory still counts as empty.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.errors import StateError
from punctual.ports.storage import TEMPORARY, Files, is_address, write_whole
from punctual.store.sealed import read_sealed, seal

FORMAT = 2
"""Version of the layout that this code writes; it reads this one only."""

IDENTITY_FILE = "punctual.json"
LOCK_FILE = "punctual.lock"
_BEFORE_BIRTH = {LOCK_FILE, IDENTITY_FILE + TEMPORARY}


@dataclass(frozen=True, slots=True)
class Identity:
    """Which state it is, and the number of shards that was fixed when it was made."""

    id: str
    shards: int


@dataclass(frozen=True, slots=True)
class _Format:
    """What the identity file of every format says."""

    format: int


def read_identity(files: Files, directory: str) -> Identity | None:
    """The identity of a state directory, None where a new state may be made; otherwise a StateError."""
    if is_address(directory):
        raise StateError(
            "state.not-a-folder",
            f'state "{directory}" is not a folder of a POSIX file system',
            detail="a commit is a rename, which object stores do not have",
            hint="name a folder on a local disk or on a mounted file system",
        )
    path = f"{directory}/{IDENTITY_FILE}"
    if files.size(directory) is not None and not files.is_folder(directory):
        raise _foreign(directory, "it is a file")
    found = read_sealed(files, path, _Format)
    if found is None:
        strangers = set(files.listing(directory)) - _BEFORE_BIRTH
        if strangers:
            raise _foreign(directory, f'it holds "{min(strangers)}" and no {IDENTITY_FILE}')
        return None
    differs = f'state "{directory}" has format {found.format}; this version reads format {FORMAT}'
    if found.format > FORMAT:
        raise StateError(
            "state.newer-format", differs, hint="run it with the version of Punctual that wrote it, or a newer one"
        )
    if found.format < FORMAT:
        raise StateError(
            "state.older-format",
            differs,
            detail="it was left untouched; states are not converted",
            hint="run it with the version of Punctual that wrote it, or begin anew: name a new directory after --state",
        )
    return read_sealed(files, path, Identity)


def write_identity(files: Files, directory: str, identity: Identity) -> None:
    """Make a directory ours; all else is written after this."""
    files.make_folder(directory)
    text = seal({"format": FORMAT, "id": identity.id, "shards": identity.shards})
    write_whole(files, f"{directory}/{IDENTITY_FILE}", text)


def _foreign(directory: str, why: str) -> StateError:
    return StateError(
        "state.foreign",
        f'directory "{directory}" is not a state of Punctual: {why}',
        detail="it was left untouched",
        hint="name an empty or new directory after --state",
    )
