"""JSON lines to blocks, with the values and the dead letters of Spark's reader.

A piece of a file is walked once, and the declared columns that decide whether a row fits (all but strings) are made at
once. Lines of which the walk is not sure are read again one by one (``json_line``), and their rows take the place of
what the walk found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.text.json_tokens import REMEMBERED, count_breaks, walk_lines
from punctual.scan.block import Block, Columns, Faults, Sifted
from punctual.scan.json.columns import Column, Found, column_for
from punctual.scan.json.line import LineReader
from punctual.scan.lines import PIECE_BYTES, pieces
from punctual.scan.sieve import JSON_BLANKS, Sieve


def read_json(
    path: str,
    start: int,
    end: int,
    columns: Columns,
    piece_bytes: int = PIECE_BYTES,
    sieve: Sieve | None = None,
) -> Iterator[Block]:
    """The lines of a file that begin in ``[start, end)`` as blocks: one object per line, blank lines are nothing."""
    reader = _Reader(columns)
    for piece in pieces(path, start, end, piece_bytes):
        if sieve is None:
            block = reader.read(piece)
        else:
            left = sieve.lines(piece, 0, JSON_BLANKS)
            block = reader.read(left.piece, left.sifted)
        if block.rows or sieve is not None:
            yield block


class _Reader:
    """Reads pieces of whole lines; what depends on the declared columns alone is made once."""

    def __init__(self, columns: Columns) -> None:
        self._columns = tuple(columns)
        # Written with an escape or not at all, so the walk can meet no such name.
        plain = [name.encode() if not set(name) & {'"', "\\"} else b"\0" for name, _kind in columns]
        self._names = np.frombuffer(b"".join(plain) or b"\0", np.uint8)
        self._bounds = np.cumsum([0, *map(len, plain)], dtype=np.int64)
        self._order = np.full(REMEMBERED, -1, np.int64)
        self._slow = LineReader(columns)

    def read(self, piece: bytes, sifted: Sifted | None = None) -> JsonBlock:
        """The lines of a piece; ``sifted`` says what of."""
        found, first, last = self._walk(piece)
        columns = {name: column_for(kind, found, place) for place, (name, kind) in enumerate(self._columns)}
        doubtful = np.flatnonzero(found.doubts)
        lines = [piece[a:b] for a, b in zip(first[doubtful].tolist(), last[doubtful].tolist())]
        read = [self._slow.read(line) for line in lines]
        bad = [place for place, row in enumerate(read) if row.reason is not None]
        faults = None
        if bad:
            texts = [lines[place].decode("utf-8", "replace") for place in bad]
            reasons = pa.array([read[place].reason for place in bad], pa.string())
            faults = Faults(doubtful[bad], reasons, pa.array(texts, pa.string()))
        slow = {
            name: pa.array([row.values[place] for row in read], column.type)
            for place, (name, column) in enumerate(columns.items())
        }
        return JsonBlock(found.doubts.size, faults, columns, slow, doubtful, sifted)

    def _walk(self, piece: bytes) -> tuple[Found, NDArray[np.int64], NDArray[np.int64]]:
        """Places of values; where lines begin and where they end."""
        # A break behind the last line lets the walk go without looking for the end.
        data = np.frombuffer(piece if piece.endswith((b"\n", b"\r")) else piece + b"\n", np.uint8)
        most = count_breaks(data)
        shape = (most, len(self._columns))
        kinds, starts, lengths = np.zeros(shape, np.uint8), np.empty(shape, np.int64), np.empty(shape, np.int64)
        first, last, doubts = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.uint8)
        rows = walk_lines(
            data, self._names, self._bounds, self._order, _is_text(piece), kinds, starts, lengths, first, last, doubts
        )  # fmt: skip
        return Found(data, kinds[:rows], starts[:rows], lengths[:rows], doubts[:rows]), first, last


@dataclass(frozen=True, slots=True, eq=False)
class JsonBlock:
    """Lines that were read together. ``slow`` has the rows of lines that were read one by one, ``places`` where."""

    rows: int
    faults: Faults | None
    _fast: dict[str, Column]
    _slow: dict[str, pa.Array]
    _places: NDArray[np.int64]
    sifted: Sifted | None = None

    def column(self, name: str) -> pa.Array:
        """A declared column; strings are made now."""
        fast = self._fast[name].array()
        return placed(fast, self._slow[name], self._places) if self._places.size else fast


def placed(rows: pa.Array, others: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    """Rows, with others in some places.

    >>> placed(pa.array([1, None, 3]), pa.array([2]), np.array([1])).to_pylist()
    [1, 2, 3]
    """
    chosen = np.arange(len(rows))
    chosen[places] = np.arange(len(rows), len(rows) + len(others))
    return pa.concat_arrays([rows, others]).take(pa.array(chosen))


def _is_text(piece: bytes) -> bool:
    """Whether bytes are UTF-8."""
    if piece.isascii():
        return True
    try:
        _one_string(piece).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _one_string(piece: bytes) -> pa.Array:
    offsets = np.array([0, len(piece)], np.int64)
    return pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(piece)])
