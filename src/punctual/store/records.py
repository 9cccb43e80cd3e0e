"""An append-only log of records, durable one by one: the journal and the answer log.

Model
-----
Records are numbered 1, 2, 3, ... without gaps; a record's number is its *position*. When ``append``
returns, the record survives a crash. ``trim`` forgets the oldest.

Layout
------
``<folder>/<position of the first record, 20 digits>.log``, each file (a *segment*) a run of frames::

    position u64 | positions 5 x u64 | bytes of the payload u32 | its CRC32 u32 | CRC32 of the head so far u32 | payload

little-endian. The name of the last segment keeps the numbering also when it holds nothing. ``positions`` say how far
the rest of the state had come (:mod:`punctual.store.positions`).

Invariants
----------
- A record is whole before the next one is begun, so a crash can only tear the end of the last segment.
  That tail is cut at open. It is recognised by what tearing leaves: fewer bytes than the frame claims, or
  a sector of zeros where bytes never arrived. Everything else that does not fit its checksum, a broken
  record with a whole one behind it, and a missing segment are damage: ``state.corrupt``.
- A segment's name is durable before its first record is written; trimming removes the oldest first and
  makes each removal durable before the next, so segments are a run without gaps.
- After a failed append (a full disk) the tail is cut back, at once or before the next append.

One append is one write and one ``fdatasync``; opening reads the last segment only.
"""

from __future__ import annotations

import contextlib
import re
import struct
import threading
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise

from punctual.errors import InternalError, corrupt
from punctual.ports.storage import Appender, Files, tells_disk_full
from punctual.store.positions import Positions

SEGMENT_BYTES = 64 * 1024 * 1024
_HEAD = struct.Struct("<6QIII")
_COVERED = struct.Struct("<6QII")  # the part of the head that its own checksum covers
_SECTOR_BYTES = 512
_SEGMENT = re.compile(r"[0-9]{20}\.log")


class RecordLog:
    """One log in one folder.

    Parameters
    ----------
    files : Files
    folder : str
        Absolute; created when records are first appended.
    segment_bytes : int
        A new segment is begun when the last one has reached this size.
    readonly : bool
        Look without touching: a torn tail is passed over, not cut.
    positions : callable
        How far the state has come, asked when a record is appended.
    """

    def __init__(
        self,
        files: Files,
        folder: str,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        readonly: bool = False,
        positions: Callable[[], Positions] = Positions,
    ) -> None:
        self._files = files
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._readonly = readonly
        self._positions = positions
        self.vouched = Positions()
        """What the last record says of the rest of the state."""
        self._tail: Appender | None = None
        self._needs_cut = False
        self._snapshot = threading.Lock()
        self._firsts = sorted(int(name[:20]) for name in files.listing(folder) if _SEGMENT.fullmatch(name))
        self._position = 0
        self._length = 0  # bytes of whole records in the last segment
        if self._firsts:
            self._find_the_end()

    @property
    def position(self) -> int:
        """Position of the last record; 0 before the first."""
        return self._position

    @property
    def first(self) -> int:
        """Position of the oldest record that is still kept (one more than the last when none is)."""
        return self._firsts[0] if self._firsts else 1

    @tells_disk_full
    def append(self, payload: bytes) -> int:
        """Add a record; it is durable when its position is returned."""
        if self._readonly:
            raise InternalError(f"log {self._folder} was opened for looking only")
        if self._needs_cut:
            self._cut_tail()
        position = self._position + 1
        tail = self._tail_for(position)
        frame = _head_of(position, self._positions(), payload) + payload
        try:
            tail.write(frame)
            tail.sync()
        except OSError:
            self._needs_cut = True
            with contextlib.suppress(OSError):
                self._cut_tail()
            raise
        with self._snapshot:
            self._position = position
            self._length += len(frame)
        return position

    def read(self, after: int) -> Iterator[tuple[int, bytes]]:
        """Records with a position above ``after``, in order, as far as they are there now."""
        with self._snapshot:  # one thread reads while another one appends and forgets: what is mapped stays
            last, length, firsts = self._position, self._length, list(self._firsts)
            begin = max(0, bisect_right(firsts, after + 1) - 1)
            mapped = {at: self._files.map(self._path(firsts[at])) for at in range(begin, len(firsts))}
        for at, whole in mapped.items():
            path = self._path(firsts[at])
            is_last = at == len(firsts) - 1
            data = memoryview(whole)
            view = data[:length] if is_last else data
            position = firsts[at] - 1
            for position, start, stop in _frames(view, firsts[at]):
                if position > after:
                    yield position, bytes(view[start:stop])
            if position != (last if is_last else firsts[at + 1] - 1):
                raise corrupt(path, f"record {position + 1} is broken or missing")

    def kept_from(self, before: int) -> int:
        """Position of the oldest record that ``trim(before)`` would leave."""
        whole = bisect_right(self._firsts, before)
        return self._firsts[max(0, whole - 1)] if self._firsts else 1

    @tells_disk_full
    def trim(self, before: int) -> None:
        """Forget records below ``before``, by whole segments; the last segment always stays."""
        while len(self._firsts) > 1 and self._firsts[1] <= before:
            with self._snapshot:
                self._files.remove(self._path(self._firsts[0]))
                self._files.sync_folder(self._folder)
                del self._firsts[0]

    def close(self) -> None:
        """Close the file; every record is durable already."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _tail_for(self, position: int) -> Appender:
        if self._tail is not None and self._length < self._segment_bytes:
            return self._tail
        self.close()
        if not self._firsts or self._length >= self._segment_bytes:
            self._files.make_folder(self._folder)
            tail = self._files.append(self._path(position))
            try:
                self._files.sync_folder(self._folder)
            except OSError:
                tail.close()
                raise
            with self._snapshot:
                self._firsts.append(position)
                self._length = 0
        else:
            tail = self._files.append(self._path(self._firsts[-1]))
        self._tail = tail
        return tail

    def _find_the_end(self) -> None:
        path = self._path(self._firsts[-1])
        data = memoryview(self._files.map(path))
        self._position = self._firsts[-1] - 1
        last = None
        for position, start, stop in _frames(data, self._firsts[-1]):
            self._position, self._length, last = position, stop, start - _HEAD.size
        if last is not None:
            self.vouched = Positions(*_HEAD.unpack_from(data, last)[1:6])
        if self._length == len(data):
            return
        if not _is_torn(data[self._length :], self._position + 1, self._length):
            raise corrupt(path, f"record {self._position + 1} does not fit its checksum")
        if not self._readonly:
            del data
            self._cut_tail()

    def _cut_tail(self) -> None:
        self.close()
        self._files.truncate(self._path(self._firsts[-1]), self._length)
        self._needs_cut = False

    def _path(self, first: int) -> str:
        return f"{self._folder}/{first:020d}.log"


def _head_of(position: int, positions: Positions, payload: bytes) -> bytes:
    covered = _COVERED.pack(position, *positions.numbers(), len(payload), zlib.crc32(payload))
    return covered + struct.pack("<I", zlib.crc32(covered))


def _frames(data: memoryview, position: int) -> Iterator[tuple[int, int, int]]:
    """Whole frames from the start on: position, start and stop of the payload; ends at the first that is not."""
    at = 0
    while (stop := _whole_frame(data, at, position)) is not None:
        yield position, at + _HEAD.size, stop
        at, position = stop, position + 1


def _whole_frame(data: memoryview, at: int, position: int) -> int | None:
    """End of the frame that begins here, when it is whole and has this position."""
    if at + _HEAD.size > len(data):
        return None
    found, *_positions, size, checksum, own_checksum = _HEAD.unpack_from(data, at)
    start = at + _HEAD.size
    if (
        found != position
        or own_checksum != zlib.crc32(data[at : at + _COVERED.size])
        or start + size > len(data)
        or checksum != zlib.crc32(data[start : start + size])
    ):
        return None
    return int(start + size)


def _is_torn(rest: memoryview, position: int, offset: int) -> bool:
    """Whether a crash in the middle of one append explains these last bytes of a file."""
    text = bytes(rest)
    successor = struct.pack("<Q", position + 1)
    at = text.find(successor)
    while at >= 0:
        if _whole_frame(rest, at, position + 1) is not None:
            return False
        at = text.find(successor, at + 1)
    if len(rest) < _HEAD.size:
        return True
    found, *_positions, size, _checksum, own_checksum = _HEAD.unpack_from(rest)
    if own_checksum == zlib.crc32(rest[: _COVERED.size]) and found == position and _HEAD.size + size > len(rest):
        return True
    first = -offset % _SECTOR_BYTES
    edges = [0, *range(first or _SECTOR_BYTES, len(text), _SECTOR_BYTES), len(text)]
    return any(not any(text[start:stop]) for start, stop in pairwise(edges))
