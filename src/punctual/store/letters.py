"""Dead letters: rows and files that were not used, each with its reason. JSON lines, kept until the user removes them.

``dead/<batch>-<crc>.jsonl``: the name holds the CRC32 of the text. A batch has one file that its manifest names, and
one more for every time that letters were found while its windows were answered.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence

import msgspec

from punctual.errors import InternalError, corrupt
from punctual.ports.storage import tells_disk_full, write_whole
from punctual.store.directory import Directory
from punctual.store.layout import number, own
from punctual.store.sealed import typed


class DeadLetter(msgspec.Struct, frozen=True):
    """What was not used: where it came from, and why; ``row`` is None for a whole file."""

    stream: str
    reason: str
    origin: str | None
    event_time: str | None
    batch: int
    row: str | None


class DeadLetters:
    """The dead letters of a state."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    @tells_disk_full
    def add(self, batch: int, letters: Sequence[DeadLetter]) -> None:
        """More letters of a batch that is committed, found when its windows were answered."""
        with self._directory.writing():
            if batch >= self._directory.batches:
                raise InternalError(f"dead letters were added to batch {batch}, which is not committed")
            text = lines(letters)
            path = self._directory.name(letters_file(batch, text))
            if self._directory.files.size(path) is None:
                write_whole(self._directory.files, path, text)

    def read(self, stream: str | None = None) -> Iterator[DeadLetter]:
        """Letters of all committed batches (of one stream), oldest first."""
        for name in own(self._directory.files, self._directory.path, "dead"):
            if number(name) < self._directory.batches:
                yield from (letter for letter in self._of(name) if stream is None or letter.stream == stream)

    def added(self, after: int, named: Collection[str | None]) -> Iterator[DeadLetter]:
        """Letters that were added to batches after this one, after their commit: in files that no manifest names."""
        for name in own(self._directory.files, self._directory.path, "dead"):
            if after < number(name) < self._directory.batches and f"dead/{name}" not in named:
                yield from self._of(name)

    def _of(self, name: str) -> Iterator[DeadLetter]:
        path = self._directory.name(f"dead/{name}")
        text = self._directory.files.read(path)
        if f"dead/{name}" != letters_file(number(name), text):
            raise corrupt(path, "the checksum in its name does not fit")
        return (typed(line, path, DeadLetter) for line in text.splitlines())


def lines(letters: Sequence[DeadLetter]) -> bytes:
    """Letters as JSON lines."""
    return b"".join(msgspec.json.encode(letter) + b"\n" for letter in letters)


def letters_file(batch: int, text: bytes) -> str:
    """The file for these lines of a batch, relative to the state directory."""
    return f"dead/{batch:012d}-{zlib.crc32(text):08x}.jsonl"
