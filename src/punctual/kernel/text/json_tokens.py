"""Where the values of declared fields stand in lines of JSON: one walk over the bytes.

Every line is one object of strict JSON, or it is *doubtful*: whoever asked reads it again, slowly and in full. The walk
never guesses. Fields that nobody declared are skipped, but they must be strict JSON too.

The data ends with a line break. No token goes on over one, so nothing here asks where the data ends.
"""

# Comparisons one by one compile to less than a search in a tuple.
# ruff: noqa: SIM109, SIM110
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.text.bare import bare

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
REMEMBERED = 64
"""Fields of an object of which it is remembered which column they were in the line before."""

_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 125, 91, 93
_SPACE, _TAB, _FEED, _RETURN, _MINUS, _PLUS, _DOT, _ZERO, _NINE = 32, 9, 10, 13, 45, 43, 46, 48, 57


@bare
def skip_blanks(data: Bytes, at: int) -> int:
    while data[at] == _SPACE or data[at] == _TAB:
        at += 1
    return at


@bare
def hex_digits(data: Bytes, at: int) -> int:
    """The number that four hexadecimal digits say; negative if they are none."""
    value = 0
    for i in range(at, at + 4):
        c = int(np.int64(data[i]))
        if _ZERO <= c <= _NINE:
            digit = c - _ZERO
        elif 97 <= (c | 32) <= 102:
            digit = (c | 32) - 87
        else:
            return DOUBT
        value = value * 16 + digit
    return value


@bare
def skip_escape(data: Bytes, at: int) -> int:
    """What follows the escape that begins at the backslash; half of a surrogate pair is doubtful."""
    c = data[at + 1]
    if c == 117:
        value = hex_digits(data, at + 2)
        if value < 0 or 0xDC00 <= value <= 0xDFFF:
            return DOUBT
        if 0xD800 <= value <= 0xDBFF:
            if data[at + 6] != _BACKSLASH or data[at + 7] != 117:
                return DOUBT
            low = hex_digits(data, at + 8)
            return at + 12 if 0xDC00 <= low <= 0xDFFF else DOUBT
        return at + 6
    if c == _QUOTE or c == _BACKSLASH or c == 47 or c == 98 or c == 102 or c == 110 or c == 114 or c == 116:
        return at + 2
    return DOUBT


@bare
def skip_plain(data: Bytes, at: int) -> int:
    """The first character of a string that does not mean itself: a quote, a backslash or a control character."""
    while data[at] != _QUOTE and data[at] != _BACKSLASH and data[at] >= 32:
        at += 1
    return at


@bare
def closing_quote(data: Bytes, at: int) -> int:
    """The quote that ends the string which goes on at a place."""
    while True:
        at = skip_plain(data, at)
        if data[at] != _BACKSLASH:
            return at if data[at] == _QUOTE else DOUBT
        at = skip_escape(data, at)
        if at < 0:
            return DOUBT


@bare
def skip_digits(data: Bytes, at: int) -> int:
    while _ZERO <= data[at] <= _NINE:
        at += 1
    return at


@bare
def skip_whole(data: Bytes, at: int) -> int:
    """What follows the sign and the whole part of a number."""
    first = at + 1 if data[at] == _MINUS else at
    end = skip_digits(data, first)
    return DOUBT if end == first or (data[first] == _ZERO and end > first + 1) else end


@bare
def skip_fraction(data: Bytes, at: int) -> int:
    """What follows the fraction and the exponent of a number, if it has them."""
    if data[at] == _DOT:
        first = at + 1
        at = skip_digits(data, first)
        if at == first:
            return DOUBT
    if (data[at] | 32) == 101:
        first = at + 1
        if data[first] == _MINUS or data[first] == _PLUS:
            first += 1
        at = skip_digits(data, first)
        if at == first:
            return DOUBT
    return at


@bare
def skip_word(data: Bytes, at: int) -> int:
    """What follows ``true``, ``false`` or ``null``."""
    if data[at] == 116 and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
        return at + 4
    if data[at] == 110 and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
        return at + 4
    if data[at] != 102 or data[at + 1] != 97 or data[at + 2] != 108 or data[at + 3] != 115 or data[at + 4] != 101:
        return DOUBT
    return at + 5


@bare
def walk_value(data: Bytes, at: int) -> tuple[int, int]:
    """What follows the value that begins at a place, and its kind; of a nested one, only its first character."""
    c = data[at]
    if c == _QUOTE:
        end = skip_plain(data, at + 1)
        if data[end] == _QUOTE:
            return end + 1, STRING
        end = closing_quote(data, end)
        return (end + 1 if end >= 0 else DOUBT), ESCAPED
    if _ZERO <= c <= _NINE or c == _MINUS:
        whole = skip_whole(data, at)
        if whole < 0:
            return DOUBT, INTEGER
        end = skip_fraction(data, whole)
        return (end if end - at <= MOST_DIGITS else DOUBT), (INTEGER if end == whole else NUMBER)
    if c == _OPEN_OBJECT or c == _OPEN_ARRAY:
        return at + 1, NESTED
    return skip_word(data, at), (TRUE if c == 116 else FALSE if c == 102 else NULL)


@bare
def skip_name(data: Bytes, at: int) -> int:
    """The value that follows the name of a field, which begins at its quote."""
    if data[at] != _QUOTE:
        return DOUBT
    end = closing_quote(data, at + 1)
    if end < 0 or end - at > LONGEST_NAME:
        return DOUBT
    at = skip_blanks(data, end + 1)
    return skip_blanks(data, at + 1) if data[at] == _COLON else DOUBT


@bare
def skip_nested(data: Bytes, at: int) -> int:
    """What follows the object or array that begins at a place."""
    objects = np.uint64(data[at] == _OPEN_OBJECT)
    level = 1
    at = skip_blanks(data, at + 1)
    first = True
    while True:
        inside = (objects & np.uint64(1)) == np.uint64(1)
        if data[at] == (_CLOSE_OBJECT if inside else _CLOSE_ARRAY):
            level -= 1
            objects >>= np.uint64(1)
            if level == 0:
                return at + 1
            at, first = skip_blanks(data, at + 1), False
            continue
        if not first:
            if data[at] != _COMMA:
                return DOUBT
            at = skip_blanks(data, at + 1)
        if inside:
            at = skip_name(data, at)
            if at < 0:
                return DOUBT
        end, kind = walk_value(data, at)
        if end < 0:
            return DOUBT
        first = kind == NESTED
        if first:
            if level == MOST_LEVELS:
                return DOUBT
            level += 1
            objects = (objects << np.uint64(1)) | np.uint64(data[at] == _OPEN_OBJECT)
        at = skip_blanks(data, end)


@bare
def is_name(data: Bytes, at: int, names: Bytes, start: int, end: int) -> bool:
    """Whether a name begins at a place, up to its quote."""
    for i in range(start, end):
        if data[at] != names[i]:
            return False
        at += 1
    return bool(data[at] == _QUOTE)


@bare
def find_name(data: Bytes, at: int, names: Bytes, bounds: Places) -> int:
    """The column whose name begins at a place, -1 if none has it."""
    for column in range(bounds.size - 1):
        if is_name(data, at, names, bounds[column], bounds[column + 1]):
            return column
    return -1


@bare
def _object(
    data: Bytes, at: int, names: Bytes, bounds: Places, order: Places, row: int, kinds: Bytes, starts: Places,
    lengths: Places,
) -> int:  # fmt: skip
    """What follows the object whose brace was passed; values of declared fields go into the row."""
    position = 0
    while True:
        at = skip_blanks(data, at)
        if data[at] != _QUOTE:
            # An object may be empty, but no comma is the last.
            return at + 1 if data[at] == _CLOSE_OBJECT and position == 0 else DOUBT
        at += 1
        column = order[position]
        if column >= 0 and is_name(data, at, names, bounds[column], bounds[column + 1]):
            at += bounds[column + 1] - bounds[column]
        else:
            # No declared name needs an escape; one with an escape could be any.
            end = skip_plain(data, at)
            if data[end] != _QUOTE or end - at > LONGEST_NAME:
                return DOUBT
            column = find_name(data, at, names, bounds)
            order[position] = column
            at = end
        position = min(position + 1, REMEMBERED - 1)
        at = skip_blanks(data, at + 1)
        if data[at] != _COLON:
            return DOUBT
        at = skip_blanks(data, at + 1)
        end, kind = walk_value(data, at)
        if kind == NESTED and column < 0:
            end = skip_nested(data, at)
        if end < 0:
            return DOUBT
        if column >= 0:
            if kind == NESTED or kinds[row, column] != ABSENT:
                return DOUBT
            quotes = 1 if data[at] == _QUOTE else 0
            kinds[row, column], starts[row, column], lengths[row, column] = kind, at + quotes, end - at - 2 * quotes
        at = skip_blanks(data, end)
        if data[at] != _COMMA:
            return at + 1 if data[at] == _CLOSE_OBJECT else DOUBT
        at += 1


@bare
def has_high(data: Bytes, start: int, end: int) -> bool:
    """Whether a stretch has bytes beyond ASCII."""
    for i in range(start, end):
        if data[i] >= 128:
            return True
    return False


@bare
def count_breaks(data: Bytes) -> int:
    """How many characters break lines: no fewer than there are lines."""
    count = 0
    for i in range(data.size):
        count += data[i] == _FEED or data[i] == _RETURN
    return count


@bare
def walk_lines(
    data: Bytes, names: Bytes, bounds: Places, order: Places, is_text: bool, kinds: Bytes, starts: Places,
    lengths: Places, line_starts: Places, line_ends: Places, doubts: Bytes,
) -> int:  # fmt: skip
    """Walk all lines; how many are not blank. The arrays have a row for each line.

    Parameters
    ----------
    data : whole lines, with a break behind the last
    names, bounds : the names of declared columns, one after the other, and where each begins and ends
    order : the column of each of the first fields of a line, -1 if it has none; :data:`REMEMBERED` guesses
    is_text : whether the data is UTF-8; if not, a line with any byte beyond ASCII is doubtful
    kinds, starts, lengths : what was found, by line and column; kinds must be zero
    line_starts, line_ends : where lines stand, without their breaks
    doubts : 1 for lines that must be read again
    """
    at = row = 0
    while at < data.size:
        start = at
        at = skip_blanks(data, at)
        if data[at] != _FEED and data[at] != _RETURN:
            end = DOUBT
            if data[at] == _OPEN_OBJECT:
                end = _object(data, at + 1, names, bounds, order, row, kinds, starts, lengths)
            sure = end >= 0
            if sure:
                at = skip_blanks(data, end)
            while data[at] != _FEED and data[at] != _RETURN:
                at += 1
                sure = False
            if not is_text and has_high(data, start, at):
                sure = False
            line_starts[row], line_ends[row] = start, at
            doubts[row] = not sure or at - start > LONGEST_LINE
            row += 1
        # Both halves of a break of two end a line: the one between them is blank.
        at += 1
    return row
