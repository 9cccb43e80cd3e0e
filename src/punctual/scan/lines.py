"""Lines of a stretch of a file, in pieces of bounded size that end where a line ends.

A line belongs to the stretch in which it begins. Lines end with ``\\n``, ``\\r`` or both, and a byte order mark at the
start of a file is no part of its first line, as in Hadoop's reader. A line longer than a piece makes a longer piece.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Any

import pyarrow as pa

PIECE_BYTES = 4 << 20
UNPACKED = {".gz": "gzip", ".bz2": "bz2"}
"""Endings of compressed files, whose bytes cannot be cut."""
_BOM = b"\xef\xbb\xbf"


def is_compressed(path: str) -> bool:
    """Whether the file is unpacked while it is read, so that it is one part."""
    return _codec(path) is not None


def pieces(path: str, start: int, end: int, piece_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
    """The lines that begin in ``[start, end)`` of a file, whole, some at a time; a compressed file is read whole.

    The last line of a file may lack its break.
    """
    codec = _codec(path)
    with _opened(path, codec) as file:
        # Whether a line begins at the start, the byte before says.
        at = max(0, start - 1) if codec is None else 0
        reading = _Reading(file, at, piece_bytes)
        if at == 0 < end:
            reading.skip_mark()
        if start and codec is None:
            while (begin := _next_line(reading.data, 0, ended=reading.ended)) is None:
                reading.more()
            reading.drop(begin)
        # The mark of a file is part of its first line, as far as stretches go.
        while codec is not None or reading.at < max(end, reading.first + 1):
            reading.more()
            if not reading.data:
                return
            while (cut := _cut(reading, None if codec else end)) is None:
                reading.more()
            yield reading.data[:cut]
            reading.drop(cut)


class _Reading:
    """What was read of a file and not given yet: ``data``, the first byte of which is at ``at``.

    ``first`` is where the first line begins, if that is after a mark.
    """

    def __init__(self, file: IO[bytes], at: int, piece_bytes: int) -> None:
        self._file = file
        self._piece_bytes = piece_bytes
        file.seek(at) if at else None
        self.at = at
        self.first = -1
        self.data = b""
        self.ended = False
        self.more()

    def more(self) -> None:
        """Read on: at least a piece, and as much again as is there where a line does not end in it."""
        wanted = max(self._piece_bytes, 2 * len(self.data)) - len(self.data)
        found = self._file.read(wanted) if wanted > 0 and not self.ended else b""
        self.ended = self.ended or not found
        self.data += found

    def skip_mark(self) -> None:
        while len(self.data) < len(_BOM) and not self.ended:
            self.more()
        if self.data.startswith(_BOM):
            self.drop(len(_BOM))
            self.first = self.at

    def drop(self, count: int) -> None:
        self.data = self.data[count:]
        self.at += count


def _codec(path: str) -> str | None:
    return UNPACKED.get(os.path.splitext(path)[1].lower())


def _opened(path: str, codec: str | None) -> AbstractContextManager[Any]:
    return open(path, "rb") if codec is None else pa.input_stream(path, compression=codec)


def _cut(reading: _Reading, end: int | None) -> int | None:
    """How many bytes of the data are whole lines that begin before the end; None if one must read on to know."""
    data = reading.data
    if end is not None and end - reading.at < len(data):
        return _next_line(data, max(0, end - reading.at - 1), ended=reading.ended)
    if reading.ended:
        return len(data)
    last = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
    # The break after which it would be cut may be the first half of one.
    return last or None


def _next_line(data: bytes, at: int, *, ended: bool) -> int | None:
    """Where the line begins that follows the first break at or after a place; None if one must read on to know.

    >>> [_next_line(b"ab" + end + b"c", 0, ended=False) for end in (b"\\n", b"\\r\\n", b"\\r")]
    [3, 4, 3]
    >>> _next_line(b"ab\\r", 0, ended=False), _next_line(b"ab\\r", 0, ended=True)
    (None, 3)
    """
    feed = data.find(b"\n", at)
    back = data.find(b"\r", at, len(data) if feed < 0 else feed)
    if back >= 0:
        if back + 1 == len(data):
            return back + 1 if ended else None
        return back + 2 if data[back + 1 : back + 2] == b"\n" else back + 1
    if feed >= 0:
        return feed + 1
    return len(data) if ended else None
