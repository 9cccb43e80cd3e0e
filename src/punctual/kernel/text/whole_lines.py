"""Lines of a text: where they stand, and some of them put together again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from punctual.kernel.text.bare import bare

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

NO_COMMENT = 256
_FEED, _RETURN = 10, 13


@bare
def find_lines(data: Bytes, at: int, blanks: Bytes, comment: int, starts: Places, ends: Places) -> int:
    """Where the lines from ``at`` on begin and end, without their breaks; how many are neither blank nor a comment.

    The data ends with a break. ``blanks`` has a 1 for each of the 256 bytes that counts for nothing in a line. Both
    halves of a break of two end a line: the one between them is blank.
    """
    count = 0
    while at < data.size:
        first = at
        while blanks[data[at]] == 1:
            at += 1
        something = data[at] != _FEED and data[at] != _RETURN and data[first] != comment
        while data[at] != _FEED and data[at] != _RETURN:
            at += 1
        if something:
            starts[count], ends[count] = first, at
            count += 1
        at += 1
    return count


@bare
def join_lines(data: Bytes, starts: Places, ends: Places, kept: NDArray[np.bool_], joined: Bytes) -> int:
    """Put the lines that are kept together, a line feed behind each; how many bytes that makes."""
    size = 0
    for line in range(starts.size):
        if kept[line]:
            for at in range(starts[line], ends[line]):
                joined[size] = data[at]
                size += 1
            joined[size] = _FEED
            size += 1
    return size
