"""Shedding: which rows of a stream are read at all, when it is shed at ingest.

The rule is that of :mod:`punctual.kernel.sample`, with the stream's name in lower case as salt. Of JSON and CSV the raw
line has the place, as ``places(pa.table({"line": lines}), ["line"], salt)`` gives it: the bytes without the break, as
they stand in the file. So a line is shed before anything of it is parsed, and equal lines share their fate. What is
nothing to the reader (blank lines, comments, a header) is neither kept nor shed. Elsewhere the row's position has the
place: the path of its file and its number there, or the number of a generated row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.arrays.row_hashes import row_hashes, stretch_hashes
from punctual.kernel.sample import places_of
from punctual.kernel.sample.marks import SHARES
from punctual.kernel.text.json_tokens import count_breaks
from punctual.kernel.text.whole_lines import NO_COMMENT, find_lines, join_lines
from punctual.scan.arrow_block import ArrowBlock
from punctual.scan.block import Block, Faults, Sifted

F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]


def _blanks(*codes: int) -> NDArray[np.uint8]:
    table = np.zeros(256, np.uint8)
    table[list(codes)] = 1
    return table


JSON_BLANKS = _blanks(9, 32)
"""A line of these is nothing, as :func:`punctual.kernel.text.json_tokens.walk_lines` has it."""
CSV_BLANKS = _blanks(*(code for code in range(33) if code not in (10, 13)))
"""And as :func:`punctual.kernel.text.csv_fields.split_lines` has it."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a piece that are read; ``first`` says whether the first one of the piece is among them."""

    piece: bytes
    sifted: Sifted
    first: bool


@dataclass(frozen=True, slots=True)
class Sieve:
    """Keeps a share of the rows of a stream: ``share`` ten-thousandths of them, by ``salt``."""

    salt: str
    share: int

    def lines(self, piece: bytes, at: int, blanks: NDArray[np.uint8], comment: int = NO_COMMENT) -> Lines:
        """What is left of the lines of a piece from a place on, each with a line feed behind it."""
        data = np.frombuffer(piece if piece.endswith((b"\n", b"\r")) else piece + b"\n", np.uint8)
        most = count_breaks(data)
        starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
        count = find_lines(data, at, blanks, comment, starts, ends)
        starts, ends = starts[:count], ends[:count]
        places, kept = self._places(stretch_hashes(data, starts, ends))
        joined = np.empty(int((ends - starts + 1)[kept].sum()), np.uint8)
        join_lines(data, starts, ends, kept, joined)
        return Lines(joined.tobytes(), _sifted(places, kept), bool(count and kept[0]))

    def numbered(self, block: Block, first: int, path: str | None = None) -> Block:
        """What is left of rows that have numbers, of which ``first`` is the number of the first one in the block."""
        numbers = pa.array(np.arange(first, first + block.rows, dtype=np.int64))
        position = [numbers] if path is None else [pa.repeat(path, block.rows), numbers]
        places, kept = self._places(row_hashes(position, block.rows))
        return _rows(block, kept, _sifted(places, kept))

    def _places(self, hashes: NDArray[np.uint64]) -> tuple[F64, Bools]:
        places = places_of(hashes, self.salt, ordinals=False)
        return places, places < self.share / SHARES


def _sifted(places: F64, kept: Bools) -> Sifted:
    left = places[kept]
    return Sifted(left, places.size - left.size)


def _rows(block: Block, kept: Bools, sifted: Sifted) -> Block:
    chosen = pa.array(kept)

    def column(name: str) -> pa.Array:
        return block.column(name).filter(chosen)

    return ArrowBlock(sifted.places.size, column, _faults(block.faults, kept), sifted)


def _faults(faults: Faults | None, kept: Bools) -> Faults | None:
    """Those of the rows that are left, where they stand now."""
    if faults is None:
        return None
    here = kept[faults.rows]
    if not here.any():
        return None
    chosen = pa.array(here)
    rows = np.cumsum(kept)[faults.rows[here]] - 1
    return Faults(rows, faults.reasons.filter(chosen), faults.texts.filter(chosen))
