"""Lines of CSV as fields: where each begins and how long it is.

A field that does not begin with the quote goes up to the separator, whatever is in it. A quoted field that ends right
before a separator or the end of the line is taken without its quotes; doubled quotes in it are made single in place.
Every other line with quotes is left to somebody else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled
from punctual.kernel.text.numbers import Bytes, States

RECORD, OTHER_WIDTH, UNSURE = 0, 1, 2
"""What a line is: as many fields as there should be, more or fewer, or unsure."""
NONE = 256
"""A character that is not set."""
_ORDINARY, _SEPARATOR, _BREAK = 0, 1, 2


@compiled
def split_lines(
    data: Bytes,
    at: int,
    sep: int,
    quote: int,
    escape: int,
    comment: int,
    slots: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int32],
    lines: NDArray[np.int64],
    states: States,
) -> tuple[int, int]:
    """Split the lines of ``data`` from ``at``, each of which ends in a break; how many there are, and fields at most.

    Blank lines and comments are none. ``slots`` has, of each field that a record should have, the row of ``starts``
    and ``lengths`` it goes to, or -1; ``lines`` gets where each line begins and ends.
    """
    classes = np.zeros(256, np.uint8)
    classes[sep], classes[10], classes[13] = _SEPARATOR, _BREAK, _BREAK
    width, count, widest = slots.size, 0, 0
    while at < data.size:
        first, field, state = at, 0, RECORD
        if data[at] <= 32 or data[at] == comment:
            at = _after_nothing(data, at, comment)
            if at > first:
                continue
        while True:
            begin = at
            if data[at] == quote:
                begin, at, size = _quoted(data, at, sep, quote, escape)
                if size < 0:
                    state = UNSURE
                    break
            else:
                while classes[data[at]] == _ORDINARY:
                    at += 1
                size = at - begin
            if field < width and slots[field] >= 0:
                starts[slots[field], count] = begin
                lengths[slots[field], count] = size
            field += 1
            if classes[data[at]] == _BREAK:
                break
            at += 1
        while classes[data[at]] != _BREAK:
            at += 1
        for lacking in range(field, width):
            if slots[lacking] >= 0:
                lengths[slots[lacking], count] = 0
        lines[count, 0], lines[count, 1] = first, at
        widest = max(widest, field)
        states[count] = OTHER_WIDTH if state == RECORD and field != width else state
        count += 1
        at += 1
    return count, widest


@compiled
def _after_nothing(data: Bytes, first: int, comment: int) -> int:
    """Where the next line begins, if this one is blank or a comment; otherwise where this one does."""
    at = first
    while data[at] <= 32 and data[at] != 10 and data[at] != 13:
        at += 1
    if data[at] != 10 and data[at] != 13 and data[first] != comment:
        return first
    while data[at] != 10 and data[at] != 13:
        at += 1
    return at + 1


@compiled
def _quoted(data: Bytes, at: int, sep: int, quote: int, escape: int) -> tuple[int, int, int]:
    """A field from its first quote: where its text begins, the byte after its last quote, and its size or -1."""
    begin = at + 1
    at, into, doubled = begin, begin, False
    while True:
        byte = data[at]
        if byte == 10 or byte == 13:
            return begin, at, -1
        if byte == quote:
            after = data[at + 1]
            if after == sep or after == 10 or after == 13:
                return begin, at + 1, into - begin
            if after != quote or escape != quote:
                return begin, at, -1
            doubled = True
            at += 1
        elif byte == escape:
            return begin, at, -1
        if doubled:
            data[into] = byte
        into += 1
        at += 1


@compiled
def mark_lines(data: Bytes, lines: NDArray[np.int64], count: int, high: bool, states: States) -> None:
    """Make lines unsure that have a NUL or, with ``high``, a byte that is not ASCII."""
    for line in range(count):
        for at in range(lines[line, 0], lines[line, 1]):
            if data[at] == 0 or (high and data[at] >= 128):
                states[line] = UNSURE
                break
