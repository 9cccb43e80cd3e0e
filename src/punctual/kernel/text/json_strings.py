"""Strings and bytes of one declared column, from their places in lines of JSON."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.text.bare import bare
from punctual.kernel.text.json_tokens import ESCAPED, INTEGER, NULL, NUMBER, STRING, hex_digits

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

_BACKSLASH, _MINUS, _ZERO, _PADDING = 92, 45, 48, 61
_NOT_A_DIGIT = 255


def _base64_digits() -> Bytes:
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    table = np.full(256, _NOT_A_DIGIT, np.uint8)
    table[np.frombuffer(letters, np.uint8)] = np.arange(64, dtype=np.uint8)
    return table


DIGITS = _base64_digits()


@bare
def doubt_strings(data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, doubts: Bytes) -> None:
    """Doubt values that are no strings and would not be written as they stand: fractions, and zero with a sign."""
    for row in range(doubts.size):
        kind = kinds[row, column]
        if kind == NUMBER:
            doubts[row] = 1
        elif kind == INTEGER and lengths[row, column] == 2:
            at = starts[row, column]
            if data[at] == _MINUS and data[at + 1] == _ZERO:
                doubts[row] = 1


@bare
def _width(value: int) -> int:
    """Bytes of a character in UTF-8."""
    if value < 0x80:
        return 1
    if value < 0x800:
        return 2
    return 3 if value < 0x10000 else 4


@bare
def _escaped(data: Bytes, at: int) -> tuple[int, int]:
    """The character of the escape that begins at the backslash, and how many bytes the escape has."""
    c = int(np.int64(data[at + 1]))
    if c == 117:
        value = hex_digits(data, at + 2)
        if 0xD800 <= value <= 0xDBFF:
            return 0x10000 + ((value - 0xD800) << 10) + (hex_digits(data, at + 8) - 0xDC00), 12
        return value, 6
    if c == 98:
        return 8, 2
    if c == 102:
        return 12, 2
    if c == 110:
        return 10, 2
    if c == 114:
        return 13, 2
    return (9 if c == 116 else c), 2


@bare
def _put(out: Bytes, at: int, value: int) -> int:
    """Write a character as UTF-8; what follows it."""
    width = _width(value)
    if width == 1:
        out[at] = value
    elif width == 2:
        out[at], out[at + 1] = 0xC0 | (value >> 6), 0x80 | (value & 63)
    elif width == 3:
        out[at], out[at + 1], out[at + 2] = 0xE0 | (value >> 12), 0x80 | ((value >> 6) & 63), 0x80 | (value & 63)
    else:
        out[at], out[at + 1] = 0xF0 | (value >> 18), 0x80 | ((value >> 12) & 63)
        out[at + 2], out[at + 3] = 0x80 | ((value >> 6) & 63), 0x80 | (value & 63)
    return at + width


@bare
def measure_strings(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, skipped: Bytes, offsets: NDArray[np.int32],
    valid: Bytes,
) -> None:  # fmt: skip
    """Where each string ends in the bytes of all of them; skipped rows are NULL."""
    offsets[0] = 0
    total = np.int64(0)
    for row in range(skipped.size):
        kind = kinds[row, column]
        valid[row] = kind > NULL and not skipped[row]
        if valid[row]:
            length = lengths[row, column]
            if kind == ESCAPED:
                at, end, length = starts[row, column], starts[row, column] + length, 0
                while at < end:
                    if data[at] == _BACKSLASH:
                        value, size = _escaped(data, at)
                        length += _width(value)
                        at += size
                    else:
                        length += 1
                        at += 1
            total += length
        offsets[row + 1] = total


@bare
def copy_strings(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, valid: Bytes, offsets: NDArray[np.int32],
    out: Bytes,
) -> None:  # fmt: skip
    """Write the strings without their escapes."""
    for row in range(valid.size):
        if not valid[row]:
            continue
        at, to = int(starts[row, column]), int(offsets[row])
        end = at + lengths[row, column]
        if kinds[row, column] != ESCAPED:
            for i in range(end - at):
                out[to + i] = data[at + i]
            continue
        while at < end:
            if data[at] == _BACKSLASH:
                value, size = _escaped(data, at)
                to = _put(out, to, value)
                at += size
            else:
                out[to] = data[at]
                to += 1
                at += 1


@bare
def doubt_base64(data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, doubts: Bytes) -> None:
    """Doubt values that are not plain base64 with its padding."""
    for row in range(doubts.size):
        kind = kinds[row, column]
        if kind <= NULL:
            continue
        at, length = starts[row, column], lengths[row, column]
        if kind != STRING or length % 4:
            doubts[row] = 1
            continue
        end = at + length
        if length and data[end - 1] == _PADDING:
            end -= 1
            if data[end - 1] == _PADDING:
                end -= 1
        for i in range(at, end):
            if DIGITS[data[i]] == _NOT_A_DIGIT:
                doubts[row] = 1
                break


@bare
def measure_base64(
    data: Bytes, kinds: Bytes, starts: Places, lengths: Places, column: int, skipped: Bytes, offsets: NDArray[np.int32],
    valid: Bytes,
) -> None:  # fmt: skip
    """Where each value ends in the bytes of all of them; skipped rows are NULL."""
    offsets[0] = 0
    total = np.int64(0)
    for row in range(skipped.size):
        valid[row] = kinds[row, column] > NULL and not skipped[row]
        length = lengths[row, column]
        if valid[row] and length:
            end = starts[row, column] + length
            total += length // 4 * 3 - (data[end - 1] == _PADDING) - (data[end - 2] == _PADDING)
        offsets[row + 1] = total


@bare
def copy_base64(data: Bytes, starts: Places, column: int, valid: Bytes, offsets: NDArray[np.int32], out: Bytes) -> None:
    """Write the bytes that the values stand for."""
    for row in range(valid.size):
        if not valid[row]:
            continue
        at, to, end = starts[row, column], int(offsets[row]), int(offsets[row + 1])
        bits, count = np.int64(0), 0
        while to < end:
            bits = (bits << 6) | np.int64(DIGITS[data[at]])
            count += 6
            at += 1
            if count >= 8:
                count -= 8
                out[to] = (bits >> count) & 255
                bits &= (1 << count) - 1
                to += 1
