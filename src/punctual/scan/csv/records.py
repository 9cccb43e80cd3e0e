"""Records of CSV files as blocks: lines to fields, fields to values, and what does not fit.

A kernel splits ordinary lines; the others are split one by one (:mod:`punctual.scan.csv.record`), and their fields are
put behind the bytes of the piece. An empty field is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kernel.text.csv_fields import NONE, OTHER_WIDTH, RECORD, UNSURE, mark_lines, split_lines
from punctual.scan.block import Block, Columns, Faults, Sifted, arrow_type
from punctual.scan.csv.record import split_record
from punctual.scan.csv.settings import NOT_SET, CsvSettings
from punctual.scan.lines import PIECE_BYTES, pieces
from punctual.scan.sieve import CSV_BLANKS, Sieve
from punctual.scan.text.java_text import java_text
from punctual.scan.text.text_casts import cast_texts
from punctual.scan.text.texts import Texts

MOST_FIELDS = 20_480
"""Spark's parser takes no line with more."""
_BLANKS = bytes(range(33))
_MARK = b"\xef\xbb\xbf"
_NEVER_MISFITS = ("STRING", "BINARY")


def read_csv(
    path: str,
    start: int,
    end: int,
    width: int,
    places: Sequence[int | None],
    columns: Columns,
    settings: CsvSettings,
    piece_bytes: int = PIECE_BYTES,
    sieve: Sieve | None = None,
) -> Iterator[Block]:
    """The records whose lines begin in ``[start, end)`` of a file, some at a time.

    A record is a line: a break inside quotes ends it, as it does for Spark without ``multiLine``.

    Parameters
    ----------
    width : int
        How many fields a record has.
    places : sequence of int or None
        Which of them each column is; None where the file lacks it.

    Raises
    ------
    ValueError
        A line has more fields than Spark's parser takes.
    """
    is_first = True
    for piece in pieces(path, start, end, piece_bytes):
        at, marked = 0, False
        if is_first:
            has_header = settings.header and start == 0
            at, after = _first_line(piece, settings, is_header=has_header)
            if at == len(piece):
                continue
            is_first = False
            # The parser takes a byte order mark off the first line that it is given.
            at, marked = (after, False) if has_header else (at, piece.startswith(_MARK, at))
        sifted: Sifted | None = None
        if sieve is not None:
            left = sieve.lines(piece, at, CSV_BLANKS, _code(settings.comment))
            piece, at, marked, sifted = left.piece, 0, marked and left.first, left.sifted
        block = _CsvBlock(_split(piece, at, width, places, settings, marked), width, places, columns, sifted)
        if block.rows or sieve is not None:
            yield block


def _first_line(piece: bytes, settings: CsvSettings, *, is_header: bool) -> tuple[int, int]:
    """Where the first line that is neither blank nor a comment begins, and where the next one does."""
    at = 0
    comment = settings.comment.encode() if settings.comment else None
    while at < len(piece):
        ends = [place for place in (piece.find(b"\n", at), piece.find(b"\r", at)) if place >= 0]
        end = min(ends, default=len(piece))
        line = piece[at:end]
        # A header is looked for behind blanks before comments, other lines are not.
        told = line.strip(_BLANKS) if is_header else line
        if line.strip(_BLANKS) and not (comment and told.startswith(comment)):
            return at, min(end + 1, len(piece))
        at = min(end + 1, len(piece))
    return at, at


class _Split:
    """Lines taken apart: ``starts`` and ``lengths`` of fields in ``data``, a row per field that is wanted."""

    __slots__ = ("count", "data", "lengths", "lines", "piece", "starts", "states")

    def __init__(self, piece: bytes, slots: int) -> None:
        """Room for as many lines as there are breaks, and a break at the end, where the last line may lack it."""
        self.piece = piece
        self.data = np.empty(len(piece) + 1, np.uint8)
        self.data[:-1] = np.frombuffer(piece, np.uint8)
        self.data[-1] = 10
        # Counting in an array is several times faster than in bytes.
        most = np.count_nonzero(self.data == 10) + (np.count_nonzero(self.data == 13) if b"\r" in piece else 0)
        self.starts = np.empty((slots, most), np.int64)
        self.lengths = np.empty((slots, most), np.int32)
        self.lines = np.empty((most, 2), np.int64)
        self.states = np.empty(most, np.uint8)
        self.count = 0

    def texts(self, slot: int) -> Texts:
        lengths = self.lengths[slot, : self.count]
        return Texts(self.data, self.starts[slot, : self.count], lengths, lengths > 0)

    def line(self, row: int) -> str:
        return java_text(self.piece[self.lines[row, 0] : self.lines[row, 1]])


def _split(
    piece: bytes, at: int, width: int, places: Sequence[int | None], settings: CsvSettings, marked: bool
) -> _Split:
    slots = np.full(width, -1, np.int64)
    wanted = _wanted(places)
    slots[wanted] = np.arange(len(wanted))
    split = _Split(piece, len(wanted))
    sep, quote, escape, comment = map(_code, (settings.sep, settings.quote, settings.escape, settings.comment))
    split.count, widest = split_lines(
        split.data, at, sep, quote, escape, comment, slots, split.starts, split.lengths, split.lines, split.states
    )
    if widest > MOST_FIELDS:
        raise ValueError(_TOO_MANY)
    is_broken = not piece.isascii() and not _is_utf8(piece)
    if is_broken or b"\0" in piece:
        mark_lines(split.data, split.lines, split.count, is_broken, split.states)
    if marked:
        split.states[0] = UNSURE
    _split_unsure(split, wanted, width, settings, marked)
    return split


def _split_unsure(split: _Split, wanted: list[int], width: int, settings: CsvSettings, marked: bool) -> None:
    """Split the lines that the kernel does not vouch for, and put their fields behind the data."""
    rows = np.flatnonzero(split.states[: split.count] == UNSURE)
    added: list[bytes] = []
    at = split.data.size
    for row in rows.tolist():
        line = split.line(row)
        fields = _marked_record(split, width, settings) if marked and row == 0 else split_record(line, settings)
        if len(fields) > MOST_FIELDS:
            raise ValueError(_TOO_MANY)
        split.states[row] = RECORD if len(fields) == width else OTHER_WIDTH
        for slot, place in enumerate(wanted):
            field = fields[place].encode() if place < len(fields) else b""
            split.starts[slot, row], split.lengths[slot, row] = at, len(field)
            added.append(field)
            at += len(field)
    if rows.size:
        split.data = np.concatenate([split.data, np.frombuffer(b"".join(added), np.uint8)])


def _marked_record(split: _Split, width: int, settings: CsvSettings) -> list[str]:
    """The fields of a first line that begins with a byte order mark, which Spark's parser drops without looking.

    So it finds a NUL where nothing follows the mark, and of what is a comment then it makes a row of NULLs.
    """
    line = split.line(0)[1:]
    if not line:
        return [NOT_SET]
    split.lines[0, 0] += len(_MARK)
    if settings.comment and line.startswith(settings.comment):
        return [""] * width
    return split_record(line, settings)


class _CsvBlock:
    """Records that were read together. Texts are made into arrays when they are asked for."""

    def __init__(
        self,
        split: _Split,
        width: int,
        places: Sequence[int | None],
        columns: Columns,
        sifted: Sifted | None,
    ) -> None:
        self._kinds = dict(columns)
        self.sifted = sifted
        self.rows = split.count
        slots = {place: slot for slot, place in enumerate(_wanted(places))}
        self._texts = {
            name: split.texts(slots[place]) for (name, _kind), place in zip(columns, places) if place is not None
        }
        self._arrays: dict[str, pa.Array] = {}
        misfits: dict[str, NDArray[np.bool_]] = {}
        for name, texts in self._texts.items():
            if self._kinds[name] not in _NEVER_MISFITS:
                self._arrays[name], found = cast_texts(*texts.all, self._kinds[name])
                if found.any():
                    misfits[name] = found
        self.faults = self._faults(split, width, misfits)

    def column(self, name: str) -> pa.Array:
        if name not in self._arrays:
            kind, texts = arrow_type(self._kinds[name]), self._texts.get(name)
            self._arrays[name] = pa.nulls(self.rows, kind) if texts is None else texts.array(kind)
        return self._arrays[name]

    def _faults(self, split: _Split, width: int, misfits: dict[str, NDArray[np.bool_]]) -> Faults | None:
        other = split.states[: self.rows] == OTHER_WIDTH
        faulty = other.copy()
        for found in misfits.values():
            faulty |= found
        rows = np.flatnonzero(faulty)
        if not rows.size:
            return None
        fields = f"not a record of {width} field{'s' if width != 1 else ''}"
        facts = {name: f'column "{name}" is not {self._kinds[name]}' for name in misfits}
        reasons = [
            fields if other[row] else "; ".join(facts[name] for name, found in misfits.items() if found[row])
            for row in rows.tolist()
        ]
        texts = [split.line(row) if other[row] else self._as_json(row) for row in rows.tolist()]
        return Faults(rows, pa.array(reasons, pa.string()), pa.array(texts, pa.string()))

    def _as_json(self, row: int) -> str:
        """The texts of the columns that the file has, as Spark writes a row."""
        members = (f"{_quoted(name)}:{_quoted(texts.text(row))}" for name, texts in self._texts.items())
        return "{" + ",".join(members) + "}"


def _wanted(places: Sequence[int | None]) -> list[int]:
    return sorted({place for place in places if place is not None})


def _code(mark: str | None) -> int:
    return NONE if mark is None or mark == NOT_SET else ord(mark)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _quoted(text: str | None) -> str:
    """A text in JSON, control characters as Spark escapes them."""
    if text is None:
        return "null"
    return '"' + text.translate(_ESCAPES) + '"'


_ESCAPES = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord(plain): escaped for plain, escaped in zip('"\\\b\t\n\f\r', ('\\"', "\\\\", "\\b", "\\t", "\\n", "\\f", "\\r"))
}
_TOO_MANY = f"a line has more than {MOST_FIELDS:,} fields (maxColumns)"
