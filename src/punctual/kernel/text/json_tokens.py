"""Where the values of declared fields stand in lines of JSON: one walk over the bytes.

Every line is one object of strict JSON, or it is *doubtful*: whoever asked reads it again, slowly and in full. The walk
never guesses. Fields that nobody declared are skipped, but they must be strict JSON too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.compiled import compiled

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

ABSENT, NULL, STRING, ESCAPED, INTEGER, NUMBER, TRUE, FALSE, NESTED = range(9)
"""Kinds of values. A string's place is without its quotes; ``ESCAPED`` has a backslash in it."""
DOUBT = -1

MOST_LEVELS = 63
"""Deeper values are doubtful: one bit for each level is kept."""
MOST_DIGITS = 400
LONGEST_NAME = 10_000
LONGEST_LINE = 64 << 20
_REMEMBERED = 64

_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 125, 91, 93
_SPACE, _TAB, _FEED, _RETURN, _MINUS, _PLUS, _DOT, _ZERO, _NINE = 32, 9, 10, 13, 45, 43, 46, 48, 57


@compiled
def skip_blanks(data: Bytes, at: int) -> int:
    while at < data.size and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@compiled
def hex_digits(data: Bytes, at: int) -> int:
    """The number that four hexadecimal digits say; negative if they are none."""
    if at + 4 > data.size:
        return DOUBT
    value = 0
    for i in range(at, at + 4):
        c = np.int64(data[i])
        if _ZERO <= c <= _NINE:
            digit = c - _ZERO
        elif 97 <= (c | 32) <= 102:
            digit = (c | 32) - 87
        else:
            return DOUBT
        value = value * 16 + digit
    return value


@compiled
def skip_escape(data: Bytes, at: int) -> int:
    """What follows the escape that begins at the backslash; half of a surrogate pair is doubtful."""
    if at + 1 >= data.size:
        return DOUBT
    c = data[at + 1]
    if c == 117:
        value = hex_digits(data, at + 2)
        if value < 0 or 0xDC00 <= value <= 0xDFFF:
            return DOUBT
        if 0xD800 <= value <= 0xDBFF:
            if at + 8 > data.size or data[at + 6] != _BACKSLASH or data[at + 7] != 117:
                return DOUBT
            low = hex_digits(data, at + 8)
            return at + 12 if 0xDC00 <= low <= 0xDFFF else DOUBT
        return at + 6
    if c == _QUOTE or c == _BACKSLASH or c == 47 or c == 98 or c == 102 or c == 110 or c == 114 or c == 116:
        return at + 2
    return DOUBT


@compiled
def walk_string(data: Bytes, at: int) -> tuple[int, int]:
    """The closing quote of the string whose content begins at a place, and its kind."""
    kind = STRING
    while at < data.size:
        c = data[at]
        if c == _QUOTE:
            return at, kind
        if c == _BACKSLASH:
            kind = ESCAPED
            at = skip_escape(data, at)
            if at < 0:
                return DOUBT, kind
        elif c < 32:
            return DOUBT, kind
        else:
            at += 1
    return DOUBT, kind


@compiled
def _skip_digits(data: Bytes, at: int) -> int:
    while at < data.size and _ZERO <= data[at] <= _NINE:
        at += 1
    return at


@compiled
def walk_number(data: Bytes, at: int) -> tuple[int, int]:
    """What follows the number that begins at a place, and its kind."""
    start, kind = at, INTEGER
    if data[at] == _MINUS:
        at += 1
    first = at
    at = _skip_digits(data, at)
    if at == first or (data[first] == _ZERO and at > first + 1):
        return DOUBT, kind
    if at < data.size and data[at] == _DOT:
        kind, first = NUMBER, at + 1
        at = _skip_digits(data, first)
        if at == first:
            return DOUBT, kind
    if at < data.size and (data[at] | 32) == 101:
        kind, first = NUMBER, at + 1
        if first < data.size and (data[first] == _MINUS or data[first] == _PLUS):
            first += 1
        at = _skip_digits(data, first)
        if at == first:
            return DOUBT, kind
    return (at if at - start <= MOST_DIGITS else DOUBT), kind


@compiled
def walk_word(data: Bytes, at: int) -> tuple[int, int]:
    """What follows ``true``, ``false`` or ``null``, and its kind."""
    if at + 4 <= data.size:
        a, b, c, d = data[at], data[at + 1], data[at + 2], data[at + 3]
        if a == 116 and b == 114 and c == 117 and d == 101:
            return at + 4, TRUE
        if a == 110 and b == 117 and c == 108 and d == 108:
            return at + 4, NULL
        if a == 102 and b == 97 and c == 108 and d == 115 and at + 4 < data.size and data[at + 4] == 101:
            return at + 5, FALSE
    return DOUBT, NULL


@compiled
def walk_plain(data: Bytes, at: int) -> tuple[int, int]:
    """What follows the value that begins at a place, and its kind; ``NESTED`` only begins there."""
    c = data[at]
    if c == _QUOTE:
        end, kind = walk_string(data, at + 1)
        return (end + 1 if end >= 0 else DOUBT), kind
    if _ZERO <= c <= _NINE or c == _MINUS:
        return walk_number(data, at)
    if c == _OPEN_OBJECT or c == _OPEN_ARRAY:
        return at + 1, NESTED
    return walk_word(data, at)


@compiled
def _skip_name(data: Bytes, at: int) -> int:
    """The value that follows the name of a field, which begins at its quote."""
    if at >= data.size or data[at] != _QUOTE:
        return DOUBT
    end, _kind = walk_string(data, at + 1)
    if end < 0 or end - at > LONGEST_NAME:
        return DOUBT
    at = skip_blanks(data, end + 1)
    if at >= data.size or data[at] != _COLON:
        return DOUBT
    return skip_blanks(data, at + 1)


@compiled
def skip_nested(data: Bytes, at: int) -> int:
    """What follows the object or array that begins at a place."""
    objects = np.uint64(data[at] == _OPEN_OBJECT)
    level = 1
    at = skip_blanks(data, at + 1)
    first = True
    while at < data.size:
        inside = (objects & np.uint64(1)) == np.uint64(1)
        if data[at] == (_CLOSE_OBJECT if inside else _CLOSE_ARRAY):
            # A comma before it was refused where the comma stood.
            level -= 1
            objects >>= np.uint64(1)
            at += 1
            if level == 0:
                return at
            at, first = skip_blanks(data, at), False
            continue
        if not first:
            if data[at] != _COMMA:
                return DOUBT
            at = skip_blanks(data, at + 1)
        if inside:
            at = _skip_name(data, at)
        if at < 0 or at >= data.size:
            return DOUBT
        end, kind = walk_plain(data, at)
        if end < 0:
            return DOUBT
        first = kind == NESTED
        if first:
            if level == MOST_LEVELS:
                return DOUBT
            level += 1
            objects = (objects << np.uint64(1)) | np.uint64(data[at] == _OPEN_OBJECT)
        at = skip_blanks(data, end)
    return DOUBT


@compiled
def _is_name(data: Bytes, at: int, names: Bytes, start: int, end: int) -> bool:
    length = end - start
    if at + length >= data.size or data[at + length] != _QUOTE:
        return False
    for i in range(length):
        if data[at + i] != names[start + i]:
            return False
    return True


@compiled
def _field(data: Bytes, at: int, names: Bytes, ends: Places, guess: int) -> tuple[int, int]:
    """The quote that ends a name, and the column that it names, -1 if none; the name begins at a place.

    Names have no character that JSON escapes, so a name with an escape is doubtful: it could be a declared one.
    """
    if guess >= 0:
        start = ends[guess - 1] if guess else 0
        if _is_name(data, at, names, start, ends[guess]):
            return at + ends[guess] - start, guess
    end, kind = walk_string(data, at)
    if end < 0 or kind == ESCAPED or end - at > LONGEST_NAME:
        return DOUBT, -1
    start = np.int64(0)
    for column in range(ends.size):
        if ends[column] - start == end - at and _is_name(data, at, names, start, ends[column]):
            return end, column
        start = ends[column]
    return end, -1


@compiled
def _object(
    data: Bytes, at: int, names: Bytes, ends: Places, order: Places, kinds: Bytes, starts: Places, lengths: Places
) -> int:
    """What follows the object that begins at a place; values of declared fields go into the row."""
    if data[at] != _OPEN_OBJECT:
        return DOUBT
    at = skip_blanks(data, at + 1)
    if at < data.size and data[at] == _CLOSE_OBJECT:
        return at + 1
    position = 0
    while at < data.size and data[at] == _QUOTE:
        end, column = _field(data, at + 1, names, ends, order[position])
        if end < 0:
            return DOUBT
        order[position] = column
        position = min(position + 1, _REMEMBERED - 1)
        at = skip_blanks(data, end + 1)
        if at >= data.size or data[at] != _COLON:
            return DOUBT
        at = skip_blanks(data, at + 1)
        if at >= data.size:
            return DOUBT
        end, kind = walk_plain(data, at)
        if end >= 0 and kind == NESTED and column < 0:
            end = skip_nested(data, at)
        if end < 0:
            return DOUBT
        if column >= 0:
            if kind == NESTED or kinds[column] != ABSENT:
                return DOUBT
            quotes = 1 if kind == STRING or kind == ESCAPED else 0
            kinds[column], starts[column], lengths[column] = kind, at + quotes, end - at - 2 * quotes
        at = skip_blanks(data, end)
        if at >= data.size:
            return DOUBT
        if data[at] == _CLOSE_OBJECT:
            return at + 1
        if data[at] != _COMMA:
            return DOUBT
        at = skip_blanks(data, at + 1)
    return DOUBT


@compiled
def _has_high(data: Bytes, start: int, end: int) -> bool:
    for i in range(start, end):
        if data[i] >= 128:
            return True
    return False


@compiled
def walk_lines(
    data: Bytes, names: Bytes, ends: Places, is_text: bool, kinds: NDArray[np.uint8], starts: NDArray[np.int64],
    lengths: NDArray[np.int64], line_starts: Places, line_ends: Places, doubts: Bytes,
) -> int:  # fmt: skip
    """Walk all lines; how many are not blank. The arrays have a row for each line.

    Parameters
    ----------
    data : whole lines
    names, ends : the names of declared columns, one after the other, and where each ends
    is_text : whether the data is UTF-8; if not, a line with any byte beyond ASCII is doubtful
    kinds, starts, lengths : what was found, by line and column; kinds must be zero
    line_starts, line_ends : where lines stand, without their breaks
    doubts : 1 for lines that must be read again
    """
    order = np.full(_REMEMBERED, -1, np.int64)
    at = np.int64(0)
    row = 0
    while at < data.size:
        start = at
        at = skip_blanks(data, at)
        if at < data.size and data[at] != _FEED and data[at] != _RETURN:
            end = _object(data, at, names, ends, order, kinds[row], starts[row], lengths[row])
            sure = end >= 0
            if sure:
                at = skip_blanks(data, end)
            while at < data.size and data[at] != _FEED and data[at] != _RETURN:
                at += 1
                sure = False
            if not is_text and _has_high(data, start, at):
                sure = False
            line_starts[row], line_ends[row] = start, at
            doubts[row] = not sure or at - start > LONGEST_LINE
            row += 1
        if at < data.size:
            # Both halves of a break of two end a line: the one between them is blank.
            at += 1
    return row
